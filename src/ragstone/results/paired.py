"""The pairs of two runs, and how each metric changed over them."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count as counted
from ragstone._internal.text import plain
from ragstone.results.grouping import RowKeys
from ragstone.results.metric_summary import FAILED, SCORED, STATES, UNDEFINED
from ragstone.results.ranking_run import UNRANKED
from ragstone.results.run import Run
from ragstone.results.stats import paired_tests
from ragstone.results.stats.intervals import Clusters, Numbers
from ragstone.results.stats.paired_tests import ALPHA, SignFlips, WinLossTie
from ragstone.types.claim import Label
from ragstone.types.gate import EPSILON
from ragstone.types.row import LazyRows
from ragstone.types.score import MetricInfo, Score, State

LISTED = 3  # ids that a report lists
MAX_OTHERS = 50  # characters of the other metrics, so that their line fits into a terminal
POWER = 0.8
EMPTY = 8  # added to the state of a row for which the system answered or ranked nothing


class Unscored(NamedTuple):
    undefined: int
    failed: int

    @classmethod
    def of(cls, states: NDArray[np.uint8]) -> Self:
        return cls(int(np.sum(states == UNDEFINED)), int(np.sum(states == FAILED)))


@lru_cache(maxsize=10_000)
def claim_key(text: str, against: str) -> int:
    """Return a number, valid in this process: equal for claims of equal words about equal texts."""
    return hash((plain(text), against))


class MetricColumn:
    """One metric's scores, row by row; the value of a row without one is 0."""

    def __init__(self) -> None:
        self.values = array("d")
        self._states = bytearray()
        self._keys = array("q")
        self._supported = bytearray()
        self._ends = array("q", [0])

    def add(self, score: Score | None, *, empty: bool = False) -> None:
        state = State.UNDEFINED if score is None else score.state
        self._states.append(STATES.index(state) + EMPTY * empty)
        self.values.append(0.0 if score is None or score.value is None else score.value)
        for claim in () if score is None else score.claims:
            self._keys.append(claim_key(claim.text, claim.against))
            self._supported.append(claim.label is Label.SUPPORTED)
        self._ends.append(len(self._keys))

    def extend(self, values: NDArray[np.float64], states: NDArray[np.int8]) -> None:
        self._states += states.astype(np.uint8).tobytes()
        self.values.frombytes(np.where(states % EMPTY == SCORED, values, 0.0).tobytes())
        self._ends.extend([len(self._keys)] * len(values))

    @property
    def judged(self) -> bool:
        return bool(self._keys)

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        return np.frombuffer(self.values)[rows], np.frombuffer(self._states, np.uint8)[rows]

    def claims(self, row: int) -> dict[int, bool]:
        """Return whether each claim of a row is supported; of equal claims, the first counts."""
        found: dict[int, bool] = {}
        for place in range(self._ends[row], self._ends[row + 1]):
            found.setdefault(self._keys[place], bool(self._supported[place]))
        return found


class Columns:
    """The rows of one run: hashes of ids and queries, and scores; metrics by their other names."""

    def __init__(self, run: Run, metrics: Mapping[str, str], *, cluster: str | None = None) -> None:
        self.ids, self.queries = array("q"), array("q")
        self.keys = RowKeys(cluster)
        self.tags: dict[str, None] = {}
        self.metrics = {name: MetricColumn() for name in metrics}
        if (columns := run.columns) is not None:
            self.ids.extend(map(hash, columns.ids))
            self.queries.extend(hash(query.strip()) for query in columns.queries)
            for name, column in self.metrics.items():
                values, states = columns.column(name)
                column.extend(values, states + EMPTY * (columns.why == UNRANKED))
            return
        for row in run.rows.without_exchanges() if isinstance(run.rows, LazyRows) else run.rows:
            sample = row.sample
            self.ids.append(hash(sample.id))
            self.queries.append(hash(sample.query.strip()))
            self.tags |= dict.fromkeys(sample.tags)
            self.keys.add(sample.query_with_history, sample.contexts, sample.tags)
            empty = sample.ranked == (), sample.response is not None and not sample.response.strip()
            for name, column in self.metrics.items():
                own = name if name in run.metrics else metrics[name]
                reads_response = "response" in run.metrics[own].needs
                column.add(row.scores.get(own), empty=empty[reads_response])


Places = NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """The pairs of two runs, and what could not be paired."""

    pairs: Places = field(compare=False)  # int64[pairs, 2]: rows of A and of B, in A's order
    by_id: int  # with the same id and query
    by_query: int  # with the same query only
    only_a: int
    only_b: int
    renamed: int  # ids with different queries in the two runs; not paired
    ambiguous: int  # unpaired rows whose query appears twice in their run
    first_renamed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "pairs": len(self.pairs),
            "by_id": self.by_id,
            "by_query": self.by_query,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "other_query": self.renamed,
            "ambiguous": self.ambiguous,
        }


def pair_samples(a: Columns, b: Columns, run_a: Run) -> Pairing:
    ids_a, queries_a, ids_b, queries_b = (
        np.asarray(hashes, np.int64) for hashes in (a.ids, a.queries, b.ids, b.queries)
    )
    _, found, others = np.intersect1d(ids_a, ids_b, return_indices=True)
    order = np.argsort(found)
    found, others = found[order], others[order]
    is_same = queries_a[found] == queries_b[others]
    renamed = found[~is_same]
    same = np.column_stack([found[is_same], others[is_same]])

    # the rest are paired by query, if it is unique in both runs
    left_a = np.delete(np.arange(ids_a.size), same[:, 0])
    left_b = np.delete(np.arange(ids_b.size), same[:, 1])
    once_a, once_b = _unique(queries_a, left_a), _unique(queries_b, left_b)
    _, one, two = np.intersect1d(
        queries_a[once_a], queries_b[once_b], assume_unique=True, return_indices=True
    )
    by_query = np.column_stack([once_a[one], once_b[two]])
    places = np.concatenate([same, by_query]).astype(np.int64)
    return Pairing(
        pairs=places[np.argsort(places[:, 0])],
        by_id=len(same),
        by_query=len(by_query),
        only_a=len(left_a) - len(by_query),
        only_b=len(left_b) - len(by_query),
        renamed=len(renamed),
        ambiguous=len(left_a) - len(once_a) + len(left_b) - len(once_b),
        first_renamed=tuple(run_a.id_and_query(place)[0] for place in renamed[:LISTED].tolist()),
    )


def _unique(queries: Places, places: NDArray[np.intp]) -> NDArray[np.intp]:
    _, first, times = np.unique(queries[places], return_index=True, return_counts=True)
    return places[first[times == 1]]


@dataclass(frozen=True, eq=False)
class PairedScores:
    """One metric's numbers in A and in B, over the pairs that have both, at these `places`."""

    places: NDArray[np.int64]
    a: Numbers
    b: Numbers
    unscored_a: Unscored
    unscored_b: Unscored
    empty: tuple[NDArray[np.bool_], NDArray[np.bool_]]  # with EMPTY in A, and in B
    only_a: int
    only_b: int

    @classmethod
    def of(cls, a: MetricColumn, b: MetricColumn, pairs: NDArray[np.int64]) -> Self:
        (values_a, states_a), (values_b, states_b) = a.take(pairs[:, 0]), b.take(pairs[:, 1])
        scored_a, scored_b = states_a % EMPTY == SCORED, states_b % EMPTY == SCORED
        places = np.flatnonzero(scored_a & scored_b)
        return cls(
            places=places,
            a=values_a[places],
            b=values_b[places],
            unscored_a=Unscored.of(states_a % EMPTY),
            unscored_b=Unscored.of(states_b % EMPTY),
            empty=(states_a[places] >= EMPTY, states_b[places] >= EMPTY),
            only_a=int(scored_a.sum()) - places.size,
            only_b=int(scored_b.sum()) - places.size,
        )

    @property
    def key(self) -> bytes:
        values = (x.round(12) + 0.0 for x in (self.a, self.b))  # equal but for rounding
        return blake2b(b"".join(x.tobytes() for x in (self.places, *values))).digest()


class Finding(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few to tell"


@dataclass(frozen=True)
class CorrectedDifference:
    """The difference by people's labels of so many rows of A and of B, or the problem."""

    mean: float | None = None
    interval: tuple[float, float] | None = None
    labels: tuple[int, int] = (0, 0)
    problem: str | None = None


@dataclass(frozen=True)
class MetricChange:
    """One metric of two runs, over the pairs that both runs scored."""

    metric: str
    higher_is_better: bool
    judged: bool
    span: float  # the largest difference that the metric's range allows
    n: int
    unscored_a: Unscored
    unscored_b: Unscored
    only_in_a: int
    only_in_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None  # the mean of B less that of A
    p: float | None  # of the paired sign-flip test; over clusters, if any
    effect: float | None  # Cohen's d_z
    win_loss_tie: WinLossTie
    empty: Sequence[int]  # pairs that differ, and have no answer or ranking in A, and in B
    groups: int  # independent differences
    spread: float | None  # their standard deviation
    correlation: float  # of the groups' means in A and in B; 0 if either side does not vary
    interval: tuple[float, float] | None = None  # excludes 0 exactly if significant
    confidence: float | None = None  # of the interval: 0.95, or more by Holm's method
    p_adjusted: float | None = None  # for the number of metrics with different numbers
    same_as: str | None = None  # an earlier metric with the same numbers; they count as one
    min_detectable_difference: float | None = None  # the smallest that 80% power shows, if <= span
    conclusive: bool = False  # whether so many pairs or clusters could be significant at all
    corrected: CorrectedDifference | None = None

    @property
    def significant(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def from_empty(self) -> bool:
        """Whether all pairs that differ have no answer or ranking in one of the runs."""
        return sum(self.win_loss_tie[:2]) == sum(self.empty) > 0

    @property
    def gain(self) -> float | None:
        """The difference, signed so that more than 0 is better."""
        if self.difference is None:
            return None
        return self.difference if self.higher_is_better else -self.difference

    @property
    def finding(self) -> Finding:
        if not self.conclusive or self.gain is None:
            return Finding.TOO_FEW
        if not self.significant:
            return Finding.NOT_SHOWN
        return Finding.BETTER if self.gain > 0 else Finding.WORSE

    def is_regression(self, min_effect: float = 0.0, *, corrected: bool = False) -> bool:
        """Whether it got worse; with `corrected`, by the interval of people's labels, if judged."""
        found = self.corrected
        if corrected and self.judged:
            if found is None or found.mean is None or found.interval is None:
                return False
            sign = -1 if self.higher_is_better else 1
            drops = [sign * end for end in found.interval]
            return min(drops) > 0 and sign * found.mean > min_effect + EPSILON
        drop = -(self.gain or 0.0)
        return self.finding is Finding.WORSE and drop > min_effect + EPSILON

    def to_dict(self) -> dict[str, object]:
        same = ["higher_is_better", "n", "mean_a", "mean_b", "difference", "interval"]
        same += ["confidence", "p", "p_adjusted", "same_as"]
        return {
            "finding": self.finding.value,
            "significant": self.significant,
            **{name: getattr(self, name) for name in same},
            "effect_size": self.effect,
            **self.win_loss_tie._asdict(),
            "unanswered": list(self.empty),
            "smallest_difference": self.min_detectable_difference,
            "unscored_a": self.unscored_a._asdict(),
            "unscored_b": self.unscored_b._asdict(),
            "scored_in_a_only": self.only_in_a,
            "scored_in_b_only": self.only_in_b,
            "corrected": self.corrected and vars(self.corrected),
        }


def compare_metric(
    metric: str,
    infos: tuple[MetricInfo, MetricInfo],
    scores: PairedScores,
    clusters: NDArray[np.int64] | None,
) -> tuple[MetricChange, SignFlips]:
    """Return how a metric changed, with its test, for which `correct` decides the level."""
    higher_is_better = infos[1].higher_is_better
    span = max(info.high for info in infos) - min(info.low for info in infos)
    differences = scores.b - scores.a
    count = differences.size
    labels = None if clusters is None else clusters[scores.places]
    independent = differences
    if labels is not None and count:
        independent = Clusters.of(differences, labels).linearized
    enough = len(independent) > 1
    spread = None
    correlation = 0.0
    if enough:
        spread = float(np.std(independent, ddof=1))
        a, b = (
            float(np.var(Clusters.of(side, labels).linearized, ddof=1))
            for side in (scores.a, scores.b)
        )
        if min(a, b) > 0:
            # because var(B - A) = var(A) + var(B) - 2 r sd(A) sd(B)
            correlation = (a + b - spread**2) / (2 * math.sqrt(a * b))
    test = paired_tests.sign_flip(differences, clusters=labels)
    differ = np.abs(differences) > paired_tests.NOTHING
    change = MetricChange(
        metric=metric,
        higher_is_better=higher_is_better,
        judged=any(info.calls for info in infos),
        span=span,
        n=count,
        unscored_a=scores.unscored_a,
        unscored_b=scores.unscored_b,
        only_in_a=scores.only_a,
        only_in_b=scores.only_b,
        mean_a=math.fsum(scores.a) / count if count else None,
        mean_b=math.fsum(scores.b) / count if count else None,
        difference=math.fsum(differences) / count if count else None,
        p=test.p if enough else None,
        effect=paired_tests.effect_size(differences),
        win_loss_tie=paired_tests.wins_losses_ties(differences, higher_is_better=higher_is_better),
        empty=[int(np.sum(differ & empty)) for empty in scores.empty],
        groups=test.groups,
        spread=spread,
        correlation=correlation,
    )
    return change, test


Test: TypeAlias = tuple[bytes, MetricChange, SignFlips]  # the first is the key of the scores


def correct(tested: Sequence[Test]) -> tuple[MetricChange, ...]:
    """Return the changes corrected for their number by Holm's method: p, interval and finding.

    Metrics with equal keys of their scores are one test, and one in which no pair differs is none,
    because its p can only be 1 (Tarone, 1990). Holm tests each p at the level ALPHA / `tests`, and
    stops at the first that is not below it; the interval has that level too.
    """
    firsts: dict[bytes, MetricChange] = {}
    for key, change, _ in tested:
        firsts.setdefault(key, change)
    ps = {k: x.p for k, x in firsts.items() if x.p is not None and any(x.win_loss_tie[:2])}
    adjusted = dict(zip(ps, paired_tests.holm(list(ps.values())), strict=True))
    rejected = sum(p < ALPHA for p in adjusted.values())
    ranks = {key: rank for rank, key in enumerate(sorted(ps, key=ps.__getitem__))}
    corrected: list[MetricChange] = []
    for key, change, test in tested:
        if change.p is None:
            corrected.append(change)
            continue
        # Holm tests the smallest p first; all after the first that is not rejected have its level
        tests = max(1, len(ps) - min(ranks.get(key, 0), rejected))
        ends, spread = test.interval(tests), change.spread or 0.0
        smallest = paired_tests.smallest_difference
        size = smallest(spread, change.groups, alpha=ALPHA / tests, power=POWER)
        corrected.append(
            replace(
                change,
                interval=ends and (max(ends[0], -change.span), min(ends[1], change.span)),
                confidence=1 - ALPHA / tests,
                p_adjusted=adjusted.get(key, 1.0),
                min_detectable_difference=size if size is None or size <= change.span else None,
                same_as=None if change is firsts[key] else firsts[key].metric,
                conclusive=test.can_reject(tests),
            )
        )
    return tuple(corrected)


class Headline(NamedTuple):
    """A sentence about one metric, and a line each about others that got better or worse."""

    metric: str | None
    outcome: Finding
    words: str
    others: Sequence[str] = ()


def headline_of(
    changes: Sequence[MetricChange], names: Sequence[str], main: str | None = None
) -> Headline:
    """Return the finding of runs with these names.

    A significant difference comes first: one of answers before one of missing answers, and a loss
    before a gain. Among equals it is the `main` metric, one that is judged, or the first of all.
    """
    shown = Finding.BETTER, Finding.WORSE

    def order(change: MetricChange) -> tuple[bool, ...]:
        found, is_main = change.finding, change.metric == main
        significance = found not in shown, change.from_empty, found is not Finding.WORSE
        return *significance, not is_main, not change.judged

    scored = sorted((each for each in changes if each.difference is not None), key=order)
    if not scored:
        return Headline(None, Finding.TOO_FEW, "Nothing to compare: no metric has scores in both")
    others: list[str] = []
    for finding in shown:
        same = [
            f"{x.metric} {x.difference:+.3f}" + x.from_empty * f" (no result for {sum(x.empty):,})"
            for x in scored[1:]
            if x.finding is finding
        ]
        if same:
            fitting = max(1, sum(size <= MAX_OTHERS for size in accumulate(map(len, same))))
            more = f" and {len(same) - fitting:,} more" if len(same) > fitting else ""
            also = "Also " * (finding is scored[0].finding) + finding
            others.append(f"{also.capitalize()}: {', '.join(same[:fitting])}{more}")
    return Headline(scored[0].metric, scored[0].finding, _sentence(scored[0], names), others)


def _sentence(change: MetricChange, names: Sequence[str]) -> str:
    wins, losses, _ = change.win_loss_tie
    words = f"{change.finding.capitalize()}: {change.metric} {change.mean_a:.3f} → "
    words += f"{change.mean_b:.3f}, {change.difference:+.3f}"
    if change.interval:
        words += " ({:+.3f} to {:+.3f})".format(*change.interval)
    words += "" if change.higher_is_better else ", lower is better"
    words += f"; of {counted(change.n, 'question')}, {wins:,} better and {losses:,} worse"
    if change.from_empty:
        sides = " or ".join(n for n, empty in zip(names, change.empty, strict=True) if empty)
        words += f", all {wins + losses:,} without an answer or a ranking in {sides}"
    elif change.finding is Finding.NOT_SHOWN and (smallest := change.min_detectable_difference):
        words += f" (the smallest that {change.n:,} pairs would show is {smallest:.2g})"
    if change.only_in_a:
        words += f"; {change.only_in_a:,} more have no score in {names[1]}"
    return words
