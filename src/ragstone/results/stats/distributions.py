"""Distributions that the intervals and tests need: Student's t, beta, and the normal."""

import math
import sys
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

NORMAL = NormalDist()
TINY, EPSILON = 1e-300, sys.float_info.epsilon
MANY = 1000
"""Degrees of freedom above which Student's t is computed from the normal distribution."""
STEPS = 100_000
"""More than are ever needed: the continued fraction takes about 3,000 for a and b of 10 million."""


def beta_below(x: float, a: float, b: float) -> float:
    """Return the share of the beta distribution of `a` and `b` that lies below x.

    That is the regularised incomplete beta function. Source: NIST Digital Library of
    Mathematical Functions, 8.17.22 (continued fraction) and 8.17.4 (symmetry).
    """
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
    if freedom >= MANY:
        return _near_normal(NORMAL.inv_cdf(share), freedom)
    tails = 2 * min(share, 1 - share)
    reach = 1.0
    while t_both_tails(reach, freedom) > tails:
        reach *= 2
    found = root_of(lambda x: -t_both_tails(x, freedom), -tails, 0.0, reach)
    return math.copysign(found, share - 0.5)


def _near_normal(z: float, freedom: float) -> float:
    """Return Student's quantile from the normal one, to the last few digits above MANY.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.5.
    """
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def root_of(rising: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Return where a rising function reaches the goal between low and high, to the last digits.

    Source: Chandrupatla, A new hybrid quadratic/bisection algorithm (1997). Bisection alone calls
    the function about four times as often, unless the root is close to 0.
    """
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
        share = min(max(_share(x1, f1, x2, f2, x3, f3), least), 1 - least)
    return best


def _share(x1: float, f1: float, x2: float, f2: float, x3: float, f3: float) -> float:
    width, height = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if height**2 >= width or (1 - height) ** 2 >= 1 - width:
        return 0.5
    along = f1 / (f2 - f1) * f3 / (f2 - f3)
    return along + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)


def _below(x: float, rest: float, a: float, b: float) -> float:
    """Return the incomplete beta function; `rest` is 1 - x, given because 1 - x loses digits."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _below_its_middle(rest, x, b, a)
    return _below_its_middle(x, rest, a, b)


def _below_its_middle(x: float, rest: float, a: float, b: float) -> float:
    ways = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(ways + a * math.log(x) + b * math.log(rest)) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
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
    return value
