"""Planning: how many questions, repeated judgments and labels show a difference of two systems."""

import math

from ragstone.results.stats.distributions import NORMAL
from ragstone.results.stats.intervals import Numbers
from ragstone.results.stats.paired_tests import ALPHA, smallest_difference

REPEATS = (1, 3, 5)
"""Judgments of each response that are considered; an even number has no majority."""
WORTH = 0.2
"""Two more judgments of each response must save at least this share of the questions."""


def questions_needed(
    spread: float,
    difference: float,
    *,
    step: float = 0.0,
    alpha: float = ALPHA,
    power: float = 0.8,
) -> int:
    """Return the smallest number of pairs that detect a true mean `difference` with that power.

    `spread` is the standard deviation of the paired differences. The test is the paired t-test at
    the level `alpha`, or the sign-flip test, which needs a few pairs to reject anything, and
    `step` / `difference` more if scores are multiples of `step`. The normal formula gives the
    starting point. Sources: Miller, Adding Error Bars to Evals (arXiv 2411.00640, 2024), section 5;
    Cohen, Statistical Power Analysis (1988), chapter 2; for the steps, the correction for
    continuity of Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions (2003), 4.3.
    """
    n = math.floor(2 - math.log2(alpha))  # 2^(1 - n) < alpha
    z = NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
    n = max(n, math.floor((z * spread / difference) ** 2))
    while (smallest_difference(spread, n, alpha=alpha, power=power) or 0.0) > difference:
        n += 1
    return n + math.ceil(step / difference) if spread else n


def spread_of_repeats(spread: float, judge: float, repeats: int) -> float:
    """Return the standard deviation of paired differences if each response is judged repeatedly.

    `spread` is that of differences of single judgments, `judge` the variance of repeated judgments
    of one response. The noise of both systems' judgments is divided by `repeats`, as by taking
    their mean. Source: Miller (2024), section 3.2.
    """
    saved = 2 * judge * (1 - 1 / repeats)
    return math.sqrt(max(spread**2, 2 * judge) - saved)


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

    Without a judge, `questions` labelled pairs show the difference; with labels of a part of the
    `judged` pairs (at least as many), the corrected difference does. `correlation` is that of the
    judge's scores (0 to 1) with people's, `systems` that of two systems' scores, `spread` the
    standard deviation of their differences, and `trial` the variance of scores as a share of the
    largest with their mean. With R² = `correlation`² and errors of the judge that are independent
    between systems, the differences have R²(1 - systems) / (1 - systems R²). The variance is
    s² ((1 - R²) / labels + R² / judged). The prior of `corrected_difference`, four pseudo-rows of
    half a trial in each run with squared residuals of about 1/4, adds (trial / labels)², and
    shrinks the difference by 2 trial / labels. Source: Cochran, Sampling Techniques (1977), 12.6,
    regression estimators in double sampling.
    """
    square = correlation**2 * (1 - systems) / (1 - systems * correlation**2)
    goal = 1 / questions - square / judged
    prior = (trial / spread) ** 2 + 4 * trial
    return math.ceil((1 - square + math.sqrt((1 - square) ** 2 + 4 * goal * prior)) / (2 * goal))


def variance_components(scores: Numbers) -> tuple[float, float]:
    """Return the variance between rows and that of repeated judgments of one row.

    `scores` is float64[rows, repeats], at least 2 by 2. One-way random-effects analysis of
    variance; the variance between rows is clipped at 0. Source: Searle, Casella and McCulloch,
    Variance Components (1992), 3.2.
    """
    judge = float(scores.var(axis=1, ddof=1).mean())
    between = float(scores.mean(axis=1).var(ddof=1)) - judge / scores.shape[1]
    return max(between, 0.0), judge
