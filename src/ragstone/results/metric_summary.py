"""ScoreTally: what is known of one metric's scores, told one by one, in little memory."""

import math
from array import array
from bisect import insort
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import one_line
from ragstone.errors import Cause
from ragstone.results.stats import bounds, mean_interval
from ragstone.types.score import NOTHING, Detail, Score, State, Summary

LONGEST = 300
"""Characters kept of one reason; servers answer with whole pages."""
MOST = 1000
"""Different reasons that are counted apart."""
OTHERS = "for other reasons"
STATES = tuple(State)
SCORED, UNDEFINED, FAILED = (
    STATES.index(state) for state in (State.SCORED, State.UNDEFINED, State.FAILED)
)
"""What stands for each state where states are numbers."""
KEPT = 5
"""Lowest, and highest, scores whose places are remembered."""


@dataclass(frozen=True, order=True)
class First:
    """The first row of which something is said: its place, its id, and the words."""

    place: int
    sample_id: str
    words: str

    def __str__(self) -> str:
        return f"{self.sample_id}: {self.words}"


class Placed(NamedTuple):
    """A score's number, and the row that has it: its place in the data set, and its id."""

    value: float
    place: int
    sample_id: str


class MetricSummaryBuilder:
    """Counts the scores of one metric; rows may come in any order.

    Attributes:
        values: of the scored ones; `clusters` are the labels of their rows.
        row_states: of every row, in the order they were counted, as an index into STATES.
        undefined: reason -> how many are undefined for it.
        failed: cause -> the first row that failed for it.
        threshold: the pass mark; None while no score has one.
        made_up: the first row whose number a policy made up.
        noted, note: how many scores have a note, and the first.
        judged: whether any has claims.
        unranked: scored ones for which the contexts were read in place of a ranking.
    """

    def __init__(self) -> None:
        self.values = array("d")
        self.row_states = array("b")
        self.clusters: list[str | None] = []
        self.states = Counter[State]()
        self.causes = Counter[Cause]()
        self.undefined = Counter[str]()
        self.failed: dict[Cause, First] = {}
        self.threshold: float | None = None
        self.marked = self.passed = self.flagged = self.noted = self.unranked = 0
        self.made_up: First | None = None
        self.note: First | None = None
        self.judged = False
        self._details: dict[str, tuple[int, int]] = {}
        self._ends: dict[int, list[Placed]] = {1: [], -1: []}
        self._later: tuple[NDArray[np.int64], Sequence[str]] | None = None

    @classmethod
    def of(cls, scores: Iterable[Score]) -> "MetricSummaryBuilder":
        """Tally scores that have no rows."""
        tally = cls()
        for place, score in enumerate(scores):
            tally.add(score, place=place)
        return tally

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
        """Tally the numbers of many rows at once.

        `states` are those of the rows, as indices into STATES; `ids` the samples'; `undefined`
        is how many are undefined for each reason, and `failed` has the places where the metric
        itself failed, with its words.
        """
        tally = cls()
        places = np.flatnonzero(states == SCORED)
        tally.values = array("d", values[places].tobytes())
        tally.row_states = array("b", states.astype(np.int8).tobytes())
        counts = np.bincount(states, minlength=len(STATES)).tolist()
        tally.states = Counter(dict(zip(STATES, counts, strict=True)))
        tally.undefined = Counter({reason: count for reason, count in undefined.items() if count})
        if failed:
            first = min(failed)
            tally.causes = Counter({Cause.METRIC_ERROR: len(failed)})
            words = one_line(failed[first], LONGEST)
            tally.failed = {Cause.METRIC_ERROR: First(first, ids[first], words)}
        tally._later = places, ids
        return tally

    def add(
        self,
        score: Score,
        *,
        place: int,
        sample_id: str = "",
        ranked: bool = True,
        cluster: str | None = None,
    ) -> None:
        """Count one score, of the row at that place of the data set."""

        def first(known: First | None, words: str | None) -> First:
            one = First(place, sample_id, one_line(words or "", LONGEST))
            return one if known is None else min(known, one)

        self.states[score.state] += 1
        self.row_states.append(STATES.index(score.state))
        if score.value is not None:
            self.values.append(score.value)
            self.clusters.append(cluster)
            self._remember(score.value, place, sample_id)
            self.unranked += not ranked or score.detail.get("graded") == "contexts"
        elif score.cause is not None:
            self.causes[score.cause] += 1
            self.failed[score.cause] = first(self.failed.get(score.cause), score.reason)
        else:
            self._count_undefined(score.reason)
        if score.threshold is not None:
            self.threshold = score.threshold
        if score.passed is not None:
            self.marked += 1
            self.passed += score.passed
        if score.fallback:
            self.flagged += 1
            self.made_up = first(self.made_up, score.reason)
        if said := score.detail.get("note"):
            self.noted += 1
            self.note = first(self.note, str(said))
        self.judged = self.judged or bool(score.claims)
        self._count_details(score.detail, place)

    def _count_undefined(self, reason: str | None) -> None:
        words = one_line(reason or "no reason was given", LONGEST)
        known = words in self.undefined or len(self.undefined) < MOST
        self.undefined[words if known else OTHERS] += 1

    def _remember(self, value: float, place: int, sample_id: str) -> None:
        """Keep the row if its score is among the few lowest, or highest, so far."""
        for sign, few in self._ends.items():
            if len(few) < KEPT or (sign * value, place) < few[-1]:
                insort(few, Placed(sign * value, place, sample_id))
                del few[KEPT:]

    def worst(self, *, higher_is_better: bool) -> tuple[Placed, ...]:
        """Return the rows that scored worst, at most KEPT: the worst first, then by their place."""
        sign = 1 if higher_is_better else -1
        if self._later is not None:
            places, ids = self._later
            scored = sign * np.frombuffer(self.values)
            few = _lowest(scored, KEPT).tolist()
            return tuple(
                Placed(self.values[one], int(places[one]), ids[int(places[one])]) for one in few
            )
        return tuple(one._replace(value=sign * one.value) for one in self._ends[sign])

    def _count_details(self, detail: Detail, place: int) -> None:
        for number, key in enumerate(detail):
            self._details[key] = min((place, number), self._details.get(key, (place, number)))

    @property
    def details(self) -> tuple[str, ...]:
        """The keys of the scores' details, in the order of the rows."""
        return tuple(sorted(self._details, key=self._details.__getitem__))

    def summary(self, extra: Detail = NOTHING, *, low: float = 0.0, high: float = 1.0) -> Summary:
        """Return what the scores come to; nothing unscored is averaged.

        `low` and `high` are the least and the most that a score can be.
        """
        values, data = self.values, np.frombuffer(self.values)
        total = math.fsum(values)
        clusters = self.clusters if any(each is not None for each in self.clusters) else None
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


def _lowest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the places of the lowest few, the lowest first; of equal ones the first."""
    if len(values) > count:
        limit = np.partition(values, count - 1)[count - 1]
        below = np.flatnonzero(values < limit)
        some = np.append(below, np.flatnonzero(values == limit)[: count - len(below)])
    else:
        some = np.arange(len(values))
    return some[np.lexsort((some, values[some]))]


# ScoreColumn: the scores of one metric, in little memory.


class ScoreColumn:
    """Keeps one metric's scores by place, without their claims; equal ones are kept once.

    Ranking metrics and rubrics give few different scores, so that a million of them weigh some
    12 MB.
    """

    def __init__(self) -> None:
        self._places = array("q")
        self._numbers = array("i")
        self._distinct: list[Score] = []
        self._known: dict[Hashable, int] = {}

    def add(self, place: int, score: Score) -> None:
        """Keep the score of the row at that place."""
        detail = tuple(score.detail.items())
        said = (score.passed, score.threshold, score.fallback, score.reason, score.cause)
        key = (score.state, score.value, *said, detail)
        number = self._known.setdefault(key, len(self._distinct))
        if number == len(self._distinct):
            bare = score.model_copy(update={"claims": ()}) if score.claims else score
            self._distinct.append(bare)
        self._places.append(place)
        self._numbers.append(number)

    def in_order(self) -> list[Score]:
        """Return the scores in the order of their places."""
        order = np.argsort(np.frombuffer(self._places, dtype=np.int64), kind="stable")
        return [self._distinct[self._numbers[position]] for position in order]
