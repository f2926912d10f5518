"""Recorder: where the finished rows of an evaluation go, in memory or in the store."""

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Self

from ragstone.metrics.families.base import Metric
from ragstone.plan import Manifest
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.score_column import ScoreColumn
from ragstone.scores import NOTHING, Detail
from ragstone.tally import Tally


class Recorder:
    """Keeps finished rows in memory, and counts them; within `async with`.

    Attributes:
        done: the places of the data set that were finished before.
        tally: what the rows come to so far.
    """

    done: Collection[int] = frozenset[int]()

    def __init__(self, manifest: Manifest, metrics: Sequence[Metric]) -> None:
        self.manifest = manifest
        self.metrics = {str(metric): metric for metric in metrics}
        self.tally = Tally(self.metrics, cluster=manifest.plan.cluster)
        self._rows: list[Row] = []
        self._scores = {
            name: ScoreColumn()
            for name, metric in self.metrics.items()
            if type(metric).summarise is not Metric.summarise
        }

    async def __aenter__(self) -> Self:
        """Make ready for rows."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish with rows."""

    async def keep(self, row: Row) -> None:
        """Keep one finished row."""
        self.count(row)
        self._rows.append(row)

    def count(self, row: Row) -> None:
        """Count one row that is kept elsewhere."""
        self.tally.add(row)
        for name, scores in self._scores.items():
            scores.add(row.index, row.scores[name])

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        """Return the run of what was kept."""
        return Run(
            manifest=self.manifest,
            metrics={name: metric.described for name, metric in self.metrics.items()},
            rows=self._kept(),
            extras=self._extras(),
            partial=partial,
            stopped=stopped,
            counted=self.tally,
        )

    def _kept(self) -> Sequence[Row]:
        return sorted(self._rows, key=lambda row: row.index)

    def _extras(self) -> Mapping[str, Detail]:
        extras: dict[str, Detail] = dict.fromkeys(self.metrics, NOTHING)
        for name, scores in self._scores.items():
            extras[name] = self.metrics[name].summarise(scores.in_order())
        return extras
