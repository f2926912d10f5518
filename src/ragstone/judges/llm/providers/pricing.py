"""Price: what a model's tokens cost, as the package genai-prices tells; nothing is looked up."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ragstone.types.reply import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

LOCAL = ("ollama", "lmstudio", "vllm")
"""Providers that are the user's own machine."""

_MILLION = 1_000_000


class Price(ABC):
    """Tells what tokens cost: an estimate, at the list price."""

    @abstractmethod
    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None where the provider did not say how many tokens it took."""


@dataclass(frozen=True)
class Free(Price):
    """The price of what runs on one's own machine."""

    def cost(self, usage: Usage) -> float | None:
        """Return 0."""
        del usage
        return 0.0


@dataclass(frozen=True)
class Flat(Price):
    """So many US dollars a token, however many there are and whenever it is asked."""

    prompt: float
    cached: float
    completion: float
    reasoning: float

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None where the provider did not say how many tokens it took."""
        if not usage.prompt_tokens and not usage.completion_tokens:
            return None
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        reasoning = min(usage.reasoning_tokens, usage.completion_tokens)
        return (
            self.prompt * (usage.prompt_tokens - cached)
            + self.cached * cached
            + self.completion * (usage.completion_tokens - reasoning)
            + self.reasoning * reasoning
        )


@dataclass(frozen=True)
class Listed:
    """A model as genai-prices lists it: at a provider's, or at a URL."""

    model: str
    provider: str
    url: str | None = None

    def calculated(self, **tokens: int) -> "PriceCalculation":
        """Ask genai-prices, which knows its prices by heart.

        Raises:
            LookupError: it does not know the model.
        """
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price

        counted = Tokens(**tokens)
        if self.url:
            return calc_price(counted, self.model, provider_api_url=self.url)
        return calc_price(counted, self.model, provider_id=self.provider)

    def flat(self, tokens: int) -> Flat:
        """Return what one token costs of so many."""

        def rate(**counts: int) -> float:
            return float(self.calculated(**counts).total_price) / tokens

        return Flat(
            prompt=rate(input_tokens=tokens),
            cached=rate(input_tokens=tokens, cache_read_tokens=tokens),
            completion=rate(output_tokens=tokens),
            reasoning=rate(output_tokens=tokens, output_reasoning_tokens=tokens),
        )


@dataclass(frozen=True)
class Stepped(Price):
    """A price that changes with a prompt's length or the time of day, or has a fee a call.

    Attributes:
        first: what prompts of at most `until` tokens cost; None where that is not enough.
    """

    listed: Listed
    first: Flat | None
    until: int

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None where the provider did not say how many tokens it took."""
        if self.first and usage.prompt_tokens <= self.until:
            return self.first.cost(usage)
        if not usage.prompt_tokens and not usage.completion_tokens:
            return None
        told = self.listed.calculated(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
            output_tokens=usage.completion_tokens,
            output_reasoning_tokens=min(usage.reasoning_tokens, usage.completion_tokens),
        )
        return float(told.total_price)


@cache
def price_of(name: str, base_url: str | None = None) -> Price | None:
    """Return the price of a judge such as `openai:gpt-4o-mini`; None where it is not known.

    Where a `base_url` is given, what is served there has its own price, if any is known.
    """
    provider, _, model = name.partition(":")
    if provider in LOCAL:
        return Free()
    from genai_prices.types import ModelPrice, TieredPrices, TimeOfDateConstraint

    listed = Listed(model, provider, base_url)
    try:
        told = listed.calculated()
    except LookupError:
        return None
    if told.model_price.input_mtok is None and told.model_price.output_mtok is None:
        return None
    prices = () if isinstance(told.model.prices, ModelPrice) else told.model.prices
    timed = any(isinstance(price.constraint, TimeOfDateConstraint) for price in prices)
    if timed or told.total_price:  # some take a fee for every call
        return Stepped(listed, None, 0)
    rates: Mapping[str, object] = vars(told.model_price)
    tiered = [rate for rate in rates.values() if isinstance(rate, TieredPrices)]
    starts = [tier.start for rate in tiered for tier in rate.tiers]
    if not starts:
        return listed.flat(_MILLION)
    until = min(starts)
    return Stepped(listed, listed.flat(until) if until else None, until)
