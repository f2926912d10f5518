from typing import Any

import numpy as np
import pytest

from ragstone.results.stats import paired_t, smallest_difference


def test_it_is_that_of_scipys_noncentral_t(golden: dict[str, Any]) -> None:
    for n, alpha, power, effect in golden["power"]:
        found = smallest_difference(1, n, alpha=alpha, power=power)
        assert found == pytest.approx(effect, rel=1e-9), (n, alpha, power)


def test_it_grows_with_the_spread_and_falls_with_more_pairs() -> None:
    small, large = smallest_difference(0.3, 400), smallest_difference(0.3, 100)
    assert small is not None
    assert large is not None
    assert large == pytest.approx(2 * small, rel=0.02)
    assert smallest_difference(0.6, 100) == pytest.approx(2 * large)


@pytest.mark.parametrize(("spread", "n"), [(0.3, 1), (0.3, 0), (0, 50)])
def test_too_few_pairs_or_no_spread_have_none(spread: float, n: int) -> None:
    assert smallest_difference(spread, n) is None


def test_a_difference_of_that_size_is_seen_in_four_of_five_cases() -> None:
    rng = np.random.default_rng(3)
    gain = smallest_difference(0.25, 30) or 0
    p_values = [paired_t(rng.normal(gain, 0.25, 30).tolist()) or 0 for _ in range(600)]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.8, abs=0.05)
