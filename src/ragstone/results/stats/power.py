"""Planning: how many questions, repeated judgments and labels show a difference of two systems."""

import math

from ragstone.results.stats.distributions import NORMAL
from ragstone.results.stats.paired_tests import ALPHA, smallest_difference

MOST_REPEATS = 5
WORTH = 0.1
"""One more judgment of each response must save at least this share of the questions."""


def questions_needed(
    spread: float, difference: float, *, alpha: float = ALPHA, power: float = 0.8
) -> int:
    """Return the smallest number of pairs that detect a true mean `difference` with that power.

    `spread` is the standard deviation of the paired differences. The test is the paired t-test at
    the level `alpha`, or the sign-flip test, which needs a few pairs to reject anything. The
    normal formula gives the starting point. Sources: Miller, Adding Error Bars to Evals
    (arXiv 2411.00640, 2024), section 5; Cohen, Statistical Power Analysis (1988), chapter 2.
    """
    n = math.floor(2 - math.log2(alpha))  # 2^(1 - n) < alpha
    z = NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
    n = max(n, math.floor((z * spread / difference) ** 2))
    while (smallest_difference(spread, n, alpha=alpha, power=power) or 0.0) > difference:
        n += 1
    return n


def spread_of_repeats(spread: float, judge: float, repeats: int) -> float:
    """Return the standard deviation of paired differences if each response is judged repeatedly.

    `spread` is that of differences of single judgments, `judge` the variance of repeated judgments
    of one response. The noise of both systems' judgments is divided by `repeats`. Source: Miller
    (2024), section 3.2.
    """
    saved = 2 * judge * (1 - 1 / repeats)
    return math.sqrt(max(spread**2, 2 * judge) - saved)


def labels_needed(questions: int, judged: int, correlation: float) -> int:
    """Return how many of the `judged` questions must be labelled, instead of judging `questions`.

    Without a judge, `questions` labelled pairs show the difference; with labels of a part of the
    `judged` pairs (at least as many), the corrected difference does. `correlation` is that of the
    people's differences with the judge's. Its variance is s² ((1 - R²) / labels + R² / judged).
    Source: Cochran, Sampling Techniques (1977), 12.6, regression estimators in double sampling.
    """
    square = correlation**2
    return math.ceil(questions * (1 - square) / (1 - square * questions / judged))
