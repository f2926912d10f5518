"""Rankings: many queries' gains by rank at once, as arrays, cut and cumulated when asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Denominator = Literal["k", "retrieved"]
"""What precision divides by: k, or the documents among the first k that came back."""


@dataclass(frozen=True)
class Rankings:
    """Q queries, each with the documents a retriever returned, best first.

    A document that comes twice counts once, at its first rank; ranks are those of the list
    without its later copies.

    Attributes:
        gains: float64[Q, D], the grade of the document at each rank; 0 where it is not known to
            be relevant, and past the list's end.
        n_relevant: int64[Q], documents with a grade above 0, whether returned or not.
        n_retrieved: int64[Q], distinct documents returned.
        ids: Q tuples of distinct document ids, best first.
        relevance: Q mappings of document id to grade.
    """

    gains: NDArray[np.float64]
    n_relevant: NDArray[np.int64]
    n_retrieved: NDArray[np.int64]
    ids: Sequence[tuple[str, ...]]
    relevance: Sequence[Mapping[str, float]]

    @classmethod
    def of(
        cls, retrieved: Sequence[Sequence[str]], relevance: Sequence[Mapping[str, float]]
    ) -> "Rankings":
        """Build from Q lists of document ids, best first, and Q mappings of id to grade."""
        unique = [tuple(dict.fromkeys(ids)) for ids in retrieved]
        depth = max((len(ids) for ids in unique), default=0)
        gains = np.zeros((len(unique), depth))
        for row, (ids, grades) in enumerate(zip(unique, relevance, strict=True)):
            gains[row, : len(ids)] = [grades.get(id_, 0.0) for id_ in ids]
        return cls(
            gains=gains,
            n_relevant=_counts(sum(g > 0 for g in grades.values()) for grades in relevance),
            n_retrieved=_counts(len(ids) for ids in unique),
            ids=unique,
            relevance=relevance,
        )

    def __len__(self) -> int:
        """Q, the number of queries."""
        return len(self.gains)

    def hits(self, k: int) -> NDArray[np.float64]:
        """Return float64[Q]: relevant documents among the first k."""
        return np.count_nonzero(self.gains[:, :k] > 0, axis=1).astype(np.float64)

    def retrieved(self, k: int) -> NDArray[np.float64]:
        """Return float64[Q]: documents returned among the first k."""
        return np.minimum(self.n_retrieved, k).astype(np.float64)

    def recall(self, k: int) -> NDArray[np.float64]:
        """Return float64[Q]: the share of the relevant documents that is among the first k."""
        return ratio(self.hits(k), self.n_relevant.astype(np.float64))

    def precision(self, k: int, denominator: Denominator = "k") -> NDArray[np.float64]:
        """Return float64[Q]: the share of the first k, or of what came back, that is relevant."""
        whole = np.full(len(self), float(k)) if denominator == "k" else self.retrieved(k)
        return ratio(self.hits(k), whole)

    def first_hit_rank(self, k: int) -> NDArray[np.float64]:
        """Return float64[Q]: the rank (from 1) of the first relevant document, inf if none by k."""
        relevant = self.gains[:, :k] > 0
        if not relevant.size:
            return np.full(len(self), np.inf)
        return np.where(relevant.any(axis=1), relevant.argmax(axis=1) + 1.0, np.inf)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """float64[D]: 1, 2, 3 and so on, down to the end of the longest list."""
        return np.arange(1, self.gains.shape[1] + 1, dtype=np.float64)

    @property
    def irrelevant(self) -> NDArray[np.bool_]:
        """bool[Q, D]: whether the document at each rank was judged not relevant (grade 0)."""
        judged = np.zeros(self.gains.shape, dtype=np.bool_)
        for row, (ids, grades) in enumerate(zip(self.ids, self.relevance, strict=True)):
            judged[row, : len(ids)] = [grades.get(id_) == 0 for id_ in ids]
        return judged

    @property
    def n_irrelevant(self) -> NDArray[np.int64]:
        """int64[Q]: documents judged not relevant (grade 0), whether returned or not."""
        return _counts(sum(g == 0 for g in grades.values()) for grades in self.relevance)

    def ideal(self) -> "Rankings":
        """Return the best possible rankings: each query's relevant documents, best grade first."""
        best = [
            sorted((id_ for id_, g in grades.items() if g > 0), key=lambda id_: -grades[id_])
            for grades in self.relevance
        ]
        return Rankings.of(best, self.relevance)

    def discounted(self, k: int, *, exponential: bool = False) -> NDArray[np.float64]:
        """Return float64[Q]: the gains of the first k, each over log2(rank + 1), summed.

        Gains are shares of the gain of the query's best document, so that no grade is too high
        to be raised to a power: comparable within a query, not between queries.
        """
        best = np.array([[max([0.0, *grades.values()])] for grades in self.relevance])
        best = best.reshape(-1, 1)  # of no queries too
        grades = np.maximum(self.gains, 0.0)
        if exponential:
            shares = np.exp2(grades - best) * -np.expm1(-grades * np.log(2))
        else:
            shares = ratio(grades, best)
        return totals((shares / np.log2(self.ranks + 1))[:, :k])


def ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide element by element; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def totals(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[Q], the sum of each row of float64[Q, D].

    Added rank by rank: a row's sum is the same to the last bit, however many zeros follow.
    """
    return np.cumsum(np.pad(parts, ((0, 0), (1, 0))), axis=1)[:, -1]


def _counts(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(numbers, dtype=np.int64)
