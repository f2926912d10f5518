"""Paired tests: are the differences between pairs more than chance? And their power."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.distributions import NORMAL, root_of, t_both_tails, t_quantile
from ragstone.results.stats.intervals import Clusters, Numbers

Signs = NDArray[np.uint8]

SEED = 20_240_301
RESAMPLES = 9999
BLOCK = 2_000_000
"""Signs drawn at once; this limits the memory to about 20 MB for any n."""
LARGE = 10_000
"""For more differences the normal limit is more accurate than random flips."""
NOTHING = 1e-12
"""A smaller difference comes from rounding: it is a tie."""


class WinLossTie(NamedTuple):
    """How many pairs got better, got worse and stayed the same."""

    wins: int
    losses: int
    ties: int


def sign_flip(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
) -> float:
    """Return the two-sided p of the paired sign-flip test: the probability of a mean so far from 0.

    If both systems are equally good, each difference could as well have the other sign. If there
    are at most `resamples` flips, all are counted (c / all). Otherwise that many are drawn, always
    the same ones, and p is (c + 1) / (resamples + 1). For more than LARGE differences the normal
    limit of the sum is used. Ties do not count; without any difference p is 1. With clusters, one
    label per pair, whole clusters are flipped. Sources: Fisher, The Design of Experiments (1935);
    Phipson and Smyth (2010) for the two ones.
    """
    if not differences:
        return 1.0
    totals = Clusters.of(_with_ties(differences).tolist(), clusters).totals
    sizes = np.sort(np.abs(totals[np.abs(totals) > NOTHING]))
    if not sizes.size:
        return 1.0
    seen = abs(math.fsum(totals)) - 1e-12 * float(sizes.sum())  # a tie up to rounding counts
    if sizes.size > LARGE:
        return math.erfc(max(seen, 0.0) / math.sqrt(2 * float(np.square(sizes).sum())))
    if sizes.size <= 16 and 2**sizes.size <= resamples:
        return float(np.mean(_flipped(_all_signs(sizes.size), sizes) >= seen))
    return (_as_far(sizes, seen, resamples) + 1) / (resamples + 1)


def paired_t(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of the paired t-test.

    1 without any difference; None for fewer than two pairs, or if all differences are equal.
    """
    data = _with_ties(differences)
    if data.size and not data.any():
        return 1.0
    effect = effect_size(differences)
    return None if effect is None else t_both_tails(effect * math.sqrt(data.size), data.size - 1)


def effect_size(differences: Sequence[float]) -> float | None:
    """Return Cohen's d_z: the mean difference in units of the differences' standard deviation.

    0.2 is commonly called small, 0.5 medium, 0.8 large. None for fewer than two pairs, or if all
    differences are equal. Source: Cohen, Statistical Power Analysis (1988), 2.3.
    """
    data = _with_ties(differences)
    if data.size < 2 or np.ptp(data) <= NOTHING:
        return None
    return float(data.mean() / data.std(ddof=1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted for their number, in the same order.

    If those up to 0.05 are called significant, at least one is a false alarm in at most 5% of
    cases. Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
    """
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    ranked = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(ranked):
        worst = max(worst, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = worst
    return adjusted


def wins_losses_ties(differences: Sequence[float], *, higher_is_better: bool = True) -> WinLossTie:
    """Count the pairs that got better, got worse and stayed the same (up to rounding)."""
    data = _with_ties(differences)
    above, below = int(np.sum(data > 0)), int(np.sum(data < 0))
    wins, losses = (above, below) if higher_is_better else (below, above)
    return WinLossTie(wins, losses, data.size - above - below)


def _with_ties(differences: Sequence[float]) -> Numbers:
    data = np.asarray(differences, dtype=np.float64)
    return np.where(np.abs(data) > NOTHING, data, 0.0)


def _all_signs(n: int) -> Signs:
    rows = np.arange(2**n, dtype=np.uint16)
    return np.unpackbits(rows.astype(">u2")[:, None].view(np.uint8), axis=1)[:, 16 - n :]


def _as_far(sizes: Numbers, seen: float, resamples: int) -> int:
    """Count the random flips whose sum is as far from 0 as the one seen."""
    rng = np.random.default_rng(SEED)
    width = -(-sizes.size // 8)
    step = max(1, BLOCK // sizes.size)
    found = 0
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, 256, size=(rows, width), dtype=np.uint8)
        signs = np.unpackbits(drawn, axis=1, count=sizes.size)
        found += int(np.sum(_flipped(signs, sizes) >= seen))
    return found


def _flipped(signs: Signs, sizes: Numbers) -> Numbers:
    """Return the absolute sum for each row of signs; 1 is plus, 0 is minus."""
    return np.abs(2 * (signs.astype(np.float64) @ sizes) - sizes.sum())


NODES = 200


def smallest_difference(
    spread: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true mean difference that n pairs detect with that power.

    `spread` is the standard deviation of the paired differences, `alpha` the significance level of
    the paired t-test. None for fewer than two pairs, or without spread. Source: Cohen, Statistical
    Power Analysis (1988), chapter 2, with the noncentral t distribution, not its normal limit.
    """
    if n < 2 or spread <= 0:
        return None
    limit = t_quantile(1 - alpha / 2, n - 1)
    widths, shares = _spread_of_spreads(n - 1)
    limits = (limit * widths).tolist()

    def detected(shift: float) -> float:
        chances = [NORMAL.cdf(shift - each) + NORMAL.cdf(-shift - each) for each in limits]
        return float(np.dot(chances, shares))

    reach = 1.0
    while detected(reach) < power:
        reach *= 2
    return spread * root_of(detected, power, 0.0, reach) / math.sqrt(n)


def _spread_of_spreads(freedom: int) -> tuple[Numbers, Numbers]:
    """Return ratios of an observed standard deviation to the true one, and their probabilities."""
    reach = 9 / math.sqrt(2 * freedom)
    low, high = max(0.0, 1 - 1.2 * reach), 1 + 1.5 * reach
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    ratios = (low + high) / 2 + nodes * (high - low) / 2
    logs = (freedom - 1) * np.log(ratios) - freedom * (np.square(ratios) - 1) / 2
    shares = weights * np.exp(logs - logs.max())
    return ratios, shares / shares.sum()
