"""Intervals of means and proportions, and the distributions that they and the tests need.

Most scores lie in a range such as 0 to 1, many are exactly 0 or 1, samples are small, and rows come
in groups. No single method covers well for all of these, so `mean_interval` chooses: the exact
interval of a proportion for scores of 0 and 1, Gaffke's bound for few values, else the BCa
bootstrap of whole groups, widened to that bound with half a row for up to 99. All draws have a
fixed seed: the same scores have the same interval.
"""

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.sums import UNIT, ExactSums, Numbers, exact

RESAMPLES = 2000
DRAWS = 20_000
SEED = 20_240_229
BLOCK = 250_000  # numbers drawn at once; this limits the memory of a bootstrap to about 8 MB
LARGE = 500  # for more groups, resampling is as good as its analytic form, which is instant
FEW = 10  # fewer values (or clusters) are too few to resample
SMALL = 100  # of fewer, rare values far from the others may all be missing (record 0029)
FEW_OFF_THE_END = 3  # values off an end of the range: fewer hardly show how values vary
FEW_TRIALS = 30  # for fewer, conservative for proportions; else exact on average (record 0029)
NORMAL = NormalDist()
TINY, EPSILON = 1e-300, sys.float_info.epsilon
MANY = 1000  # degrees of freedom above which Student's t is computed from the normal distribution
STEPS = 100_000  # enough: the continued fraction takes about 3,000 for a and b of 10 million

Ends = tuple[float, float]
Labels = Sequence[Hashable] | NDArray[np.int64]  # None is a cluster of its own


def numbered(*keys: Sequence[Hashable]) -> list[NDArray[np.int64]]:
    known = {key: number for number, key in enumerate(dict.fromkeys(chain.from_iterable(keys)))}
    return [np.array([known[key] for key in some], dtype=np.int64) for some in keys]


@dataclass(frozen=True)
class Clusters:
    """The totals and sizes of independent groups, sorted, and the mean of all values."""

    totals: Numbers
    sizes: Numbers
    mean: float

    @classmethod
    def of(cls, values: Sequence[float] | Numbers, clusters: Labels | None = None) -> Self:
        data = np.asarray(values, dtype=np.float64)
        mean = math.fsum(values) / len(values)
        if clusters is None:
            return cls(np.sort(data), np.ones(data.size), mean)
        if len(clusters) != data.size:
            raise ValueError(f"{data.size} values have {len(clusters)} cluster labels")
        codes = clusters
        if not isinstance(codes, np.ndarray):
            keys = [(place,) if label is None else label for place, label in enumerate(codes)]
            (codes,) = numbered(keys)
        order = np.lexsort((data, codes))  # so that a sum has one last digit, not several
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        totals = np.add.reduceat(data[order], starts)
        sizes = np.diff(starts, append=data.size).astype(np.float64)
        order = np.lexsort((sizes, totals))
        return cls(totals[order], sizes[order], mean)

    @property
    def count(self) -> int:
        return self.totals.size

    @property
    def alone(self) -> bool:
        return bool(self.sizes.max() == 1)

    @property
    def means(self) -> Numbers:
        return self.totals / self.sizes

    @property
    def linearized(self) -> Numbers:
        """One number per group: residuals of a ratio estimator, around the mean of all values."""
        size = self.sizes.sum() / self.count
        return self.mean + (self.totals - self.mean * self.sizes) / size


def bca(groups: Clusters, level: float) -> Ends:
    """Return the bias-corrected and accelerated bootstrap interval of the mean.

    The quantiles are those of Student's t, widened because a bootstrap is too narrow by √(1 - 1/n).
    Groups of different sizes count as fewer equal ones (`effective`).
    For more than LARGE groups the resampled distribution is not drawn but computed (Cornish-Fisher
    expansion). Sources: Efron, Better Bootstrap Confidence Intervals (1987); DiCiccio and Efron
    (1992) for the analytic form; Hesterberg, What Teachers Should Know about the Bootstrap (2015)
    for the widening.
    """
    n = groups.count
    reach = _reach(max(2.0, effective(groups.sizes)), level)
    pull = _without_each(groups)
    scale = float(np.abs(pull).max())
    pull = pull / scale  # squares and cubes of what is left are neither 0 nor infinite
    squares = np.square(pull)
    square = float(squares.sum())
    acceleration = float((squares * pull).sum()) / (6 * square**1.5)
    if n > LARGE:
        error = scale * math.sqrt(square) * (n - 1) / n
        return _expanded(groups.mean, error, acceleration, reach)
    gains = groups.totals - groups.mean * groups.sizes
    rng = np.random.default_rng(SEED)
    shifts = np.empty(RESAMPLES)
    step = max(1, BLOCK // n)
    for start in range(0, RESAMPLES, step):
        drawn = rng.integers(0, n, size=(min(step, RESAMPLES - start), n), dtype=np.int32)
        weight = n if groups.alone else groups.sizes[drawn].sum(axis=1)
        shifts[start : start + step] = gains[drawn].sum(axis=1) / weight
    same = 1e-9 * float(np.abs(shifts).max())  # a tie in all but the last digits is a tie
    share = float((np.mean(shifts < -same) + np.mean(shifts <= same)) / 2)
    bias = NORMAL.inv_cdf(min(max(share, 1 / (RESAMPLES + 1)), RESAMPLES / (RESAMPLES + 1)))
    shares = [NORMAL.cdf(_shifted(z, bias, acceleration)) for z in (-reach, reach)]
    low, high = np.quantile(shifts, shares)
    return groups.mean + float(low), groups.mean + float(high)


def _reach(n: float, level: float) -> float:
    return t_quantile((1 + level) / 2, n - 1) * math.sqrt(n / (n - 1))


def _expanded(mean: float, error: float, acceleration: float, reach: float) -> Ends:
    below, above = (_shifted(z, acceleration, acceleration) for z in (-reach, reach))
    bent = [w + acceleration * (w * w - 1) for w in (below, above)]
    return mean + error * bent[0], mean + error * bent[1]


def effective(sizes: Numbers | NDArray[np.int64]) -> float:
    return float(sizes.sum()) ** 2 / float(np.square(sizes).sum())


def student(groups: Clusters, level: float) -> Ends:
    n = groups.count
    error = math.hypot(*_without_each(groups)) * math.sqrt((n - 1) / n)
    half = error * t_quantile((1 + level) / 2, n - 1)
    return groups.mean - half, groups.mean + half


class Distinct(NamedTuple):
    """The different means of groups, how many groups have each, and their average sizes."""

    means: Numbers
    counts: NDArray[np.int64]
    sizes: Numbers

    @classmethod
    def of(cls, groups: Clusters) -> Self:
        means, place, counts = np.unique(groups.means, return_inverse=True, return_counts=True)
        return cls(means, counts, np.bincount(place, weights=groups.sizes) / counts)

    @classmethod
    def of_sums(cls, sums: ExactSums) -> Self:
        """Count the least and the greatest value, and all that lie between as their mean."""
        n_most = 0 if sums.least == sums.most else sums.n_most
        rest = sums.n - sums.n_least - n_most
        rest_sum = sums.first - sums.n_least * exact(sums.least) - n_most * exact(sums.most)
        means = np.array([sums.least, rest_sum / (max(rest, 1) << UNIT), sums.most])
        counts = np.array([sums.n_least, rest, n_most])
        some = counts > 0
        return cls(means[some], counts[some], np.ones(3)[some])


def bounded(
    groups: Distinct, low: float, high: float, level: float, *, rows: float | None = None
) -> Ends:
    """Return the interval of the mean of few values in a finite range.

    One more value (or so many `rows`), at the far end of the range, is added, and all get random
    weights; a quantile of the weighted means is the interval's end. If all values are at the ends
    of the range, this is Clopper and Pearson's interval; with half a row, nearly mid-P's. Sources:
    Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable (2005); Learned-Miller and Thomas, A New Confidence Interval for the Mean
    of a Bounded Random Variable (2019).
    """
    tail = (1 - level) / 2
    shapes = np.append(groups.counts, rows or 1.0)
    draws = min(DRAWS, max(DRAWS // 5, 10 * DRAWS // shapes.size))
    weights = np.random.default_rng(SEED).standard_gamma(shapes, size=(draws, shapes.size))
    average = float(groups.counts @ groups.sizes) / groups.counts.sum()
    weights *= np.append(groups.sizes, 1.0 if rows else average)
    totals = weights.sum(axis=1)
    below = weights @ np.append(groups.means, low) / totals
    above = weights @ np.append(groups.means, high) / totals
    return float(np.quantile(below, tail)), float(np.quantile(above, 1 - tail))


def _without_each(groups: Clusters) -> Numbers:
    gains = groups.totals - groups.mean * groups.sizes
    return gains / (groups.sizes.sum() - groups.sizes)


def _shifted(z: float, bias: float, acceleration: float) -> float:
    narrowed = 1 - acceleration * (bias + z)
    return bias + (bias + z) / narrowed if narrowed > 0 else math.copysign(math.inf, z)


def proportion_interval(right: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a proportion, given `right` of n.

    Clopper and Pearson's for n below FEW_TRIALS: it covers every true proportion in at least
    `level` of the cases. For larger n the same with mid-P, which counts half of the probability of
    the observed result: it covers in about `level` of the cases. Even if all of n are right, the
    interval is wide: 3 of 3 gives 0.29 to 1.
    Sources: Clopper and Pearson (1934); Lancaster (1961) and Agresti and Gottard (2007).
    """
    tail, mid = (1 - level) / 2, n >= FEW_TRIALS
    return _lower(right, n, tail, mid=mid), 1 - _lower(n - right, n, tail, mid=mid)


def mid_p_interval(right: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the mid-P interval of a proportion for any n; see `proportion_interval`."""
    tail = (1 - level) / 2
    return _lower(right, n, tail, mid=True), 1 - _lower(n - right, n, tail, mid=True)


def _lower(right: int, n: int, tail: float, *, mid: bool) -> float:
    if right == 0:
        return 0.0

    def chance(p: float) -> float:
        as_many = beta_below(p, right, n - right + 1)
        if not mid:
            return as_many
        more = beta_below(p, right + 1, n - right) if right < n else 0.0
        return (as_many + more) / 2

    return root_of(chance, tail, 0.0, 1.0)


@dataclass(frozen=True)
class Share:
    """As text: `12 of 20 (60%, 95% interval 36% to 81%)`; n is at least 1."""

    right: int
    n: int

    @property
    def seen(self) -> str:
        return f"{self.right:,} of {self.n:,} ({self.right / self.n:.0%})"

    @property
    def interval(self) -> str:
        low, high = proportion_interval(self.right, self.n)
        return f"{low:.0%} to {high:.0%}"

    def __str__(self) -> str:
        return f"{self.seen[:-1]}, 95% interval {self.interval})"


def mean_interval(
    values: Sequence[float] | Numbers | ExactSums,
    *,
    low: float = 0.0,
    high: float = 1.0,
    clusters: Labels | None = None,
    level: float = 0.95,
) -> Ends | None:
    """Return the interval of the mean of scores in the range low to high, or None.

    If all values are at the ends of the range (and not in clusters), or all are at one end: the
    exact interval of a proportion. It is valid for the mean too, because the mean of a bounded
    score is no further from an end than the share of values off that end. For fewer than FEW
    values, and for the far side if fewer than FEW_OFF_THE_END differ from an end: Gaffke's bound.
    Otherwise the bootstrap, BCa; for fewer than SMALL, widened to the bound with half an added row.
    Without a finite range, few values have Student's interval.

    With clusters, one label per value (None: a cluster of its own), whole clusters are drawn, and
    "values" above means clusters. None for fewer than two, and if all are equal and inside the
    range, because every resample would be equal too.

    The interval contains the mean and stays in the range, which is widened to the values. More than
    LARGE independent values are only summed: their sums give the same interval as the values.
    """
    groups = None
    if isinstance(values, ExactSums):
        sums = values
        if sums.n <= LARGE:
            raise ValueError(f"an interval of {sums.n} values needs more than their sums")
    else:
        sums = ExactSums.of(values)
        if sums.n < 2:
            return None
        if clusters is not None or sums.n <= LARGE:
            groups = Clusters.of(values, clusters)
            if groups.alone and groups.count > LARGE:
                groups = None
    n = groups.count if groups else sums.n
    low, high = min(low, sums.least), max(high, sums.most)
    finite, equal = math.isfinite(high - low), sums.least == sums.most
    if n < 2 or (equal and not (finite and sums.least in (low, high))):
        return None
    if groups and not groups.alone and not equal:
        gains = np.abs(groups.totals - groups.mean * groups.sizes)
        if gains.max() <= 1e-12 * np.abs(np.asarray(values)).sum():
            return None
    distinct = Distinct.of(groups) if groups else Distinct.of_sums(sums)
    off_low = int(distinct.counts[distinct.means > low].sum())
    off_high = int(distinct.counts[distinct.means < high].sum())
    is_share = off_low + off_high == n and (not groups or groups.alone)
    if finite and (equal or is_share):
        share = proportion_interval(n - off_high, n, level)
        ends = low + share[0] * (high - low), low + share[1] * (high - low)
    else:
        ends = (
            _ends(groups, distinct, level, low, high)
            if groups
            else _expanded(sums.mean, sums.error, sums.acceleration, _reach(n, level))
        )
        if finite and n >= FEW and min(off_low, off_high) < FEW_OFF_THE_END:
            # the few values off one end hardly show how far the mean may be from it
            safe = bounded(distinct, low, high, level)
            ends = (
                min(ends[0], safe[0]) if off_high < FEW_OFF_THE_END else ends[0],
                max(ends[1], safe[1]) if off_low < FEW_OFF_THE_END else ends[1],
            )
    return max(low, min(ends[0], sums.mean)), min(high, max(ends[1], sums.mean))


def _ends(groups: Clusters, distinct: Distinct, level: float, low: float, high: float) -> Ends:
    finite = math.isfinite(high - low)
    if groups.count < FEW:
        return bounded(distinct, low, high, level) if finite else student(groups, level)
    ends = bca(groups, level)
    if finite and groups.count < SMALL:
        reach = 3 * float(np.ptp(distinct.means))  # a value farther away is of another kind
        low = max(low, float(distinct.means.min()) - reach)
        high = min(high, float(distinct.means.max()) + reach)
        safe = bounded(distinct, low, high, level, rows=0.5)
        return min(ends[0], safe[0]), max(ends[1], safe[1])
    return ends


def bounds(
    sums: ExactSums, missing: int, *, low: float = 0.0, high: float = 1.0
) -> tuple[float, float] | None:
    """Return the mean if all `missing` unscored rows had scored `low`, and if all `high`."""
    # Source: Manski, Nonparametric Bounds on Treatment Effects (1990)
    n, total = sums.n + missing, sums.total
    if not n:
        return None
    if not missing:  # infinity times 0 is not a number
        return total / n, total / n
    return (total + missing * low) / n, (total + missing * high) / n


# Distributions: Student's t and beta. Scipy would be a large dependency for these two.


def beta_below(x: float, a: float, b: float) -> float:
    """Return the share of the beta distribution below x: the incomplete beta function."""
    # Source: NIST Digital Library of Mathematical Functions, 8.17.22 and 8.17.4
    return _below(x, 1 - x, a, b)


def t_both_tails(x: float, freedom: float) -> float:
    if math.isinf(x):
        return 0.0
    square = x * x
    whole = freedom + square
    return _below(freedom / whole, square / whole, freedom / 2, 0.5)


@cache
def t_quantile(share: float, freedom: float) -> float:
    if share == 0.5:
        return 0.0
    if freedom >= MANY:  # Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5
        z = NORMAL.inv_cdf(share)
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
        )
        return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
    tails = 2 * min(share, 1 - share)
    reach = 1.0
    while t_both_tails(reach, freedom) > tails:
        reach *= 2
    found = root_of(lambda x: -t_both_tails(x, freedom), -tails, 0.0, reach)
    return math.copysign(found, share - 0.5)


def root_of(rising: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Return where a rising function reaches the goal between low and high, to the last digits."""
    # Source: Chandrupatla, A new hybrid quadratic/bisection algorithm (1997), for fewer calls
    (x1, f1), (x2, f2) = (high, rising(high) - goal), (low, rising(low) - goal)
    if f2 >= 0 or f1 <= 0:
        return low if f2 >= 0 else high
    share, best = 0.5, x1
    for _ in range(STEPS):
        x = x1 + share * (x2 - x1)
        f = rising(x) - goal
        if (f > 0) == (f1 > 0):
            x3, f3 = x1, f1
        else:
            (x3, f3), (x2, f2) = (x2, f2), (x1, f1)
        x1, f1 = x, f
        best = x1 if abs(f1) < abs(f2) else x2
        least = 2 * EPSILON * abs(best) / abs(x2 - x1)
        if least > 0.5 or f1 == 0:
            break
        width, height = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        share = 0.5
        if height**2 < width and (1 - height) ** 2 < 1 - width:
            along = f1 / (f2 - f1) * f3 / (f2 - f3)
            share = along + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        share = min(max(share, least), 1 - least)
    return best


def _below(x: float, rest: float, a: float, b: float) -> float:
    """Return the incomplete beta function; `rest` is 1 - x, given because 1 - x loses digits."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _below_its_middle(rest, x, b, a)
    return _below_its_middle(x, rest, a, b)


def _below_its_middle(x: float, rest: float, a: float, b: float) -> float:
    ways = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or TINY)
    value = d
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or TINY)
            c = (1 + term / c) or TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(ways + a * math.log(x) + b * math.log(rest)) / a * value
