import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats.intervals import bounds
from ragstone.results.stats.sums import ExactSums


def test_the_worked_example() -> None:
    """1 + 0.5 of two rows; two more at 0 make 1.5 / 4, at 1 make 3.5 / 4."""
    assert bounds(ExactSums.of([1, 0.5]), 2) == (0.375, 0.875)
    assert bounds(ExactSums.of([1, 0.5]), 2, low=-1) == (-0.125, 0.875)
    endless = bounds(ExactSums.of([0.2, 0.4]), 0, low=-math.inf, high=math.inf)
    assert endless == pytest.approx((0.3, 0.3)), "nothing is missing"
    assert bounds(ExactSums.of([]), 3, low=0, high=2) == (0, 2)
    assert bounds(ExactSums.of([]), 0) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 20))
def test_whatever_is_missing_the_mean_lies_between(scores: list[float], missing: int) -> None:
    missing = min(missing, len(scores))
    low, high = bounds(ExactSums.of(scores[missing:]), missing) or (0, 0)
    assert low - 1e-12 <= math.fsum(scores) / len(scores) <= high + 1e-12
