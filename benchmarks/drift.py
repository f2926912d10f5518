"""How often `ragstone judge probe` raises a false alarm, and how soon it notices a fall.

python benchmarks/drift.py [SIMULATIONS]

A frozen set of labelled claims is judged every day. Most verdicts are always the same; some change
from day to day, which is the noise of the judge. False alarms over 1,000 days without drift must
be at most 5% (with two standard errors), and so must the series in which the confidence sequence of
the agreement leaves out the true one on any day; exit 1 if not. Then the agreement falls by 10
points.
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.paired_tests import DRIFTED, drift_evidence, mean_sequence

Looks = NDArray[np.int64]
AGREE = 0.88
DAYS = 1000
WAIT = 60
"""Days after the fall that are simulated."""


def chances(rng: np.random.Generator, claims: int, noise: float) -> NDArray[np.float64]:
    """Draw each claim's probability of agreement; on average a share `noise` is the rarer one."""
    rare = rng.beta(0.3, 0.3 * (1 / noise - 1), claims) if noise else np.zeros(claims)
    return np.where(rng.random(claims) < AGREE, 1 - rare, rare)


def drawn(rng: np.random.Generator, p: NDArray[np.float64], days: int) -> Looks:
    """Draw whether judge and people agree, int64[days, claims]."""
    return (rng.random((days, p.size)) < p).astype(np.int64)


def false_alarms(claims: int, noise: float, simulations: int) -> bool:
    """Count the series without drift that reach the evidence, or leave an interval, at any look."""
    rng = np.random.default_rng([claims, int(1000 * noise)])
    alarms = outside = 0
    width = np.zeros(DAYS)
    for _ in range(simulations):
        p = chances(rng, claims, noise)
        looks = drawn(rng, p, DAYS)
        alarms += bool(drift_evidence(looks).max() >= DRIFTED)
        low, high = mean_sequence(looks.astype(float)).T
        outside += not np.all((low <= p.mean()) & (p.mean() <= high))
        width += (high - low) / simulations
    shares = alarms / simulations, outside / simulations
    fine = max(shares) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / simulations)
    cells = f"{shares[0]:13.1%} {shares[1]:13.1%} {width[0]:9.2f} {width[29]:9.3f}"
    print(f"{claims:6} {noise:6.0%} {cells}{'' if fine else '  OUT OF BOUNDS'}", flush=True)
    return fine


def delay(claims: int, noise: float, before: int, simulations: int) -> None:
    """Print how many days pass until a fall by 10 points after `before` days is noticed."""
    rng = np.random.default_rng([claims, int(1000 * noise), before])
    days = []
    for _ in range(simulations):
        p = chances(rng, claims, noise)
        lost = (rng.random(claims) < 0.1 / AGREE) & (p > 0.5)
        looks = np.vstack([drawn(rng, p, before), drawn(rng, np.where(lost, 1 - p, p), WAIT)])
        found = np.flatnonzero(drift_evidence(looks)[before:] >= DRIFTED)
        days.append(found[0] + 1 if found.size else math.inf)
    cells = [
        f"> {WAIT}" if math.isinf(day) else f"{day:.0f}"
        for day in np.quantile(days, (0.5, 0.9), method="lower")
    ]
    late = np.mean(np.isinf(days))
    found = f"{cells[0]:>8} {cells[1]:>8} {late:8.0%}"
    print(f"{claims:6} {noise:6.0%} {before:7} {found}", flush=True)


def main() -> int:
    """Print both tables; return 1 if there are too many false alarms."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"claims  noise  false alarms  outside (over {DAYS:,} days)  width at day 1, 30")
    fine = [false_alarms(n, noise, simulations) for n in (60, 120) for noise in (0, 0.02, 0.05)]
    print(f"\nclaims  noise  before   median      90%   missed (days; of {WAIT})")
    for claims in (60, 120):
        for noise in (0, 0.02, 0.05):
            for before in (1, 5, 30, 200):
                delay(claims, noise, before, simulations)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
