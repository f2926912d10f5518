"""Dry run: estimates the judge calls and cost of a command, without any calls."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Self, TypeVar

from ragstone._internal.concurrency import run_sync
from ragstone._internal.text import span
from ragstone.evaluation.preflight import has_batch_api
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.base import Judge, outcome_of
from ragstone.judges.factory import LEAST, MOST, Guess, make_judge
from ragstone.judges.llm.batches import DISCOUNT
from ragstone.metrics import Metric
from ragstone.types.config import Plan
from ragstone.types.questions import Question, TextSimilarity
from ragstone.types.reply import NOTHING_SPENT, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

T = TypeVar("T")

SMALL = 0.0001
"""The smallest cost that is shown exactly, in US dollars."""
ASSUMED_SENTENCES, ASSUMED_WORDS = 5, 100
"""Assumed sentences of a missing response, and words of each missing context."""


@dataclass(frozen=True)
class Estimate:
    """The expected usage of a command, each as the likely minimum and maximum.

    `cost_usd` is None if the price is unknown; `batch_cost_usd` is the cost with batch APIs, None
    if a judge has none. `local_calls` are free calls of models on this machine.
    """

    calls: tuple[int, int]
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None
    local_calls: tuple[int, int] = (0, 0)
    local_tokens: tuple[int, int] = (0, 0)
    rows: int = 0
    notes: tuple[str, ...] = ()
    batch_cost_usd: tuple[float, float] | None = None

    @classmethod
    def between(cls, one: Usage, other: Usage) -> Self:
        """Return the estimate whose bounds are two usages."""

        def ends(name: str) -> tuple[int, int]:
            low, high = sorted((getattr(one, name), getattr(other, name)))
            return low, high

        costs = [cost for cost in (one.cost_usd, other.cost_usd) if cost is not None]
        return cls(
            calls=ends("calls"),
            prompt_tokens=ends("prompt_tokens"),
            completion_tokens=ends("completion_tokens"),
            cost_usd=(min(costs), max(costs)) if len(costs) == 2 else None,
            local_calls=ends("local_calls"),
            local_tokens=ends("local_tokens"),
        )

    def __str__(self) -> str:
        parts: list[str] = []
        if self.local_calls[1]:
            noun = "call" if self.local_calls == (1, 1) else "calls"
            parts.append(f"{span(*self.local_calls)} {noun} to a local model (free)")
        if self.calls[1]:
            noun = "call" if self.calls == (1, 1) else "calls"
            parts.append(f"{span(*self.calls)} {noun}, {self.cost}")
        return "; ".join(parts) or "no calls, at no cost"

    @property
    def cost(self) -> str:
        return "price unknown" if self.cost_usd is None else _cost(self.cost_usd)

    @property
    def batch_cost(self) -> str | None:
        return self.batch_cost_usd and _cost(self.batch_cost_usd)


def _cost(costs: tuple[float, float]) -> str:
    return f"{span(*map(_price, costs))} (an estimate)"


def _price(dollars: float) -> str:
    if 0 < dollars < SMALL:
        return f"less than ${SMALL}"
    return f"${dollars:.4f}" if 0 < dollars < 1 else f"${dollars:,.2f}"


def estimate_calls(
    plan: Plan,
    kinds: Collection[str],
    work: Callable[[Judge, Guess], Coroutine[object, object, Usage]],
) -> Estimate:
    """Estimate what `work` costs, which asks a judge questions of these kinds; no calls are made.

    It is done twice, with the fewest claims and the shortest replies, and with the most.
    """

    def usage(guess: Guess) -> Usage:
        judge = make_judge(plan, asked=[kinds], guess=guess)
        return run_sync(partial(work, judge, guess))

    return Estimate.between(usage(LEAST), usage(MOST))


async def usage_of(judge: Judge, questions: Iterable[Question[T]]) -> Usage:
    async with judge:
        outcomes = [await outcome_of(judge, question) for question in questions]
    return reduce(add, (outcome.usage for outcome in outcomes), NOTHING_SPENT)


def estimate_rows(
    plan: Plan,
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    *,
    asks_target: bool,
    places: Sequence[int] | None = None,
    around: Callable[[Judge], Judge] = lambda judge: judge,
) -> Estimate:
    """Estimate what judging samples costs, or those at some places; no calls are made.

    `asks_target` means that missing responses and contexts will come from the target. `around`
    wraps the judge.
    """
    places = range(len(samples)) if places is None else places
    unknown = 0

    def rows() -> Iterator[Row]:
        nonlocal unknown
        unknown = 0
        for place in places:
            row = Row(place, samples[place])
            filled = _fill(row, max(plan.cutoffs)) if asks_target else row
            unknown += filled is not row
            yield filled

    asking = [metric for metric in metrics if metric.question_kinds]

    async def usage(guess: Guess) -> tuple[Usage, float]:
        judge = around(make_judge(plan, guess=guess))
        total, saved = Usage(), 0.0
        async with score_rows(rows(), asking, judge, concurrency=1) as scored:
            async for row in scored:
                total += row.usage
                for exchange in row.exchanges:  # embeddings are never sent in batches
                    if exchange.kind != TextSimilarity.kind:
                        saved += (1 - DISCOUNT) * (exchange.outcome.usage.cost_usd or 0.0)
        return total, (total.cost_usd or 0.0) - saved

    (least, cheap), (most, dear) = (run_sync(partial(usage, guess)) for guess in (LEAST, MOST))
    notes: list[str] = []
    if plan.cache and most.prompt_tokens + most.local_tokens > 0:
        notes.append("cached replies are not requested again")
    if unknown:
        which = "1 row has" if unknown == 1 else f"{unknown:,} rows have"
        notes.append(
            f"{which} no response or no contexts yet; {ASSUMED_SENTENCES} sentences and contexts "
            f"of {ASSUMED_WORDS} words are assumed"
        )
    estimate = Estimate.between(least, most)
    batches = has_batch_api(plan) and estimate.cost_usd is not None
    return replace(
        estimate,
        rows=len(places),
        notes=tuple(notes),
        batch_cost_usd=(cheap, dear) if batches else None,
    )


def _fill(row: Row, k: int) -> Row:
    sample = row.sample
    if sample.response is not None and sample.contexts is not None:
        return row
    numbers = range(1, ASSUMED_SENTENCES + 1)
    response = " ".join(f"The system states fact {n} of what was asked here." for n in numbers)
    contexts = (Context(text="context " * ASSUMED_WORDS),) * k
    assumed = {"response": response, "contexts": contexts}
    missing = {name: value for name, value in assumed.items() if getattr(sample, name) is None}
    return Row(row.index, Sample.model_validate({**dict(sample), **missing}))
