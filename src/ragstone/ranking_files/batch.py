"""Batch: what was returned for some queries, as it stands in the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone.ranking_files.spans import Spans
from ragstone.ranking_files.texts import Hashes, Integers, Texts, padded

TieRule = Literal["trec_eval", "given"]
"""Which of two documents with equal scores is first: the one whose id is greater byte by byte, or
the one that the file has first."""


@dataclass(frozen=True)
class Batch:
    """N documents that were returned, query after query.

    Attributes:
        queries: the ids of the Q queries.
        spans: where each query's documents stand.
        documents: their ids, in the order of the file.
        hashes: the ids' hashes.
        scores: float32[N], by which they are ranked; None where their order is the ranking.
        lines: int64[N], the line of the file that each stands on, from 1.
    """

    queries: tuple[str, ...]
    spans: Spans
    documents: Texts
    hashes: Hashes
    scores: NDArray[np.float32] | None
    lines: Integers

    @classmethod
    def empty(cls, queries: Sequence[str]) -> "Batch":
        """Return a batch in which nothing was returned for these queries."""
        nothing = np.zeros(0, dtype=np.int64)
        sizes = np.zeros(len(queries), dtype=np.int64)
        documents = Texts(padded(b""), nothing, nothing)
        return cls(tuple(queries), Spans.of(sizes), documents, documents.hashes(), None, nothing)

    def order(self, ties: TieRule = "trec_eval") -> Integers | None:
        """Return the documents' places by rank, query after query; None where they stand so.

        The higher score is first. Scores are held in single precision, as in trec_eval.
        """
        scores = self.scores
        if scores is None:
            return None
        stands = np.less if ties == "trec_eval" else np.less_equal
        falls = np.ones(len(scores), dtype=np.bool_)
        falls[1:] = stands(scores[1:], scores[:-1])
        falls[self.spans.starts[self.spans.sizes > 0]] = True
        if falls.all():
            return None
        owners = np.repeat(np.arange(len(self.queries)), self.spans.sizes)
        some = self.spans.members(np.unique(owners[~falls]))
        ranked = some[np.lexsort((-scores[some], owners[some]))]  # equal ones as the file has them
        if ties == "trec_eval":
            self._break_ties(ranked, scores, owners)
        order = np.arange(len(scores))
        order[some] = ranked
        return order

    def _break_ties(self, ranked: Integers, scores: NDArray[np.float32], owners: Integers) -> None:
        """Put the document whose id is greater first among those with equal scores, in place."""
        ties = (scores[ranked[1:]] == scores[ranked[:-1]]) & (
            owners[ranked[1:]] == owners[ranked[:-1]]
        )
        if ties.any():
            tied = np.append(ties, False) | np.append(False, ties)
            level = ranked[tied]
            keys = self.documents.part(level).falling()
            ranked[tied] = level[np.lexsort((*keys, -scores[level], owners[level]))]
