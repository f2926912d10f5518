"""The rows of two runs in about a hundred bytes each, and their pairs."""

import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from ragstone.results.grouping import RowKeys
from ragstone.results.metric_summary import FAILED, SCORED, STATES, UNDEFINED
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.row import LazyRows, Row
from ragstone.types.sample import with_history
from ragstone.types.score import Score, State

LISTED = 3
"""Ids that a report lists."""


_LABELS = tuple(Label)
_LABEL_CODES = {label: code for code, label in enumerate(_LABELS)}


class Unscored(NamedTuple):
    """How many rows have no number."""

    undefined: int
    failed: int

    @classmethod
    def of(cls, states: NDArray[np.uint8]) -> Self:
        return cls(int(np.sum(states == UNDEFINED)), int(np.sum(states == FAILED)))


@lru_cache(maxsize=10_000)
def claim_key(text: str, against: str) -> int:
    """Return a number that is equal for claims of equal words about the same texts.

    Width, case and white space are ignored. Valid within one process only.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return hash((" ".join(plain.split()), against))


def query_key(query: str) -> int:
    return hash(query.strip())


class MetricColumn:
    """One metric's scores, row by row.

    Attributes:
        values: each row's number; 0 for rows without one.
    """

    def __init__(self) -> None:
        self.values = array("d")
        self._states = bytearray()
        self._keys = array("q")
        self._labels = bytearray()
        self._ends = array("q", [0])

    def add(self, score: Score | None) -> None:
        state = State.UNDEFINED if score is None else score.state
        self._states.append(STATES.index(state))
        self.values.append(0.0 if score is None or score.value is None else score.value)
        for claim in () if score is None else score.claims:
            self._keys.append(claim_key(claim.text, claim.against))
            self._labels.append(_LABEL_CODES[claim.label])
        self._ends.append(len(self._keys))

    def extend(self, values: NDArray[np.float64], states: NDArray[np.int8]) -> None:
        self._states += states.astype(np.uint8).tobytes()
        self.values.frombytes(np.where(states == SCORED, values, 0.0).tobytes())
        self._ends.extend([len(self._keys)] * len(values))

    @property
    def judged(self) -> bool:
        return bool(self._keys)

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        return np.frombuffer(self.values)[rows], np.frombuffer(self._states, np.uint8)[rows]

    def claims(self, row: int) -> dict[int, Label]:
        start, end = self._ends[row], self._ends[row + 1]
        found: dict[int, Label] = {}
        for place in range(start, end):
            found.setdefault(self._keys[place], _LABELS[self._labels[place]])
        return found


class Columns:
    """The rows of one run, as a comparison needs them.

    Attributes:
        ids: the keys of the samples' ids, in the order of the rows.
        queries: those of their queries.
        keys: what each row may share with others; of no rows for a ranking.
    """

    def __init__(self, metrics: Iterable[str], *, cluster: str | None = None) -> None:
        self.ids, self.queries = array("q"), array("q")
        self.keys = RowKeys(cluster)
        self.tags: dict[str, None] = {}
        self.metrics: Mapping[str, MetricColumn] = {name: MetricColumn() for name in metrics}

    @classmethod
    def of(cls, run: Run, metrics: Iterable[str], *, cluster: str | None = None) -> "Columns":
        columns = cls(metrics, cluster=cluster)
        if (rows := run.columns) is None:
            whole = run.rows
            for row in whole.without_exchanges() if isinstance(whole, LazyRows) else whole:
                columns.add(row)
            return columns
        columns.ids.extend(map(hash, rows.ids))
        columns.queries.extend(map(query_key, rows.queries))
        for name, column in columns.metrics.items():
            column.extend(*rows.column(name))
        return columns

    def add(self, row: Row) -> None:
        sample = row.sample
        self.ids.append(hash(sample.id))
        self.queries.append(query_key(sample.query))
        self.tags |= dict.fromkeys(sample.tags)
        self.keys.add(with_history(sample.query, sample.history), sample.contexts, sample.tags)
        for name, column in self.metrics.items():
            column.add(row.scores.get(name))


Pair = tuple[int, int]
"""The places of one sample in the rows of A and of B."""
Places = NDArray[np.int64]


class Pairs(Sequence[Pair]):
    """The pairs of two runs, in the order of A's rows.

    Attributes:
        places: int64[pairs, 2], the places in the rows of A and of B.
    """

    def __init__(self, places: Places) -> None:
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Pairs):
            return np.array_equal(self.places, other.places)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.places.tobytes())

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> "Pairs": ...
    def __getitem__(self, index: int | slice) -> "Pair | Pairs":
        if isinstance(index, slice):
            return Pairs(self.places[index])
        a, b = self.places[index].tolist()
        return a, b


@dataclass(frozen=True)
class Pairing:
    """The pairs of two runs, and what could not be paired.

    Attributes:
        by_id: how many have the same id and the same query.
        by_query: how many have the same query under other ids.
        only_a, only_b: rows of one run with no partner in the other.
        renamed: number of ids with different queries in the two runs; they are not paired.
        first_renamed: the first of these ids, LISTED at most.
        ambiguous: unpaired rows whose query appears twice in their run.
    """

    pairs: Pairs
    by_id: int
    by_query: int
    only_a: int
    only_b: int
    renamed: int
    ambiguous: int
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


def pair_samples(a: Columns, b: Columns, id_of: Callable[[int], str]) -> Pairing:
    (ids_a, queries_a), (ids_b, queries_b) = (
        (np.frombuffer(side.ids, np.int64), np.frombuffer(side.queries, np.int64))
        if side.ids
        else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        for side in (a, b)
    )
    order = np.argsort(ids_b, kind="stable")
    others = np.searchsorted(ids_b, ids_a, sorter=order)
    others = order[np.minimum(others, ids_b.size - 1)] if ids_b.size else others
    found = np.flatnonzero(ids_a == ids_b[others]) if ids_b.size else others[:0]
    others = others[found]
    is_same = queries_a[found] == queries_b[others]
    renamed = found[~is_same]
    same = np.column_stack([found[is_same], others[is_same]])

    left_a = np.delete(np.arange(ids_a.size), same[:, 0])
    left_b = np.delete(np.arange(ids_b.size), same[:, 1])
    once_a, once_b = _unique(queries_a, left_a), _unique(queries_b, left_b)
    _, one, two = np.intersect1d(
        queries_a[once_a], queries_b[once_b], assume_unique=True, return_indices=True
    )
    by_query = np.column_stack([once_a[one], once_b[two]])
    places = np.concatenate([same, by_query]).astype(np.int64)
    return Pairing(
        pairs=Pairs(places[np.argsort(places[:, 0])]),
        by_id=len(same),
        by_query=len(by_query),
        only_a=len(left_a) - len(by_query),
        only_b=len(left_b) - len(by_query),
        renamed=len(renamed),
        ambiguous=len(left_a) - len(once_a) + len(left_b) - len(once_b),
        first_renamed=tuple(map(id_of, renamed[:LISTED].tolist())),
    )


def _unique(queries: Places, places: NDArray[np.intp]) -> NDArray[np.intp]:
    _, first, times = np.unique(queries[places], return_index=True, return_counts=True)
    return places[first[times == 1]]
