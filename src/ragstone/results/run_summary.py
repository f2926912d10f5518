"""Tally: what a run's rows come to, told one by one, in little memory."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import tag_text
from ragstone.errors import Cause
from ragstone.results.metric_summary import MOST as TALLY_MOST
from ragstone.results.metric_summary import OTHERS, STATES, MetricSummaryBuilder
from ragstone.results.stats import mean_interval, quantile
from ragstone.types.claim import ClaimIssue
from ragstone.types.reply import CascadeStats, Failure, Usage, sum_stats
from ragstone.types.row import Row
from ragstone.types.sample import Tags
from ragstone.types.score import MetricInfo, State

# Slices: what scores come to among the rows that share a value of a tag.

MOST = 20
"""Different values of a tag; one with more tells rows apart, not kinds of rows."""
TAGS = 100
"""Tags that are looked at; rows may come with a tag of its own each."""
LONGEST = 80
"""Characters of a value; a longer one is a text, not a kind."""
_NONE = -1


class SliceScore(TypedDict):
    """What one metric comes to in one slice."""

    mean: float | None
    interval: tuple[float, float] | None
    scored: int
    undefined: int
    failed: int


class Slice(TypedDict):
    """The rows with one value of a tag, and what each metric comes to among them."""

    value: str
    n: int
    metrics: dict[str, SliceScore]


class Slices(TypedDict):
    """A tag and its slices, in the order of its values."""

    tag: str
    values: list[Slice]


class TagBreakdown:
    """Remembers each row's value of each tag, as a small number.

    Tags with too many values are let go, and so are those that come after TAGS others.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._known: dict[str, dict[str, int]] = {}
        self._codes: dict[str, array[int]] = {}

    def add(self, tags: Mapping[str, object]) -> None:
        """Count one row; a tag that is None or empty is not there."""
        for tag, value in tags.items():
            if tag not in self._known and len(self._known) < TAGS:
                self._known[tag] = {}
                self._codes[tag] = array("b")
            if tag not in self._codes:
                continue
            code = _NONE if value is None else self._code(tag, tag_text(value))
            if code is None:
                del self._codes[tag]
            else:
                self._fill(tag)
                self._codes[tag].append(code)
        self._rows += 1

    def _fill(self, tag: str) -> None:
        """Note that the rows since the tag came last have no value of it."""
        codes = self._codes[tag]
        codes.extend(array("b", [_NONE]) * (self._rows - len(codes)))

    def _code(self, tag: str, value: str) -> int | None:
        """Return a value's number; None where there are too many, or it is a text."""
        if not value.strip():
            return _NONE
        known = self._known[tag]
        if value not in known and (len(known) == MOST or len(value) > LONGEST):
            return None
        return known.setdefault(value, len(known))

    def slices(
        self, tallies: Mapping[str, MetricSummaryBuilder], metrics: Mapping[str, MetricInfo]
    ) -> list[Slices]:
        """Return the slices by each tag that tells kinds of rows apart, values in their order.

        The tallies are of the same rows, counted in the same order. A tag with one value, or with
        a value for each row, has no slices.
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
            scores = {
                name: _scores(tallies[name], info, of_row, len(values))
                for name, info in metrics.items()
            }
            found.append(
                Slices(
                    tag=tag,
                    values=[
                        Slice(
                            value=value,
                            n=counts[code],
                            metrics={name: each[code] for name, each in scores.items()},
                        )
                        for value, code in sorted(values.items())
                    ],
                )
            )
        return found


def _scores(
    tally: MetricSummaryBuilder, info: MetricInfo, of_row: NDArray[np.int8], slices: int
) -> list[SliceScore]:
    """Return what one metric comes to in each slice; int8[rows] tells which a row is in."""
    states = np.frombuffer(tally.row_states, dtype=np.int8)
    of_value = of_row[states == STATES.index(State.SCORED)]
    values = np.frombuffer(tally.values, dtype=np.float64)
    together = any(label is not None for label in tally.clusters)
    scores: list[SliceScore] = []
    for code in range(slices):
        places = np.flatnonzero(of_value == code)
        some: list[float] = values[places].tolist()
        clusters = [tally.clusters[place] for place in places] if together else None
        counts: list[int] = np.bincount(states[of_row == code], minlength=len(State)).tolist()
        scored, undefined, failed = (
            counts[STATES.index(state)] for state in (State.SCORED, State.UNDEFINED, State.FAILED)
        )
        scores.append(
            SliceScore(
                mean=float(np.mean(some)) if some else None,
                interval=mean_interval(some, low=info.low, high=info.high, clusters=clusters),
                scored=scored,
                undefined=undefined,
                failed=failed,
            )
        )
    return scores


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


class RunSummaryBuilder:
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
        self.scores: Mapping[str, MetricSummaryBuilder] = {
            name: MetricSummaryBuilder() for name in metrics
        }
        self._cluster = cluster
        self.rows = self.calls_saved = 0
        self.usage = Usage()
        self.over_budget = False
        self.cascade: CascadeStats | None = None
        self.blame = Counter[ClaimIssue]()
        self.notes = Counter[str]()
        self.tags: dict[str, None] = {}
        self.failed_before = Counter[Cause]()
        self._slicer = TagBreakdown()
        self._judge_ms = array("d")
        self._target_ms = array("d")
        self._asked, self._failed = Counter[str](), Counter[str]()

    @classmethod
    def of(
        cls, rows: Iterable[Row], metrics: Iterable[str], *, cluster: str | None = None
    ) -> "RunSummaryBuilder":
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
            known = note in self.notes or len(self.notes) < TALLY_MOST
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
