"""Preflight: which metrics can run, which fields the target must return, and the gates.

It also checks the settings whose silent loss would mislead: LLM settings with another judge,
limits without a paid judge, and a threshold without a target.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from ragstone._internal.text import join_by_reason, listing
from ragstone.datasets import Dataset
from ragstone.datasets.columns import ALIASES, mapping, misspelt
from ragstone.errors import UsageError
from ragstone.judges.base import Judge
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.spec import is_model, split_names
from ragstone.metrics import GROUPS, select
from ragstone.metrics.base import Metric
from ragstone.results.calibration import load_calibration
from ragstone.targets.base import FIELDS, Target
from ragstone.types.claim import Label
from ragstone.types.config import Plan
from ragstone.types.gate import Gate
from ragstone.types.questions import TextSimilarity
from ragstone.types.sample import SUBSTITUTE_FIELDS, describe_field

LLM = "openai:gpt-4o-mini"  # if nothing sets a judge, and a metric requested by name needs an LLM
LLM_KEY = "OPENAI_API_KEY"
NO_TARGET = "no RAG system is called; for a pass mark, use fail_under (--fail-under)"
VERDICT_METRICS = ("answer_correctness", "abstention")
_OFFLINE = OfflineJudge.kinds or frozenset[str]()
_ANSWERED_OFFLINE = _OFFLINE | {TextSimilarity.kind}


def needing_llm(plan: Plan) -> Sequence[str]:
    """Return metrics requested by name that only an LLM can answer, unless the judge is set."""
    if "judge" in plan.model_fields_set:
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


def with_verdict(plan: Plan, dataset: Dataset, *, answered: bool) -> Plan:
    """Return the default plan with the metrics of the verdict, if they are free.

    `answered` is whether there are answers: in the data, or from a target that was named.
    """
    fields = dataset.contents.fields
    paid = plan.embedding_model is not None or any(map(is_model, split_names(plan.judge)))
    if paid or not answered or "metrics" in plan.model_fields_set or "reference" not in fields:
        return plan
    more = [*VERDICT_METRICS, *([] if "relevance" in fields else ["context_recall"])]
    return plan.model_copy(update={"metrics": (*plan.metrics, *more)})


@dataclass(frozen=True)
class Preflight:
    metrics: tuple[Metric, ...]  # those that can score at least one row
    refused: Mapping[str, str]  # metric name -> why it cannot run
    wanted: frozenset[str]  # the Sample fields to ask the target for
    unread: str = ""  # columns that are only tags, as the end of a message on missing fields
    # metric name -> why a column probably has the field it would ask the target for
    doubtful: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def compare(
        cls,
        metrics: Sequence[Metric],
        dataset: Dataset,
        *,
        judge: Judge,
        target: Target | None = None,
        every: bool = False,
    ) -> "Preflight":
        """The target is asked for fields that no row has; with `every`, for all needed fields."""
        present = _with_stand_ins(dataset.contents.fields)
        # a tag named almost like a field was probably meant to be that field
        similar = misspelt(dataset.contents.tags, [name for name in ALIASES if name not in present])
        hints = {
            field: f"no row has {describe_field(field)}; did you mean column {tag!r}? Use "
            f"{mapping(field, tag)}"
            for field, tag in similar.items()
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
        wanted: set[str] = set()
        doubtful: dict[str, str] = {}
        for metric in ready:
            fields = {
                name if name in gives else SUBSTITUTE_FIELDS.get(name, name)
                for name in metric.needs
                if name in FIELDS and (every or name not in present)
            }
            wanted |= fields
            if target and not every and (unclear := sorted(fields & absent.keys())):
                doubtful[str(metric)] = absent[unclear[0]]
        tags = listing(dataset.contents.tags if dataset.source.fields else (), 8)
        unread = tags and f"; columns that are only tags: {tags} (map FIELD=COLUMN)"
        return cls(ready, refused, frozenset(wanted) & gives, unread, doubtful)

    @property
    def certain(self) -> list[Metric]:
        return [metric for metric in self.metrics if str(metric) not in self.doubtful]

    def check(self, metrics: Sequence[Metric], plan: Plan) -> None:
        """Raise a UsageError if none of a plan's metrics can run, or not one requested by name."""
        by_name = [name for name in plan.metrics if name not in GROUPS]
        all_by_name = len(by_name) == len(plan.metrics)
        requested = metrics if all_by_name else select(by_name, **plan.parameters)
        for hint in self.doubtful.values():  # rather than replace what the file may contain
            raise UsageError(f"{hint}, or set target to the system to call")
        names = set(map(str, requested)) if self.metrics else self.refused.keys()
        refused = {name: why for name, why in self.refused.items() if name in names}
        if refused or not self.metrics:
            reasons = "; ".join(join_by_reason(refused))
            if "no row has" in reasons:
                reasons += self.unread
            if needing_llm(plan):
                reasons += f". To use {LLM}, set {LLM_KEY}"
            raise UsageError(f"cannot run {reasons or 'without metrics; name at least one'}")


def lacks_fields(metrics: Sequence[Metric], dataset: Dataset) -> bool:
    present = _with_stand_ins(dataset.contents.fields) | _with_stand_ins(dataset.known)
    return any(need in FIELDS and need not in present for each in metrics for need in each.needs)


def _with_stand_ins(fields: frozenset[str]) -> frozenset[str]:
    return fields | {need for need, other in SUBSTITUTE_FIELDS.items() if other in fields}


def _obstacle(
    metric: Metric, judge: Judge, available: frozenset[str], absent: Mapping[str, str]
) -> str | None:
    if extras := [extra for name, extra in metric.packages.items() if find_spec(name) is None]:
        return f"needs an extra: pip install '{extras[0]}'"
    if unsupported := [kind for kind in metric.question_kinds if not judge.takes(kind)]:
        hint = "" if is_model(judge.name) else "; use an LLM as judge"
        return f"the judge {judge.name} does not support {', '.join(unsupported)}{hint}"
    if missing := [need for need in metric.needs if need not in available]:
        if reasons := [absent[need] for need in missing if need in absent]:
            return reasons[0]
        hint = ", and no target provides it" if set(missing) <= set(FIELDS) else ""
        words = " or ".join(map(describe_field, missing))
        return f"no row has {words}{hint}"
    return None


LLM_SETTINGS = frozenset(
    "votes base_url temperature max_tokens context_window strict_json prompts judge_headers "
    "judge_body rpm tpm".split()
)
LIMITS = frozenset({"max_calls", "max_cost", "rpm", "tpm"})


def check_judge_settings(explicit: Collection[str], plan: Plan) -> None:
    llm = sorted(LLM_SETTINGS.intersection(explicit))
    if llm and plan.embedding_model is None and not any(map(is_model, split_names(plan.judge))):
        raise UsageError(
            f"{', '.join(llm)}: only for LLM judges, but the judge is {plan.judge}; choose "
            "an LLM as judge"
        )


def idle_settings(
    explicit: Collection[str],
    plan: Plan,
    *,
    metrics: Sequence[Metric],
    target: Target | None,
    own_judge: bool = False,
) -> list[str]:
    """Return notices about limits without a paid judge, and a threshold that no target obeys."""
    notices: list[str] = []
    if plan.gates_on != "mean" and not plan.gates:
        notices.append(f"gates_on={plan.gates_on} has no effect: no gate is set")
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    pays = any(map(is_model, split_names(plan.judge))) and bool(kinds)
    pays |= plan.embedding_model is not None and TextSimilarity.kind in kinds
    idle = LIMITS | LLM_SETTINGS if own_judge else frozenset[str]() if pays else LIMITS
    if names := sorted(idle.intersection(explicit)):
        reason = "no metric uses an LLM" if kinds else "no metric uses a judge"
        reason = "the judge object has its own settings" if own_judge and kinds else reason
        has = "has" if len(names) == 1 else "have"
        notices.append(f"{', '.join(names)} {has} no effect: {reason}")
    if plan.min_similarity and "min_similarity" in explicit:
        if target is None:
            notices.append(f"min_similarity has no effect: {NO_TARGET}")
        elif "min_similarity" not in target.uses:
            notices.append(f"min_similarity has no effect: {target.name} does not use it")
    return notices


def offline_notices(metrics: Sequence[Metric], plan: Plan) -> list[str]:
    """Return notices on what the offline judge cannot carry alone: some policies, and gates."""
    if len(split_names(plan.judge)) > 1 or plan.judge.partition(",")[0] != OfflineJudge.name:
        return []
    notices: list[str] = []
    rules = {str(each): getattr(each, "rules", None) for each in metrics}
    if unfit := [
        name
        for name, policy in rules.items()
        if policy and policy.weights[Label.NOT_ENOUGH_INFO] == policy.weights[Label.SUPPORTED]
    ]:
        why = "this policy counts only contradicted claims, which the offline judge never finds"
        fix = "so every score is the best; use another policy, or an LLM as judge"
        notices.append(f"{', '.join(unfit)}: {why}, {fix}")
    judged = {str(each) for each in metrics if _OFFLINE.intersection(each.question_kinds)}
    gated = {gate.metric for gate in plan.gates if gate.of != "scored"}
    if plan.calibration is None and (names := ", ".join(sorted(judged & gated))):
        fix = "label rows of this run (`ragstone labels start`), or use an LLM as judge"
        notices.append(f"{names}: a gate rests on the offline judge, which compares words; {fix}")
    return notices


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
            raise UsageError(f"{text}: {better} is better for {name}; use fail_{flag}")
        of = plan.gates_on if gate.of == "mean" else gate.of
        if of == "corrected" and plan.calibration is None:
            raise UsageError(f"{text} is on the corrected mean, which needs calibration=NAME")
        gates.append(gate.model_copy(update={"metric": name, "of": of}))
    return tuple(gates)
