"""Grouping: which rows are not independent, such as those that share a query or contexts."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.intervals import FEW, effective
from ragstone.types.sample import Context, Tags

INDEPENDENT = "id"  # the value of the setting `cluster` for which every row is a group of its own
SOURCES = frozenset(
    "source sources sourceid sourcefile sourcefiles document documents documentid doc docid".split()
)
"""Tags that name the source of a row, in lower case without separators."""
CONVERSATIONS = frozenset("conversationid threadid".split())  # tags that name its conversation
Keys = NDArray[np.int64]  # a hash for each row of what it may share with others; 0 if it has none
_Link = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows that share a value, and its number


class RowKeys:
    """Hashes of what each row may share; with `cluster`, only the values of that tag."""

    def __init__(self, cluster: str | None = None) -> None:
        self.cluster = cluster
        kinds = ("query", "contexts") if cluster is None else (cluster,)
        self._kinds = tuple(kind for kind in kinds if kind != INDEPENDENT)
        self._hashes = {kind: array("q") for kind in self._kinds}  # further ones are by tag
        self._rows = 0

    @property
    def keys(self) -> Mapping[str, Sequence[Keys]]:
        found: dict[str, list[Keys]] = {}
        for name in (*self._kinds, *sorted(self._hashes.keys() - self._kinds)):
            kind = name if name in self._kinds else _kind(name)
            found.setdefault(kind, []).append(np.frombuffer(self._filled(name), np.int64))
        return found

    def add(self, query: str, contexts: Sequence[Context] | None, tags: Tags) -> None:
        if self.cluster is not None:
            label = tags.get(self.cluster)
            if self._kinds and label is not None:
                self._filled(self.cluster).append(_number(_digest(str(label))))
        else:
            self._filled("query").append(_number(_digest(query.strip())))
            if texts := {
                _digest(text) for each in contexts or () if (text := each.text or each.id)
            }:
                all_of_them = blake2b(b"".join(sorted(texts)), digest_size=8).digest()
                self._filled("contexts").append(_number(all_of_them))
            for tag, value in tags.items():
                if value not in (None, "") and _kind(tag):
                    self._filled(tag).append(_number(_digest(str(value))))
        self._rows += 1

    def merge(self, other: "RowKeys") -> None:
        for name, more in other._hashes.items():
            self._filled(name).extend(more)
        self._rows += other._rows

    def reorder(self, order: NDArray[np.intp]) -> None:
        for name in self._hashes:
            hashes = self._filled(name)
            hashes[:] = array("q", np.frombuffer(hashes, np.int64)[order].tobytes())

    def _filled(self, name: str) -> "array[int]":
        """Return the hashes of all rows so far; those since the last one have none, which is 0."""
        hashes = self._hashes.setdefault(name, array("q"))
        hashes.extend([0] * (self._rows - len(hashes)))
        return hashes


@lru_cache(maxsize=1000)
def _kind(tag: str) -> str:
    """Return what a tag names: `source`, `conversation`, or nothing that rows may share."""
    plain = "".join(filter(str.isalnum, tag.casefold()))
    other = "conversation" if plain in CONVERSATIONS else ""
    return "source" if plain in SOURCES else other


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little", signed=True) or 1


class Fixed(NamedTuple):
    """Values that are shared too widely to be a sample: how many rows share how many values."""

    rows: int
    values: int


@dataclass(frozen=True)
class Grouping:
    """How rows are grouped for intervals and tests, by what they share."""

    rows: int = 0
    groups: int = 0
    by: tuple[str, ...] = ()
    fixed: Mapping[str, Fixed] = field(default_factory=dict[str, Fixed])  # too few to group rows
    explicit: bool = False
    # equal in a group; None if every row is independent
    labels: Keys | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls, rows: int, keys: Mapping[str, Sequence[Keys]], *, explicit: bool = False
    ) -> "Grouping":
        """Group rows that share a value, also through other rows.

        Each kind has one or more hashes for each row; rows share it if one of them is equal.
        Without `explicit`, a value that all rows share does not group them, and fewer than FEW sets
        of contexts or sources do not group rows by their frequent values (more than 1 / (2 FEW) of
        the rows): they are a fixed part of the data and do not represent others. If values of
        different kinds or runs leave fewer than FEW groups, only those of one are used: those with
        the fewest groups.
        """
        links: list[tuple[str, _Link]] = []
        fixed: dict[str, Fixed] = {}
        for kind, several in keys.items():
            for hashes in several if rows else ():
                values, codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)
                shared = (counts > 1) & (values != 0)
                alone = rows - int(counts[shared].sum())
                groups = int(shared.sum()) + alone
                wide = shared & (groups == 1)
                # Rows with one query repeat an observation. A handbook in the contexts of all rows,
                # or a tag for a kind of source, does not make those rows dependent (0056).
                if kind not in ("query", "conversation") and 2 * groups <= rows:
                    sizes = np.append(counts[shared], np.ones(alone, np.int64))
                    if effective(sizes) < FEW:
                        wide = shared & (counts * 2 * FEW > rows)
                if not explicit and wide.any():
                    fixed.setdefault(kind, Fixed(int(counts[wide].sum()), int(wide.sum())))
                    shared &= ~wide
                places = np.flatnonzero(shared[codes])
                if places.size:
                    links.append((kind, (places, codes[places])))
        if not links:
            return cls(rows, rows, fixed=fixed, explicit=explicit)
        labels = _connect(rows, [link for _, link in links])
        by = tuple(dict.fromkeys(kind for kind, _ in links))
        too_few = effective(np.unique(labels, return_counts=True)[1]) < FEW
        if too_few and len(links) > 1 and not explicit:
            apart = [(kind, _connect(rows, [link])) for kind, link in links]
            kind, labels = min(apart, key=lambda each: np.unique(each[1]).size)
            by = (kind,)
        return cls(rows, int(np.unique(labels).size), by, fixed, explicit, labels)

    def to_dict(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "groups": self.groups,
            "by": list(self.by),
            "not_grouped": {kind: each._asdict() for kind, each in self.fixed.items()},
        }


def _connect(rows: int, links: Sequence[_Link]) -> Keys:
    labels = np.arange(rows, dtype=np.int64)
    changed = True
    while changed:  # in about log(rows) rounds: roots are hooked, then paths are shortened
        before = labels.copy()
        for places, codes in links:
            lowest = np.full(int(codes.max()) + 1, rows, dtype=np.int64)
            np.minimum.at(lowest, codes, labels[places])
            np.minimum.at(labels, labels[places], lowest[codes])
            while not np.array_equal(labels, shorter := labels[labels]):
                labels = shorter
        changed = not np.array_equal(labels, before)
    return labels
