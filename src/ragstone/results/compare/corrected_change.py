"""Differences of two runs, corrected with people's labels."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ragstone._internal.text import count
from ragstone.errors import UsageError
from ragstone.results.calibration import MIN_ROWS, Calibration, MetricCalibration
from ragstone.results.compare.comparison import Comparison
from ragstone.results.compare.metric_change import CorrectedDifference, MetricChange
from ragstone.results.compare.pairing import Pair
from ragstone.results.run import Run
from ragstone.results.stats.labels import LabelledScores, corrected_difference
from ragstone.types.label import HumanLabel


@dataclass(frozen=True)
class LabelledRun:
    """A run, its own labels if it has any, and others for its judge."""

    run: Run
    own: Calibration | None
    other: Calibration | None

    @classmethod
    def of(cls, run: Run, labels: Sequence[HumanLabel], other: Calibration | None) -> "LabelledRun":
        own = None
        with suppress(UsageError):
            own = run.calibrate(labels, "") if labels else None
        return cls(run, own, other)

    def labels(self, metric: str, *, own: bool) -> MetricCalibration | None:
        calibration = self.own if own else self.other
        return calibration.find(metric) if calibration else None

    def values(self, metric: str) -> list[float | None]:
        return [row.scores[metric].value for row in self.run.rows]

    def has_own(self, metric: str) -> bool:
        found = self.own.find(metric) if self.own else None
        return found is not None and len(found.rows) >= MIN_ROWS

    def problem(self, metric: str) -> str | None:
        name = self.run.manifest.run_id
        if self.other is None:
            found = self.own and self.own.find(metric)
            rows = count(len(found.rows) if found else 0, "labelled row")
            return (
                None
                if self.has_own(metric)
                else f"run {name} has {rows}, and {MIN_ROWS} are needed"
            )
        corrected = self.other.correct(metric, self.run.manifest, self.run.counts)
        problem = corrected.problem if corrected else f"it has no labels of {metric}"
        return problem and f"calibration {self.other.name} and run {name}: {problem}"

    def scores(
        self, metric: str, places: Sequence[int], units: Mapping[int, int], *, own: bool
    ) -> tuple[LabelledScores, int]:
        """Return the scores at these places, with units by place, and the number of labels.

        The labelled rows of a pair have the unit of the pair.
        """
        found = self.labels(metric, own=own)
        assert found is not None
        values = self.values(metric)
        keys: list[tuple[str, int]] = []
        for row in found.rows:
            at = row.position  # also its place, because the run is complete
            pair = ("pair", units[at]) if at in units else ("row", at)
            keys.append(pair if own else ("other", row.group))
        made = found.scores(
            np.array([values[place] for place in places], dtype=np.float64),
            [units[place] for place in places],
            keys=keys,
            transported=not own,
        )
        return made, len(found.rows)


def correct_changes(comparison: Comparison, a: LabelledRun, b: LabelledRun) -> Comparison:
    """Return the comparison with corrected differences, for judged metrics that have labels.

    If both runs have enough labels of their own, those count; otherwise, the other labels for both.
    """
    labels = comparison.grouping.labels
    pairing = comparison.pairing.pairs
    units = range(len(pairing)) if labels is None else labels.tolist()
    pairs: list[tuple[Pair, int]] = []
    changes: list[MetricChange] = []
    for change in comparison.metric_changes:
        if change.judged and any(one.own or one.other for one in (a, b)):
            pairs = pairs or list(zip(pairing, units, strict=True))
            change = replace(change, corrected=_corrected(change, a, b, pairs, comparison.partial))
        changes.append(change)
    return replace(comparison, metric_changes=tuple(changes))


def _corrected(
    change: MetricChange,
    a: LabelledRun,
    b: LabelledRun,
    pairs: Sequence[tuple[tuple[int, int], int]],
    partial: Sequence[str],
) -> CorrectedDifference | None:
    metric = change.metric
    if not any(one.labels(metric, own=own) for one in (a, b) for own in (True, False)):
        return None
    own = a.has_own(metric) and b.has_own(metric)
    problems = [f"run {run} is partial" for run in partial]
    if not own:
        problems += [problem for one in (a, b) if (problem := one.problem(metric))]
    kinds = {found.of for one in (a, b) if (found := one.labels(metric, own=own))}
    if len(kinds) > 1:
        problems.append("one run has labels of claims, the other of whole responses")
    if problems or not change.n:
        return CorrectedDifference(problem="; ".join(problems) or "no pair was scored")
    values = a.values(metric), b.values(metric)
    pairs = [pair for pair in pairs if None not in (values[0][pair[0][0]], values[1][pair[0][1]])]
    one, two = (
        side.scores(
            metric,
            [both[place] for both, _ in pairs],
            {both[place]: unit for both, unit in pairs},
            own=own,
        )
        for place, side in enumerate((a, b))
    )
    found = corrected_difference(one[0], two[0])
    return CorrectedDifference(found.mean, found.interval, (one[1], two[1]), transported=not own)
