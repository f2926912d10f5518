"""How often the 95 % intervals hold the true mean, and how often the sign-flip test cries wolf.

python benchmarks/interval_coverage.py [SIMULATIONS]

Draws samples from score distributions whose mean is known. For 0/1 scores nothing is drawn: every
possible sample is weighed by its chance. *below* and *above* are the shares of samples whose
interval lies wholly below and above the true mean. Coverage must be 93 to 97% at n = 200 and at
least 93% at n = 50, false alarms must not exceed 7%; exit 1 where one does not. n = 10 and 20,
and the scores that are nearly always 1, are shown for what they are.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ragstone.results.grouping import Grouping, RowKeys
from ragstone.results.stats.intervals import SMALL, mean_interval
from ragstone.results.stats.paired_tests import sign_flip, smallest_difference
from ragstone.types.sample import Context

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Numbers]

SCORES: dict[str, tuple[float, Draw]] = {
    "skewed: Beta(5, 0.7)": (5 / 5.7, lambda rng, n: rng.beta(5, 0.7, n)),
    "bimodal: 0.2 or 0.9": (0.69, lambda rng, n: np.where(rng.random(n) < 0.3, 0.2, 0.9)),
    "bimodal, blurred": (
        0.69,
        lambda rng, n: np.where(rng.random(n) < 0.3, 0.2, 0.9) + rng.uniform(-0.1, 0.1, n),
    ),
    "fifths: 4 of 5": (0.8, lambda rng, n: rng.binomial(5, 0.8, n) / 5),
    "fifths: uneven rows": (0.8, lambda rng, n: rng.binomial(5, rng.beta(4, 1, n)) / 5),
    "15 % not 1": (
        0.91,
        lambda rng, n: np.where(rng.random(n) < 0.85, 1, rng.integers(0, 5, n) / 5),
    ),
    "rare 1 among 0 to 0.3": (
        0.18,
        lambda rng, n: rng.choice([0, 0.1, 0.2, 0.3, 1], n, p=[0.2, 0.35, 0.25, 0.15, 0.05]),
    ),
    "rare 0 among 0.7 to 1": (
        0.82,
        lambda rng, n: rng.choice([1, 0.9, 0.8, 0.7, 0], n, p=[0.2, 0.35, 0.25, 0.15, 0.05]),
    ),
}
MANY_SOURCES = 20
"""For fewer, the coverage is shown for what it is."""
NEARLY_ALWAYS_1 = "7 % not 1"
SHOWN: dict[str, tuple[float, Draw]] = {
    NEARLY_ALWAYS_1: (
        0.958,
        lambda rng, n: np.where(rng.random(n) < 0.93, 1, rng.integers(0, 5, n) / 5),
    )
}


def line(name: str, n: int, covered: float, below: float, above: float, *, must: bool) -> bool:
    """Print a line of the table; return whether it is as it must be."""
    fine = not must or 0.93 <= covered <= (0.97 if n >= SMALL else 1)
    mark = "" if fine else "  OUT OF BOUNDS"
    print(f"{name:24} {n:5} {covered:8.1%} {below:8.1%} {above:8.1%}{mark}", flush=True)
    return fine


def simulated(name: str, n: int, simulations: int, *, must: bool) -> bool:
    """Measure the coverage for samples of n scores."""
    mean, draw = (SCORES | SHOWN)[name]
    rng = np.random.default_rng([n, len(name)])
    below = above = 0
    for _ in range(simulations):
        low, high = mean_interval(draw(rng, n).tolist()) or (math.inf, math.inf)
        below += high < mean
        above += low > mean
    missed = (below + above) / simulations
    return line(name, n, 1 - missed, below / simulations, above / simulations, must=must)


def reckoned(share: float, n: int, *, must: bool) -> bool:
    """Reckon the coverage for n scores of 0 and 1."""
    below = above = 0.0
    for ones in range(n + 1):
        chance = math.comb(n, ones) * share**ones * (1 - share) ** (n - ones)
        low, high = mean_interval([1.0] * ones + [0.0] * (n - ones)) or (math.inf, math.inf)
        below += chance * (high < share)
        above += chance * (low > share)
    return line(f"0/1: {share:g}", n, 1 - below - above, below, above, must=must)


def clustered(simulations: int) -> bool:
    """Measure the coverage for 40 sources of 1 to 9 questions that are alike within a source."""
    rng = np.random.default_rng(40)
    covered = {"40 clusters": 0, "the same, unclustered": 0}
    for _ in range(simulations):
        sizes = rng.integers(1, 10, 40)
        labels = np.repeat(np.arange(40), sizes)
        values = (rng.beta(4, 1, 40)[labels] > rng.random(labels.size)).astype(float).tolist()
        for name, given in zip(covered, (labels.tolist(), None), strict=True):
            low, high = mean_interval(values, clusters=given) or (math.inf, math.inf)
            covered[name] += low <= 0.8 <= high
    for name, count in covered.items():
        print(f"{name:24} {'~200':>5} {count / simulations:8.1%}")
    return 0.93 <= covered["40 clusters"] / simulations <= 0.97


def grouped(sources: int, each: int, simulations: int, *, fifths: bool) -> bool:
    """Measure the coverage of the default for several responses to each source."""
    rng = np.random.default_rng([sources, each])
    keys = RowKeys()
    for row in range(sources * each):
        keys.add(f"question {row}", [Context(text=f"source {row // each}")], {})
    found = Grouping.of(sources * each, keys.keys)
    covered = {"default": 0, "independent": 0}
    for _ in range(simulations):
        right = rng.beta(4, 1, sources).repeat(each)
        values = rng.binomial(5, right) / 5 if fifths else (right > rng.random(right.size)) + 0.0
        for name, labels in zip(covered, (found.labels, None), strict=True):
            low, high = mean_interval(values.tolist(), clusters=labels) or (math.inf, math.inf)
            covered[name] += low <= 0.8 <= high
    shares = {name: count / simulations for name, count in covered.items()}
    name = f"{sources} sources x {each}{' fifths' if fifths else ''}"
    words = "  ".join(f"{by} {share:.1%}" for by, share in shares.items())
    print(f"{name:24} {sources * each:5} {words}", flush=True)
    return sources < MANY_SOURCES or 0.93 <= shares["default"] <= 0.97


def answers(rng: np.random.Generator, n: int, gain: float = 0.0) -> tuple[Numbers, Numbers]:
    """Draw the scores that two systems get on the same n questions, in fifths and unbounded."""
    right = rng.beta(4, 1, n)
    one, two = rng.binomial(5, right) / 5, rng.binomial(5, right) / 5
    return one, two + gain


def tested(n: int, simulations: int) -> bool:
    """Count false alarms of two alike systems, and what is seen of the smallest difference."""
    pairs = answers(np.random.default_rng(1), 1_000_000)
    spread = float((pairs[1] - pairs[0]).std())
    gain = smallest_difference(spread, n) or math.inf
    fine = True
    for what, added in (("false alarms", 0.0), (f"power at {gain:.3f}", gain)):
        rng = np.random.default_rng([n, 7])
        covered = rejected = 0
        for _ in range(simulations):
            one, two = answers(rng, n, added)
            differences = (two - one).tolist()
            test = sign_flip(differences)
            low, high = test.interval() or (-math.inf, math.inf)
            covered += low <= added <= high
            rejected += test.p <= 0.05
        share = rejected / simulations
        told = f"sign flip {share:.1%}  interval covers {covered / simulations:.1%}"
        print(f"{what:24} {n:5} {told}", flush=True)
        fine = fine and (added > 0 or share <= 0.07)
    return fine


def main() -> int:
    """Print both tables; return 1 where a figure is out of its bounds."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(f"{'scores':24} {'n':>5} {'covered':>8} {'below':>8} {'above':>8}")
    fine: list[bool] = []
    for n in (10, 20, 50, 200):
        fine += [simulated(name, n, simulations, must=n >= 50) for name in SCORES]
        fine += [simulated(name, n, simulations, must=False) for name in SHOWN]
        fine += [reckoned(share, n, must=n >= 50) for share in (0.5, 0.9)]
    fine.append(clustered(simulations))
    for sources, each in ((10, 4), (12, 5), (20, 3), (30, 4), (100, 2)):
        fine += [grouped(sources, each, simulations, fifths=fifths) for fifths in (False, True)]
    fine += [tested(n, max(200, simulations // 4)) for n in (50, 200)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
