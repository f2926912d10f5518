from typing import Self

import pytest

from ragstone.errors import UsageError
from ragstone.judges.base import Judge
from ragstone.judges.panel import PanelJudge
from ragstone.judges.router import RouterJudge
from ragstone.judges.scripted import ScriptedJudge


class Door(ScriptedJudge):
    """Writes down when it is opened and closed; does not open if it is stuck."""

    def __init__(self, name: str, seen: list[str], *, stuck: bool = False) -> None:
        super().__init__({}, name=name)
        self.tags = frozenset({name})
        self.seen, self.stuck = seen, stuck

    async def __aenter__(self) -> Self:
        if self.stuck:
            raise UsageError(f"{self.name} is stuck")
        self.seen.append(f"+{self.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.seen.append(f"-{self.name}")


def panel(*judges: Judge) -> Judge:
    return PanelJudge(judges)


def route(default: Judge, *others: Judge) -> Judge:
    return RouterJudge({f"kind {n}": judge for n, judge in enumerate(others)}, default)


@pytest.mark.parametrize("around", [panel, route])
async def test_each_judge_is_opened_and_closed_once(around: type[Judge]) -> None:
    seen: list[str] = []
    a, b = Door("a", seen), Door("b", seen)
    judge = around(a, b, a)
    for _ in range(2):
        seen.clear()
        async with judge:
            assert seen == ["+a", "+b"]
        assert seen == ["+a", "+b", "-b", "-a"]
    assert judge.tags == {"a", "b"}


@pytest.mark.parametrize("around", [panel, route])
async def test_where_one_cannot_be_opened_none_is_left_open(around: type[Judge]) -> None:
    seen: list[str] = []
    with pytest.raises(UsageError, match="b is stuck"):
        async with around(Door("a", seen), Door("b", seen, stuck=True), Door("c", seen)):
            pass
    assert seen == ["+a", "-a"]
