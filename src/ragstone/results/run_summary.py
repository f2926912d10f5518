"""The rows of a run, counted one by one in little memory, and their breakdown by tags."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import tag_text
from ragstone.errors import Cause
from ragstone.results import metric_summary
from ragstone.results.grouping import Grouping, RowKeys
from ragstone.results.metric_summary import OTHERS, SCORED, STATES, MetricSummaryBuilder
from ragstone.results.stats.intervals import mean_interval, quantile
from ragstone.types.claim import ClaimIssue
from ragstone.types.reply import CascadeStats, Failure, Usage, sum_stats
from ragstone.types.row import Row
from ragstone.types.score import MetricInfo, State

MOST = 20
"""Different values of a tag; a tag with more values distinguishes rows, not kinds of rows."""
TAGS = 100
"""Tags that are counted; each row may have a tag of its own."""
LONGEST = 80
"""Characters of a value; a longer value is a text, not a kind."""
_NONE = -1


class SliceScore(TypedDict):
    """The scores of one metric in one slice."""

    mean: float | None
    interval: tuple[float, float] | None
    scored: int
    undefined: int
    failed: int


class Slice(TypedDict):
    """The rows with one value of a tag, and the scores of each metric."""

    value: str
    n: int
    metrics: dict[str, SliceScore]


class Slices(TypedDict):
    """A tag and its slices, sorted by value."""

    tag: str
    values: list[Slice]


class TagBreakdown:
    """Stores each row's value of each tag, as a small number.

    Tags with too many values are dropped, and so are those that come after TAGS others.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._known: dict[str, dict[str, int]] = {}
        self._codes: dict[str, array[int]] = {}

    def add(self, tags: Mapping[str, object]) -> None:
        """Count one row; a tag that is None or empty counts as missing."""
        for tag, value in tags.items():
            if tag not in self._known and len(self._known) < TAGS:
                self._known[tag] = {}
                self._codes[tag] = array("b")
            if tag not in self._codes:
                continue
            text = "" if value is None else tag_text(value)
            known, code = self._known[tag], _NONE
            if text.strip():
                if text not in known and (len(known) == MOST or len(text) > LONGEST):
                    del self._codes[tag]
                    continue
                code = known.setdefault(text, len(known))
            self._fill(tag)
            self._codes[tag].append(code)
        self._rows += 1

    def _fill(self, tag: str) -> None:
        """Note that the rows since the last one with the tag have no value of it."""
        codes = self._codes[tag]
        codes.extend(array("b", [_NONE]) * (self._rows - len(codes)))

    def slices(
        self,
        builders: Mapping[str, MetricSummaryBuilder],
        metrics: Mapping[str, MetricInfo],
        groups: NDArray[np.int64] | None,
    ) -> list[Slices]:
        """Return the slices by each tag, sorted by value.

        The builders counted the same rows, in the same order. A tag with one value, or with a
        different value for each row, has no slices.
        """
        found: list[Slices] = []
        for tag, codes in self._codes.items():
            values = self._known[tag]
            if len(values) < 2:
                continue
            self._fill(tag)
            of_row = np.frombuffer(codes, dtype=np.int8)
            counts: list[int] = np.bincount(of_row[of_row >= 0], minlength=len(values)).tolist()
            if max(counts) < 2:
                continue
            slices: list[Slice] = []
            for value, code in sorted(values.items()):
                scores = {
                    name: _score_slice(builders[name], info, of_row == code, groups)
                    for name, info in metrics.items()
                }
                slices.append(Slice(value=value, n=counts[code], metrics=scores))
            found.append(Slices(tag=tag, values=slices))
        return found


def _score_slice(
    builder: MetricSummaryBuilder,
    info: MetricInfo,
    rows: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
) -> SliceScore:
    """Return the scores of one metric in a slice; bool[rows] has the rows that are in it."""
    states = np.frombuffer(builder.row_states, dtype=np.int8)
    scored_rows = rows[states == SCORED]
    places = np.flatnonzero(scored_rows)
    values: list[float] = np.frombuffer(builder.values, dtype=np.float64)[places].tolist()
    clusters = None if groups is None else groups[states == SCORED][places]
    counts: list[int] = np.bincount(states[rows], minlength=len(State)).tolist()
    scored, undefined, failed = (
        counts[STATES.index(state)] for state in (State.SCORED, State.UNDEFINED, State.FAILED)
    )
    return SliceScore(
        mean=float(np.mean(values)) if values else None,
        interval=mean_interval(values, low=info.low, high=info.high, clusters=clusters),
        scored=scored,
        undefined=undefined,
        failed=failed,
    )


@dataclass(frozen=True)
class TargetHealth:
    """Calls of the target by name, failed ones, and the latency in ms of those that worked."""

    asked: Mapping[str, int]
    failed: Mapping[str, int]
    error_rate: float
    p50_ms: float | None
    p95_ms: float | None


class RunSummaryBuilder:
    """Counts rows, in any order, without storing them.

    `cluster` is the tag that groups rows for the intervals; `id` groups none. By default, rows that
    share a query, contexts or a source are grouped.

    Attributes:
        scores: metric name -> the counts of its scores.
        usage: the usage of the judge.
        calls_saved: calls that were not made because several metrics asked the same question.
        over_budget: whether a question was not asked because the budget was spent.
        cascade: counts of a cascade of two judges; None without one.
        failed_before: cause -> number of scores that failed because calls failed before the run.
        blame: issue -> number of claims that have it.
        notes: note -> number of rows that have it.
        tags: the names of the samples' tags.
        judged_rankings: number of rows with retrieved ids and relevant ids.
        first_unmatched: a retrieved id and a relevant id of the first of them; None if any
            retrieved id is one of its row's judged ids.
    """

    def __init__(self, metrics: Iterable[str], *, cluster: str | None = None) -> None:
        self.scores: Mapping[str, MetricSummaryBuilder] = {
            name: MetricSummaryBuilder() for name in metrics
        }
        self._keys = RowKeys(cluster)
        self.rows = self.calls_saved = 0
        self.usage = Usage()
        self.over_budget = False
        self.cascade: CascadeStats | None = None
        self.blame = Counter[ClaimIssue]()
        self.notes = Counter[str]()
        self.tags: dict[str, None] = {}
        self.failed_before = Counter[Cause]()
        self.judged_rankings = 0
        self.first_unmatched: tuple[str, str] | None = None
        self._grouping: Grouping | None = None
        self._breakdown = TagBreakdown()
        self._judge_ms = array("d")
        self._target_ms = array("d")
        self._asked, self._failed = Counter[str](), Counter[str]()

    @classmethod
    def of(
        cls, rows: Iterable[Row], metrics: Iterable[str], *, cluster: str | None = None
    ) -> "RunSummaryBuilder":
        """Count rows that have scores by these metrics."""
        builder = cls(metrics, cluster=cluster)
        for row in rows:
            builder.add(row)
        return builder

    def add(self, row: Row) -> None:
        """Count one row."""
        self.rows += 1
        ranked = row.sample.ranking is not None
        self._keys.add(row.sample.query, row.sample.contexts, row.sample.tags)
        self._grouping = None
        for name, counts in self.scores.items():
            counts.add(
                row.scores[name],
                place=row.index,
                sample_id=row.sample.id,
                ranked=ranked,
            )
        relevance, ids = row.sample.relevance, row.sample.ranked_ids
        if relevance and ids:
            if not self.judged_rankings:
                self.first_unmatched = ids[0], next(iter(relevance))
            self.judged_rankings += 1
            if not relevance.keys().isdisjoint(ids):
                self.first_unmatched = None
        for exchange in row.exchanges:
            outcome = exchange.outcome
            self.usage += outcome.usage
            self.calls_saved += (exchange.askers - 1) * outcome.usage.calls
            if outcome.cascade:
                self.cascade = sum_stats((self.cascade, outcome.cascade))
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
            known = note in self.notes or len(self.notes) < metric_summary.MOST
            self.notes[note if known else OTHERS] += 1
        self.tags |= dict.fromkeys(row.sample.tags)
        self._breakdown.add(row.sample.tags)

    @property
    def grouping(self) -> Grouping:
        """How the rows are grouped for the intervals; computed once for the same rows."""
        if self._grouping is None:
            keys = {kind: each for kind, each in self._keys.keys.items() if each[0].size}
            explicit = self._keys.cluster is not None
            self._grouping = Grouping.of(self.rows, keys, explicit=explicit)
        return self._grouping

    def slices(self, metrics: Mapping[str, MetricInfo]) -> list[Slices]:
        """Return the scores of these metrics among rows that share a value of a tag."""
        return self._breakdown.slices(self.scores, metrics, self.grouping.labels)

    def judge_latency(self) -> dict[str, float | None]:
        """Return the latency of the judge in ms, without cached replies."""
        return {
            "p50_ms": quantile(self._judge_ms, 0.5),
            "p95_ms": quantile(self._judge_ms, 0.95),
        }

    def health(self) -> TargetHealth | None:
        """Return the health of the target; None if it was not called."""
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
