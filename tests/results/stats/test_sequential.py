"""Drift: no more false alarms than promised, and a fall is noticed within days."""

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.paired_tests import DRIFTED, drift_evidence


def looks(rng: np.random.Generator, p: NDArray[np.float64], days: int) -> NDArray[np.int64]:
    return (rng.random((days, p.size)) < p).astype(np.int64)


def test_the_second_look_is_judged_by_the_sign_test() -> None:
    # ten verdicts changed for the worse, none for the better: each had a chance of one half
    fell = np.array([[1] * 30, [0] * 10 + [1] * 20])
    fewer = np.array([[1] * 30, [0] * 4 + [1] * 26])
    evidence = drift_evidence(fell)[1], drift_evidence(fewer)[1]
    assert evidence[0] > 10 > 4 > evidence[1]  # p = 0.001 and 0.06
    assert evidence[0] == drift_evidence(1 - fell)[1], "a rise counts as a fall does"


def test_a_judge_that_does_not_change_raises_few_alarms() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(25):
        p = rng.choice([0.02, 0.1, 0.9, 0.98], 20, p=[0.1, 0.1, 0.2, 0.6])
        alarms += bool(drift_evidence(looks(rng, p, 200)).max() >= DRIFTED)
    assert alarms <= 3  # 5% are 1
    assert drift_evidence(np.ones((200, 60), dtype=np.int64)).max() < 5
    assert drift_evidence(np.ones((1, 5), dtype=np.int64)).tolist() == [1.0]
    assert drift_evidence(np.ones((0, 5), dtype=np.int64)).size == 0


def test_a_fall_by_ten_points_is_noticed_within_days() -> None:
    rng = np.random.default_rng(4)
    delays: list[int] = []
    for _ in range(20):
        p = np.where(rng.random(100) < 0.88, 0.98, 0.02)
        lost = np.where((rng.random(100) < 0.12) & (p > 0.5), 0.02, p)
        days = np.vstack([looks(rng, p, 30), looks(rng, lost, 30)])
        found = np.flatnonzero(drift_evidence(days)[30:] >= DRIFTED)
        delays.append(int(found[0]) + 1 if found.size else 31)
    assert np.median(delays) <= 5
    assert max(delays) <= 30


def test_missing_answers_count_neither_way() -> None:
    rng = np.random.default_rng(5)
    days = looks(rng, np.full(80, 0.95), 100)
    days[rng.random(days.shape) < 0.2] = -1
    assert drift_evidence(days).max() < DRIFTED
    assert drift_evidence(np.full((3, 4), -1)).max() < 2


def test_rows_may_have_several_claims() -> None:
    rng = np.random.default_rng(6)
    before, after = rng.binomial(5, 0.95, (20, 30)), rng.binomial(5, 0.7, (5, 30))
    assert drift_evidence(before.astype(np.int64)).max() < DRIFTED
    assert drift_evidence(np.vstack([before, after]).astype(np.int64))[-1] >= DRIFTED
