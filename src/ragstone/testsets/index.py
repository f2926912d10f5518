"""ChunkIndex: which chunks of a corpus share rare words with a query (BM25)."""

# bm25s has no type hints
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.words import split_forms, stem
from ragstone.testsets.documents import Chunk, Corpus


class Hit(NamedTuple):
    """A chunk that was found, and its BM25 score, which is above 0."""

    chunk: Chunk
    score: float


def terms_of(text: str) -> list[str]:
    """Return the stems of a text's words in order; pairs of characters of text without spaces."""
    return [stem(form) for form in split_forms(text)]


class ChunkIndex:
    """Finds chunks by words (BM25, with its usual parameters); the headings are searched too.

    Words are compared by their stems, in any language: Chinese, Japanese and Thai text as
    overlapping pairs or triples of characters.
    """

    def __init__(self, corpus: Corpus) -> None:
        import bm25s  # slow to import

        self.corpus = corpus
        self._vocabulary: dict[str, int] = {}
        rows: list[Sequence[int]] = []
        frequency: Counter[int] = Counter()
        for chunk in corpus.chunks:
            terms = terms_of(f"{chunk.heading}\n{chunk.text}")
            ids = array("i", [self._vocabulary.setdefault(t, len(self._vocabulary)) for t in terms])
            frequency.update(set(ids))
            rows.append(ids)
        self._frequency = frequency
        self._model = bm25s.BM25() if self._vocabulary else None
        if self._model:
            self._model.index(
                (rows, self._vocabulary), create_empty_token=False, show_progress=False
            )

    def frequency(self, term: str) -> int:
        number = self._vocabulary.get(term)
        return 0 if number is None else self._frequency[number]

    def search(self, query: str, n: int) -> list[Hit]:
        """Return the best `n` chunks that share a word with the query, the best first.

        Chunks with the same score are in the order of the corpus.
        """
        return self.search_terms(terms_of(query), n)

    def search_terms(self, terms: Iterable[str], n: int) -> list[Hit]:
        numbers = sorted({self._vocabulary[term] for term in terms if term in self._vocabulary})
        if self._model is None or not numbers or n < 1:
            return []
        scores = cast("NDArray[np.float32]", self._model.get_scores_from_ids(numbers))
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")[:n]]
        return [Hit(self.corpus.chunks[place], float(scores[place])) for place in best.tolist()]
