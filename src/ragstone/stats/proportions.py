"""Intervals of a proportion: how many of n were right."""

from ragstone.stats.distributions import beta_below, root_of

FEW = 30
"""Below it the interval errs on the safe side; from it on it is right on the average.

Chosen by computing the exact coverage; decision record 0029 has the figures.
"""


def proportion_interval(right: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a proportion, of which `right` of n were seen.

    Clopper and Pearson's for n below FEW: at every true proportion it covers it at least as often
    as it says. From FEW on the same with mid-P, which counts half of the chance of just what was
    seen: it covers about as often as it says. All of n right is no certainty: 3 of 3 gives 0.29
    to 1. Sources: Clopper and Pearson (1934); Lancaster (1961) and Agresti and Gottard (2007).
    """
    tail = (1 - level) / 2
    return _lower(right, n, tail), 1 - _lower(n - right, n, tail)


def _lower(right: int, n: int, tail: float) -> float:
    """Return the proportion at which so many or more right have only the chance `tail`."""
    if right == 0:
        return 0.0
    if n < FEW:
        return root_of(lambda p: _at_least(right, n, p), tail, 0.0, 1.0)
    return root_of(
        lambda p: (_at_least(right, n, p) + _at_least(right + 1, n, p)) / 2, tail, 0.0, 1.0
    )


def _at_least(right: int, n: int, p: float) -> float:
    return beta_below(p, right, n - right + 1) if right <= n else 0.0
