"""Power: how small a difference so many pairs can show."""

import math

import numpy as np

from ragstone.stats.distributions import NORMAL, root_of, t_quantile
from ragstone.stats.groups import Numbers

NODES = 200


def smallest_difference(
    spread: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true mean difference that n pairs would show in `power` of the cases.

    `spread` is the standard deviation of the paired differences, `alpha` the p at which the paired
    t-test calls a difference significant. A smaller difference may be there, and stay unseen. None
    for fewer than two pairs, and without spread. Source: Cohen, Statistical Power Analysis (1988),
    chapter 2; reckoned from the noncentral t distribution, not its normal limit.
    """
    if n < 2 or spread <= 0:
        return None
    limit = t_quantile(1 - alpha / 2, n - 1)
    widths, shares = _spread_of_spreads(n - 1)
    marks = (limit * widths).tolist()

    def shown(shift: float) -> float:
        chances = [NORMAL.cdf(shift - mark) + NORMAL.cdf(-shift - mark) for mark in marks]
        return float(np.dot(chances, shares))

    reach = 1.0
    while shown(reach) < power:
        reach *= 2
    return spread * root_of(shown, power, 0.0, reach) / math.sqrt(n)


def _spread_of_spreads(freedom: int) -> tuple[Numbers, Numbers]:
    """Return how a seen standard deviation compares with the true one: ratios, and their shares."""
    reach = 9 / math.sqrt(2 * freedom)
    low, high = max(0.0, 1 - 1.2 * reach), 1 + 1.5 * reach
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    ratios = (low + high) / 2 + nodes * (high - low) / 2
    logs = (freedom - 1) * np.log(ratios) - freedom * (np.square(ratios) - 1) / 2
    shares = weights * np.exp(logs - logs.max())
    return ratios, shares / shares.sum()
