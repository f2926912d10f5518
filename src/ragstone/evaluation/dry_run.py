"""Estimation: what a run would take of its judge, without asking anybody."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Unpack

from ragstone.errors import UsageError
from ragstone.evaluation.runner import Data, Evaluation, Options, plan_of
from ragstone.evaluation.scoring import scoring
from ragstone.judges.base import Judge
from ragstone.judges.dry_run import LEAST, MOST, Guess
from ragstone.judges.factory import make_judge
from ragstone.types.reply import Usage
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

ASSUMED_SENTENCES, ASSUMED_WORDS = 5, 100
"""Sentences of an answer that is not known yet, and words of each of its contexts."""


@dataclass(frozen=True)
class Estimate:
    """What a run would take: each as the least and the most that is likely.

    `cost_usd` is None where no price is known. `local_calls` are of models on this machine, with
    `local_tokens`: they cost nothing, and no limit holds them.
    """

    rows: int
    calls: tuple[int, int]
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None
    local_calls: tuple[int, int] = (0, 0)
    local_tokens: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def estimate(data: Data, **options: Unpack[Options]) -> Estimate:
    """Estimate the judge's part of `evaluate` with the same options; no call is made.

    Calls are exact where the claims of a response fit one batch (see `batch_size`) and no reply
    has to be asked for again.

    Raises:
        UsageError: what was asked cannot be done.
    """
    plan = plan_of(options)
    if not isinstance(options.get("judge", plan.judge), str):
        raise UsageError("an estimate needs a judge with a name; nobody knows what others take")
    unlimited = plan.model_copy(update={"max_calls": None, "max_cost": None})
    objects: Options = {"judge": make_judge(plan, guess=LEAST), "plan": unlimited}
    if "target" in options:
        objects["target"] = options["target"]
    evaluation = Evaluation.of(data, **objects)
    rows = [Row(n, sample) for n, sample in enumerate(evaluation.dataset.samples)]
    assumed = [_assumed(row, max(plan.cutoffs)) for row in rows] if evaluation.wanted else rows

    def counted(guess: Guess) -> Usage:
        return asyncio.run(_counted(evaluation, assumed, make_judge(plan, guess=guess)))

    with ThreadPoolExecutor(1) as thread:  # with a loop of its own: the caller may have one
        least, most = thread.map(counted, (LEAST, MOST))
    unknown = sum(row is not known for row, known in zip(assumed, rows, strict=True))
    costs = (least.cost_usd, most.cost_usd)
    return Estimate(
        rows=len(rows),
        calls=(least.calls, most.calls),
        prompt_tokens=(least.prompt_tokens, most.prompt_tokens),
        completion_tokens=(least.completion_tokens, most.completion_tokens),
        cost_usd=None if costs[0] is None or costs[1] is None else (costs[0], costs[1]),
        local_calls=(least.local_calls, most.local_calls),
        local_tokens=(least.local_tokens, most.local_tokens),
        notes=_notes(unknown, cached=plan.cache and most.prompt_tokens + most.local_tokens > 0),
    )


def _notes(unknown: int, *, cached: bool) -> tuple[str, ...]:
    notes = ["replies in the cache are not asked for again"] if cached else []
    if unknown:
        lack = "1 row lacks" if unknown == 1 else f"{unknown:,} rows lack"
        notes.append(
            f"{lack} an answer or its contexts: {ASSUMED_SENTENCES} sentences and "
            f"contexts of {ASSUMED_WORDS} words each are assumed"
        )
    return tuple(notes)


async def _counted(evaluation: Evaluation, rows: list[Row], judge: Judge) -> Usage:
    metrics = [metric for metric in evaluation.metrics if metric.question_kinds]
    usage = Usage()
    async with scoring(rows, metrics, judge, concurrency=1) as scored:
        async for row in scored:
            usage += row.usage
    return usage


def _assumed(row: Row, k: int) -> Row:
    """Return the row with an answer and contexts where it has none yet."""
    sample = row.sample
    if sample.response is not None and sample.contexts is not None:
        return row
    numbers = range(1, ASSUMED_SENTENCES + 1)
    response = " ".join(f"The system states fact {n} of what was asked here." for n in numbers)
    contexts = (Context(text="context " * ASSUMED_WORDS),) * k
    filled = Sample.model_validate(
        {
            **dict(sample),
            "response": sample.response if sample.response is not None else response,
            "contexts": sample.contexts if sample.contexts is not None else contexts,
        }
    )
    return Row(row.index, filled)
