import asyncio
from threading import Event

import pytest

from ragstone.reports.viewer.cache import Kept


async def test_it_is_made_once_for_all_who_ask() -> None:
    kept, made = Kept[int](2), []

    def make() -> int:
        made.append(1)
        return 7

    assert await asyncio.gather(*(kept.get("a", make) for _ in range(20))) == [7] * 20
    assert await kept.get("a", make) == 7
    assert len(made) == 1


async def test_only_the_latest_are_kept() -> None:
    kept, made = Kept[str](2), []
    for key in ("a", "b", "a", "c", "a", "b"):
        await kept.get(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "c", "b"]


async def test_what_failed_is_made_anew() -> None:
    kept, fails = Kept[int](2), [True, False]

    def make() -> int:
        if fails.pop(0):
            raise ValueError("not yet")
        return 1

    with pytest.raises(ValueError, match="not yet"):
        await kept.get("a", make)
    assert await kept.get("a", make) == 1


async def test_who_stops_waiting_does_not_stop_it_for_others() -> None:
    kept, may_end = Kept[int](2), Event()

    def make() -> int:
        assert may_end.wait(10)
        return 1

    first = asyncio.create_task(kept.get("a", make))
    second = asyncio.create_task(kept.get("a", make))
    await asyncio.sleep(0.05)
    first.cancel()
    may_end.set()
    assert await second == 1
