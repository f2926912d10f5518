import asyncio
from threading import Event

import pytest

from ragstone.reports.viewer.cache import AsyncCache


async def test_it_is_made_once_for_all_who_ask() -> None:
    cache, made = AsyncCache[int](2), []

    def make() -> int:
        made.append(1)
        return 7

    assert await asyncio.gather(*(cache.get("a", make) for _ in range(20))) == [7] * 20
    assert await cache.get("a", make) == 7
    assert len(made) == 1


async def test_only_the_latest_are_kept() -> None:
    cache, made = AsyncCache[str](2), []
    for key in ("a", "b", "a", "c", "a", "b"):
        await cache.get(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "c", "b"]


async def test_what_failed_is_made_anew() -> None:
    cache, fails = AsyncCache[int](2), [True, False]

    def make() -> int:
        if fails.pop(0):
            raise ValueError("not yet")
        return 1

    with pytest.raises(ValueError, match="not yet"):
        await cache.get("a", make)
    assert await cache.get("a", make) == 1


async def test_who_stops_waiting_does_not_stop_it_for_others() -> None:
    cache, may_end = AsyncCache[int](2), Event()

    def make() -> int:
        assert may_end.wait(10)
        return 1

    first = asyncio.create_task(cache.get("a", make))
    second = asyncio.create_task(cache.get("a", make))
    await asyncio.sleep(0.05)
    first.cancel()
    may_end.set()
    assert await second == 1
