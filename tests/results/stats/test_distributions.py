import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.results.stats.intervals import FEW_TRIALS as FEW
from ragstone.results.stats.intervals import (
    NORMAL,
    Share,
    beta_below,
    bounds,
    proportion_interval,
    root_of,
    t_both_tails,
    t_quantile,
)
from ragstone.results.stats.sums import ExactSums


def test_beta_is_scipys(golden: dict[str, Any]) -> None:
    for x, a, b, below in golden["beta"]:
        assert beta_below(x, a, b) == pytest.approx(below, rel=1e-8, abs=1e-12), (x, a, b)


def test_t_is_scipys(golden: dict[str, Any]) -> None:
    for x, freedom, below in golden["t"]:
        tail = t_both_tails(x, freedom) / 2
        found = 1 - tail if x > 0 else tail
        assert found == pytest.approx(below, abs=1e-10), (x, freedom)


def test_t_quantiles_are_scipys(golden: dict[str, Any]) -> None:
    for share, freedom, value in golden["t_quantile"]:
        assert t_quantile(share, freedom) == pytest.approx(value, rel=1e-8), (share, freedom)


def test_t_and_beta_end_where_they_should() -> None:
    assert t_quantile(0.5, 3) == 0
    assert t_quantile(0.9, 3) == pytest.approx(-t_quantile(0.1, 3), rel=1e-14)
    assert [t_both_tails(x, 3) for x in (0, math.inf)] == [1, 0]
    assert t_quantile(0.975, 1e7) == pytest.approx(NORMAL.inv_cdf(0.975), abs=1e-6)
    assert [beta_below(x, 2, 3) for x in (-1, 0, 1, 2)] == [0, 0, 1, 1]


@each_case("steepness", [1, 30, 1e4, 1e9])
def test_a_steep_root_takes_few_steps(steepness: float) -> None:
    asked: list[float] = []

    def rising(x: float) -> float:
        asked.append(x)
        return math.atan((x - 0.3) * steepness)

    assert root_of(rising, 0.0, 0.0, 1.0) == pytest.approx(0.3, rel=1e-14)
    assert len(asked) < 50


@each_case(("goal", "end"), [(-1, 0), (0, 0), (1, 1), (2, 1)])
def test_a_goal_that_is_not_between_gives_the_nearer_end(goal: float, end: float) -> None:
    assert root_of(lambda x: x, goal, 0.0, 1.0) == end


def test_a_share_is_told_with_its_interval() -> None:
    share = Share(12, 20)
    assert (share.seen, share.interval) == ("12 of 20 (60%)", "36% to 81%")
    assert str(share) == "12 of 20 (60%, 95% interval 36% to 81%)"
    assert Share(1500, 1500).seen == "1,500 of 1,500 (100%)"


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
