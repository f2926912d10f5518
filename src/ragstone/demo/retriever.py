"""Index: a full-text index in memory, whose bm25 scores are turned into similarities."""

import hashlib
import math
import re
import sqlite3
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from ragstone.demo.questions import Passage
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
                f"the demo needs SQLite with FTS5, but this Python's SQLite does not have "
                f"it ({error}); use a Python from python.org, conda or your system"
            ) from error
        rows = self._database.executemany(
            "INSERT INTO entries(rowid, title, body) VALUES (?, ?, ?)", entries
        )
        self._size = rows.rowcount

    def rarity(self, word: str) -> float:
        """Return a word's inverse document frequency, as in BM25."""
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


# Retriever: finds passages for a query, well or deliberately worse, with or without noise.


class Variant(StrEnum):
    """How well a retriever works."""

    GOOD = "good"
    """Searches titles and texts for every word of the query, in all its forms."""
    WORSE = "worse"
    """Searches texts only, for exact forms, and forgets the rarer half of the query's words."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that was retrieved, and its similarity to the query in [0, 1]."""

    passage: Passage
    score: float


class Retriever:
    """Passages by similarity; the same arguments always give the same ranking."""

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        variant: Variant = Variant.GOOD,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Index the passages.

        Args:
            passages: what can be found.
            variant: how well to work.
            noise: how far a similarity may be moved up or down, in [0, 1].
            seed: which noise; the move depends on seed, query and passage, not on earlier searches.
        """
        self._passages = {passage.id: passage for passage in passages}
        self._variant = variant
        self._noise = noise
        self._seed = seed
        good = variant is Variant.GOOD
        self._index = Index(
            ((passage.id, passage.title, passage.text) for passage in passages),
            stem=good,
            title_weight=2.0 if good else 0.0,
        )

    def search(
        self, query: str, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> tuple[Found, ...]:
        """Return at most `top_k` passages of at least that similarity, best first.

        Similarities have four decimals; equal ones are ordered by passage id. A passage that shares
        no word with the query is never returned, so there may be fewer than `top_k`.
        """
        similarities = self._index.similarities(self._words(query))
        moved = {point: self._moved(query, point, score) for point, score in similarities.items()}
        ranked = sorted(moved.items(), key=lambda entry: (-entry[1], entry[0]))
        return tuple(
            Found(self._passages[point], score)
            for point, score in ranked[:top_k]
            if score >= score_threshold
        )

    def _words(self, query: str) -> tuple[str, ...]:
        words = content_words(query)
        if self._variant is Variant.GOOD:
            return words
        return tuple(sorted(words, key=self._index.rarity)[: max(1, len(words) // 2)])

    def _moved(self, query: str, point: int, score: float) -> float:
        if not self._noise:
            return round(score, 4)
        key = f"{self._seed}\n{point}\n{query}".encode("utf-8", "backslashreplace")
        number = int.from_bytes(hashlib.sha256(key).digest()[:8])
        move = self._noise * (number / 2**63 - 1)
        return round(min(1.0, max(0.0, score + move)), 4)
