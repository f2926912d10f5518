"""The rows of a run, counted one by one in little memory, and their breakdown by tags."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import tag_text
from ragstone.errors import Cause
from ragstone.results.grouping import Grouping, RowKeys
from ragstone.results.metric_summary import (
    MetricSummaryBuilder,
    Reasons,
    SliceScore,
    commonest_first,
)
from ragstone.results.outcomes import Outcomes
from ragstone.results.stats.sums import UNIT, Latencies, exact
from ragstone.types.claim import ClaimIssue
from ragstone.types.ids import IdCheck
from ragstone.types.reply import Failure, Usage
from ragstone.types.row import Row
from ragstone.types.score import MetricInfo

MOST = 20  # different values of a tag; a tag with more values distinguishes rows, not kinds of rows
TAGS = 100  # tags that are counted; each row may have a tag of its own
LONGEST = 80  # characters of a value; a longer value is a text, not a kind


class Slice(TypedDict):
    value: str
    n: int
    metrics: dict[str, SliceScore]


class Slices(TypedDict):
    tag: str
    values: list[Slice]


class TagBreakdown:
    """Stores which rows have each value of each tag.

    Tags with too many values are dropped. Of too many tags, the first in alphabetical order are
    counted, so that the order of the rows does not matter.
    """

    def __init__(self) -> None:
        self._rows = 0
        # the rows, as int32, by tag and value; None for a dropped tag
        self._rows_of: dict[str, dict[str, array[int]] | None] = {}

    def add(self, tags: Mapping[str, object]) -> None:
        for tag, value in tags.items():
            text = "" if value is None else tag_text(value)
            self._extend(tag, {text: (self._rows,)} if text.strip() else {})
        self._rows += 1

    def merge(self, other: "TagBreakdown") -> None:
        for tag, values in other._rows_of.items():
            moved = None
            if values is not None:
                moved = {text: [self._rows + row for row in rows] for text, rows in values.items()}
            self._extend(tag, moved)
        self._rows += other._rows

    def _extend(self, tag: str, more: Mapping[str, Iterable[int]] | None) -> None:
        if tag not in self._rows_of and len(self._rows_of) == TAGS:
            last = max(self._rows_of)
            if tag > last:
                return
            del self._rows_of[last]
        known = self._rows_of.setdefault(tag, {})
        if known is None or more is None:
            self._rows_of[tag] = None
            return
        for text, rows in more.items():
            if text not in known and (len(known) == MOST or len(text) > LONGEST):
                self._rows_of[tag] = None
                return
            known.setdefault(text, array("i")).extend(rows)

    def reorder(self, order: NDArray[np.intp]) -> None:
        places = np.argsort(order).astype(np.int32)
        for values in self._rows_of.values():
            for rows in (values or {}).values():
                rows[:] = array("i", places[np.frombuffer(rows, np.int32)].tobytes())

    def rows_by_value(self, tag: str) -> list[tuple[str, NDArray[np.bool_]]]:
        values = self._rows_of.get(tag) or {}
        if len(values) < 2 or all(len(rows) == 1 for rows in values.values()):
            return []
        every = np.arange(self._rows)
        return [(value, np.isin(every, rows)) for value, rows in sorted(values.items())]


@dataclass(frozen=True)
class TargetHealth:
    asked: Mapping[str, int]  # calls by name, and those that failed
    failed: Mapping[str, int]
    error_rate: float
    p50_ms: float | None  # of calls that worked
    p95_ms: float | None


_ADDED = (
    *("rows", "_places", "calls_saved", "_usage", "failed_before", "ids", "_blame"),
    *("judge_latencies", "_target_latencies", "_asked", "_failed"),
)
"""Counts of a RunSummaryBuilder that merging adds."""


class RunSummaryBuilder:
    """Counts rows, in any order, without storing them; several may be merged.

    Any split of the rows and any order of adding and merging gives the same summary. A builder can
    be pickled, and has about 9 bytes per row and metric, and 30 bytes per row.
    """

    def __init__(self, metrics: Iterable[str], *, cluster: str | None = None) -> None:
        self.scores: Mapping[str, MetricSummaryBuilder] = {
            name: MetricSummaryBuilder() for name in metrics
        }
        self._keys = RowKeys(cluster)
        self.outcomes = Outcomes(self.scores)
        self.rows = self.calls_saved = 0
        self.over_budget = False
        self.failed_before = Counter[Cause]()  # scores, because calls failed before the run
        self.ids = IdCheck()
        self._places = array("q")
        self._usage = Usage()
        self._cost: int | None = 0
        self._blame = Counter[ClaimIssue]()
        self._notes = Reasons()
        self._tags: dict[str, tuple[int, int]] = {}
        self._grouping: Grouping | None = None
        self._breakdown = TagBreakdown()
        self.judge_latencies = Latencies()  # of replies that are not from the cache
        self._target_latencies = Latencies()
        self._asked, self._failed = Counter[str](), Counter[str]()

    @classmethod
    def of(
        cls, rows: Iterable[Row], metrics: Iterable[str], *, cluster: str | None = None
    ) -> "RunSummaryBuilder":
        builder = cls(metrics, cluster=cluster)
        for row in rows:
            builder.add(row)
        return builder

    def add(self, row: Row) -> None:
        self.rows += 1
        self._places.append(row.index)
        ranked = row.sample.ranking is not None
        self._keys.add(row.sample.query_with_history, row.sample.contexts, row.sample.tags)
        self._grouping = None
        for name, counts in self.scores.items():
            counts.add(row.scores[name], place=row.index, sample_id=row.sample.id, ranked=ranked)
        relevance, ids = row.sample.relevance, row.sample.ranked_ids
        if relevance and ids:
            self.ids.rows += 1
            if relevance.keys().isdisjoint(ids):
                self.ids.compare(row.index, ids, list(relevance))
            else:
                self.ids.matched += 1
        for exchange in row.exchanges:
            outcome = exchange.outcome
            self._usage += outcome.usage
            cost = outcome.usage.cost_usd
            self._add_cost(None if cost is None else exact(cost))
            # several metrics asked the same question
            self.calls_saved += (exchange.askers - 1) * outcome.usage.calls
            if outcome.usage.calls or outcome.usage.local_calls:
                self.judge_latencies.append(exchange.latency_ms)
            if isinstance(outcome, Failure) and outcome.cause is Cause.BUDGET:
                self.over_budget = True
        for call in row.calls:
            self._asked[call.name] += 1
            if call.failure:
                self._failed[call.name] += 1
            else:
                self._target_latencies.append(call.latency_ms)
        self.failed_before.update(row.failed_before)
        self._blame.update(each.blame for each in row.blamed)
        for note in set(row.notes):
            self._notes.add(note)
        for number, tag in enumerate(row.sample.tags):
            where = row.index, number
            self._tags[tag] = min(where, self._tags.get(tag, where))
        self._breakdown.add(row.sample.tags)
        self.outcomes.add(row)

    def _add_cost(self, cost: int | None) -> None:
        self._cost = None if cost is None or self._cost is None else self._cost + cost

    def merge(self, other: "RunSummaryBuilder", *, after: int = 0) -> None:
        """Add the rows that another counted; those of rankings have places from `after`."""
        for name, counts in self.scores.items():
            counts.merge(other.scores[name], after=after)
        self._keys.merge(other._keys)
        self._breakdown.merge(other._breakdown)
        self.outcomes.merge(other.outcomes)
        self._grouping = None
        for name in _ADDED:
            total = getattr(self, name)
            total += getattr(other, name)
            setattr(self, name, total)
        self._add_cost(other._cost)
        self.over_budget |= other.over_budget
        self._notes.merge(other._notes)
        for tag, where in other._tags.items():
            self._tags[tag] = min(where, self._tags.get(tag, where))

    @property
    def usage(self) -> Usage:
        cost = None if self._cost is None else self._cost / (1 << UNIT)
        return replace(self._usage, cost_usd=cost)

    @property
    def blame(self) -> Counter[ClaimIssue]:
        return commonest_first(self._blame)

    @property
    def notes(self) -> Counter[str]:
        return self._notes.counts

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted(self._tags, key=self._tags.__getitem__))

    @property
    def grouping(self) -> Grouping:
        """How the rows are grouped, which are put in the order of the data set; computed once."""
        if self._grouping is None:
            places = np.frombuffer(self._places, np.int64)
            if np.any(places[1:] < places[:-1]):
                order = np.argsort(places, kind="stable")
                self._places = array("q", places[order].tobytes())
                for part in (self._keys, self._breakdown, self.outcomes, *self.scores.values()):
                    part.reorder(order)
            keys = {kind: each for kind, each in self._keys.keys.items() if each[0].size}
            explicit = self._keys.cluster is not None
            self._grouping = Grouping.of(self.rows, keys, explicit=explicit)
        return self._grouping

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the counted rows in the data set."""
        return np.frombuffer(self._places, np.int64)

    def rows_by_value(self, tag: str) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return the values of a tag and which rows have them; none unless some rows share one."""
        return self._breakdown.rows_by_value(tag)

    def slices(self, metrics: Mapping[str, MetricInfo]) -> list[Slices]:
        groups = self.grouping.labels
        found: list[Slices] = []
        for tag in self.tags:
            slices: list[Slice] = []
            for value, rows in self.rows_by_value(tag):
                scores = {
                    name: self.scores[name].slice(rows, info, groups)
                    for name, info in metrics.items()
                }
                slices.append(Slice(value=value, n=int(rows.sum()), metrics=scores))
            if slices:
                found.append(Slices(tag=tag, values=slices))
        return found

    def health(self) -> TargetHealth | None:
        calls = self._asked.total()
        if not calls:
            return None
        return TargetHealth(
            asked=dict(commonest_first(self._asked)),
            failed=dict(commonest_first(self._failed)),
            error_rate=self._failed.total() / calls,
            **self._target_latencies.percentiles(),
        )
