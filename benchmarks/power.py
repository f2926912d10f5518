"""Whether `ragstone plan` keeps its word: the power that its questions, repeats and labels give.

python benchmarks/power.py [SIMULATIONS]

Draws paired differences of two systems with a known true difference, for the number of questions
that the plan names, and counts how often the test of `ragstone compare` finds it. Every share must
lie within 78 to 82%; exit 1 if one does not. Labels: the corrected difference of the regression
estimator, with people's labels of a part of the pairs.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.distributions import t_quantile
from ragstone.results.stats.paired_tests import sign_flip
from ragstone.results.stats.power import labels_needed, questions_needed, spread_of_repeats

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Numbers]
PILOT = 8_000_000
"""Draws from which the true mean and spread of a population of differences are computed."""


def fifths(rng: np.random.Generator, n: int) -> Numbers:
    """Draw differences of two faithfulness scores of five claims; most answers are perfect."""
    easy = rng.beta(4, 0.6, n)
    return (rng.binomial(5, np.minimum(easy + 0.04, 1)) - rng.binomial(5, easy)) / 5


def passes(rng: np.random.Generator, n: int) -> Numbers:
    """Draw differences of two pass marks, 0 or 1."""
    easy = rng.random(n) < 0.7
    return np.where(easy, 0.0, (rng.random(n) < 0.6) + 0.0 - (rng.random(n) < 0.4))


STEPS = {"five claims, most perfect": 0.2, "0 or 1": 1.0}
POPULATIONS: dict[str, Draw] = {
    "normal, spread 0.4, 0.03": lambda rng, n: rng.normal(0.03, 0.4, n),
    "normal, spread 0.3, 0.1": lambda rng, n: rng.normal(0.1, 0.3, n),
    "normal, spread 0.3, 0.2": lambda rng, n: rng.normal(0.2, 0.3, n),
    "five claims, most perfect": fifths,
    "0 or 1": passes,
}


def show(name: str, size: str, found: int, of: int) -> bool:
    """Print a line of the table; return whether the power is as promised."""
    share = found / of
    fine = 0.78 <= share <= 0.82
    print(f"{name:28} {size:>18} {share:7.1%}{'' if fine else '  OUT OF BOUNDS'}", flush=True)
    return fine


def questions(name: str, draw: Draw, simulations: int) -> bool:
    """Measure the power of the planned number of questions."""
    rng = np.random.default_rng([len(name), 1])
    pilot = draw(rng, PILOT)
    step = STEPS.get(name, 0.0)
    n = questions_needed(float(pilot.std()), abs(float(pilot.mean())), step=step)
    found = sum(sign_flip(draw(rng, n), resamples=4999).p < 0.05 for _ in range(simulations))
    return show(name, f"{n:,} questions", found, simulations)


def repeats(times: int, simulations: int) -> bool:
    """Measure the power if each response is judged several times by a noisy judge."""
    rng = np.random.default_rng([times, 2])
    judge, systems, difference = 0.03, 0.2, 0.05
    spread = spread_of_repeats(math.sqrt(systems**2 + 2 * judge), judge, times)
    n = questions_needed(spread, difference)
    found = 0
    for _ in range(simulations):
        noise = rng.normal(0, math.sqrt(judge), (2, n, times)).mean(axis=2)
        seen = rng.normal(difference, systems, n) + noise[1] - noise[0]
        found += sign_flip(seen, resamples=4999).p < 0.05
    return show(f"judged {times} times", f"{n:,} questions", found, simulations)


def labels(correlation: float, ratio: int, simulations: int) -> bool:
    """Measure the power of the corrected difference, from labels of a part of the pairs."""
    rng = np.random.default_rng([int(100 * correlation), ratio])
    spread, difference, bias = 0.3, 0.05, -0.04
    enough = questions_needed(spread, difference)
    judged = ratio * enough
    n = labels_needed(enough, judged, correlation)
    found = 0
    for _ in range(simulations):
        truth = rng.normal(difference, spread, judged)
        error = rng.normal(0, spread * math.sqrt(1 - correlation**2), judged)
        judge = bias + correlation * (truth - difference) + error
        people = truth[:n]
        tilt = np.cov(people, judge[:n])[0, 1] / judge[:n].var(ddof=1)
        mean = people.mean() + tilt * (judge.mean() - judge[:n].mean())
        residual = (people - tilt * judge[:n]).var(ddof=2)
        error_of_mean = math.sqrt(residual * (1 / n - 1 / judged) + people.var(ddof=1) / judged)
        found += abs(mean) > error_of_mean * t_quantile(0.975, n - 2)
    return show(f"correlation {correlation}", f"{n:,} of {judged:,} labels", found, simulations)


def main() -> int:
    """Print the table; return 1 if a power is out of bounds."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    fine = [questions(name, draw, simulations) for name, draw in POPULATIONS.items()]
    fine += [repeats(times, simulations) for times in (1, 2, 4)]
    fine += [labels(c, ratio, simulations) for c in (0.4, 0.6, 0.9) for ratio in (2, 4)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
