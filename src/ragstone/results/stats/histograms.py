"""Histograms: how many values lie where in a range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from ragstone.results.stats.intervals import proportion_interval

BINS = 10


class Histogram(TypedDict):
    """Counts of the values between edges: BINS of them, between BINS + 1 edges that rise."""

    edges: list[float]
    counts: list[int]


def histogram(values: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> Histogram | None:
    """Return how many values lie in each tenth of the range low to high; None without values.

    A range without ends, or one that values lie outside of, is widened or narrowed to the values.
    The last bin holds the values at its upper edge too.
    """
    if not len(values):
        return None
    least, most = min(values), max(values)
    start = min(low, least) if math.isfinite(low) else least
    end = max(high, most) if math.isfinite(high) else most
    if start == end:
        end = start + 1.0
    counts, edges = np.histogram(np.asarray(values, dtype=np.float64), BINS, (start, end))
    return Histogram(edges=edges.tolist(), counts=counts.tolist())


# Share: how many of n were right, in words, alike wherever it is told.


@dataclass(frozen=True)
class Share:
    """So many of n, which is at least 1; as text `12 of 20 (60%, 95 % interval 36% to 81%)`."""

    right: int
    n: int

    @property
    def seen(self) -> str:
        """What was seen: `12 of 20 (60%)`."""
        return f"{self.right:,} of {self.n:,} ({self.right / self.n:.0%})"

    @property
    def interval(self) -> str:
        """The 95 % interval, whole percents: `36% to 81%`."""
        low, high = proportion_interval(self.right, self.n)
        return f"{low:.0%} to {high:.0%}"

    def __str__(self) -> str:
        return f"{self.seen[:-1]}, 95 % interval {self.interval})"


# Quantiles of plain numbers.


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie; None for no values."""
    return float(np.quantile(np.asarray(values), share)) if values else None
