"""The scores of one metric, counted one by one in little memory, and their summary."""

import math
from array import array
from bisect import insort
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import one_line
from ragstone.errors import Cause
from ragstone.results.stats.intervals import bounds, mean_interval, quantile
from ragstone.types.claim import Label
from ragstone.types.rankings import NOTHING_RELEVANT
from ragstone.types.score import ALL_SUPPORTED, NOTHING, Detail, Score, State, Summary

LONGEST = 300
"""Characters of a reason that are stored; servers may return whole pages."""
MOST = 1000
"""Different reasons that are counted; all further ones are counted as OTHERS."""
OTHERS = "for other reasons"
STATES = tuple(State)
SCORED, UNDEFINED, FAILED = (
    STATES.index(state) for state in (State.SCORED, State.UNDEFINED, State.FAILED)
)
"""Numbers of the states in arrays."""
N_WORST = 5
"""Lowest, and highest, scores whose rows are stored."""


@dataclass(frozen=True, order=True)
class First:
    """The first row with a message: its place, its id, and the message."""

    place: int
    sample_id: str
    words: str

    def __str__(self) -> str:
        return f"{self.sample_id}: {self.words}"


class Placed(NamedTuple):
    """A score's number, and its row: the place in the data set, and the id.

    `rank` orders scores, the worst first.
    """

    rank: float
    value: float
    place: int
    sample_id: str


def _rank(score: Score, value: float) -> float:
    """Return the order of a score: its value, or the probability that all claims are supported.

    A response whose verdicts are all good comes after those with a bad one.
    """
    whole = score.detail.get(ALL_SUPPORTED)
    if not isinstance(whole, float):
        return value
    return whole + all(claim.label is Label.SUPPORTED for claim in score.claims)


class MetricSummaryBuilder:
    """Counts the scores of one metric; rows may come in any order.

    Attributes:
        values: the numbers of scored rows.
        row_states: the state of each row, in the order they were counted, as an index of STATES.
        undefined: reason -> number of rows that are undefined for it.
        failed: cause -> the first row that failed for it.
        whole: the probability that all claims are supported, of the scores that have it.
        quotes: the number of quotes that the judge gave as evidence.
        quotes_not_found: those of them that no judged text contains.
        threshold: the threshold that sets `passed`; None if no score has one.
        imputed: the first row whose number was imputed by a policy.
        noted, note: the number of scores with a note, and the first note.
        judged, has_truths: whether any score has claims, or extracted facts.
        latencies: ms per score that asked questions.
        unranked: scored rows without a ranking, for which the contexts were used.
    """

    def __init__(self) -> None:
        self.values = array("d")
        self.row_states = array("b")
        self.states = Counter[State]()
        self.causes = Counter[Cause]()
        self.undefined = Counter[str]()
        self.failed: dict[Cause, First] = {}
        self.threshold: float | None = None
        self.marked = self.passed = self.flagged = self.noted = self.unranked = 0
        self.latencies = array("d")
        self.imputed: First | None = None
        self.note: First | None = None
        self.judged = self.has_truths = False
        self.whole = array("d")
        self.quotes = self.quotes_not_found = 0
        self._details: dict[str, tuple[int, int]] = {}
        self._ends: dict[int, list[Placed]] = {1: [], -1: []}
        self._columns: tuple[NDArray[np.int64], Sequence[str]] | None = None

    @classmethod
    def of_values(
        cls,
        values: NDArray[np.float64],
        states: NDArray[np.int8],
        *,
        ids: Sequence[str],
        undefined: Mapping[str, int],
        failed: Mapping[int, str],
    ) -> "MetricSummaryBuilder":
        """Count the numbers of many rows at once.

        `states` are indices of STATES, `ids` those of the samples. `undefined` is the number of
        undefined rows for each reason. `failed` has the places where the metric itself failed,
        with its messages.
        """
        builder = cls()
        places = np.flatnonzero(states == SCORED)
        builder.values = array("d", values[places].tobytes())
        builder.row_states = array("b", states.astype(np.int8).tobytes())
        counts = np.bincount(states, minlength=len(STATES)).tolist()
        builder.states = Counter(dict(zip(STATES, counts, strict=True)))
        builder.undefined = Counter({reason: count for reason, count in undefined.items() if count})
        if failed:
            first = min(failed)
            builder.causes = Counter({Cause.METRIC_ERROR: len(failed)})
            words = one_line(failed[first], LONGEST)
            builder.failed = {Cause.METRIC_ERROR: First(first, ids[first], words)}
        builder._columns = places, ids
        return builder

    def add(
        self,
        score: Score,
        *,
        place: int,
        sample_id: str = "",
        ranked: bool = True,
    ) -> None:
        """Count one score, of the row at that place of the data set."""

        def first(known: First | None, words: str | None) -> First:
            one = First(place, sample_id, one_line(words or "", LONGEST))
            return one if known is None else min(known, one)

        self.states[score.state] += 1
        self.row_states.append(STATES.index(score.state))
        if score.value is not None:
            self.values.append(score.value)
            for sign, few in self._ends.items() if score.reason != NOTHING_RELEVANT else ():
                rank = _rank(score, sign * score.value)
                if len(few) < N_WORST or (rank, sign * score.value, place) < few[-1]:
                    insort(few, Placed(rank, sign * score.value, place, sample_id))
                    del few[N_WORST:]
            self.unranked += not ranked or score.detail.get("graded") == "contexts"
        elif score.cause is not None:
            self.causes[score.cause] += 1
            self.failed[score.cause] = first(self.failed.get(score.cause), score.reason)
        else:
            reason = one_line(score.reason or "no reason was given", LONGEST)
            known = reason in self.undefined or len(self.undefined) < MOST
            self.undefined[reason if known else OTHERS] += 1
        if score.threshold is not None:
            self.threshold = score.threshold
        if score.passed is not None:
            self.marked += 1
            self.passed += score.passed
        if score.fallback:
            self.flagged += 1
            self.imputed = first(self.imputed, score.reason)
        if note := score.detail.get("note"):
            self.noted += 1
            self.note = first(self.note, str(note))
        self._add_claims(score)
        if score.latency_ms is not None:
            self.latencies.append(score.latency_ms)
        self.has_truths = self.has_truths or bool(score.truths)
        for number, key in enumerate(score.detail):
            self._details[key] = min((place, number), self._details.get(key, (place, number)))

    def _add_claims(self, score: Score) -> None:
        self.judged = self.judged or bool(score.claims)
        if isinstance(whole := score.detail.get(ALL_SUPPORTED), float):
            self.whole.append(whole)
        verified = [item.verified for claim in score.claims for item in claim.evidence]
        self.quotes += len(verified)
        self.quotes_not_found += verified.count(False)

    def worst(self, *, higher_is_better: bool) -> tuple[Placed, ...]:
        """Return the rows that scored worst, at most N_WORST: the worst first, then by place.

        Judged scores with probabilities are ordered by that of the whole response.
        """
        sign = 1 if higher_is_better else -1
        if self._columns is None:
            return tuple(one._replace(value=sign * one.value) for one in self._ends[sign])
        places, ids = self._columns
        scored = sign * np.frombuffer(self.values)
        candidates = np.arange(len(scored))
        if len(scored) > N_WORST:  # of equal ones the first, without sorting all
            limit = np.partition(scored, N_WORST - 1)[N_WORST - 1]
            below = np.flatnonzero(scored < limit)
            equal = np.flatnonzero(scored == limit)[: N_WORST - len(below)]
            candidates = np.append(below, equal)
        few: list[int] = candidates[np.lexsort((candidates, scored[candidates]))].tolist()
        return tuple(
            Placed(scored[one], self.values[one], int(places[one]), ids[int(places[one])])
            for one in few
        )

    @property
    def details(self) -> tuple[str, ...]:
        """The keys of the scores' details, in the order of the rows."""
        return tuple(sorted(self._details, key=self._details.__getitem__))

    @property
    def latency(self) -> dict[str, float | None]:
        """The latency of the scores that asked questions, in ms."""
        return {f"p{q}_ms": quantile(self.latencies, q / 100) for q in (50, 95)}

    def summary(
        self,
        extra: Detail = NOTHING,
        *,
        low: float = 0.0,
        high: float = 1.0,
        groups: NDArray[np.int64] | None = None,
    ) -> Summary:
        """Return the mean of the scored rows, its interval, and the counts.

        `low` and `high` are the lowest and the highest possible score. `groups` has a label for
        each row, in the order they were counted, that is equal for rows that are not independent.
        """
        values, data = self.values, np.frombuffer(self.values)
        total = math.fsum(values)
        clusters = self.scored_groups(groups)
        return Summary(
            mean=total / len(values) if values else None,
            interval=mean_interval(values, low=low, high=high, clusters=clusters, total=total),
            bounds=bounds(values, self.states[State.FAILED], low=low, high=high, total=total),
            n=self.states.total(),
            scored=self.states[State.SCORED],
            undefined=self.states[State.UNDEFINED],
            failed=self.states[State.FAILED],
            flagged=self.flagged,
            causes={str(cause): number for cause, number in self.causes.items()},
            pass_rate=self.passed / self.marked if self.marked else None,
            low=float(data.min()) if values else None,
            high=float(data.max()) if values else None,
            extra=extra,
        )

    def clusters(self, groups: NDArray[np.int64] | None) -> int | None:
        """Return how many groups the scored rows have; None if rows are independent."""
        scored = self.scored_groups(groups)
        return None if scored is None else len(np.unique(scored))

    def scored_groups(self, groups: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the labels of the scored rows, in the order of `values`."""
        states = np.frombuffer(self.row_states, dtype=np.int8)
        return None if groups is None else groups[states == SCORED]


class ScoreColumn:
    """Stores one metric's scores by place, without their claims; equal scores are stored once.

    Ranking metrics and rubrics have few different scores, so a million take about 12 MB.
    """

    def __init__(self) -> None:
        self._places = array("q")
        self._numbers = array("i")
        self._distinct: list[Score] = []
        self._known: dict[Hashable, int] = {}

    def add(self, place: int, score: Score) -> None:
        """Add the score of the row at that place."""
        detail = tuple(score.detail.items())
        rest = (score.passed, score.threshold, score.fallback, score.reason, score.cause)
        key = (score.state, score.value, *rest, detail)
        number = self._known.setdefault(key, len(self._distinct))
        if number == len(self._distinct):
            bare = score.model_copy(update={"claims": (), "truths": (), "latency_ms": None})
            self._distinct.append(bare)
        self._places.append(place)
        self._numbers.append(number)

    def in_order(self) -> list[Score]:
        """Return the scores in the order of their places."""
        order = np.argsort(np.frombuffer(self._places, dtype=np.int64), kind="stable")
        return [self._distinct[self._numbers[position]] for position in order]
