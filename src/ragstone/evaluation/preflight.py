"""Readiness: which metrics can run, and what the target must give; known before any call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from ragstone.datasets import Dataset
from ragstone.datasets.columns import ALIASES, misspelt
from ragstone.errors import UsageError
from ragstone.judges.base import Judge
from ragstone.judges.spec import is_model
from ragstone.metrics import GROUPS, select
from ragstone.metrics.base import Metric
from ragstone.targets.base import FIELDS, Target
from ragstone.types.config import Plan
from ragstone.types.gate import Gate
from ragstone.types.sample import STAND_INS, Sample, in_words


@dataclass(frozen=True)
class Readiness:
    """What a run can do.

    Attributes:
        metrics: those that can score at least one row.
        refused: metric name -> why it cannot.
        wanted: the Sample fields that the target is to be asked for.
    """

    metrics: tuple[Metric, ...]
    refused: Mapping[str, str]
    wanted: frozenset[str]

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        dataset: Dataset,
        *,
        judge: Judge,
        target: Target | None,
        every: bool,
    ) -> "Readiness":
        """Hold the metrics' needs against the rows, the target and the judge.

        The target is asked for what no row holds; with `every`, for all that the metrics need.
        """
        held = _held(dataset.samples) | _met(dataset.known)
        gives = target.gives if target else frozenset[str]()
        absent = {**_misspelt(dataset.samples, held), **dataset.absent}
        refused = {
            str(metric): reason
            for metric in metrics
            if (reason := _obstacle(metric, judge, held | _met(gives), absent))
        }
        ready = tuple(metric for metric in metrics if str(metric) not in refused)
        needs = {need for metric in ready for need in metric.needs if need in FIELDS}
        missing = needs if every else needs - held
        return cls(ready, refused, frozenset(_source(need, gives) for need in missing) & gives)


def _held(samples: Sequence[Sample]) -> frozenset[str]:
    fields = type(samples[0]).model_fields if samples else ()
    return _met(
        frozenset(
            name for name in fields if any(getattr(sample, name) is not None for sample in samples)
        )
    )


def _misspelt(samples: Sequence[Sample], held: frozenset[str]) -> dict[str, str]:
    """Return field -> why no row has it, where a tag is nearly called as it is."""
    tags = dict.fromkeys(tag for sample in samples for tag in sample.tags)
    alike = misspelt(tags, [name for name in ALIASES if name not in held])
    return {
        field: f"no row has {in_words(field)}; did you mean it by {tag!r}?"
        for field, tag in alike.items()
    }


def _met(fields: frozenset[str]) -> frozenset[str]:
    """Return the needs that these fields meet, also as stand-ins."""
    return fields | {need for need, other in STAND_INS.items() if other in fields}


def _source(need: str, gives: frozenset[str]) -> str:
    return need if need in gives else STAND_INS.get(need, need)


def _obstacle(
    metric: Metric, judge: Judge, met: frozenset[str], absent: Mapping[str, str]
) -> str | None:
    if extras := [extra for name, extra in metric.packages.items() if find_spec(name) is None]:
        return f"needs an extra: pip install '{extras[0]}'"
    if strange := [kind for kind in metric.question_kinds if not judge.takes(kind)]:
        hint = "" if is_model(judge.name) else "; an LLM does (--model or --judge)"
        return f"the judge {judge.name} does not answer {', '.join(strange)}{hint}"
    if missing := [need for need in metric.needs if need not in met]:
        if told := [absent[need] for need in missing if need in absent]:
            return told[0]
        ask = ", and no target gives it" if set(missing) <= set(FIELDS) else ""
        words = " or ".join(map(in_words, missing))
        return f"no row has {words}{ask}"
    return None


def check_asked(plan: Plan, metrics: Sequence[Metric], not_run: Mapping[str, str]) -> None:
    """Refuse a run of nothing, or one that leaves out what was asked for by name.

    Raises:
        UsageError: it is one.
    """
    named = [name for name in plan.metrics if name not in GROUPS]
    by_name = set(map(str, select(named, **plan.parameters)))
    refused = {name: why for name, why in not_run.items() if name in by_name or not metrics}
    if refused or not metrics:
        reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
        raise UsageError(f"cannot run {reasons or 'nothing: no metric was named'}")


# Named gates: a plan's gates, each with its metric's name in full, and checked.


def gates_of(plan: Plan, metrics: Sequence[Metric]) -> tuple[Gate, ...]:
    """Return the plan's gates with each metric's name in full.

    Raises:
        UsageError: a gate is on a metric that is not run, can never fail or never pass, or looks
            the wrong way.
    """
    known = {str(metric): metric for metric in metrics}
    gates: list[Gate] = []
    for gate in plan.gates:
        name = _named(gate.metric, known, plan)
        said = f"the gate {gate.metric} {gate.op} {gate.threshold:g}"
        if name not in known:
            raise UsageError(
                f"{said} is on a metric that is not run; these are: {', '.join(known)}"
            )
        metric = known[name]
        low, high = (0.0, 1.0) if gate.of == "scored" else metric.range
        if not low <= gate.threshold <= high:
            raise UsageError(
                f"{said}: {name} lies between {low:g} and {high:g}. "
                + ("80 per cent is written 0.8 or 80%" if (low, high) == (0, 1) else "")
            )
        if gate.of != "scored" and metric.higher_is_better != (gate.op == ">="):
            better, flag = ("higher", "under") if metric.higher_is_better else ("lower", "over")
            raise UsageError(f"{said}: {better} is better for {name}; use --fail-{flag}")
        of = plan.gates_on if gate.of == "mean" else gate.of
        gates.append(gate.model_copy(update={"metric": name, "of": of}))
    return tuple(gates)


def _named(asked: str, known: Mapping[str, Metric], plan: Plan) -> str:
    """Return the full name of the metric that a gate means: the only one of a bare name, too."""
    names = [] if asked in GROUPS else list(map(str, select([asked], **plan.parameters)))
    alike = [full for full, metric in known.items() if metric.name == asked]
    meant = [name for name in names if name in known] or alike
    if len(meant) > 1:
        said = f"the gate {asked} is on one of several metrics: {', '.join(meant)}"
        raise UsageError(f"{said}; name it, such as {meant[0]}")
    return (meant or names or [asked])[0]
