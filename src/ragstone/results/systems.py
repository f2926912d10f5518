"""Several systems side by side: their means, and which of all their differences are significant."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ragstone.errors import UsageError
from ragstone.results import comparison
from ragstone.results.comparison import TOP, Comparison
from ragstone.results.metric_summary import SCORED
from ragstone.results.paired import EMPTY, Columns, Finding, correct
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Numbers
from ragstone.types.label import HumanLabel

LETTERS = "abcdefghijklmnoprstuvwxyz"  # of the systems; each has a superscript


class Cell(NamedTuple):
    mean: float | None  # over the rows that all systems scored
    worse: str  # the letters of the systems that are significantly worse
    best: bool


@dataclass(frozen=True, eq=False)
class Systems:
    """Runs of the same questions, and the comparisons of all pairs of them, by their places.

    `better` has (a, b, metric) if a is significantly better than b, by Holm's method for all pairs
    and metrics. These are so many different `tests`.
    """

    runs: Sequence[Run]
    names: Sequence[str]
    metrics: Sequence[str]
    comparisons: Mapping[tuple[int, int], Comparison]
    better: Collection[tuple[int, int, str]]
    tests: int
    columns: Sequence[Columns]

    @property
    def against_first(self) -> Sequence[Comparison]:
        return [each for (a, _), each in self.comparisons.items() if not a]

    def values(self, metric: str) -> Numbers:
        """Return float64[rows of the first run, systems]; NaN where a system has no score."""
        found = np.full((len(self.runs[0].rows), len(self.runs)), np.nan)
        own = np.arange(len(found))
        for place, columns in enumerate(self.columns):
            pairs = self.comparisons[0, place].pairing.pairs if place else np.stack([own, own], 1)
            numbers, states = columns.metrics[metric].take(pairs[:, 1])
            found[pairs[:, 0], place] = np.where(states % EMPTY == SCORED, numbers, np.nan)
        return found

    @cached_property
    def table(self) -> Mapping[str, tuple[int, Sequence[Cell]]]:
        """By metric: the number of rows that all systems scored, and a cell for each system."""
        table: dict[str, tuple[int, Sequence[Cell]]] = {}
        places = range(len(self.runs))
        for name in self.metrics:
            scores = self.values(name)
            scores = scores[~np.isnan(scores).any(axis=1)]
            sign, n = 1 if self.runs[-1].metrics[name].higher_is_better else -1, len(scores)
            means = [math.fsum(column) / n if n else None for column in scores.T]
            gains = [round(sign * (mean or 0.0), 12) for mean in means]
            lower = [[b for b in places if (a, b, name) in self.better] for a in places]
            worse = ["".join(LETTERS[b] for b in some) for some in lower]
            best = [min(gains) < gain == max(gains) for gain in gains]
            table[name] = n, [*map(Cell, means, worse, best)]
        return table

    def to_dict(self) -> dict[str, object]:
        rows = ((name, n, [x._asdict() for x in cells]) for name, (n, cells) in self.table.items())
        metrics = {name: {"n": n, "systems": cells} for name, n, cells in rows}
        return {"names": list(self.names), "tests": self.tests, "metrics": metrics}


def side_by_side(
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = (),
    names: Sequence[str | None] = (),
    labels: Sequence[Sequence[HumanLabel]] = (),
    cluster: str | None = None,
    top: int = TOP,
) -> Systems:
    """Compare every pair of runs as `compare` does, with people's labels of each run, if any.

    Raises:
        UsageError: there are too many runs, or more than two without a metric in common.
    """
    if len(runs) > len(LETTERS):
        raise UsageError(f"a table has at most {len(LETTERS)} systems, but there are {len(runs)}")
    paired = comparison.shared_metrics(*runs) if len(runs) == 2 else {}
    shared = [x for x in runs[-1].metrics if x in paired or all(x in run.metrics for run in runs)]
    if metrics:
        shared = comparison.choose_metrics(metrics, shared, "metric of both runs")
    if not shared and len(runs) > 2:
        raise UsageError("the runs have no metric in common")
    shown = comparison.names_of(runs, names)
    both = {name: paired.get(name, name) for name in shared}
    columns = [Columns(run, both, cluster=cluster) for run in runs]
    comparisons: dict[tuple[int, int], Comparison] = {}
    for a, b in combinations(range(len(runs)), 2):
        found = comparison.compare(
            *(runs[a], runs[b]),
            cluster=cluster,
            top=0 if a else top,
            names=(shown[a], shown[b]),
            columns=(columns[a], columns[b]),
        )
        if labels:
            both = labels[a], labels[b]
            found = comparison.correct_changes(found, (runs[a], runs[b]), both)
        comparisons[a, b] = found
    tested = [(pair, test) for pair, each in comparisons.items() for test in each.tests]
    corrected = zip(tested, correct([test for _, test in tested]), strict=True)
    findings = [(pair, change.finding, change.metric) for (pair, _), change in corrected]
    better = {(a, b, name) for (a, b), finding, name in findings if finding is Finding.WORSE}
    better |= {(b, a, name) for (a, b), finding, name in findings if finding is Finding.BETTER}
    keys = {
        key
        for _, (key, change, _) in tested
        if change.p is not None and any(change.win_loss_tie[:2])
    }
    return Systems(runs, shown, shared, comparisons, better, len(keys), columns)
