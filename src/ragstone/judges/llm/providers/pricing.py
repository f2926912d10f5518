"""Prices of models, from the package genai-prices; nothing is looked up online."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ragstone.types.reply import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

LOCAL = ("ollama", "lmstudio", "vllm")
"""Providers on the user's own machine."""

_MILLION = 1_000_000


class Price(ABC):
    """The cost of tokens: an estimate at the list price."""

    @abstractmethod
    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None if the provider reported no tokens."""


@dataclass(frozen=True)
class Free(Price):
    """The price of a local model."""

    def cost(self, usage: Usage) -> float | None:
        """Return 0."""
        del usage
        return 0.0


@dataclass(frozen=True)
class Flat(Price):
    """A fixed price per token, in US dollars."""

    prompt: float
    cached: float
    completion: float
    reasoning: float

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None if the provider reported no tokens."""
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
    """A model in genai-prices, by its provider or by a URL."""

    model: str
    provider: str
    url: str | None = None

    def calculated(self, **tokens: int) -> "PriceCalculation":
        """Return the price of some tokens.

        Raises:
            LookupError: the model is not listed.
        """
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price

        counted = Tokens(**tokens)
        if self.url:
            return calc_price(counted, self.model, provider_api_url=self.url)
        return calc_price(counted, self.model, provider_id=self.provider)

    def flat(self, tokens: int) -> Flat:
        """Return the prices per token of that many tokens."""

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
    """A price that depends on the prompt's length or the time of day, or has a fee per call.

    Attributes:
        first: the price of prompts of at most `until` tokens; None if it has to be calculated.
    """

    listed: Listed
    first: Flat | None
    until: int

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None if the provider reported no tokens."""
        if self.first and usage.prompt_tokens <= self.until:
            return self.first.cost(usage)
        if not usage.prompt_tokens and not usage.completion_tokens:
            return None
        calculated = self.listed.calculated(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
            output_tokens=usage.completion_tokens,
            output_reasoning_tokens=min(usage.reasoning_tokens, usage.completion_tokens),
        )
        return float(calculated.total_price)


@cache
def price_of(name: str, base_url: str | None = None) -> Price | None:
    """Return the price of a judge such as `openai:gpt-4o-mini`; None if it is unknown.

    A `base_url` has its own prices, if any are known.
    """
    provider, _, model = name.partition(":")
    if provider in LOCAL:
        return Free()
    from genai_prices.types import ModelPrice, TieredPrices, TimeOfDateConstraint

    listed = Listed(model, provider, base_url)
    try:
        listing = listed.calculated()
    except LookupError:
        return None
    if listing.model_price.input_mtok is None and listing.model_price.output_mtok is None:
        return None
    prices = () if isinstance(listing.model.prices, ModelPrice) else listing.model.prices
    timed = any(isinstance(price.constraint, TimeOfDateConstraint) for price in prices)
    if timed or listing.total_price:  # a fee per call
        return Stepped(listed, None, 0)
    rates: Mapping[str, object] = vars(listing.model_price)
    tiered = [rate for rate in rates.values() if isinstance(rate, TieredPrices)]
    starts = [tier.start for rate in tiered for tier in rate.tiers]
    if not starts:
        return listed.flat(_MILLION)
    until = min(starts)
    return Stepped(listed, listed.flat(until) if until else None, until)
