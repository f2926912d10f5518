from typing import Self

import pytest

from ragstone._internal.concurrency import AsyncResource
from ragstone.errors import UsageError


class Door(AsyncResource):
    """Writes down when it is opened and closed; does not open, or close, if it is stuck."""

    def __init__(self, name: str, seen: list[str], *, stuck: str = "") -> None:
        self.name, self.seen, self.stuck = name, seen, stuck

    async def __aenter__(self) -> Self:
        if self.stuck == "opening":
            raise UsageError(f"{self.name} is stuck")
        self.seen.append(f"+{self.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.seen.append(f"-{self.name}")
        if self.stuck == "closing":
            raise UsageError(f"{self.name} is stuck")


class House(AsyncResource):
    def __init__(self, *doors: AsyncResource) -> None:
        self._parts = doors


async def test_parts_are_opened_in_order_and_closed_in_the_other_each_time() -> None:
    seen: list[str] = []
    house = House(Door("a", seen), House(Door("b", seen), Door("c", seen)))
    for _ in range(2):
        seen.clear()
        async with house as opened:
            assert opened is house
            assert seen == ["+a", "+b", "+c"]
        assert seen == ["+a", "+b", "+c", "-c", "-b", "-a"]


async def test_where_one_cannot_be_opened_none_is_left_open() -> None:
    seen: list[str] = []
    house = House(Door("a", seen), Door("b", seen, stuck="opening"), Door("c", seen))
    with pytest.raises(UsageError, match="b is stuck"):
        async with house:
            pass
    assert seen == ["+a", "-a"]


async def test_all_are_closed_whatever_goes_wrong_within_or_while_closing() -> None:
    seen: list[str] = []
    with pytest.raises(ZeroDivisionError):
        async with House(Door("a", seen), Door("b", seen)):
            raise ZeroDivisionError
    assert seen == ["+a", "+b", "-b", "-a"]
    seen.clear()
    with pytest.raises(UsageError, match="b is stuck"):
        async with House(Door("a", seen), Door("b", seen, stuck="closing")):
            pass
    assert seen == ["+a", "+b", "-b", "-a"]


async def test_what_is_entered_again_stays_open_until_the_last_one_leaves() -> None:
    seen: list[str] = []
    door = Door("a", seen)
    house = House(door, door)
    async with house:
        async with house:
            assert seen == ["+a"]
        assert seen == ["+a"]
    assert seen == ["+a", "-a"]
