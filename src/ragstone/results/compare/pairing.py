"""Columns: what is known of all rows of one run, in some hundred bytes a row."""

import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ragstone.results.metric_summary import FAILED, SCORED, STATES, UNDEFINED
from ragstone.results.run import Run
from ragstone.results.run_summary import cluster_of
from ragstone.types.claim import Label, Texts
from ragstone.types.row import Row
from ragstone.types.sample import Tags
from ragstone.types.score import Score, State

# Outcome: what a comparison takes of a row, so that no more of it need be read.


@dataclass(frozen=True, slots=True)
class OutcomeClaim:
    """What is taken of a JudgedClaim."""

    text: str
    label: Label
    against: Texts = "contexts"


@dataclass(frozen=True, slots=True)
class OutcomeScore:
    """What is taken of a Score."""

    state: State
    value: float | None = None
    claims: tuple[OutcomeClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeSample:
    """What is taken of a Sample."""

    id: str
    query: str
    tags: Tags = field(default_factory=dict[str, str | int | float | bool | None])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is taken of a Row: the fields have its names, so that either can be read."""

    sample: OutcomeSample
    scores: Mapping[str, OutcomeScore] = field(default_factory=dict[str, OutcomeScore])


OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
"""Reads an outcome from a row's JSON, some four times as fast as the row."""


@runtime_checkable
class Readable(Protocol):
    """Rows that are kept as JSON, of which less than the whole can be read."""

    def read_as(self, adapter: TypeAdapter[Outcome], /) -> Iterable[Outcome]:
        """Yield the rows as the adapter reads them."""
        ...


def outcomes_of(run: Run) -> Iterable[Row | Outcome]:
    """Return what a comparison takes of a run's rows, without making the rows if it can."""
    return run.rows.read_as(OUTCOME) if isinstance(run.rows, Readable) else run.rows


_LABELS = tuple(Label)
_LABEL_CODES = {label: code for code, label in enumerate(_LABELS)}


class Unscored(NamedTuple):
    """How many rows have no number."""

    undefined: int
    failed: int


@lru_cache(maxsize=10_000)
def claim_key(text: str, against: str) -> int:
    """Return a number that is equal for claims of equal words held against the same texts.

    Width, case and white space do not matter. It holds within one process only.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return hash((" ".join(plain.split()), against))


def query_key(query: str) -> int:
    """Return a number that is equal for equal queries, but for white space around them."""
    return hash(query.strip())


class MetricColumn:
    """One metric's scores, row by row.

    Attributes:
        values: each row's number; it counts where there is one.
    """

    def __init__(self) -> None:
        self.values = array("d")
        self._states = bytearray()
        self._keys = array("q")
        self._labels = bytearray()
        self._ends = array("q", [0])

    def add(self, score: Score | OutcomeScore | None) -> None:
        """Take the next row's score; None is one that was not asked for."""
        state = State.UNDEFINED if score is None else score.state
        self._states.append(STATES.index(state))
        self.values.append(0.0 if score is None or score.value is None else score.value)
        for claim in () if score is None else score.claims:
            self._keys.append(claim_key(claim.text, claim.against))
            self._labels.append(_LABEL_CODES[claim.label])
        self._ends.append(len(self._keys))

    def take(self, values: NDArray[np.float64], states: NDArray[np.int8]) -> None:
        """Take the numbers of rows without claims, and the rows' states as indices of State's."""
        self._states += states.astype(np.uint8).tobytes()
        self.values.frombytes(np.where(states == SCORED, values, 0.0).tobytes())
        self._ends.extend([len(self._keys)] * len(values))

    @property
    def judged(self) -> bool:
        """Whether any score has claims."""
        return bool(self._keys)

    def scored(self, rows: Iterable[int]) -> list[bool]:
        """Return for each of these rows whether it has a number."""
        return [self._states[row] == SCORED for row in rows]

    def unscored(self, rows: Iterable[int]) -> Unscored:
        """Count those of these rows that have no number."""
        found = Counter(self._states[row] for row in rows)
        return Unscored(undefined=found[UNDEFINED], failed=found[FAILED])

    def claims(self, row: int) -> dict[int, Label]:
        """Return the row's claims: key -> label; the first where two are equal."""
        start, end = self._ends[row], self._ends[row + 1]
        found: dict[int, Label] = {}
        for place in range(start, end):
            found.setdefault(self._keys[place], _LABELS[self._labels[place]])
        return found


class Columns:
    """What a comparison knows of one run's rows.

    Attributes:
        ids: the samples' ids, in the order of the rows.
        queries: their queries' keys.
        clusters: each row's label of the tag that was named; None where it has none.
        tags: the names of all tags.
        metrics: metric name -> its column.
    """

    def __init__(self, metrics: Iterable[str], *, cluster: str | None = None) -> None:
        self.ids: list[str] = []
        self.queries = array("q")
        self.clusters: list[str | None] = []
        self.tags: dict[str, None] = {}
        self.metrics: Mapping[str, MetricColumn] = {name: MetricColumn() for name in metrics}
        self._cluster = cluster

    @classmethod
    def of(cls, run: Run, metrics: Iterable[str], *, cluster: str | None = None) -> "Columns":
        """Read the rows of a run once; none is kept."""
        columns = cls(metrics, cluster=cluster)
        if (rows := run.columns) is None:
            for outcome in outcomes_of(run):
                columns.add(outcome)
            return columns
        columns.ids += rows.ids
        columns.queries.extend(map(query_key, rows.queries))
        if cluster is not None:
            columns.clusters += [None] * len(rows)
        for name, column in columns.metrics.items():
            column.take(*rows.column(name))
        return columns

    def add(self, row: Row | Outcome) -> None:
        """Take the next row."""
        sample = row.sample
        self.ids.append(sample.id)
        self.queries.append(query_key(sample.query))
        self.tags |= dict.fromkeys(sample.tags)
        if self._cluster is not None:
            self.clusters.append(cluster_of(sample.tags, self._cluster))
        for name, column in self.metrics.items():
            column.add(row.scores.get(name))


# Pairing: which sample of one run is which of the other.

Pair = tuple[int, int]
"""The places of one sample in the rows of A and of B."""


@dataclass(frozen=True)
class Pairing:
    """The pairs of two runs, and what could not be paired.

    Attributes:
        pairs: in the order of A's rows.
        by_id: how many have the same id and the same query.
        by_query: how many have the same query under other ids.
        only_a, only_b: rows of one run with no partner in the other.
        renamed: ids that stand in both runs, for different queries; they pair nothing.
        ambiguous: rows left over in either run whose query stands twice there.
    """

    pairs: tuple[Pair, ...]
    by_id: int
    by_query: int
    only_a: int
    only_b: int
    renamed: tuple[str, ...]
    ambiguous: int

    def to_dict(self) -> dict[str, object]:
        """Return the counts as plain data."""
        return {
            "pairs": len(self.pairs),
            "by_id": self.by_id,
            "by_query": self.by_query,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "other_query": len(self.renamed),
            "ambiguous": self.ambiguous,
        }


def pair_samples(a: Columns, b: Columns) -> Pairing:
    """Pair samples by id, those left by query; a query that is left twice pairs nothing."""
    places = {name: place for place, name in enumerate(b.ids)}
    same: list[Pair] = []
    renamed: list[str] = []
    for place, name in enumerate(a.ids):
        other = places.get(name)
        if other is None:
            continue
        if a.queries[place] == b.queries[other]:
            same.append((place, other))
        else:
            renamed.append(name)
    left_a = _left(a, (place for place, _ in same))
    left_b = _left(b, (place for _, place in same))
    once_a, once_b = _once(a, left_a), _once(b, left_b)
    alike = [(once_a[query], once_b[query]) for query in once_a if query in once_b]
    return Pairing(
        pairs=tuple(sorted(same + alike)),
        by_id=len(same),
        by_query=len(alike),
        only_a=len(left_a) - len(alike),
        only_b=len(left_b) - len(alike),
        renamed=tuple(renamed),
        ambiguous=len(left_a) - len(once_a) + len(left_b) - len(once_b),
    )


def _left(columns: Columns, taken: Iterable[int]) -> list[int]:
    gone = set(taken)
    return [place for place in range(len(columns.ids)) if place not in gone]


def _once(columns: Columns, places: Sequence[int]) -> dict[int, int]:
    """Return the places of the queries that stand once among these: query -> place."""
    times = Counter(columns.queries[place] for place in places)
    return {query: place for place in places if times[query := columns.queries[place]] == 1}
