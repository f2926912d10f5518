"""How often `ragstone judge probe` raises a false alarm, and how soon it notices a fall.

python benchmarks/drift.py [SIMULATIONS]

A frozen set of labelled claims is judged every day. Most verdicts are always the same; some change
from day to day, which is the noise of the judge. False alarms over 1,000 days without drift must
be at most 5% (with two standard errors); exit 1 if not. Then the agreement falls by 10 points.
Shown beside it: a confidence sequence of the daily agreement, which has to exclude the first day's.
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.sequential import MOVED, drift_evidence

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
    """Count the series without drift that reach the evidence at any look."""
    rng = np.random.default_rng([claims, int(1000 * noise)])
    alarms = 0
    for _ in range(simulations):
        looks = drawn(rng, chances(rng, claims, noise), DAYS)
        alarms += bool(drift_evidence(looks).max() >= MOVED)
    share = alarms / simulations
    fine = share <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / simulations)
    print(f"{claims:6} {noise:6.0%} {share:13.1%}{'' if fine else '  OUT OF BOUNDS'}", flush=True)
    return fine


def excluded(agreement: NDArray[np.float64], first: float) -> NDArray[np.bool_]:
    """Return after which days a confidence sequence of the mean excludes the first day's value.

    Source: Waudby-Smith and Ramdas, Estimating Means of Bounded Random Variables by Betting (2024),
    theorem 2: predictable plug-in empirical Bernstein.
    """
    t = np.arange(1, agreement.size + 1)
    means = (0.5 + np.cumsum(agreement)) / (t + 1)
    before = np.append(0.5, means[:-1])
    variance = (0.25 + np.cumsum((agreement - means) ** 2)) / (t + 1)
    bet = np.sqrt(2 * math.log(40) / (np.append(0.25, variance[:-1]) * t * np.log(1 + t)))
    bet = np.minimum(bet, 0.5)
    spent = 4 * (agreement - before) ** 2 * (-np.log(1 - bet) - bet) / 4
    centre = np.cumsum(bet * agreement) / np.cumsum(bet)
    radius = (math.log(40) + np.cumsum(spent)) / np.cumsum(bet)
    return np.abs(centre - first) > radius


def delay(claims: int, noise: float, before: int, simulations: int) -> None:
    """Print how many days pass until a fall by 10 points after `before` days is noticed."""
    rng = np.random.default_rng([claims, int(1000 * noise), before])
    days, sequence = [], []
    for _ in range(simulations):
        p = chances(rng, claims, noise)
        lost = (rng.random(claims) < 0.1 / AGREE) & (p > 0.5)
        looks = np.vstack([drawn(rng, p, before), drawn(rng, np.where(lost, 1 - p, p), WAIT)])
        found = np.flatnonzero(drift_evidence(looks)[before:] >= MOVED)
        days.append(found[0] + 1 if found.size else math.inf)
        agreement = looks.mean(axis=1)
        found = np.flatnonzero(excluded(agreement, agreement[0])[before:])
        sequence.append(found[0] + 1 if found.size else math.inf)
    cells = [
        f"> {WAIT}" if math.isinf(day) else f"{day:.0f}"
        for day in (*np.quantile(days, (0.5, 0.9), method="lower"), np.median(sequence))
    ]
    late = np.mean(np.isinf(days))
    found = f"{cells[0]:>8} {cells[1]:>8} {late:8.0%} {cells[2]:>10}"
    print(f"{claims:6} {noise:6.0%} {before:7} {found}", flush=True)


def main() -> int:
    """Print both tables; return 1 if there are too many false alarms."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"claims  noise  false alarms over {DAYS:,} days")
    fine = [false_alarms(n, noise, simulations) for n in (60, 120) for noise in (0, 0.02, 0.05)]
    print(f"\nclaims  noise  before   median      90%   missed   sequence (days; of {WAIT})")
    for claims in (60, 120):
        for noise in (0, 0.02, 0.05):
            for before in (1, 5, 30, 200):
                delay(claims, noise, before, simulations)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
