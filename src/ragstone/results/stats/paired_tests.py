"""Paired tests: are the differences between pairs more than chance? And their power.

Differences of scores are skewed and full of ties, and often fewer than 50. So the sign-flip test
decides: it assumes only that each difference could as well have had the other sign, and its
interval follows from the same draws, so that both always agree. Its power is
planned with that of the paired t-test, which has a formula.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats import intervals
from ragstone.results.stats.intervals import NORMAL, Clusters, Ends, Labels, Numbers
from ragstone.results.stats.sums import ExactSums

Signs = NDArray[np.uint8]

SEED = 20_240_301
ALPHA = 0.05
RESAMPLES = 9999
BLOCK = 2_000_000  # signs drawn at once; this limits the memory to about 20 MB for any n
LARGE = 10_000  # for more differences the normal limit is more accurate than random flips
NOTHING = 1e-12  # a smaller difference comes from rounding: it is a tie
NODES = 200
DRIFTED = 100  # evidence that at most 1% of all series without drift ever reach
TIE_SEED = 20_261_123
_MAX_CAPITAL = 1e100


class WinLossTie(NamedTuple):
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True)
class SignFlips:
    """The two-sided p of the sign-flip test, and the ends of the interval for a number of tests."""

    p: float
    groups: int
    ends: Callable[[int], Ends]

    def can_reject(self, tests: int = 1) -> bool:
        return 2.0 ** (1 - self.groups) * tests < ALPHA

    def interval(self, tests: int = 1) -> Ends | None:
        """Return the differences not rejected at the level ALPHA / `tests`, or None.

        It excludes 0 exactly when p times `tests` is below ALPHA.
        """
        low, high = self.ends(tests)
        return (low, high) if low < high and math.isfinite(high - low) else None


def sign_flip(
    differences: Sequence[float] | Numbers,
    *,
    clusters: Labels | None = None,
    resamples: int = RESAMPLES,
) -> SignFlips:
    """Test whether the mean of paired differences is 0, by flipping their signs.

    If there are at most `resamples` flips, all are counted (c / all). Otherwise that many are
    drawn, always the same ones, and p is (c + 1) / (resamples + 1). For more than LARGE differences
    the normal limit of the sum is used. Ties do not count. Whole clusters are flipped, if any.

    A flip reaches the observed sum if the groups that it flips have a mean of 0 or less. So the
    means of random halves of the groups are the ends of the intervals. Sources: Fisher, The Design
    of Experiments (1935); Hartigan, Using Subsample Values as Typical Values (1969); Phipson and
    Smyth (2010) for the two ones.
    """
    if not len(differences):
        return SignFlips(1.0, 0, lambda _: (-math.inf, math.inf))
    groups = Clusters.of(_with_ties(differences), clusters)
    sign = -1.0 if math.fsum(groups.totals) < 0 else 1.0  # so that the sum is not below 0
    moved = np.abs(groups.totals) > NOTHING
    moves, sizes = sign * groups.totals[moved], groups.sizes[moved]
    keys = sizes, moves.round(12), np.abs(moves).round(12)  # the same for B - A as for A - B
    moves, sizes = (values[np.lexsort(keys)] for values in (moves, sizes))
    steps: Numbers = np.abs(moves)
    total = math.fsum(moves)
    seen = total - 1e-12 * float(steps.sum())  # a tie up to rounding counts
    everything = float(groups.sizes.sum())
    if not moves.size:
        return SignFlips(1.0, groups.count, lambda _: (0.0, 0.0))
    if moves.size > LARGE:
        square = float(np.square(moves).sum())

        def solve(tests: int) -> Ends:
            z = NORMAL.inv_cdf(1 - ALPHA / tests / 2)
            a = everything**2 - z * z * float(np.square(groups.sizes).sum())
            b = total * everything - z * z * float((moves * sizes).sum())
            c = max(seen, 0.0) ** 2 - z * z * square
            if a <= 0:
                return -math.inf, math.inf
            root = math.sqrt(max(b * b - a * c, 0.0))
            ends = sign * (b - root) / a, sign * (b + root) / a
            return min(ends), max(ends)

        p = math.erfc(max(seen, 0.0) / math.sqrt(2 * square))
        return SignFlips(p, groups.count, solve)

    rng = np.random.default_rng(SEED)
    tied, tied_counts = np.unique(groups.sizes[~moved], return_counts=True)
    exact = moves.size <= 16 and 2**moves.size <= resamples
    blocks: Iterable[Signs]
    if exact:  # each one often enough that the ties, which are drawn, hardly matter
        repeats = max(1, resamples // 2**moves.size) if tied.size else 1
        rows = np.arange(2**moves.size, dtype=np.uint16).astype(">u2")[:, None]
        signs = np.unpackbits(rows.view(np.uint8), axis=1)[:, 16 - moves.size :]
        blocks = [np.tile(signs, (repeats, 1))]
    else:
        n, step = moves.size, max(1, BLOCK // moves.size)
        shapes = ((min(step, resamples - start), -(-n // 8)) for start in range(0, resamples, step))
        blocks = (
            np.unpackbits(rng.integers(0, 256, size=size, dtype=np.uint8), axis=1, count=n)
            for size in shapes
        )
    columns = np.column_stack([steps, -np.sign(moves) * sizes])
    drawn: Numbers = np.concatenate([signs.astype(np.float64) @ columns for signs in blocks])
    flipped = 2 * drawn[:, 0] - steps.sum()
    chosen = drawn[:, 1] + sizes[moves > 0].sum()
    chosen += rng.binomial(tied_counts, 0.5, size=(flipped.size, tied.size)) @ tied
    reached = int(np.sum(np.abs(flipped) >= seen))
    number = flipped.size + (not exact)

    flipped = np.append(flipped, -flipped)  # the groups that were not chosen are a half too
    chosen = np.append(chosen, everything - chosen)
    sums = np.where(flipped >= seen, np.minimum(total - flipped, 0.0), total - flipped) / 2
    some = chosen > 0.5
    means = sign * sums[some] / chosen[some]
    none = np.full(chosen.size - means.size + (not exact), math.inf)
    means = np.sort(means)
    lows, highs = np.append(-none, means), np.append(means, none)

    def look_up(tests: int) -> Ends:
        allowed = sum(few / number * tests < ALPHA for few in range(number))
        return float(lows[allowed - 1]) + 0.0, float(highs[-allowed]) + 0.0  # no -0.0

    return SignFlips((reached + (not exact)) / number, groups.count, look_up)


def effect_size(differences: Sequence[float] | Numbers) -> float | None:
    """Return Cohen's d_z: the mean difference in units of the differences' standard deviation."""
    # Source: Cohen, Statistical Power Analysis (1988), 2.3, where 0.2 is small and 0.8 large
    data = _with_ties(differences)
    if data.size < 2 or np.ptp(data) <= NOTHING:
        return None
    sums = ExactSums.of(data)
    return sums.mean / sums.spread


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted for their number, in the same order."""
    # Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979)
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    ranked = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(ranked):
        worst = max(worst, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = worst
    return adjusted


def wins_losses_ties(
    differences: Sequence[float] | Numbers, *, higher_is_better: bool = True
) -> WinLossTie:
    data = _with_ties(differences)
    above, below = int(np.sum(data > 0)), int(np.sum(data < 0))
    wins, losses = (above, below) if higher_is_better else (below, above)
    return WinLossTie(wins, losses, data.size - above - below)


def _with_ties(differences: Sequence[float] | Numbers) -> Numbers:
    data = np.asarray(differences, dtype=np.float64)
    return np.where(np.abs(data) > NOTHING, data, 0.0)


def smallest_difference(
    spread: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true mean difference that the t-test of n pairs shows with that power."""
    # Source: Cohen, Statistical Power Analysis (1988), chapter 2, with the noncentral t
    return spread * _detectable(n, alpha, power) if n > 1 and spread > 0 else None


@cache
def _detectable(n: int, alpha: float, power: float) -> float:
    """Return the smallest difference per unit of spread: it takes 0.1 s, and metrics share n."""
    limit = intervals.t_quantile(1 - alpha / 2, n - 1)
    # the distribution of the estimated spread, by Gauss-Legendre quadrature
    freedom = n - 1
    around = 9 / math.sqrt(2 * freedom)
    low, high = max(0.0, 1 - 1.2 * around), 1 + 1.5 * around
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    ratios = (low + high) / 2 + nodes * (high - low) / 2
    logs = (freedom - 1) * np.log(ratios) - freedom * (np.square(ratios) - 1) / 2
    shares = weights * np.exp(logs - logs.max())
    shares /= shares.sum()
    limits = (limit * ratios).tolist()

    def detected(shift: float) -> float:
        chances = [NORMAL.cdf(shift - each) + NORMAL.cdf(-shift - each) for each in limits]
        return float(np.dot(chances, shares))

    reach = 1.0
    while detected(reach) < power:
        reach *= 2
    return intervals.root_of(detected, power, 0.0, reach) / math.sqrt(n)


def questions_needed(
    spread: float, difference: float, *, step: float = 0.0, alpha: float = ALPHA, power: float = 0.8
) -> int:
    """Return the smallest number of pairs that detect a true mean `difference` with that power.

    The test is the paired t-test, or the sign-flip test, which needs a few pairs to reject
    anything, and `step` / `difference` more if scores are multiples of `step`. Sources: Miller,
    Adding Error Bars to Evals (arXiv 2411.00640, 2024), section 5; for the steps, the correction
    for continuity of Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions (2003).
    """
    n = math.floor(2 - math.log2(alpha))  # 2^(1 - n) < alpha
    z = NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
    n = max(n, math.floor((z * spread / difference) ** 2))
    while (smallest_difference(spread, n, alpha=alpha, power=power) or 0.0) > difference:
        n += 1
    return n + math.ceil(step / difference) if spread else n


def labels_needed(
    questions: float,
    judged: float,
    correlation: float,
    *,
    spread: float,
    systems: float = 0.5,
    trial: float = 1.0,
) -> int:
    """Return how many of the `judged` questions must be labelled, instead of judging `questions`.

    `correlation` is that of the judge's scores with people's, `systems` that of the two systems,
    and `trial` the variance of scores as a share of the largest with their mean. With R² =
    `correlation`² and independent errors, the differences have R²(1 - systems) / (1 - systems R²).
    The variance is s² ((1 - R²) / labels + R² / judged). The prior of `corrected_difference`, four
    pseudo-rows of half a trial in each run with squared residuals of about 1/4, adds
    (trial / labels)², and shrinks the difference by 2 trial / labels. Source: Cochran, Sampling
    Techniques (1977), 12.6, regression estimators in double sampling.
    """
    square = correlation**2 * (1 - systems) / (1 - systems * correlation**2)
    goal = 1 / questions - square / judged
    prior = (trial / spread) ** 2 + 4 * trial
    return math.ceil((1 - square + math.sqrt((1 - square) ** 2 + 4 * goal * prior)) / (2 * goal))


# Probes: the same items again and again. What follows holds after each of them.


def drift_evidence(probes: NDArray[np.int64]) -> Numbers:
    """Return the evidence for drift after each probe, float64[probes]; `DRIFTED` or more is drift.

    `probes` is int64[probes, items] with a count for each item, or -1 if it is missing.

    Without drift, the probes at an item are exchangeable: the newest is equally likely to be each
    of them. So the sum of the newest counts has a known distribution, given the earlier and the
    newest probes: the convolution of those of the items, which must be independent of each other.
    Its tails, with ties broken at random (the same each time), are uniform p-values, independent of
    earlier ones. A capital bets against each: it is multiplied by (1 - p + p ln p) / (p ln² p),
    whose mean is 1 without drift. One bets on a fall, one on a rise, from each probe s on, with the
    shares 1 / (2 s (s + 1)). Their sum is the evidence. By Ville's inequality, it reaches 100 in
    at most 1% of endless series.

    Sources: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World (2005), 7.1, for
    the p-values; Vovk and Wang, E-values: Calibration, Combination and Applications (2021), for the
    bet; Vovk, Testing Randomness Online (2021), for restarts.
    """
    length, items = probes.shape
    counts = np.zeros((items, int(probes.max(initial=0)) + 1))
    rng = np.random.default_rng(TIE_SEED)
    capitals, unused = [0.0, 0.0], 1.0
    evidence = [1.0]
    for number, newest in enumerate(probes):
        seen = np.flatnonzero(newest >= 0)
        counts[seen, newest[seen]] += 1
        if not number:
            continue
        shares = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
        open_ = shares.max(axis=1) < 1  # the others cannot have another count
        chances = np.ones(1)
        for share in shares[open_]:
            chances = np.convolve(chances, share)
        total = int(newest[seen][open_].sum())
        tie = float(chances[total] * rng.random())
        tails = float(chances[:total].sum()) + tie, float(chances[total + 1 :].sum()) + tie
        share_used = 1 / (number * (number + 1))
        unused -= share_used
        for side, p in enumerate(tails):
            log = math.log(max(p, 1e-200))
            bet = 0.5  # its limit for a p of 1; near it the formula loses its digits
            if p <= 0.999:
                bet = (1 - p + p * log) / (max(p, 1e-200) * log**2)
            capitals[side] = min((capitals[side] + share_used / 2) * bet, _MAX_CAPITAL)
        evidence.append(sum(capitals) + unused)
    return np.array(evidence[:length])
