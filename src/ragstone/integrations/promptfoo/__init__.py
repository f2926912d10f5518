"""promptfoo: scores in the place of a Python assertion, its configurations, and its results."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from types import MappingProxyType
from typing import NotRequired, TypedDict, cast

from ragstone._internal.concurrency import run_sync
from ragstone._internal.logs import logs
from ragstone._internal.rate_limit import Budget
from ragstone.datasets import samples_of
from ragstone.datasets.responses import record_of
from ragstone.errors import RagstoneError, UnknownNameError, UsageError
from ragstone.evaluation.config_file import OTHER_KEYS, Config, model_names, read_config
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.factory import make_judge
from ragstone.metrics import Metric, select
from ragstone.metrics.claim_checks import ClaimMetric
from ragstone.types.config import ClaimPlan, JudgePlan, Plan
from ragstone.types.gate import reaches
from ragstone.types.policy import get_policy
from ragstone.types.row import Row
from ragstone.types.score import Score, State

DEFAULT_THRESHOLD = 0.5
OWN = ("metric", "threshold", "model", "preset", "config")  # in a `config`, beside the plan's
VARIABLE = "PROMPTFOO_RAGAS_FAITHFULNESS"  # in the environment: turns RAGAS mode on
RAGAS = "promptfoo-plan"  # the preset, and policy, of RAGAS mode
RETRIES = 1  # in RAGAS mode, unless `maxRetries` is set
_OTHERS = ("timeout", "retries", "max_retries", "columns")
KEYS = (*OWN, *JudgePlan.model_fields, *ClaimPlan.model_fields, *_OTHERS)
TYPES = ("python", "not-python")
NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Settings:
    named: str  # the metric as the user wrote it
    metric: Metric
    threshold: float
    plan: Plan

    @classmethod
    def of(cls, config: Mapping[str, object], test: Mapping[str, object] = NOTHING) -> "Settings":
        """Read an assertion's `config`; `test` is the whole test, for the threshold beside it.

        The config takes precedence over RAGSTONE_JUDGE, its preset and its config file.
        """
        if unknown := sorted(config.keys() - set(KEYS)):
            raise UnknownNameError("setting of this assertion", unknown[0], KEYS)
        fields = {OTHER_KEYS.get(key, key): it for key, it in config.items() if key not in OWN}
        if "model" in config:
            if "judge" in config:
                raise UsageError("judge and model are the same setting; use one of them")
            fields["judge"] = model_names(str(config["model"]))
        elif "judge" not in config and (judge := os.environ.get("RAGSTONE_JUDGE", "").strip()):
            fields["judge"] = judge
        file, preset = config.get("config"), config.get("preset")
        if preset is None and "policy" not in config and ragas_in_environment():
            preset, fields = RAGAS, {"retries": RETRIES, **fields}
        settings = Config() if file is None else read_config(str(file))
        plan = settings.plan(fields, preset_name=None if preset is None else str(preset))
        named = str(config.get("metric", "faithfulness"))
        metrics = select([named], **plan.parameters)
        if len(metrics) != 1:
            raise UsageError(
                f"metric: {named} is a group of {len(metrics)} metrics; an assertion takes one"
            )
        metric = metrics[0]
        if not metric.higher_is_better:
            raise UsageError(
                f"metric: lower is better for {named}, but promptfoo passes scores above a "
                "threshold; use a metric where higher is better, such as faithfulness"
            )
        threshold = _threshold(config, test)
        if not isinstance(metric, ClaimMetric):
            return cls(named, metric, DEFAULT_THRESHOLD if threshold is None else threshold, plan)
        own = (metric.threshold, get_policy(metric.policy).threshold, DEFAULT_THRESHOLD)
        threshold = next(each for each in (threshold, *own) if each is not None)
        return cls(named, replace(metric, threshold=threshold), threshold, plan)


def ragas_in_environment() -> bool:
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value in ("", "0", "false", "no", "off"):
        return False
    if value not in ("1", "true", "yes", "on", "yup", "yeppers"):  # promptfoo's words, and `on`
        raise UsageError(f"{VARIABLE}={value:.40}: expected true or false")
    return True


def _threshold(config: Mapping[str, object], test: Mapping[str, object]) -> float | None:
    found = dict.fromkeys(map(_own_threshold, _same_config(config, test)))
    if "threshold" in config:
        return _own_threshold(config)
    if len(found) > 1:
        values = " and ".join("none" if value is None else f"{value:g}" for value in found)
        raise UsageError(
            f"Python assertions with the same config have different thresholds ({values}), and "
            "promptfoo does not report which one is running; put each threshold into its config"
        )
    return next(iter(found), None)


def _same_config(
    config: Mapping[str, object], test: Mapping[str, object]
) -> list[Mapping[str, object]]:
    return [
        one
        for one in _all_assertions(test)
        if one.get("type") in TYPES and (one.get("config") or {}) == config
    ]


def _all_assertions(test: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for one in cast("Sequence[object]", test.get("assert") or ()):
        if isinstance(one, Mapping):
            assertion = cast("Mapping[str, object]", one)
            yield assertion
            yield from _all_assertions(assertion)


def _own_threshold(of: Mapping[str, object]) -> float | None:
    if "threshold" not in of:
        return None
    given = of["threshold"]
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise UsageError(f"threshold: expected a number such as 0.8, got {given!r}")
    return float(given)


GradingResult = TypedDict(
    "GradingResult",
    {
        "pass": bool,
        "score": float,
        "reason": str,
        "metadata": Mapping[str, object],
        "tokensUsed": NotRequired[Mapping[str, int | Mapping[str, int]]],
        "namedScores": NotRequired[Mapping[str, float]],
        "componentResults": NotRequired["list[GradingResult]"],
    },
)


def graded(row: Row, score: Score, value: float, settings: Settings) -> GradingResult:
    passed = score.passed if score.passed is not None else reaches(value, settings.threshold)
    metric, usage, sign = settings.metric, row.usage, ">=" if passed else "<"
    reasons = [score.reason or f"{metric.label} {value:.2f} is {sign} {settings.threshold:g}"]
    components: list[GradingResult] = []
    if isinstance(metric, ClaimMetric):
        weights = get_policy(metric.policy).weights
        for claim in score.claims:
            weight, why = weights[claim.label], f" ({claim.reason})" if claim.reason else ""
            components.append(
                {
                    "pass": weight >= 1,
                    "score": float(weight),
                    "reason": f"{claim.label}: {claim.text}{why}",
                    "metadata": claim.model_dump(mode="json"),
                }
            )
            if weight < 1:
                reasons.append(f'{claim.label}: "{claim.text}"')
    return {
        "pass": passed,
        "score": value,
        "reason": "; ".join(reasons),
        "tokensUsed": {  # `cached` counts replies from ragstone's cache; the total includes them
            "total": usage.prompt_tokens + usage.completion_tokens + usage.reused_tokens,
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "cached": usage.reused_tokens,
            "numRequests": usage.calls,
            "completionDetails": {
                "reasoning": usage.reasoning_tokens,
                "acceptedPrediction": usage.accepted_prediction_tokens,
                "rejectedPrediction": usage.rejected_prediction_tokens,
                "cacheReadInputTokens": usage.cached_tokens,
            },
        },
        "namedScores": {settings.named: value},
        "componentResults": components,
        "metadata": {
            "metric": str(metric),
            "judge": settings.plan.judge,
            "threshold": settings.threshold,
            "cost_usd": usage.cost_usd,
            "detail": dict(score.detail),
        },
    }


class JudgeFailedError(RagstoneError):
    """There is no score: raised, because under `not-python` promptfoo passes failed results."""


def get_assert(output: object, context: Mapping[str, object]) -> GradingResult:
    """Return promptfoo's result for a provider's output, with one component per claim.

    The assertion's `config` sets the judge (see `Settings`); the default is the offline judge.

    Raises:
        JudgeFailedError: the judge did not answer, the score was imputed, or there is nothing to
            judge.
        UsageError: the config or the test's variables are invalid.
    """
    test, config = _part(context, "test"), _part(context, "config")
    settings = Settings.of(config, test)
    columns = settings.plan.columns
    record = record_of(
        _part(context, "vars"),
        output,
        prompt=str(context.get("prompt", "")),
        given=_part(_part(context, "providerResponse"), "metadata"),
        columns=columns,
    )
    sample = samples_of([record], name="the test's vars", columns=columns).samples[0]
    plan, name = settings.plan, settings.named
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[settings.metric.question_kinds], budget=budget)

    async def scored() -> Row:
        metrics = (settings.metric,)
        async with judge, score_rows([Row(0, sample)], metrics, judge, concurrency=1) as rows:
            [row] = [row async for row in rows]
        return row

    with logs():  # promptfoo shows standard error
        row = run_sync(scored)
    score = row.scores[str(settings.metric)]
    if score.fallback:
        raise JudgeFailedError(f"{name} was not judged; {score.value} was imputed: {score.reason}")
    if score.state is State.FAILED:
        raise JudgeFailedError(f"{name} was not judged ({score.cause}): {score.reason}")
    if score.value is None:
        raise JudgeFailedError(f"{name} is undefined for this test: {score.reason}")
    inverted = any(one["type"] == "not-python" for one in _same_config(config, test))
    if inverted and "why" in score.detail:  # nothing was measured, so there is nothing to invert
        raise JudgeFailedError(f"{name} was not measured: {score.reason}")
    return graded(row, score, score.value, settings)


def _part(of: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = of.get(name)
    if name == "config" and not isinstance(found, Mapping | None):  # its threshold was meant
        raise UsageError(f"config: expected a mapping such as {{threshold: 0.8}}, got {found!r}")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
