"""Whether `ragstone plan` keeps its word: the power that its questions and labels give.

python benchmarks/power.py [SIMULATIONS]

Draws paired differences of two systems with a known true difference, for the number of questions
that the plan names, and counts how often the test of `ragstone compare` finds it. Every share must
lie within 78 to 82%; exit 1 if one does not. Labels are of a random part of the pairs, and the test
is whether the interval of the corrected difference excludes 0.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ragstone.results.planning import JUDGED_PER_QUESTION, binomial_variance_share
from ragstone.results.stats import labels as label_statistics
from ragstone.results.stats.labels import LabelledScores, corrected_difference
from ragstone.results.stats.paired_tests import (
    labels_needed,
    questions_needed,
    sign_flip,
)

Numbers = NDArray[np.float64]
# fewer for speed; each run has its own draws, so that their errors average out
label_statistics.DRAWS = 1000
Draw = Callable[[np.random.Generator, int], Numbers]
PILOT = 4_000_000
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


def show(name: str, size: str, found: int, of: int) -> tuple[str, bool]:
    """Return a line of the table, and whether the power is as promised."""
    share = found / of
    fine = 0.78 <= share <= 0.82
    return f"{name:28} {size:>18} {share:7.1%}{'' if fine else '  OUT OF BOUNDS'}", fine


def questions(name: str, simulations: int) -> tuple[str, bool]:
    """Measure the power of the planned number of questions."""
    draw = POPULATIONS[name]
    rng = np.random.default_rng([len(name), 1])
    pilot = draw(rng, PILOT)
    step = STEPS.get(name, 0.0)
    n = questions_needed(float(pilot.std()), abs(float(pilot.mean())), step=step)
    found = sum(sign_flip(draw(rng, n), resamples=4999).p < 0.05 for _ in range(simulations))
    return show(name, f"{n:,} questions", found, simulations)


def pair(rng: np.random.Generator, n: int, claims: int, good: float) -> tuple[Numbers, Numbers]:
    """Draw people's and the judge's scores of two systems, float64[n, 2] each.

    A verdict of the judge on a claim is right with the probability `good`.
    """
    latent = rng.normal(size=(n, 1)) + rng.normal(size=(n, 2)) + np.array([2.0, 2.6])
    right = rng.binomial(claims, 1 / (1 + np.exp(-latent)))
    judged = rng.binomial(right, good) + rng.binomial(claims - right, 1 - good)
    return right / claims, judged / claims


def labels(claims: int, good: float, simulations: int) -> tuple[str, bool]:
    """Measure the power of the corrected difference, from labels of a part of the pairs."""
    rng = np.random.default_rng([claims, int(100 * good), 2])
    people, judge = pair(rng, PILOT // 2, claims, good)
    difference = people[:, 1] - people[:, 0]
    spread = float(difference.std())
    enough = questions_needed(spread, float(difference.mean()))
    judged = JUDGED_PER_QUESTION * enough
    correlation = float(np.corrcoef(people[:, 0], judge[:, 0])[0, 1])
    systems = float(np.corrcoef(people.T)[0, 1])
    trial = binomial_variance_share(people[:, 0])
    n = labels_needed(enough, judged, correlation, spread=spread, systems=systems, trial=trial)
    found = 0
    for _ in range(simulations):
        label_statistics.SEED = int(rng.integers(2**31))
        people, judge = pair(rng, judged, claims, good)
        runs = [
            LabelledScores(f, range(judged), f[:n], y[:n], np.full(n, n / judged), range(n))
            for f, y in zip(judge.T, people.T, strict=True)
        ]
        low, high = corrected_difference(*runs).interval
        found += low > 0 or high < 0
    name = f"{claims} claims, judge {good:.0%} right"
    return show(name, f"{n:,} of {judged:,} labels", found, simulations)


def main() -> int:
    """Print the table; return 1 if a power is out of bounds."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    cells = ((1, 0.8), (1, 0.95), (5, 0.7), (5, 0.9))
    with ProcessPoolExecutor() as pool:
        lines = [pool.submit(labels, *cell, simulations // 2) for cell in cells]
        lines += [pool.submit(questions, name, simulations) for name in POPULATIONS]
        fine: list[bool] = []
        for each in lines:
            line, passed = each.result()
            print(line, flush=True)
            fine.append(passed)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
