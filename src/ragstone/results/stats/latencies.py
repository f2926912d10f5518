"""Latencies: their percentiles in little memory, the same for any split and order of the values."""

from array import array
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from math import ldexp

import numpy as np

FEW = 10_000
"""Values that are all stored; of more, only their numbers in bins are."""
PARTS = 128
"""Bins from one power of two to the next: each is at most 0.8% wide."""
LEAST = 2.0**-20
"""Shorter durations, in ms, count as this."""


class Latencies:
    """Durations in ms, in about 100 kB at most; several may be merged in any order."""

    def __init__(self) -> None:
        self._values = array("d")
        self._bins = Counter[int]()

    def __len__(self) -> int:
        return len(self._values) + self._bins.total()

    def append(self, value: float) -> None:
        self._values.append(value)
        if len(self._values) > FEW:
            self._fill_bins()

    def __iadd__(self, other: "Latencies") -> "Latencies":
        self._values += other._values
        self._bins += other._bins
        if len(self._values) > FEW:
            self._fill_bins()
        return self

    def percentiles(self) -> dict[str, float | None]:
        """Return the median and the 95th percentile by name; None without values.

        Those of more than FEW values are the middle of a bin.
        """
        shares = {"p50_ms": 0.5, "p95_ms": 0.95}
        if not self._bins:
            values = np.frombuffer(self._values) if self._values else None
            return {
                name: None if values is None else float(np.quantile(values, share))
                for name, share in shares.items()
            }
        self._fill_bins()
        bins = sorted(self._bins)
        ends = list(accumulate(self._bins[each] for each in bins))
        return {
            name: _middle(bins[bisect_right(ends, share * (ends[-1] - 1))])
            for name, share in shares.items()
        }

    def _fill_bins(self) -> None:
        fractions, exponents = np.frexp(np.maximum(np.frombuffer(self._values), LEAST))
        parts = np.floor((2 * fractions - 1) * PARTS).astype(np.int64)
        found, times = np.unique(exponents * PARTS + parts, return_counts=True)
        self._bins.update(dict(zip(found.tolist(), times.tolist(), strict=True)))
        self._values = array("d")


def _middle(number: int) -> float:
    exponent, part = divmod(number, PARTS)
    return ldexp(1 + (part + 0.5) / PARTS, exponent - 1)
