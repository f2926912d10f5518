"""Thresholds of the judge's probability, fitted on labels and measured on others."""

import numpy as np
import pytest

from ragstone.results.stats.labels import best_threshold


def test_a_biased_judge_has_a_better_threshold_and_a_good_one_is_kept() -> None:
    for seed, noise, mark, accepted in ((1, 0.1, 0.8, True), (2, 0.2, 0.5, False)):
        rng = np.random.default_rng(seed)
        support = rng.random(200)
        human = (support + rng.normal(0, noise, 200) > mark).astype(float)
        found = best_threshold(support, (support >= 0.5).astype(float), human, range(200))
        assert found is not None
        assert not accepted or found.value == pytest.approx(mark, abs=0.06)
        assert found.accepted is accepted
        assert not accepted or found.gain > 0.05


@pytest.mark.parametrize(("yes", "units"), [(4, 40), (36, 40), (20, 4)])
def test_too_few_labels_have_no_threshold(yes: int, units: int) -> None:
    support = np.linspace(0, 1, 40)
    human = np.repeat([0.0, 1.0], [40 - yes, yes])
    keys = [place % units for place in range(40)]
    assert best_threshold(support, human, human, keys) is None
