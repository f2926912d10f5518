"""Prices of models, from the package genai-prices; nothing is looked up online."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import inf
from operator import mul
from typing import TYPE_CHECKING

from ragstone._internal.rate_limit import Budget, PaidCall
from ragstone.types.reply import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

LOCAL = ("ollama", "lmstudio", "vllm")
"""Providers on the user's own machine."""

EXTRA = 1000
"""Tokens that a provider adds to a prompt, at most: the format of messages, schemas and tools."""

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """The list price of a model's tokens in US dollars: costs are estimates.

    Attributes:
        rates: the price of a token of the prompt, of its cached part, of the completion, and of
            its reasoning part.
        until: the longest prompt, in tokens, with these rates; -1 if the price depends on the time
            of day, or includes a fee per call.
        calculate: the slower calculation for all other prompts.
        share: the share of it that is paid, for example in batches.
    """

    rates: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    until: float = inf
    calculate: "Callable[..., PriceCalculation] | None" = field(default=None, compare=False)
    share: float = 1.0

    def cost(self, usage: Usage) -> float | None:
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        if not prompt and not completion:
            return 0.0 if self == FREE else None
        cached = min(usage.cached_tokens, prompt)
        reasoning = min(usage.reasoning_tokens, completion)
        if self.calculate and prompt > self.until:
            calculated = self.calculate(
                input_tokens=prompt,
                cache_read_tokens=cached,
                output_tokens=completion,
                output_reasoning_tokens=reasoning,
            )
            return self.share * float(calculated.total_price)
        counts = (prompt - cached, cached, completion - reasoning, reasoning)
        return self.share * sum(map(mul, self.rates, counts))

    def most(self, texts: Iterable[str], completion: int = 0) -> float:
        """Return the highest cost of a call with these texts and at most so many tokens of reply.

        No tokenizer makes more tokens than a text has bytes.
        """
        prompt = EXTRA + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        usages = (
            Usage(prompt_tokens=prompt, completion_tokens=completion),
            Usage(
                prompt_tokens=prompt,
                cached_tokens=prompt,
                completion_tokens=completion,
                reasoning_tokens=completion,
            ),
        )
        plain, discounted = map(self.cost, usages)
        return max(plain or 0.0, discounted or 0.0)


FREE = Price()


def paid_call(
    budget: Budget, price: Price | None, texts: Iterable[str], completion: int = 0
) -> PaidCall:
    if price is None or budget.max_cost is None:
        return PaidCall(budget, 0.0)
    return PaidCall(budget, price.most(texts, completion))


@cache
def price_of(name: str, base_url: str | None = None) -> Price | None:
    provider, _, model = name.partition(":")
    if provider in LOCAL:
        return FREE
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price
    from genai_prices.types import ModelPrice, TieredPrices, TimeOfDateConstraint

    def calculate(**tokens: int) -> "PriceCalculation":
        if base_url:
            return calc_price(Tokens(**tokens), model, provider_api_url=base_url)
        return calc_price(Tokens(**tokens), model, provider_id=provider)

    try:
        listing = calculate()
    except LookupError:
        return None
    if listing.model_price.input_mtok is None and listing.model_price.output_mtok is None:
        return None
    prices = () if isinstance(listing.model.prices, ModelPrice) else listing.model.prices
    is_timed = any(isinstance(price.constraint, TimeOfDateConstraint) for price in prices)
    found: Mapping[str, object] = vars(listing.model_price)
    tiered = [price for price in found.values() if isinstance(price, TieredPrices)]
    until = min((tier.start for price in tiered for tier in price.tiers), default=inf)
    if is_timed or listing.total_price or not until:  # no tokens have a price: a fee per call
        return Price(until=-1, calculate=calculate)
    size = int(min(until, _MILLION))

    def rate(**tokens: int) -> float:
        return float(calculate(**tokens).total_price) / size

    rates = (
        rate(input_tokens=size),
        rate(input_tokens=size, cache_read_tokens=size),
        rate(output_tokens=size),
        rate(output_tokens=size, output_reasoning_tokens=size),
    )
    return Price(rates, until, calculate)
