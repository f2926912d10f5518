"""Recording: where the finished rows of an evaluation go, in memory or in the store."""

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Self

from ragstone.metrics.families.base import Metric
from ragstone.plan import Manifest
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.scores import Detail, Score
from ragstone.tally import Tally


class Recording:
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
        self._scores: dict[str, list[tuple[int, Score]]] = {
            name: []
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
        self._count(row)
        self._rows.append(row)

    def _count(self, row: Row) -> None:
        self.tally.add(row)
        for name, scores in self._scores.items():
            score = row.scores[name]
            bare = score.model_copy(update={"claims": ()}) if score.claims else score
            scores.append((row.index, bare))

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
        ordered = {
            name: [score for _, score in sorted(scores, key=lambda pair: pair[0])]
            for name, scores in self._scores.items()
        }
        return {
            name: metric.summarise(ordered.get(name, [])) for name, metric in self.metrics.items()
        }
