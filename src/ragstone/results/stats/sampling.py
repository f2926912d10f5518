"""Which rows to label: a stratified draw and a simple random one, with each row's probability."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 5
"""Claims that are drawn from each stratum on average, if it has so many."""
RANDOM = 4
"""For so many rows from the strata, one is drawn from all rows: 20%."""


@dataclass(frozen=True)
class Stratum:
    """Rows that are drawn with the same probability.

    Attributes:
        rows: how many there are, and `claims`, how many claims they have together.
        rate: the expected share of claims that a person calls supported, inside 0 to 1.
    """

    name: str
    rows: int
    claims: int
    rate: float


def allocate(strata: Sequence[Stratum], draws: int) -> tuple[list[int], list[int]]:
    """Return how many of the draws each stratum gets, none more than it has rows.

    Each gets rows with LEAST claims, even if that is more than `draws`; the others minimise the
    variance of the estimated mean. Also returns the strata of these others, one by one: with fewer
    draws, only the last of them are missing.
    Source: Neyman (1934); Wright, The American Statistician 66 (2012), for whole numbers.
    """
    given = [min(math.ceil(LEAST * each.rows / each.claims), each.rows) for each in strata]
    others: list[int] = []
    for _ in range(min(draws, sum(each.rows for each in strata)) - sum(given)):
        gains = [
            each.rows * math.sqrt(each.rate * (1 - each.rate) / (n * (n + 1)))
            if n < each.rows
            else -1.0
            for each, n in zip(strata, given, strict=True)
        ]
        others.append(gains.index(max(gains)))
        given[others[-1]] += 1
    return given, others


@dataclass(frozen=True)
class Draw:
    """How many rows are drawn: from each stratum, and at `random` from all rows together.

    The two draws are independent, so a row may be in both. `others` are the strata of the last
    draws, one by one.
    """

    strata: Sequence[Stratum]
    allocation: Sequence[int]
    random: int
    others: Sequence[int] = ()

    @classmethod
    def of(cls, strata: Sequence[Stratum], labels: int) -> "Draw":
        low, high, rows = 1, 1, sum(each.rows for each in strata)
        while high < rows and cls._sized(strata, high).labels < labels:
            low, high = high, min(2 * high, rows)
        while low < high:
            middle = (low + high) // 2
            if cls._sized(strata, middle).labels < labels:
                low = middle + 1
            else:
                high = middle
        return cls._sized(strata, low)

    @classmethod
    def _sized(cls, strata: Sequence[Stratum], draws: int) -> "Draw":
        allocation, others = allocate(strata, draws)
        return cls(strata, allocation, sum(allocation) // RANDOM, others)

    def smaller(self, draws: int) -> "Draw":
        return self._sized(self.strata, draws)

    @property
    def probabilities(self) -> list[float]:
        missed = 1 - self.random / sum(each.rows for each in self.strata)
        pairs = zip(self.strata, self.allocation, strict=True)
        return [1 - missed * (1 - n / each.rows) for each, n in pairs]

    @property
    def labels(self) -> float:
        pairs = zip(self.strata, self.probabilities, strict=True)
        return sum(each.claims * chance for each, chance in pairs)

    def rows(self, stratum: Sequence[int], *, seed: int) -> dict[int, int]:
        """Return the drawn rows' numbers, each with the draws of the smallest draw that has it.

        `stratum` is each row's. The smallest draw comes first, its rows in random order. With the
        same seed, a larger draw begins with the rows of a smaller one.
        """
        codes = np.asarray(stratum)
        within, overall, order = np.random.default_rng(seed).random((3, codes.size))
        draws, least = sum(self.allocation), sum(self.allocation) - len(self.others)
        first = np.full(codes.size, draws + 1)
        enters = np.maximum(RANDOM * np.arange(1, self.random + 1), least)
        first[np.argsort(overall)[: self.random]] = enters
        others = np.asarray(self.others, dtype=np.int64)
        for code, n in enumerate(self.allocation):
            members = np.flatnonzero(codes == code)
            chosen = members[np.argsort(within[members])[:n]]
            later = least + 1 + np.flatnonzero(others == code)
            enters = np.concatenate([np.full(n - later.size, least), later])
            first[chosen] = np.minimum(first[chosen], enters)
        found = np.flatnonzero(first <= draws)
        ordered = found[np.lexsort((order[found], first[found]))]
        return dict(zip(ordered.tolist(), first[ordered].tolist(), strict=True))
