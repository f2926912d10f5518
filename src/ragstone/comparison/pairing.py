"""Pairing: which sample of one run is which of the other."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragstone.comparison.columns import Columns

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


def paired(a: Columns, b: Columns) -> Pairing:
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
