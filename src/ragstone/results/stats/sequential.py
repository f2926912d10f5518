"""Repeated looks at the same items: their mean, and did they change? Both hold at every look."""

import math
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.intervals import Numbers
from ragstone.results.stats.paired_tests import ALPHA

MOVED = 1 / ALPHA
"""Evidence that is reached with a probability of at most ALPHA, over all looks, without drift."""
SEED = 20_261_123
_MOST = 1e100


def drift_evidence(looks: NDArray[np.int64]) -> Numbers:
    """Return the evidence for drift after each look, float64[looks]; `MOVED` or more is drift.

    `looks` is int64[looks, items] with a count for each item, or -1 if it is missing.

    Without drift, the looks at an item are exchangeable: the newest is equally likely to be each
    of them. So the sum of the newest counts has a known distribution, given the earlier and the
    newest looks: the convolution of those of the items, which must be independent of each other.
    Its tails, with ties broken at random (the same each time), are uniform p-values, independent of
    earlier ones. A capital bets against each: it is multiplied by (1 - p + p ln p) / (p ln² p),
    whose mean is 1 without drift. One bets on a fall, one on a rise, from each look s on, with the
    shares 1 / (2 s (s + 1)). Their sum is the evidence. By Ville's inequality, it reaches 20 in at
    most 5% of endless series.

    Sources: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World (2005), 7.1, for
    the p-values; Vovk and Wang, E-values: Calibration, Combination and Applications (2021), for the
    bet; Vovk, Testing Randomness Online (2021), for restarts.
    """
    length, items = looks.shape
    counts = np.zeros((items, int(looks.max(initial=0)) + 1))
    rng = np.random.default_rng(SEED)
    capitals, unused = [0.0, 0.0], 1.0
    evidence = [1.0]
    for look, newest in enumerate(looks):
        seen = np.flatnonzero(newest >= 0)
        counts[seen, newest[seen]] += 1
        if not look:
            continue
        shares = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
        open_ = shares.max(axis=1) < 1  # the others cannot have another count
        chances = np.ones(1)
        for share in shares[open_]:
            chances = np.convolve(chances, share)
        total = int(newest[seen][open_].sum())
        tie = float(chances[total] * rng.random())
        tails = float(chances[:total].sum()) + tie, float(chances[total + 1 :].sum()) + tie
        share_used = 1 / (look * (look + 1))
        unused -= share_used
        capitals = [
            min((capital + share_used / 2) * _bet(p), _MOST)
            for capital, p in zip(capitals, tails, strict=True)
        ]
        evidence.append(sum(capitals) + unused)
    return np.array(evidence[:length])


def mean_sequence(values: Numbers) -> Numbers:
    """Return a confidence sequence of the mean of looks that do not drift, float64[looks, 2].

    `values` is float64[looks, items], from 0 to 1, or NaN if missing. In at least 95% of endless
    series, the mean over the items' expected values lies within the intervals of all looks. Items
    must be independent of each other; their expected values may differ.

    A capital bets on each mean: that of a binomial likelihood ratio, mixed over Jeffreys' prior.
    It is convex in a look's sum, so its mean is at most what it is for equal items, which is 1.
    The interval has the means whose capital has not reached 20.

    Sources: Robbins, Statistical Methods Related to the Law of the Iterated Logarithm (1970);
    Hoeffding, On the Distribution of the Number of Successes in Independent Trials (1956);
    Waudby-Smith and Ramdas, Estimating Means of Bounded Random Variables by Betting (2024).
    """
    total = np.nancumsum(np.nansum(values, axis=1))
    rest = np.cumsum(np.isfinite(values).sum(axis=1)) - total
    pairs = zip((total + 0.5).tolist(), (rest + 0.5).tolist(), strict=True)
    mixed = np.array([lgamma(a) + lgamma(b) - lgamma(a + b) for a, b in pairs]) - math.log(math.pi)
    ends: list[Numbers] = []
    for end in (0.0, 1.0):
        inside, outside = (total + 0.5) / (total + rest + 1), np.full(total.size, end)
        for _ in range(40):
            middle = (inside + outside) / 2
            capital = mixed - total * np.log(middle) - rest * np.log1p(-middle)
            inside = np.where(capital < math.log(MOVED), middle, inside)
            outside = np.where(capital < math.log(MOVED), outside, middle)
        ends.append(inside)
    return np.column_stack(ends)


def _bet(p: float) -> float:
    if p > 0.999:
        return 0.5  # its limit; near it the formula loses its digits
    log = math.log(max(p, 1e-200))
    return (1 - p + p * log) / (max(p, 1e-200) * log**2)
