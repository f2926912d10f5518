"""Assertion: what promptfoo calls for an assertion of type `python`."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict, cast

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.rate_limit import Budget
from ragstone.datasets import samples_of
from ragstone.datasets.adapters.promptfoo import record_of
from ragstone.errors import RagstoneError
from ragstone.evaluation.scoring import score_rows
from ragstone.integrations.promptfoo.config import Settings
from ragstone.judges.factory import make_judge
from ragstone.metrics import ClaimMetric
from ragstone.types.claim import JudgedClaim
from ragstone.types.gate import reaches
from ragstone.types.policy import get_policy
from ragstone.types.reply import Usage
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

# Grading: a Score as the result of a promptfoo assertion.

Tokens = dict[str, int | dict[str, int]]

GradingResult = TypedDict(
    "GradingResult",
    {
        "pass": bool,
        "score": float,
        "reason": str,
        "metadata": Mapping[str, object],
        "tokensUsed": NotRequired[Tokens],
        "namedScores": NotRequired[Mapping[str, float]],
        "componentResults": NotRequired["list[GradingResult]"],
    },
)
"""What promptfoo takes from a Python assertion."""


def graded(row: Row, score: Score, value: float, settings: Settings) -> GradingResult:
    """Return the result of one test that was scored, with its claims as components."""
    passed = score.passed if score.passed is not None else reaches(value, settings.threshold)
    return {
        "pass": passed,
        "score": value,
        "reason": _reason(score, value, settings, passed=passed),
        "tokensUsed": _tokens(row.usage),
        "namedScores": {settings.named: value},
        "componentResults": [_component(claim, settings) for claim in score.claims],
        "metadata": {
            "metric": str(settings.metric),
            "judge": settings.plan.judge,
            "threshold": settings.threshold,
            "cost_usd": row.usage.cost_usd,
            "detail": dict(score.detail),
        },
    }


def _reason(score: Score, value: float, settings: Settings, *, passed: bool) -> str:
    sign = ">=" if passed else "<"
    said = score.reason or f"{settings.metric.label} {value:.2f} is {sign} {settings.threshold:g}"
    metric = settings.metric
    if not isinstance(metric, ClaimMetric):
        return said
    weights = get_policy(metric.policy).weights
    lacking = [claim for claim in score.claims if weights[claim.label] < 1]
    return "; ".join([said, *(f'{claim.label}: "{claim.text}"' for claim in lacking)])


def _component(claim: JudgedClaim, settings: Settings) -> GradingResult:
    metric = settings.metric
    assert isinstance(metric, ClaimMetric), "only metrics of claims have claims"
    weight = get_policy(metric.policy).weights[claim.label]
    why = f" ({claim.reason})" if claim.reason else ""
    return {
        "pass": weight >= 1,
        "score": float(weight),
        "reason": f"{claim.label}: {claim.text}{why}",
        "metadata": claim.model_dump(mode="json"),
    }


def _tokens(usage: Usage) -> Tokens:
    return {
        "total": usage.prompt_tokens + usage.completion_tokens,
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": usage.cached_tokens,
        "numRequests": usage.calls,
        "completionDetails": {
            "reasoning": usage.reasoning_tokens,
            "acceptedPrediction": 0,
            "rejectedPrediction": 0,
        },
    }


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
        async with judge, score_rows([Row(0, sample)], metrics, judge, concurrency=1) as rows:
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
