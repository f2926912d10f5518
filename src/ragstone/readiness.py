"""Readiness: which metrics can run, and what the target must give; known before any call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.judges.base import Judge
from ragstone.metrics.base import Metric
from ragstone.samples import Sample
from ragstone.targets.base import FIELDS, Target


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
        samples: Sequence[Sample],
        *,
        judge: Judge,
        target: Target | None,
        every: bool,
    ) -> "Readiness":
        """Hold the metrics' needs against the rows, the target and the judge.

        The target is asked for what no row holds; with `every`, for all that the metrics need.
        """
        held = _held(samples)
        gives = target.gives if target else frozenset[str]()
        refused = {
            str(metric): reason
            for metric in metrics
            if (reason := _obstacle(metric, judge, held | _met(gives)))
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


def _met(fields: frozenset[str]) -> frozenset[str]:
    """Return the needs that these fields meet: contexts stand in for a ranking."""
    return fields | {"ranking"} if "contexts" in fields else fields


def _source(need: str, gives: frozenset[str]) -> str:
    return "contexts" if need == "ranking" and need not in gives else need


def _obstacle(metric: Metric, judge: Judge, met: frozenset[str]) -> str | None:
    if strange := [kind for kind in metric.asks if not judge.takes(kind)]:
        return f"the judge {judge.name} does not answer {', '.join(strange)}"
    if missing := [need for need in metric.needs if need not in met]:
        ask = ", and no target gives it" if set(missing) <= set(FIELDS) else ""
        return f"no row has {' or '.join(missing)}{ask}"
    return None
