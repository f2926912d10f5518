"""Retriever: finds passages for a query, well or deliberately worse, with or without noise."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragstone.demo.corpus import Passage
from ragstone.demo.index import Index, content_words


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
