"""Columns: what is known of all rows of one run, in some hundred bytes a row."""

import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.claims import Label
from ragstone.comparison.outcomes import Outcome, OutcomeScore, outcomes_of
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.score_tally import FAILED, SCORED, STATES, UNDEFINED
from ragstone.scores import Score, State
from ragstone.tally import cluster_of

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
