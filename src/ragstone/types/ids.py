"""Whether retrieved and relevant documents have ids of one kind; if not, scores are too low."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from ragstone._internal.text import count, quoted

COMPARED = 30  # ids of a row
FEW = 5  # rows, of which fewer show little about the ids of others
WARNINGS = "no retrieved id is among", "few retrieved ids are among"


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    words = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return f" {' '.join(word.lstrip('0') or '0' for word in words)} "


def _nearly_equal(pair: tuple[str, str]) -> bool:
    one, two = map(_words, pair)
    return one in two or two in one


@dataclass
class IdCheck:
    """Counts rows with retrieved and judged ids, and how many of these have an id in both."""

    rows: int = 0
    matched: int = 0
    # of another row: no ids are nearly equal, its place, a retrieved and a judged id
    example: tuple[bool, int, str, str] | None = None

    def compare(self, place: int, retrieved: Sequence[str], judged: Sequence[str]) -> None:
        """Look in a row for nearly equal ids, such as 7 and 007, d1 and d1.txt, or d1#3 and d1."""
        if self.example and self.example < (False, place):
            return
        pairs = product(retrieved[:COMPARED], judged[:COMPARED])
        pair = next(filter(_nearly_equal, pairs), None)
        example = pair is None, place, *(pair or (retrieved[0], judged[0]))
        self.example = min(self.example or example, example)

    def __iadd__(self, other: "IdCheck") -> "IdCheck":
        self.rows += other.rows
        self.matched += other.matched
        self.example = min(filter(None, (self.example, other.example)), default=None)
        return self

    def warning(self, unit: str) -> str | None:
        if not self.example or 2 * self.matched > self.rows or (self.matched and self.example[0]):
            return None
        rows = count(self.rows, unit)
        found = f"{WARNINGS[0]} the relevant ids in any of {rows}"
        if self.matched:
            found = f"{WARNINGS[1]} the relevant ids, in {self.matched:,} of {rows}"
        other, _, retrieved, judged = self.example
        pair = f"{'first' if other else 'nearly equal'}: retrieved {quoted(retrieved)}"
        return f"{found} ({pair}, relevant {quoted(judged)}); check that both use the same ids"

    @property
    def differ(self) -> bool:
        """Whether the ids of so many rows differ that means of rankings show nothing."""
        return self.rows >= FEW and self.warning("row") is not None
