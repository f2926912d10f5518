"""Rankings: the grades of many queries' documents by rank, as arrays; sums are made on demand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Denominator = Literal["k", "retrieved"]  # of precision: k, or the documents among the first k
NOTHING_RELEVANT = "the data marks no document as relevant, so there is nothing to find"
"""The reason of scores of rows whose list of relevant documents is empty."""
SHALLOW = 32  # ranks that are summed at least, so that the usual cut-offs share the sums


@dataclass(frozen=True)
class Rankings:
    """Q queries, each with the distinct documents a retriever returned, best first."""

    gains: NDArray[np.float64]  # [Q, D]: grades by rank; 0 if unknown or after the list's end
    irrelevant: NDArray[np.bool_]  # [Q, D]: the grade is known to be 0
    best: NDArray[np.float64]  # [Q, R]: all grades above 0, highest first, then zeros
    n_relevant: NDArray[np.int64]  # documents with a grade above 0, returned or not
    n_irrelevant: NDArray[np.int64]  # documents with the grade 0, returned or not
    n_retrieved: NDArray[np.int64]  # distinct documents returned, up to the depth that was read
    ids: Sequence[Sequence[str]]
    relevance: Sequence[Mapping[str, float]]

    @classmethod
    def of(
        cls,
        retrieved: Sequence[Sequence[str]],
        relevance: Sequence[Mapping[str, float]],
        *,
        depth: int | None = None,
    ) -> "Rankings":
        """Build from Q lists of document ids, best first, and Q mappings of id to grade.

        A document counts at its first rank; later copies do not take up ranks. `depth` limits the
        ranks that are read.
        """
        ids: list[Sequence[str]] = []
        for each in retrieved:
            first = each[:depth]
            is_distinct = len(set(first)) == len(first)
            ids.append(first if is_distinct else tuple(dict.fromkeys(each))[:depth])
        n_retrieved = np.fromiter(map(len, ids), dtype=np.int64)
        found = (
            map(known.get, each, repeat(np.nan)) for each, known in zip(ids, relevance, strict=True)
        )
        table = np.full((len(ids), int(n_retrieved.max(initial=0))), np.nan)
        listed = np.arange(table.shape[1]) < n_retrieved[:, np.newaxis]
        table[listed] = np.fromiter(chain.from_iterable(found), np.float64)
        rows, ranks = np.nonzero(~np.isnan(table))
        return cls.placed(
            rows=rows,
            ranks=ranks,
            grades=table[rows, ranks],
            n_retrieved=n_retrieved,
            judged=np.fromiter(chain.from_iterable(k.values() for k in relevance), np.float64),
            n_judged=np.fromiter(map(len, relevance), dtype=np.int64),
            ids=ids,
            relevance=relevance,
        )

    @classmethod
    def placed(
        cls,
        *,
        rows: NDArray[np.int64],
        ranks: NDArray[np.int64],
        grades: NDArray[np.float64],
        n_retrieved: NDArray[np.int64],
        judged: NDArray[np.float64],
        n_judged: NDArray[np.int64],
        ids: Sequence[Sequence[str]],
        relevance: Sequence[Mapping[str, float]],
    ) -> "Rankings":
        """Build from matches, each with its query, rank and grade, and the grades of all judged."""
        shape = len(n_retrieved), int(n_retrieved.max(initial=0))
        gains = np.zeros(shape)
        gains[rows, ranks] = grades
        irrelevant = np.zeros(shape, dtype=np.bool_)
        irrelevant[rows, ranks] = grades == 0
        falling = np.zeros((len(n_judged), int(n_judged.max(initial=0))))
        falling[np.arange(falling.shape[1]) < n_judged[:, np.newaxis]] = -judged
        falling.sort(axis=1)
        n_relevant = np.count_nonzero(falling < 0, axis=1).astype(np.int64)
        owners = np.repeat(np.arange(len(n_judged)), n_judged)
        return cls(
            gains=gains,
            irrelevant=irrelevant,
            best=np.maximum(-falling[:, : int(n_relevant.max(initial=0))], 0.0),
            n_relevant=n_relevant,
            n_irrelevant=np.bincount(owners[judged == 0], minlength=len(n_judged)).astype(np.int64),
            n_retrieved=n_retrieved,
            ids=ids,
            relevance=relevance,
        )

    def __len__(self) -> int:
        return len(self.gains)

    def hits(self, k: int) -> NDArray[np.float64]:
        return cut(self.found(k), k)

    def retrieved(self, k: int) -> NDArray[np.float64]:
        return np.minimum(self.n_retrieved, k).astype(np.float64)

    def recall(self, k: int) -> NDArray[np.float64]:
        return ratio(self.hits(k), self.n_relevant.astype(np.float64))

    def precision(self, k: int, denominator: Denominator = "k") -> NDArray[np.float64]:
        whole = np.full(len(self), float(k)) if denominator == "k" else self.retrieved(k)
        return ratio(self.hits(k), whole)

    def first_hit_rank(self, k: int) -> NDArray[np.float64]:
        return np.where(self._first <= k, self._first, np.inf)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        return self.gains > 0

    def found(self, k: int) -> NDArray[np.float64]:
        def counted(depth: int) -> NDArray[np.float64]:
            return np.cumsum(self.relevant[:, :depth], axis=1, dtype=np.float64)

        return self._down_to("found", k, counted)

    @cached_property
    def _first(self) -> NDArray[np.float64]:
        if not self.relevant.size:
            return np.full(len(self), np.inf)
        return np.where(self.relevant.any(axis=1), self.relevant.argmax(axis=1) + 1.0, np.inf)

    def precisions(self, k: int) -> NDArray[np.float64]:
        def summed(depth: int) -> NDArray[np.float64]:
            precision = self.found(depth)[:, :depth] / self.ranks[:depth]
            return np.cumsum(np.where(self.relevant[:, :depth], precision, 0.0), axis=1)

        return self._down_to("precisions", k, summed)

    @cached_property
    def _kept(self) -> dict[str, NDArray[np.float64]]:
        return {}

    def _down_to(
        self, name: str, k: int, make: Callable[[int], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        depth = self.gains.shape[1]
        if name not in self._kept or self._kept[name].shape[1] < min(k, depth):
            self._kept[name] = make(min(max(k, SHALLOW), depth))
        return self._kept[name]

    @property
    def ranks(self) -> NDArray[np.float64]:
        return np.arange(1, self.gains.shape[1] + 1, dtype=np.float64)

    @cached_property
    def ideal(self) -> "Rankings":
        nothing = np.zeros(self.best.shape, dtype=np.bool_)
        return replace(self, gains=self.best, irrelevant=nothing, n_retrieved=self.n_relevant)

    def discounted(self, k: int, *, exponential: bool = False) -> NDArray[np.float64]:
        # Gains are shares of the gain of the query's best document, so that no grade is too high
        # to be raised to a power: comparable within a query, not between queries.
        def summed(depth: int) -> NDArray[np.float64]:
            grades = np.maximum(self.gains[:, :depth], 0.0)
            if exponential:
                shares = np.exp2(grades - self._top) * -np.expm1(-grades * np.log(2))
            else:
                shares = grades / np.where(self._top > 0, self._top, 1.0)
            return np.cumsum(shares / np.log2(self.ranks[:depth] + 1), axis=1)

        return cut(self._down_to(f"discounted {exponential}", k, summed), k)

    @property
    def _top(self) -> NDArray[np.float64]:
        return self.best[:, :1] if self.best.size else np.zeros((len(self), 1))


def ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def cut(sums: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    depth = min(k, sums.shape[1])
    return sums[:, depth - 1] if depth else np.zeros(len(sums))
