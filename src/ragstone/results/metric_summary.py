"""The scores of one metric, counted one by one in little memory, and their summary."""

import math
import re
from array import array
from bisect import insort
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import one_line
from ragstone.errors import Cause
from ragstone.results.stats import intervals
from ragstone.results.stats.intervals import LARGE
from ragstone.results.stats.sums import ExactSums, Latencies
from ragstone.types.claim import Label
from ragstone.types.rankings import NOTHING_RELEVANT
from ragstone.types.score import (
    ALL_SUPPORTED,
    MEAN_SUPPORT,
    NOTHING,
    Detail,
    MetricInfo,
    Score,
    State,
    Summary,
)

LONGEST = 300  # characters of a reason that are stored; servers may return whole pages
MOST = 1000  # different reasons that are counted; all further ones are counted as OTHERS
OTHERS = "for other reasons"
_DIGIT = re.compile(r"\d")
STATES = tuple(State)  # in arrays, a state is its index
SCORED, UNDEFINED, FAILED = map(STATES.index, (State.SCORED, State.UNDEFINED, State.FAILED))
N_WORST = 5  # lowest, and highest, scores whose rows are stored
T = TypeVar("T", bound=str)


def commonest_first(counts: Mapping[T, int]) -> Counter[T]:
    return Counter(dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))))


def lowest(values: NDArray[np.float64], number: int) -> list[int]:
    """Return the places of the lowest values, of equal ones the first, without sorting all."""
    few = np.arange(values.size)
    if 0 < number < values.size:
        few = np.flatnonzero(values <= np.partition(values, number - 1)[number - 1])
    places: list[int] = few[np.argsort(values[few], kind="stable")][:number].tolist()
    return places


class Reasons:
    """Counts of texts in little memory; the same for any split and order of the texts."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = Counter[str](counts or {})

    def add(self, text: str, times: int = 1) -> None:
        self._counts[text] += times
        if len(self._counts) > 2 * MOST:
            self._limit()

    def merge(self, other: "Reasons") -> None:
        for text, times in other._counts.items():
            self.add(text, times)

    @property
    def counts(self) -> Counter[str]:
        self._limit()
        return commonest_first(self._counts)

    def _limit(self) -> None:
        others = self._counts.pop(OTHERS, 0)
        if len(self._counts) > MOST:
            # without digits first: such a text names no single row
            kept = nsmallest(MOST, self._counts, key=lambda text: (bool(_DIGIT.search(text)), text))
            total, self._counts = self._counts.total(), Counter({t: self._counts[t] for t in kept})
            others += total - self._counts.total()
        if others:
            self._counts[OTHERS] = others


@dataclass(frozen=True, order=True)
class First:
    place: int  # the first row with this message
    sample_id: str
    words: str

    def __str__(self) -> str:
        return f"{self.sample_id}: {self.words}"


class Placed(NamedTuple):
    """A score's number, its rank among equal ones, and its place in the data set."""

    value: float
    rank: float
    place: int
    sample_id: str


class SliceScore(TypedDict):
    mean: float | None
    interval: tuple[float, float] | None
    scored: int
    undefined: int
    failed: int


_ADDED = (
    *("values", "row_states", "states", "_causes", "labels", "latencies", "support", "marked"),
    *("passed", "flagged", "noted", "unranked", "quotes", "quotes_not_found", "zeros"),
)
"""Counts of a MetricSummaryBuilder that merging adds."""


class MetricSummaryBuilder:
    """Counts the scores of one metric; rows may come in any order, and in parts that are merged."""

    def __init__(self) -> None:
        self.values = array("d")  # of scored rows; none if many were only summed (`of_values`)
        self.row_states = array("b")  # by row as counted, as indices of STATES
        self.states = Counter[State]()
        self.failed: dict[Cause, First] = {}  # by cause, the first row that failed for it
        self.threshold: float | None = None  # the greatest that sets `passed`
        self.marked = self.passed = self.flagged = self.noted = self.unranked = self.zeros = 0
        self.latencies = Latencies()
        self.imputed: First | None = None  # the first row whose number a policy imputed
        self.note: First | None = None
        self.has_truths = False
        self.labels = Counter[Label]()
        self.support = array("d")  # the mean probability that a claim is supported, if known
        self.quotes = self.quotes_not_found = 0
        self._causes = Counter[Cause]()
        self._undefined = Reasons()
        self._details: dict[str, tuple[int, int]] = {}
        self._ends: dict[int, list[Placed]] = {1: [], -1: []}
        self._summed: ExactSums | None = None

    @classmethod
    def of_values(
        cls,
        values: NDArray[np.float64],
        states: NDArray[np.int8],
        *,
        ids: Sequence[str],
        undefined: Mapping[str, int],
        failed: Mapping[int, str],
        summed: bool = False,
    ) -> "MetricSummaryBuilder":
        """Count the numbers of many rows at once, whose states are indices of STATES.

        `failed` has the places where the metric itself failed. With `summed`, more than LARGE
        values are summed instead of stored.
        """
        builder = cls()
        places = np.flatnonzero(states == SCORED)
        scored = values[places]
        builder.zeros = int(np.count_nonzero(scored == 0))
        counts = np.bincount(states, minlength=len(STATES)).tolist()
        builder.states = Counter(dict(zip(STATES, counts, strict=True)))
        builder._undefined = Reasons({why: count for why, count in undefined.items() if count})
        if failed:
            first = min(failed)
            builder._causes = Counter({Cause.METRIC_ERROR: len(failed)})
            words = one_line(failed[first], LONGEST)
            builder.failed = {Cause.METRIC_ERROR: First(first, ids[first], words)}
        for sign, few in builder._ends.items():
            for one in lowest(sign * scored, N_WORST):
                value, place = sign * float(scored[one]), int(places[one])
                few.append(Placed(value, 0.0, place, ids[place]))
        if summed:
            builder._summed = ExactSums.of(scored)
        else:
            builder.row_states = array("b", states.astype(np.int8).tobytes())
        if not summed or scored.size <= LARGE:
            builder.values = array("d", scored.tobytes())
        return builder

    @property
    def undefined(self) -> Counter[str]:
        return self._undefined.counts

    @property
    def judged(self) -> bool:
        return bool(self.labels)

    @property
    def causes(self) -> Counter[Cause]:
        return commonest_first(self._causes)

    def add(self, score: Score, *, place: int, sample_id: str = "", ranked: bool = True) -> None:
        def first(known: First | None, words: str | None) -> First:
            one = First(place, sample_id, one_line(words or "", LONGEST))
            return one if known is None else min(known, one)

        self.states[score.state] += 1
        self.row_states.append(STATES.index(score.state))
        if score.value is not None:
            self.values.append(score.value)
            if isinstance(support := score.detail.get(MEAN_SUPPORT), float):
                self.support.append(support)
            self.zeros += not score.value
            if score.reason != NOTHING_RELEVANT:
                self._add_to_ends(score, score.value, place, sample_id)
            self.unranked += not ranked or score.detail.get("graded") == "contexts"
        elif score.cause is not None:
            self._causes[score.cause] += 1
            self.failed[score.cause] = first(self.failed.get(score.cause), score.reason)
        else:
            self._undefined.add(one_line(score.reason or "no reason was given", LONGEST))
        self.threshold = _greatest(self.threshold, score.threshold)
        if score.passed is not None:
            self.marked += 1
            self.passed += score.passed
        if score.fallback:
            self.flagged += 1
            self.imputed = first(self.imputed, score.reason)
        if note := score.detail.get("note"):
            self.noted += 1
            self.note = first(self.note, str(note))
        for claim in score.claims:
            self.labels[claim.label] += 1
            self.quotes += len(claim.evidence)
            self.quotes_not_found += sum(not item.verified for item in claim.evidence)
        if score.latency_ms is not None:
            self.latencies.append(score.latency_ms)
        self.has_truths = self.has_truths or bool(score.truths)
        for number, key in enumerate(score.detail):
            self._details[key] = min((place, number), self._details.get(key, (place, number)))

    def _add_to_ends(self, score: Score, number: float, place: int, sample_id: str) -> None:
        whole = score.detail.get(ALL_SUPPORTED)
        good = all(claim.label is Label.SUPPORTED for claim in score.claims)
        for sign, few in self._ends.items():
            value = sign * number
            # of equal numbers by probability; all good verdicts come after the others
            rank = whole + good if isinstance(whole, float) else 0.0
            if len(few) < N_WORST or (value, rank, place) < few[-1]:
                insort(few, Placed(value, rank, place, sample_id))
                del few[N_WORST:]

    def merge(self, other: "MetricSummaryBuilder", *, after: int = 0) -> None:
        """Add what another counted, of other rows, whose places are counted from `after`."""
        if self._summed and other._summed:
            self._summed += other._summed
        elif not self.states:
            self._summed = other._summed
        for name in _ADDED:
            total = getattr(self, name)
            total += getattr(other, name)
            setattr(self, name, total)
        if self._summed and self._summed.n > LARGE:
            del self.values[:]
        self._undefined.merge(other._undefined)
        for cause, first in other.failed.items():
            moved = replace(first, place=first.place + after)
            self.failed[cause] = min(moved, self.failed.get(cause, moved))
        self.threshold = _greatest(self.threshold, other.threshold)
        self.imputed = min(filter(None, (self.imputed, other.imputed)), default=None)
        self.note = min(filter(None, (self.note, other.note)), default=None)
        self.has_truths |= other.has_truths
        for key, where in other._details.items():
            self._details[key] = min(where, self._details.get(key, where))
        for sign, few in other._ends.items():
            moved = [one._replace(place=one.place + after) for one in few]
            self._ends[sign] = sorted(self._ends[sign] + moved)[:N_WORST]

    def reorder(self, order: NDArray[np.intp]) -> None:
        states = np.frombuffer(self.row_states, dtype=np.int8)
        scored = states == SCORED
        numbers = np.cumsum(scored)[order[scored[order]]] - 1
        if len(self.support) == len(self.values):
            self.support = array("d", np.frombuffer(self.support)[numbers].tobytes())
        self.values = array("d", np.frombuffer(self.values)[numbers].tobytes())
        self.row_states = array("b", states[order].tobytes())

    def worst(self, *, higher_is_better: bool) -> tuple[Placed, ...]:
        """Return at most N_WORST rows that scored worst: the worst first, then by place."""
        sign = 1 if higher_is_better else -1
        return tuple(one._replace(value=sign * one.value) for one in self._ends[sign])

    @property
    def details(self) -> tuple[str, ...]:
        return tuple(sorted(self._details, key=self._details.__getitem__))

    def summary(
        self,
        extra: Detail = NOTHING,
        *,
        low: float = 0.0,
        high: float = 1.0,
        groups: NDArray[np.int64] | None = None,
    ) -> Summary:
        sums = self._summed or ExactSums.of(self.values)
        clusters = self.scored_groups(groups)
        many = clusters is None and sums.n > LARGE
        return Summary(
            mean=sums.mean if sums.n else None,
            interval=intervals.mean_interval(
                sums if many else self.values, low=low, high=high, clusters=clusters
            ),
            bounds=intervals.bounds(sums, self.states[State.FAILED], low=low, high=high),
            n=self.states.total(),
            scored=self.states[State.SCORED],
            undefined=self.states[State.UNDEFINED],
            failed=self.states[State.FAILED],
            flagged=self.flagged,
            causes={str(cause): number for cause, number in self.causes.items()},
            pass_rate=self.passed / self.marked if self.marked else None,
            low=sums.least if sums.n else None,
            high=sums.most if sums.n else None,
            extra=extra,
        )

    def slice(
        self, rows: NDArray[np.bool_], info: MetricInfo, groups: NDArray[np.int64] | None
    ) -> SliceScore:
        states = np.frombuffer(self.row_states, dtype=np.int8)
        scored = states == SCORED
        values: list[float] = np.frombuffer(self.values)[rows[scored]].tolist()
        clusters = None if groups is None else groups[scored & rows]
        counts: list[int] = np.bincount(states[rows], minlength=len(STATES)).tolist()
        return SliceScore(
            mean=math.fsum(values) / len(values) if values else None,
            interval=intervals.mean_interval(
                values, low=info.low, high=info.high, clusters=clusters
            ),
            scored=counts[SCORED],
            undefined=counts[UNDEFINED],
            failed=counts[FAILED],
        )

    def scored_groups(self, groups: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        states = np.frombuffer(self.row_states, dtype=np.int8)
        return None if groups is None else groups[states == SCORED]


def _greatest(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)


class ScoreColumn:
    """Stores one metric's scores by place, without their claims; equal scores are stored once."""

    def __init__(self) -> None:
        self._places = array("q")
        self._scores: list[Score] = []
        self._known: dict[Hashable, Score] = {}

    def add(self, place: int, score: Score) -> None:
        detail = tuple(score.detail.items())
        rest = (score.passed, score.threshold, score.fallback, score.reason, score.cause)
        key = (score.state, score.value, *rest, detail)
        if key not in self._known:
            bare = score.model_copy(update={"claims": (), "truths": (), "latency_ms": None})
            self._known[key] = bare
        self._places.append(place)
        self._scores.append(self._known[key])

    def merge(self, other: "ScoreColumn") -> None:
        own = {id(score): self._known.setdefault(key, score) for key, score in other._known.items()}
        self._places += other._places
        self._scores += (own[id(score)] for score in other._scores)

    def in_order(self) -> list[Score]:
        order = np.argsort(np.frombuffer(self._places, dtype=np.int64), kind="stable")
        return [self._scores[position] for position in order]
