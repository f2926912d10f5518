"""Retrieval in the demo: a full-text index in memory, and a retriever of passages."""

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
        """Index (id, title, text) entries; `stem` finds `charge` for `charging` (English).

        A word in a title counts `title_weight` times; at 0 titles are not searched.
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
        query = "SELECT count(*) FROM entries WHERE entries MATCH ?"
        [[count]] = self._found(query, (self._any_of([word]),))
        return max(math.log((self._size - count + 0.5) / (count + 0.5)), 1e-6)

    def similarities(self, words: Sequence[str]) -> dict[int, float]:
        """Return the similarity in [0, 1] of each entry that has one of the words.

        bm25 has no maximum, so it is divided by the sum of the words' rarities, which is what a
        text of average length with every word once would get. A word that is in no entry counts in
        full. `1 - exp(-2.6 * share)` keeps the order: a share of 0.2 is a similarity of 0.41, 0.5
        is 0.73, 1 is 0.93.
        """
        if not words:
            return {}
        whole = sum(self.rarity(word) for word in words)
        scored = self._found(
            "SELECT rowid, -bm25(entries, ?, 1.0) FROM entries WHERE entries MATCH ?",
            (self._title_weight, self._any_of(words)),
        )
        return {int(entry): 1 - math.exp(-STEEPNESS * bm25 / whole) for entry, bm25 in scored}

    def _found(self, query: str, values: tuple[str | float, ...]) -> list[tuple[float, ...]]:
        with self._lock:  # one connection, asked from many threads
            return self._database.execute(query, values).fetchall()

    def _any_of(self, words: Sequence[str]) -> str:
        quoted = " OR ".join(f'"{word}"' for word in words)
        return f"{self._columns} : ({quoted})"


class Variant(StrEnum):
    """How a retriever works.

    `good` searches titles and texts for every word of the query, in all its forms. `worse` searches
    texts only, for exact forms, without the rarer half of the query's words.
    """

    GOOD = "good"
    WORSE = "worse"


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
        """Index the passages; a similarity is moved by at most `noise`, in [0, 1].

        The move depends on seed, query and passage, not on earlier searches.
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
        words = content_words(query)
        if self._variant is Variant.WORSE:
            words = sorted(words, key=self._index.rarity)[: max(1, len(words) // 2)]
        scores: dict[int, float] = {}
        for point, score in self._index.similarities(words).items():
            key = f"{self._seed}\n{point}\n{query}".encode("utf-8", "backslashreplace")
            share = int.from_bytes(hashlib.sha256(key).digest()[:8]) / 2**63 - 1
            moved = score + self._noise * share
            scores[point] = round(min(1.0, max(0.0, moved)) if self._noise else score, 4)
        ranked = sorted(scores, key=lambda point: (-scores[point], point))[:top_k]
        return tuple(
            Found(self._passages[point], scores[point])
            for point in ranked
            if scores[point] >= score_threshold
        )
