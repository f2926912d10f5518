"""Settings: what the `config` of an assertion says, and the metric, mark and plan it means."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

from ragstone.config import Config, model_names, read_config
from ragstone.errors import UnknownNameError, UsageError
from ragstone.metrics import ClaimMetric, Metric, select
from ragstone.plan import ClaimPlan, JudgePlan, Plan
from ragstone.policies import get_policy

MARK = 0.5
"""What a score has to reach where neither the test nor the policy says."""

OWN = ("metric", "threshold", "model", "preset", "config")
"""What a `config` may say beside fields of the plan."""
_ASKING = ("timeout", "retries", "columns")
KEYS = (*OWN, *JudgePlan.model_fields, *ClaimPlan.model_fields, *_ASKING)
TYPES = ("python", "not-python")

NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Settings:
    """What one assertion is judged by; `named` is the metric as the user wrote it."""

    named: str
    metric: Metric
    mark: float
    plan: Plan

    @classmethod
    def of(cls, said: Mapping[str, object], test: Mapping[str, object] = NOTHING) -> "Settings":
        """Read an assertion's `config`; `test` is the whole test, for the threshold beside it.

        What it says goes before RAGSTONE_JUDGE, then its preset, then the file that it names.

        Raises:
            UsageError: it says what there is not, or what promptfoo could not make use of.
        """
        if strange := sorted(said.keys() - set(KEYS)):
            raise UnknownNameError("setting of this assertion", strange[0], KEYS)
        plan = _plan(said)
        named = str(said.get("metric", "faithfulness"))
        metrics = select([named], **plan.parameters)
        if len(metrics) != 1:
            raise UsageError(f"metric: {named} is {len(metrics)} metrics; an assertion is one")
        metric = metrics[0]
        if not metric.higher_is_better:
            raise UsageError(
                f"metric: {named} is better when lower, and promptfoo passes what reaches a "
                "threshold; name one that is better when higher, such as faithfulness"
            )
        mark = _mark(said, test)
        if not isinstance(metric, ClaimMetric):
            return cls(named, metric, MARK if mark is None else mark, plan)
        own = (metric.mark, get_policy(metric.policy).mark, MARK)
        mark = next(each for each in (mark, *own) if each is not None)
        return cls(named, replace(metric, mark=mark), mark, plan)


def _plan(said: Mapping[str, object]) -> Plan:
    fields = {key: value for key, value in said.items() if key not in OWN}
    if "model" in said:
        if "judge" in said:
            raise UsageError("judge and model say the same; leave one out")
        fields["judge"] = model_names(str(said["model"]))
    elif "judge" not in said and (judge := os.environ.get("RAGSTONE_JUDGE", "").strip()):
        fields["judge"] = judge
    file, preset = said.get("config"), said.get("preset")
    config = Config() if file is None else read_config(str(file))
    return config.plan(fields, preset_said=None if preset is None else str(preset))


def _mark(said: Mapping[str, object], test: Mapping[str, object]) -> float | None:
    """Return the threshold in the `config`, else the one that stands beside it in the test."""
    found = dict.fromkeys(_beside(each) for each in _alike(said, test))
    if "threshold" in said:
        return _number(said["threshold"])
    if len(found) > 1:
        marks = " and ".join("none" if mark is None else f"{mark:g}" for mark in found)
        raise UsageError(
            f"Python assertions with the same config have different thresholds ({marks}), and "
            "promptfoo does not tell which of them asks; put each threshold into its config"
        )
    return next(iter(found), None)


def _beside(assertion: Mapping[str, object]) -> float | None:
    return _number(assertion["threshold"]) if "threshold" in assertion else None


def _alike(said: Mapping[str, object], test: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the Python assertions of a test that have this config, those in sets too."""
    found = list(_assertions(test))
    return [one for one in found if one.get("type") in TYPES and (one.get("config") or {}) == said]


def _assertions(test: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for one in cast("Sequence[object]", test.get("assert") or ()):
        if isinstance(one, Mapping):
            assertion = cast("Mapping[str, object]", one)
            yield assertion
            yield from _assertions(assertion)


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise UsageError(f"threshold: {given!r} is no number, such as 0.8")
    return float(given)
