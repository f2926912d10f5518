"""Exact sums of scores and percentiles of latencies, equal for any split and order of values."""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

UNIT = 1074  # every finite double is a whole multiple of 2**-UNIT
FEW = 10_000  # latencies that are all stored; of more, only their numbers in bins are
PARTS = 128  # bins from one power of two to the next: each is at most 0.8% wide
LEAST = 2.0**-20  # shorter durations, in ms, count as this


@dataclass(frozen=True)
class ExactSums:
    """The count of values, the exact sums of their powers, and how many are at which end.

    Adding two of these is exact too. So parts may be counted anywhere and added in any order: the
    mean and its interval have the same last digit. `first`, `second` and `third` are the sums of
    the values, squares and cubes, in units of 2**-UNIT, 2**-(2 UNIT) and 2**-(3 UNIT).
    """

    n: int = 0
    first: int = 0
    second: int = 0
    third: int = 0
    least: float = math.inf
    most: float = -math.inf
    n_least: int = 0
    n_most: int = 0

    @classmethod
    def of(cls, values: Sequence[float] | Numbers) -> Self:
        data = np.asarray(values, dtype=np.float64) + 0.0  # no -0.0
        if not data.size:
            return cls()
        least, most = float(data.min()), float(data.max())
        ends = int(np.count_nonzero(data == least)), int(np.count_nonzero(data == most))
        return cls(data.size, *_power_sums(data), least, most, *ends)

    def __add__(self, other: "ExactSums") -> "ExactSums":
        least, most = min(self.least, other.least), max(self.most, other.most)
        both = (self, other)
        return ExactSums(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.third + other.third,
            least,
            most,
            sum(each.n_least for each in both if each.least == least),
            sum(each.n_most for each in both if each.most == most),
        )

    @property
    def total(self) -> float:
        return self.first / (1 << UNIT)

    @property
    def mean(self) -> float:
        return self.total / self.n

    @property
    def spread(self) -> float:
        return _root(self._squares, self.n * (self.n - 1) << 2 * UNIT)

    @property
    def error(self) -> float:
        return _root(self._squares, self.n**3 << 2 * UNIT)

    @property
    def acceleration(self) -> float:
        n, first = self.n, self.first
        cubes = n * n * self.third - 3 * n * first * self.second + 2 * first**3
        return (-1 if cubes < 0 else 1) * _root(cubes**2, 36 * n * self._squares**3)

    @property
    def _squares(self) -> int:
        return self.n * self.second - self.first**2


def exact(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator << UNIT + 1 - denominator.bit_length()


def _root(numerator: int, denominator: int) -> float:
    shift = (numerator.bit_length() - denominator.bit_length()) // 2
    if shift < 0:
        numerator <<= -2 * shift
    else:
        denominator <<= 2 * shift
    return math.ldexp(math.sqrt(numerator / denominator), shift)


def _power_sums(data: Numbers) -> tuple[int, int, int]:
    # multiples of one power of two are added first, as small whole numbers: most scores are in few
    sums_by_unit: dict[int, tuple[int, int, int]] = {}
    for value, times in Counter[float](data.tolist()).items():
        one, unit = value.as_integer_ratio()
        first, second, third = sums_by_unit.get(unit, (0, 0, 0))
        square = times * one * one
        sums_by_unit[unit] = first + times * one, second + square, third + square * one
    totals = [0, 0, 0]
    for unit, sums in sums_by_unit.items():
        shift = UNIT + 1 - unit.bit_length()
        for power, total in enumerate(sums, 1):
            totals[power - 1] += total << power * shift
    return totals[0], totals[1], totals[2]


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
        """Return the median and the 95th percentile; of many values, the middle of a bin."""
        shares = {"p50_ms": 0.5, "p95_ms": 0.95}
        found: dict[str, float | None] = dict.fromkeys(shares)
        if self._bins:
            self._fill_bins()
            bins = sorted(self._bins)
            ends = list(accumulate(self._bins[number] for number in bins))
            for name, share in shares.items():
                number = bins[bisect_right(ends, share * (ends[-1] - 1))]
                exponent, part = divmod(number, PARTS)
                found[name] = math.ldexp(1 + (part + 0.5) / PARTS, exponent - 1)
        elif self._values:
            values = np.frombuffer(self._values)
            found |= {name: float(np.quantile(values, share)) for name, share in shares.items()}
        return found

    def _fill_bins(self) -> None:
        fractions, exponents = np.frexp(np.maximum(np.frombuffer(self._values), LEAST))
        parts = np.floor((2 * fractions - 1) * PARTS).astype(np.int64)
        found, times = np.unique(exponents * PARTS + parts, return_counts=True)
        self._bins.update(dict(zip(found.tolist(), times.tolist(), strict=True)))
        self._values = array("d")
