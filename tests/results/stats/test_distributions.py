import math
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.results.stats.intervals import NORMAL, beta_below, root_of, t_both_tails, t_quantile


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
