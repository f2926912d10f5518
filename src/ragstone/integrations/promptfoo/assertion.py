"""Assertion: what promptfoo calls for an assertion of type `python`."""

from collections.abc import Mapping
from typing import cast

from ragstone.budget import Budget
from ragstone.datasets import samples_of
from ragstone.datasets.promptfoo_tests import record_of
from ragstone.errors import RagstoneError
from ragstone.integrations.promptfoo.grading import GradingResult, graded
from ragstone.integrations.promptfoo.settings import Settings
from ragstone.judges.making import make_judge
from ragstone.rows import Row
from ragstone.samples import Sample
from ragstone.scores import Score, State
from ragstone.scoring import scoring
from ragstone.workers import finish_in_thread


class JudgeFailedError(RagstoneError):
    """There is no score that may pass or fail.

    promptfoo turns a failed result into a passed one under `not-python`, also one with an `error`;
    what is raised fails under both.
    """


def get_assert(output: object, context: Mapping[str, object]) -> GradingResult:
    """Return promptfoo's result for what a provider answered, one component a claim.

    The `config` of the assertion says how it is judged (see `Settings`); the offline judge does
    it else.

    Raises:
        JudgeFailedError: the judge did not answer, the policy made the number up, or there is
            nothing to judge; no result that `not-` could turn into a pass.
        UsageError: the config or the test's variables cannot be used.
    """
    test = _part(context, "test")
    settings = Settings.of(_part(context, "config"), test)
    columns = settings.plan.columns
    record = record_of(
        _part(context, "vars"),
        output,
        prompt=str(context.get("prompt", "")),
        given=_part(_part(context, "providerResponse"), "metadata"),
        columns=columns,
    )
    sample = samples_of([record], name="the test's vars", columns=columns).samples[0]
    row = _scored(sample, settings)
    score = row.scores[str(settings.metric)]
    return graded(row, score, _value(score, settings), settings)


def _part(of: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = of.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _scored(sample: Sample, settings: Settings) -> Row:
    plan, metrics = settings.plan, (settings.metric,)
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[settings.metric.question_kinds], budget=budget)
    done: list[Row] = []

    async def finish() -> None:
        async with judge, scoring([Row(0, sample)], metrics, judge, concurrency=1) as rows:
            done.extend([row async for row in rows])

    finish_in_thread(finish)
    return done[0]


def _value(score: Score, settings: Settings) -> float:
    """Return a number that the judge stands behind."""
    name = settings.named
    if score.fallback:
        raise JudgeFailedError(
            f"{name} was not judged, and {score.value} is made up: {score.reason}"
        )
    if score.value is not None:
        return score.value
    if score.state is State.FAILED:
        raise JudgeFailedError(f"{name} was not judged ({score.cause}): {score.reason}")
    raise JudgeFailedError(f"{name} says nothing of this test: {score.reason}")
