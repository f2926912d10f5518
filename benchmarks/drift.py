"""How often `ragstone judge probe` raises a false alarm, and how soon it notices a fall.

python benchmarks/drift.py [SIMULATIONS]

A frozen set of labelled claims is judged every day. Most verdicts are always the same; some change
from day to day, which is the noise of the judge. False alarms over 1,000 days without drift must
be at most 1% (with two standard errors); exit 1 if not. Then the agreement falls by 10 points; or
17% of the verdicts change, and as many of them become right as wrong.
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray

from ragstone.evaluation.judge_test import count_rows
from ragstone.results.stats.paired_tests import DRIFTED, drift_evidence

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


def evidence(rng: np.random.Generator, agreements: Looks) -> NDArray[np.float64]:
    """Return the evidence after each day, as `judge probe` computes it; 70% of labels are true."""
    labels = (rng.random(agreements.shape[1]) < 0.7).astype(np.int64)
    verdicts = np.where(agreements == 1, labels, 1 - labels)
    counts = count_rows(verdicts, labels, range(labels.size)).values()
    return np.max([drift_evidence(each) for each in counts], axis=0) / len(counts)


def false_alarms(claims: int, noise: float, simulations: int) -> bool:
    """Count the series without drift that reach the evidence at any look."""
    rng = np.random.default_rng([claims, int(1000 * noise)])
    alarms = 0
    for _ in range(simulations):
        looks = drawn(rng, chances(rng, claims, noise), DAYS)
        alarms += bool(evidence(rng, looks).max() >= DRIFTED)
    share = alarms / simulations
    fine = share <= 0.01 + 2 * math.sqrt(0.01 * 0.99 / simulations)
    print(f"{claims:6} {noise:6.0%} {share:13.1%}{'' if fine else '  OUT OF BOUNDS'}", flush=True)
    return fine


def delay(claims: int, noise: float, before: int, simulations: int, *, cancel: bool) -> None:
    """Print how many days pass until a change after `before` days is noticed."""
    rng = np.random.default_rng([claims, int(1000 * noise), before, cancel])
    days = []
    for _ in range(simulations):
        p = chances(rng, claims, noise)
        lost = (rng.random(claims) < 0.1 / AGREE) & (p > 0.5)
        if cancel:
            half = round(0.085 * claims)  # at most the claims on which the judge is wrong
            lost = np.isin(np.arange(claims), [*np.argsort(p)[:half], *np.argsort(p)[-half:]])
        looks = np.vstack([drawn(rng, p, before), drawn(rng, np.where(lost, 1 - p, p), WAIT)])
        found = np.flatnonzero(evidence(rng, looks)[before:] >= DRIFTED)
        days.append(found[0] + 1 if found.size else math.inf)
    cells = [
        f"> {WAIT}" if math.isinf(day) else f"{day:.0f}"
        for day in np.quantile(days, (0.5, 0.9), method="lower")
    ]
    late = np.mean(np.isinf(days))
    found = f"{cells[0]:>8} {cells[1]:>8} {late:8.0%}"
    print(f"{claims:6} {noise:6.0%} {before:7} {found}", flush=True)


def main() -> int:
    """Print the tables; return 1 if there are too many false alarms."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"claims  noise  false alarms (over {DAYS:,} days)")
    fine = [false_alarms(n, noise, simulations) for n in (60, 120) for noise in (0, 0.02, 0.05)]
    for cancel in (False, True):
        print("\n17% of verdicts change" if cancel else "\nagreement falls by 10 points")
        print(f"claims  noise  before   median      90%   missed (days; of {WAIT})")
        for claims in (60, 120):
            for noise in (0, 0.02, 0.05):
                for before in (1, 5, 30, 200):
                    delay(claims, noise, before, simulations, cancel=cancel)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
