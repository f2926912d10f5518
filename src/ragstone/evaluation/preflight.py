"""Preflight: which metrics can run, which fields the target must return, and the gates."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragstone._internal.text import join_by_reason
from ragstone.datasets.columns import ALIASES, flag, misspelt
from ragstone.errors import UsageError
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.spec import is_model
from ragstone.metrics import GROUPS, select
from ragstone.metrics.base import Metric
from ragstone.results.calibration import load_calibration
from ragstone.targets.base import FIELDS
from ragstone.types.config import Plan
from ragstone.types.gate import Gate
from ragstone.types.questions import TextSimilarity
from ragstone.types.sample import STAND_INS, in_words

if TYPE_CHECKING:
    from ragstone.datasets import Dataset
    from ragstone.judges.base import Judge
    from ragstone.targets.base import Target


LLM = "openai:gpt-4o-mini"
"""The judge if nothing sets one, and a metric requested by name needs an LLM."""
LLM_KEY = "OPENAI_API_KEY"
_ANSWERED_OFFLINE = (OfflineJudge.kinds or frozenset()) | {TextSimilarity.kind}


def needing_llm(plan: Plan) -> Sequence[str]:
    """Return the metrics that are requested by name and that the offline judge cannot answer.

    Empty if anything sets the judge, or `offline` is set: then no other judge is used.
    """
    if "judge" in plan.model_fields_set or plan.offline:
        return ()
    named = [name for name in plan.metrics if name not in GROUPS]
    metrics = select(named, **plan.parameters)
    return [str(each) for each in metrics if not _ANSWERED_OFFLINE.issuperset(each.question_kinds)]


def with_llm(plan: Plan) -> Plan:
    has_key = bool(os.environ.get(LLM_KEY, "").strip())
    return plan.model_copy(update={"judge": LLM}) if has_key and needing_llm(plan) else plan


def llm_reason(plan: Plan) -> str:
    names = ", ".join(needing_llm(plan))
    return (
        f"The judge is {LLM}, because the offline judge cannot score {names} and {LLM_KEY} is set"
    )


@dataclass(frozen=True)
class Preflight:
    """What a run can do, known before any call.

    Attributes:
        metrics: metrics that can score at least one row.
        refused: metric name -> why it cannot run.
        wanted: the Sample fields to ask the target for.
        notices: which metrics cannot run because of a column that is probably misspelt.
    """

    metrics: tuple[Metric, ...]
    refused: Mapping[str, str]
    wanted: frozenset[str]
    notices: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        dataset: "Dataset",
        *,
        judge: "Judge",
        target: "Target | None",
        every: bool,
    ) -> "Preflight":
        """Compare the needs of metrics with the rows, the target and the judge.

        The target is asked for fields that no row has; with `every`, for all needed fields.
        """
        present = _with_stand_ins(dataset.contents.fields)
        # a tag named almost like a field was probably meant to be that field
        similar = misspelt(dataset.contents.tags, [name for name in ALIASES if name not in present])
        hints = {
            field: f"no row has {in_words(field)}; did you mean column {tag!r}? Map it with "
            f"{flag(field, tag)}"
            for field, (tag, _) in similar.items()
        }
        absent = hints | dict(dataset.absent)
        present |= _with_stand_ins(dataset.known)
        gives = target.gives if target else frozenset[str]()
        refused = {
            str(metric): reason
            for metric in metrics
            if (reason := _obstacle(metric, judge, present | _with_stand_ins(gives), absent))
        }
        ready = tuple(metric for metric in metrics if str(metric) not in refused)
        needs = {need for metric in ready for need in metric.needs if need in FIELDS}
        missing = needs if every else needs - present
        wanted = {need if need in gives else STAND_INS.get(need, need) for need in missing}
        if target and not every:  # rather than replace what the file may contain
            for field in sorted(wanted & similar.keys()):
                raise UsageError(
                    f"{absent[field]}, or name the system to call with --api-url or --target"
                )
        hinted = {name: why for name, why in refused.items() if why in hints.values()}
        notices = tuple(f"Not run: {line}" for line in join_by_reason(hinted))
        return cls(ready, refused, frozenset(wanted) & gives, notices)

    def check_requested(self, plan: Plan) -> None:
        by_name = [name for name in plan.metrics if name not in GROUPS]
        requested = set(map(str, select(by_name, **plan.parameters)))
        refused = {
            name: why for name, why in self.refused.items() if name in requested or not self.metrics
        }
        if refused or not self.metrics:
            reasons = "; ".join(join_by_reason(refused))
            if needing_llm(plan):
                reasons += f". To use {LLM}, set {LLM_KEY}"
            raise UsageError(f"cannot run {reasons or 'without metrics; name at least one'}")


def runnable(
    metrics: Sequence[Metric],
    dataset: "Dataset",
    *,
    judge: "Judge",
    target: "Target | None",
    every: bool,
) -> list[Metric]:
    try:
        return list(Preflight.of(metrics, dataset, judge=judge, target=target, every=every).metrics)
    except UsageError:  # about a field of one metric or more
        if len(metrics) == 1:
            return []
    found = (runnable([each], dataset, judge=judge, target=target, every=every) for each in metrics)
    return [metric for several in found for metric in several]


def _with_stand_ins(fields: frozenset[str]) -> frozenset[str]:
    return fields | {need for need, other in STAND_INS.items() if other in fields}


def _obstacle(
    metric: Metric, judge: "Judge", available: frozenset[str], absent: Mapping[str, str]
) -> str | None:
    if extras := [extra for name, extra in metric.packages.items() if find_spec(name) is None]:
        return f"needs an extra: pip install '{extras[0]}'"
    if unsupported := [kind for kind in metric.question_kinds if not judge.takes(kind)]:
        hint = "" if is_model(judge.name) else "; use an LLM (--model or --judge)"
        return f"the judge {judge.name} does not support {', '.join(unsupported)}{hint}"
    if missing := [need for need in metric.needs if need not in available]:
        if reasons := [absent[need] for need in missing if need in absent]:
            return reasons[0]
        hint = ", and no target provides it" if set(missing) <= set(FIELDS) else ""
        words = " or ".join(map(in_words, missing))
        return f"no row has {words}{hint}"
    return None


def resolve_gates(plan: Plan, metrics: Sequence[Metric]) -> tuple[Gate, ...]:
    if plan.calibration is not None:
        load_calibration(plan.calibration)
    known = {str(metric): metric for metric in metrics}
    gates: list[Gate] = []
    for gate in plan.gates:
        requested = gate.metric
        selected = () if requested in GROUPS else select([requested], **plan.parameters)
        names = list(map(str, selected))
        same_name = [full for full, metric in known.items() if metric.name == requested]
        matches = [name for name in names if name in known] or same_name
        if len(matches) > 1:
            raise UsageError(
                f"the gate {requested} matches several metrics: {', '.join(matches)}; "
                f"use a full name, such as {matches[0]}"
            )
        name = (matches or names or [requested])[0]
        text = f"the gate {requested} {gate.op} {gate.threshold:g}"
        if name not in known:
            raise UsageError(
                f"{text} applies to a metric that is not in this run ({', '.join(known)})"
            )
        metric = known[name]
        low, high = (0.0, 1.0) if gate.of == "scored" else metric.range
        if not low <= gate.threshold <= high:
            hint = "; write 80 percent as 0.8 or 80%" if (low, high) == (0, 1) else ""
            raise UsageError(f"{text}: {name} ranges from {low:g} to {high:g}{hint}")
        if gate.of != "scored" and metric.higher_is_better != (gate.op == ">="):
            better, flag = ("higher", "under") if metric.higher_is_better else ("lower", "over")
            raise UsageError(f"{text}: {better} is better for {name}; use --fail-{flag}")
        of = plan.gates_on if gate.of == "mean" else gate.of
        if of == "corrected" and plan.calibration is None:
            raise UsageError(f"{text} is on the corrected mean, which needs --calibration NAME")
        gates.append(gate.model_copy(update={"metric": name, "of": of}))
    return tuple(gates)
