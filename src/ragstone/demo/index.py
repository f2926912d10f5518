"""Index: a full-text index in memory, whose bm25 scores are turned into similarities."""

import math
import re
import sqlite3
import weakref
from collections.abc import Iterable, Sequence
from threading import Lock

from ragstone.errors import UsageError

STOP_WORDS = frozenset(
    """a about after all am an and any are as at be been before but by can cannot could did do does
    don for from get had has have here how i if in into is isn it its itself just keep me mean must
    my need no not of on once one or other our out over s same should since so such t than that the
    their them then there these they this those to too under up use very was we were what when where
    which who why will with would you your yourself""".split()
)
MOST_WORDS = 64
STEEPNESS = 2.6


def content_words(query: str) -> tuple[str, ...]:
    """Return a query's words that carry meaning: each once, in lower case, at most 64."""
    words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
    return tuple(word for word in words if word not in STOP_WORDS)[:MOST_WORDS]


class Index:
    """Texts with a title each, searchable by words; SQLite's FTS5 does the counting."""

    def __init__(
        self,
        entries: Iterable[tuple[int, str, str]],
        *,
        stem: bool = True,
        title_weight: float = 2.0,
    ) -> None:
        """Index (id, title, text) entries.

        Args:
            entries: what can be found.
            stem: whether `charging` finds `charge` (Porter's rules for English).
            title_weight: what a word in the title counts, where one in the text counts 1;
                at 0 titles are not searched.

        Raises:
            UsageError: this Python's SQLite was built without FTS5.
        """
        self._title_weight = title_weight
        self._columns = "{title body}" if title_weight > 0 else "{body}"
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._lock = Lock()
        weakref.finalize(self, self._database.close)
        tokenizer = "porter unicode61" if stem else "unicode61"
        try:
            self._database.execute(
                f"CREATE VIRTUAL TABLE entries USING fts5(title, body, tokenize='{tokenizer}')"
            )
        except sqlite3.OperationalError as error:
            raise UsageError(
                f"the demo needs SQLite with FTS5, and this Python's has none ({error}); "
                "use a Python from python.org, conda or your system"
            ) from error
        rows = self._database.executemany(
            "INSERT INTO entries(rowid, title, body) VALUES (?, ?, ?)", entries
        )
        self._size = rows.rowcount

    def rarity(self, word: str) -> float:
        """Return how much a word tells: the inverse document frequency that bm25 weighs it with."""
        (found,) = self._found(
            "SELECT count(*) FROM entries WHERE entries MATCH ?", (self._any_of([word]),)
        )
        count = found[0]
        return max(math.log((self._size - count + 0.5) / (count + 0.5)), 1e-6)

    def similarities(self, words: Sequence[str]) -> dict[int, float]:
        """Return the similarity in [0, 1] of each entry that holds one of the words.

        bm25 has no upper end, so it is put in proportion to the query: `share` is an entry's bm25
        divided by the sum of the words' rarities, which is what a text of average length that holds
        every word once would get. A word that no entry holds counts in full, so a question from
        another world stays low. `1 - exp(-2.6 * share)` keeps the order and ends below 1: a share
        of 0.2 is a similarity of 0.41, 0.5 is 0.73, 1 is 0.93.
        """
        if not words:
            return {}
        whole = sum(self.rarity(word) for word in words)
        scored = self._found(
            "SELECT rowid, -bm25(entries, ?, 1.0) FROM entries WHERE entries MATCH ?",
            (self._title_weight, self._any_of(words)),
        )
        return {entry: 1 - math.exp(-STEEPNESS * bm25 / whole) for entry, bm25 in scored}

    def _found(self, query: str, values: tuple[str | float, ...]) -> list[tuple[int, float]]:
        with self._lock:  # one connection, asked from many threads
            return self._database.execute(query, values).fetchall()

    def _any_of(self, words: Sequence[str]) -> str:
        """Return an FTS5 expression: entries that hold at least one of the words."""
        quoted = " OR ".join(f'"{word}"' for word in words)
        return f"{self._columns} : ({quoted})"
