import math
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.results.stats.intervals import FEW_TRIALS as FEW
from ragstone.results.stats.intervals import proportion_interval


def covered(share: float, n: int) -> float:
    """Reckon the chance that the interval of n draws holds the true share."""
    total = 0.0
    for right in range(n + 1):
        low, high = proportion_interval(right, n)
        chance = math.comb(n, right) * share**right * (1 - share) ** (n - right)
        total += chance * (low <= share <= high)
    return total


def test_they_are_those_of_scipy_and_statsmodels(golden: dict[str, Any]) -> None:
    for right, n, low, high in golden["proportions"]:
        assert proportion_interval(right, n) == pytest.approx((low, high), abs=1e-8), (right, n)


@each_case("n", [1, 3, FEW - 1, FEW, 500])
def test_all_right_is_no_certainty_and_mirrors_none_right(n: int) -> None:
    low, high = proportion_interval(n, n)
    assert 0 < low < high == 1
    assert proportion_interval(0, n) == (0, 1 - low)


@each_case("share", [0.03, 0.5, 0.8, 0.97])
def test_they_cover_the_share_as_often_as_said(share: float) -> None:
    for n in (5, FEW - 1):
        assert covered(share, n) >= 0.95
    assert share > 0.9 or share < 0.1 or 0.93 <= covered(share, 100) <= 0.97
