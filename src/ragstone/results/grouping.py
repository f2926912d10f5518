"""Grouping: which rows are not independent, because they share a query, contexts or a source."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count
from ragstone.results.stats.intervals import FEW, effective
from ragstone.types.sample import Tags

INDEPENDENT = "id"
"""The value of `--cluster` for which every row is a group of its own."""
SOURCES = frozenset(
    "source sources sourceid sourcefile sourcefiles document documents documentid doc docid".split()
)
"""Tags that name the source of a row, in lower case without separators."""
SHARED = {
    "query": ("query", "queries"),
    "contexts": ("set of contexts", "sets of contexts"),
    "source": ("source", "sources"),
}
"""What rows may share by default, in words."""

Keys = NDArray[np.int64]
"""A hash for each row of what it may share with others; 0 if it has none."""


class HasText(Protocol):
    """A context."""

    @property
    def text(self) -> str:
        """Its text; empty if only its id is known."""
        ...

    @property
    def id(self) -> str | None:
        """Its id."""
        ...


class RowKeys:
    """Stores what each row may share with others, in 8 bytes for each kind.

    With `cluster`, only the values of that tag are shared.

    Attributes:
        keys: kind -> the hash of each row; valid within one process only.
    """

    def __init__(self, cluster: str | None = None) -> None:
        self.cluster = cluster
        kinds = SHARED if cluster is None else () if cluster == INDEPENDENT else (cluster,)
        self._hashes = {kind: array("q") for kind in kinds}
        self._source_tags: dict[str, bool] = {}

    @property
    def keys(self) -> Mapping[str, Keys]:
        """Kind -> the hash of each row."""
        return {kind: np.frombuffer(found, np.int64) for kind, found in self._hashes.items()}

    def add(self, query: str, contexts: Sequence[HasText] | None, tags: Tags) -> None:
        """Add the next row."""
        if self.cluster is not None:
            for tag, hashes in self._hashes.items():
                label = tags.get(tag)
                hashes.append(0 if label is None else hash(str(label)) or 1)
            return
        self._hashes["query"].append(hash(query.strip()) or 1)
        texts = frozenset(text for each in contexts or () if (text := each.text or each.id))
        self._hashes["contexts"].append(hash(texts) or 1 if texts else 0)
        sources = [value for tag, value in tags.items() if self._names_source(tag)]
        named = tuple(str(value) for value in sources if value not in (None, ""))
        self._hashes["source"].append(hash(named) or 1 if named else 0)

    def _names_source(self, tag: str) -> bool:
        if tag not in self._source_tags:
            plain = "".join(filter(str.isalnum, tag.casefold()))
            self._source_tags[tag] = plain in SOURCES
        return self._source_tags[tag]


class Fixed(NamedTuple):
    """Values that are shared too widely to be a sample: how many rows share how many values."""

    rows: int
    values: int


@dataclass(frozen=True)
class Grouping:
    """How rows are grouped for intervals and tests.

    Attributes:
        rows, groups: their numbers; equal if every row is independent.
        by: what the rows of a group share.
        fixed: kind -> values that do not group rows, because they are too few.
        explicit: whether the user named the tag.
        labels: int64[rows], equal for rows of one group; None if every row is independent.
    """

    rows: int = 0
    groups: int = 0
    by: tuple[str, ...] = ()
    fixed: Mapping[str, Fixed] = field(default_factory=dict[str, Fixed])
    explicit: bool = False
    labels: Keys | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls, rows: int, keys: Mapping[str, Sequence[Keys]], *, explicit: bool = False
    ) -> "Grouping":
        """Group rows that share a value, also through other rows.

        Each kind has one or more hashes for each row; rows share it if one of them is equal.
        Without `explicit`, a kind with effectively fewer than FEW groups does not group rows by its
        values of more than 1 / (2 FEW) of the rows: so few values are a fixed part of the data and
        do not represent others. If values of different kinds leave fewer than FEW groups, only the
        kind with the fewest groups is used.
        """
        links: dict[str, list[tuple[NDArray[np.intp], NDArray[np.intp]]]] = {}
        fixed: dict[str, Fixed] = {}
        for kind, several in keys.items():
            for hashes in several:
                values, codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)
                shared = (counts > 1) & (values != 0)
                sizes = np.append(counts[shared], np.ones(rows - counts[shared].sum(), np.int64))
                few = not explicit and rows > 0 and effective(sizes) < FEW
                wide = shared & (counts * 2 * FEW > rows) & few
                if wide.any() and kind not in fixed:
                    fixed[kind] = Fixed(int(counts[wide].sum()), int(wide.sum()))
                places = np.flatnonzero((shared & ~wide)[codes])
                if places.size:
                    links.setdefault(kind, []).append((places, codes[places]))
        if not links:
            return cls(rows, rows, fixed=fixed, explicit=explicit)
        labels = _connect(rows, [link for several in links.values() for link in several])
        by = tuple(links)
        if (
            not explicit
            and len(by) > 1
            and effective(np.unique(labels, return_counts=True)[1]) < FEW
        ):
            alone = {kind: _connect(rows, several) for kind, several in links.items()}
            kind = min(alone, key=lambda kind: np.unique(alone[kind]).size)
            labels, by = alone[kind], (kind,)
        return cls(rows, int(np.unique(labels).size), by, fixed, explicit, labels)

    def lines(self, unit: str = "row") -> list[str]:
        """Return in words what was grouped, and what was not although it is shared."""
        found: list[str] = []
        if self.explicit and self.by:
            found.append(f"{count(self.rows, unit)} grouped into {self.groups:,} by {self.by[0]}")
        elif self.by:
            names = " and ".join(SHARED[kind][1] for kind in self.by)
            found.append(
                f"{count(self.rows, unit)} grouped into {self.groups:,} by shared {names} "
                "(`--cluster id` treats rows as independent)"
            )
        for kind, (rows, values) in self.fixed.items():
            one, several = SHARED[kind]
            if kind != "source" or values > 1 or rows < self.rows:  # else the data have one source
                found.append(
                    f"{count(rows, unit)} share {values:,} {one if values == 1 else several}, too "
                    f"few for grouping: intervals do not generalize to other {several}"
                )
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the grouping as plain data."""
        return {
            "rows": self.rows,
            "groups": self.groups,
            "by": list(self.by),
            "not_grouped": {kind: each._asdict() for kind, each in self.fixed.items()},
        }


def _connect(rows: int, links: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> Keys:
    """Return the lowest row that each row is connected to; `links` are rows and their values."""
    labels = np.arange(rows, dtype=np.int64)
    changed = True
    while changed:
        before = labels.copy()
        for places, codes in links:
            lowest = np.full(int(codes.max()) + 1, rows, dtype=np.int64)
            np.minimum.at(lowest, codes, labels[places])
            labels[places] = lowest[codes]
        labels = labels[labels]
        changed = not np.array_equal(labels, before)
    return labels
