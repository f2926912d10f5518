"""Dry run: estimates the judge calls and cost of an evaluation, without any calls."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.text import span
from ragstone.evaluation.effects import has_batch_api
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.base import Judge
from ragstone.judges.dry_run import LEAST, MOST, Guess
from ragstone.judges.factory import make_judge
from ragstone.judges.llm.batches import DISCOUNT
from ragstone.metrics import Metric
from ragstone.types.config import Plan
from ragstone.types.questions import TextSimilarity
from ragstone.types.reply import Usage
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

SMALL = 0.0001
"""The smallest cost that is shown exactly, in US dollars."""
ASSUMED_SENTENCES, ASSUMED_WORDS = 5, 100
"""Assumed sentences of a missing response, and words of each missing context."""


@dataclass(frozen=True)
class Estimate:
    """The expected usage of a run, each as the likely minimum and maximum.

    `cost_usd` is None if the price is unknown; `batch_cost_usd` is the cost with batch APIs, None
    if a judge has none. `local_calls` are free calls of models on this machine.
    """

    rows: int
    calls: tuple[int, int]
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None
    local_calls: tuple[int, int] = (0, 0)
    local_tokens: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    batch_cost_usd: tuple[float, float] | None = None

    def __str__(self) -> str:
        noun = "call" if self.calls == (1, 1) else "calls"
        return f"{span(*self.calls)} {noun}, {self.cost}"

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


def estimate_usage(
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

    async def usage_of(guess: Guess) -> tuple[Usage, float]:
        judge = around(make_judge(plan, guess=guess))
        total, saved = Usage(), 0.0
        async with score_rows(rows(), asking, judge, concurrency=1) as scored:
            async for row in scored:
                total += row.usage
                for exchange in row.exchanges:  # embeddings are never sent in batches
                    if exchange.kind != TextSimilarity.kind:
                        saved += (1 - DISCOUNT) * (exchange.outcome.usage.cost_usd or 0.0)
        return total, (total.cost_usd or 0.0) - saved

    (least, cheap), (most, dear) = (
        finish_in_thread(partial(usage_of, guess)) for guess in (LEAST, MOST)
    )
    notes: list[str] = []
    if plan.cache and most.prompt_tokens + most.local_tokens > 0:
        notes.append("cached replies are not requested again")
    if unknown:
        which = "1 row has" if unknown == 1 else f"{unknown:,} rows have"
        notes.append(
            f"{which} no response or no contexts yet; {ASSUMED_SENTENCES} sentences and contexts "
            f"of {ASSUMED_WORDS} words are assumed"
        )
    costs = (least.cost_usd, most.cost_usd)
    return Estimate(
        rows=len(places),
        calls=(least.calls, most.calls),
        prompt_tokens=(least.prompt_tokens, most.prompt_tokens),
        completion_tokens=(least.completion_tokens, most.completion_tokens),
        cost_usd=None if costs[0] is None or costs[1] is None else (costs[0], costs[1]),
        local_calls=(least.local_calls, most.local_calls),
        local_tokens=(least.local_tokens, most.local_tokens),
        notes=tuple(notes),
        batch_cost_usd=(cheap, dear) if None not in costs and has_batch_api(plan) else None,
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
