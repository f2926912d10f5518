"""Tally: what a run's rows come to, told one by one, in little memory."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragstone.cascaded import Cascaded, added_up
from ragstone.claims import ClaimIssue
from ragstone.errors import Cause
from ragstone.exchanges import Failure
from ragstone.rows import Row
from ragstone.samples import Tags
from ragstone.score_tally import MOST, OTHERS, ScoreTally
from ragstone.scores import MetricInfo
from ragstone.slices import Slicer, Slices
from ragstone.stats import quantile
from ragstone.usage import Usage


def cluster_of(tags: Tags, name: str | None) -> str | None:
    """Return the cluster that a row is of by the tag of that name, as it is written."""
    label = None if name is None else tags.get(name)
    return None if label is None else str(label)


@dataclass(frozen=True)
class TargetHealth:
    """How the target did: calls by name, failed ones, and latency in ms of those that worked."""

    asked: Mapping[str, int]
    failed: Mapping[str, int]
    error_rate: float
    p50_ms: float | None
    p95_ms: float | None


class Tally:
    """Counts rows; they may come in any order, and none is kept.

    `cluster` is the tag by which rows belong together, for the intervals.

    Attributes:
        scores: metric name -> what is known of its scores.
        usage: what the judge cost.
        calls_saved: calls not made as several metrics asked the same question.
        over_budget: whether a question was not asked as the budget was spent.
        cascade: what went up from a cheap judge to a dear one; None where there are no two.
        failed_before: cause -> how many scores failed for calls that had failed before the run.
        blame: what went wrong -> how many claims it went wrong with.
        notes: what was noted of rows -> how many rows.
        tags: the names of the samples' tags.
    """

    def __init__(self, metrics: Iterable[str], *, cluster: str | None = None) -> None:
        self.scores: Mapping[str, ScoreTally] = {name: ScoreTally() for name in metrics}
        self._cluster = cluster
        self.rows = self.calls_saved = 0
        self.usage = Usage()
        self.over_budget = False
        self.cascade: Cascaded | None = None
        self.blame = Counter[ClaimIssue]()
        self.notes = Counter[str]()
        self.tags: dict[str, None] = {}
        self.failed_before = Counter[Cause]()
        self._slicer = Slicer()
        self._judge_ms = array("d")
        self._target_ms = array("d")
        self._asked, self._failed = Counter[str](), Counter[str]()

    @classmethod
    def of(
        cls, rows: Iterable[Row], metrics: Iterable[str], *, cluster: str | None = None
    ) -> "Tally":
        """Tally rows that have scores by these metrics."""
        tally = cls(metrics, cluster=cluster)
        for row in rows:
            tally.add(row)
        return tally

    def add(self, row: Row) -> None:
        """Count one row."""
        self.rows += 1
        ranked = row.sample.ranking is not None
        cluster = cluster_of(row.sample.tags, self._cluster)
        for name, tally in self.scores.items():
            tally.add(
                row.scores[name],
                place=row.index,
                sample_id=row.sample.id,
                ranked=ranked,
                cluster=cluster,
            )
        for exchange in row.exchanges:
            outcome = exchange.outcome
            self.usage += outcome.usage
            self.calls_saved += (exchange.askers - 1) * outcome.usage.calls
            if outcome.cascade:
                self.cascade = added_up((self.cascade, outcome.cascade))
            if outcome.usage.calls or outcome.usage.local_calls:
                self._judge_ms.append(exchange.latency_ms)
            if isinstance(outcome, Failure) and outcome.cause is Cause.BUDGET:
                self.over_budget = True
        for call in row.calls:
            self._asked[call.name] += 1
            if call.failure:
                self._failed[call.name] += 1
            else:
                self._target_ms.append(call.latency_ms)
        self.failed_before.update(row.failed_before)
        self.blame.update(each.blame for each in row.blamed)
        for note in set(row.notes):
            known = note in self.notes or len(self.notes) < MOST
            self.notes[note if known else OTHERS] += 1
        self.tags |= dict.fromkeys(row.sample.tags)
        self._slicer.add(row.sample.tags)

    def slices(self, metrics: Mapping[str, MetricInfo]) -> list[Slices]:
        """Return what these metrics come to among rows that share a value of a tag."""
        return self._slicer.slices(self.scores, metrics)

    def judge_latency(self) -> dict[str, float | None]:
        """Return how long the judge took to answer, in ms; what was cached is not counted."""
        return {
            "p50_ms": quantile(self._judge_ms, 0.5),
            "p95_ms": quantile(self._judge_ms, 0.95),
        }

    def health(self) -> TargetHealth | None:
        """Return how the target did; None if it was not asked."""
        calls = self._asked.total()
        if not calls:
            return None
        return TargetHealth(
            asked=self._asked,
            failed=self._failed,
            error_rate=self._failed.total() / calls,
            p50_ms=quantile(self._target_ms, 0.5),
            p95_ms=quantile(self._target_ms, 0.95),
        )
