"""Thresholds of the judge's probability, fitted on labels and measured on others."""

import numpy as np
import pytest

from ragstone.results.stats.labels import best_threshold


def test_a_biased_judge_has_a_better_threshold() -> None:
    rng = np.random.default_rng(1)
    support = rng.random(200)
    human = (support + rng.normal(0, 0.1, 200) > 0.8).astype(float)
    found = best_threshold(support, (support >= 0.5).astype(float), human, range(200))
    assert found is not None
    assert found.value == pytest.approx(0.8, abs=0.06)
    assert found.gain > 0.05
    assert found.accepted


def test_a_good_threshold_is_kept() -> None:
    rng = np.random.default_rng(2)
    support = rng.random(100)
    human = (support + rng.normal(0, 0.2, 100) > 0.5).astype(float)
    found = best_threshold(support, (support >= 0.5).astype(float), human, range(100))
    assert found is not None
    assert not found.accepted


def test_chance_is_rarely_called_a_gain() -> None:
    rng = np.random.default_rng(3)
    accepted = 0
    for _ in range(100):
        support, human = rng.random(60), (rng.random(60) < 0.5).astype(float)
        found = best_threshold(support, (support >= 0.5).astype(float), human, range(60))
        accepted += found is not None and found.accepted
    assert accepted <= 8


@pytest.mark.parametrize(("yes", "units"), [(4, 40), (36, 40), (20, 4)])
def test_too_few_labels_have_no_threshold(yes: int, units: int) -> None:
    support = np.linspace(0, 1, 40)
    human = np.repeat([0.0, 1.0], [40 - yes, yes])
    keys = [place % units for place in range(40)]
    assert best_threshold(support, human, human, keys) is None
