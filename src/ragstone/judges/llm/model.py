"""Model and Embedder, and what their tokens cost.

A model completes a prompt, an embedder makes vectors of texts; neither knows questions. Prices are
those of the package genai-prices: nothing is looked up online.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from operator import mul
from typing import TYPE_CHECKING, Any, cast

from ragstone._internal.concurrency import AsyncResource
from ragstone._internal.rate_limit import Budget, PaidCall
from ragstone._internal.secrets import redact_known
from ragstone._internal.text import public_url
from ragstone.errors import UsageError
from ragstone.judges.batching import estimated_tokens
from ragstone.types.config import Plan
from ragstone.types.reply import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation


@dataclass(frozen=True)
class ModelPrompt:
    system: str
    user: str
    schema: Mapping[str, object] = field(repr=False)  # the reply's JSON schema, with a title
    max_tokens: int

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.system + self.user) + self.max_tokens // 4


_NORMAL_END = re.compile(
    "(?!.*(?:length|limit|max|error|fail))"
    "(?:(?:hit)?stop|eos|eod|end|imend|finish|complete|done|success|toolcall|tooluse|functioncall)"
    "[a-z]*|none|null|"
)


_FILTERS = ("filter", "safety", "prohibited", "blocklist", "refusal", "recitation", "spii", "guard")
FILTERED = "the provider's content filter stopped the reply"


@dataclass(frozen=True)
class Completion:
    """A model's reply, or the provider's `refusal`; truncated by the token limit or an error."""

    text: str
    refusal: str | None = None
    truncated: bool = False
    thinks: bool = False  # whether the model's thoughts count as tokens of the reply
    usage: Usage = field(default_factory=lambda: Usage(calls=1))

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", redact_known(self.text))
        object.__setattr__(self, "refusal", self.refusal and redact_known(self.refusal))

    @classmethod
    def ended(
        cls,
        finish_reason: str | None,
        text: str,
        usage: Usage,
        *,
        refusal: str | None = None,
        filtered: str = FILTERED,
    ) -> "Completion":
        """Return a reply by why it ended, in the provider's words; `filtered` is by its filter."""
        reason = (finish_reason or "").lower()
        if any(word in reason for word in _FILTERS):
            return cls(text, refusal or filtered, usage=usage)
        letters = "".join(filter(str.isalpha, reason))
        return cls(text, refusal, not _NORMAL_END.fullmatch(letters), usage=usage)


_BOUNDS = frozenset(("maxItems", "maxLength", "maximum", "minItems", "minimum"))


def unbounded(schema: Any, *, lengths_alone: bool = False) -> Any:
    """Return a JSON schema without the limits of texts, numbers and lists, or those of texts."""
    if isinstance(schema, list):
        each = cast("list[object]", schema)
        return [unbounded(item, lengths_alone=lengths_alone) for item in each]
    if not isinstance(schema, Mapping):
        return schema
    dropped = {"maxLength"} if lengths_alone else _BOUNDS
    return {
        key: unbounded(value, lengths_alone=lengths_alone)
        for key, value in cast("Mapping[str, object]", schema).items()
        if key not in dropped
    }


class Model(AsyncResource, ABC):
    """Completes prompts, within `async with model`."""

    name: str
    identity: str  # everything but the prompt that affects its replies: URL, model, options
    url: str = ""  # for reports; empty if its provider implies it

    @abstractmethod
    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete one prompt, or raise a CallError; a UsageError stops the run."""


Vectors = tuple[tuple[float, ...], ...]  # one vector per text


class Embedder(AsyncResource, ABC):
    """Embeds texts, within `async with embedder`."""

    name: str
    identity: str
    url: str = ""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Return the vectors and the usage, or raise a CallError; a UsageError stops the run."""


LOCAL = ("ollama", "lmstudio", "vllm")  # providers on the user's own machine

EXTRA = 1000  # tokens that a provider adds to a prompt at most, for messages, schemas and tools


@dataclass(frozen=True)
class Price:
    """The list price of a model's tokens in US dollars: costs are estimates."""

    rates: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Of a token of the prompt, of its cached part, of the completion, of its reasoning part."""
    until: float = inf  # tokens of the longest prompt with these rates; -1 if time or calls matter
    calculate: "Callable[..., PriceCalculation] | None" = field(default=None, compare=False)
    """The slower calculation for all other prompts."""

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
            return float(calculated.total_price)
        counts = (prompt - cached, cached, completion - reasoning, reasoning)
        return sum(map(mul, self.rates, counts))

    def most(self, texts: Iterable[str], completion: int = 0) -> float:
        """Return the highest cost of a call with these texts and so many tokens of reply."""
        # no tokenizer makes more tokens than a text has bytes
        prompt = EXTRA + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
        special = replace(usage, cached_tokens=prompt, reasoning_tokens=completion)
        return max(self.cost(usage) or 0.0, self.cost(special) or 0.0)


FREE = Price()


def paid_call(
    budget: Budget, price: Price | None, texts: Iterable[str], completion: int = 0
) -> PaidCall:
    if price is None or budget.max_cost is None:
        return PaidCall(budget, 0.0)
    return PaidCall(budget, price.most(texts, completion))


def priced(usage: Usage, price: Price | None, texts: Iterable[str], reply: str = "") -> Usage:
    """Return the usage with its cost, by estimated tokens if the server reports none."""
    counted = usage
    if not usage.prompt_tokens and not usage.completion_tokens:  # a budget holds all the same
        prompt, completion = sum(map(estimated_tokens, texts)), estimated_tokens(reply)
        counted = replace(usage, prompt_tokens=prompt, completion_tokens=completion)
    return replace(usage, cost_usd=price and price.cost(counted))


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
    size = int(min(until, 1_000_000))

    def rate(**tokens: int) -> float:
        return float(calculate(**tokens).total_price) / size

    rates = (
        rate(input_tokens=size),
        rate(input_tokens=size, cache_read_tokens=size),
        rate(output_tokens=size),
        rate(output_tokens=size, output_reasoning_tokens=size),
    )
    return Price(rates, until, calculate)


def required_price(plan: Plan, name: str, url: str | None) -> Price | None:
    price = price_of(name, url)
    if plan.max_cost is not None and price is None:
        at = f" at {public_url(url)}" if url else ""
        raise UsageError(
            f"the price of {name}{at} is unknown, so max_cost cannot be enforced; use max_calls"
        )
    return price
