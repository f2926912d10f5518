"""Limits: each of xdist's workers has its part, and all together keep the whole."""

import pytest

from ragstone.integrations.pytest.markers import part_of
from ragstone.types.config import Plan

PLAN = Plan(max_calls=5, max_cost=0.3)


def parts(count: int) -> list[Plan]:
    return [part_of(PLAN, {"workerid": f"gw{n}", "workercount": count}) for n in range(count)]


@pytest.mark.parametrize(("count", "calls"), [(1, [5]), (2, [3, 2]), (7, [1, 1, 1, 1, 1, 0, 0])])
def test_the_parts_are_the_whole(count: int, calls: list[int]) -> None:
    assert [part.max_calls for part in parts(count)] == calls
    assert sum(part.max_cost or 0 for part in parts(count)) == pytest.approx(0.3)


def test_without_workers_it_is_the_whole() -> None:
    assert part_of(PLAN, {}) == PLAN


def test_workers_with_names_of_their_own_keep_it_too() -> None:
    names = ["x", "gw0", "left-1"]
    parts = [part_of(PLAN, {"workerid": name, "workercount": 3}) for name in names]
    assert [part.max_calls for part in parts] == [1, 2, 1]


def test_no_limit_has_no_parts() -> None:
    plan = part_of(Plan(), {"workerid": "gw1", "workercount": 2})
    assert plan.max_calls is plan.max_cost is None
