import asyncio
from itertools import pairwise

import pytest

from ragstone._internal.rate_limit import RateLimiter

pytestmark = pytest.mark.usefixtures("clock")


def now() -> float:
    return asyncio.get_running_loop().time()


async def starts_of(pace: RateLimiter, count: int) -> list[float]:
    started = list[float]()

    async def start() -> None:
        await pace.turn()
        started.append(now())

    await asyncio.gather(*(start() for _ in range(count)))
    return started


async def test_starts_are_spaced_from_one_to_the_next() -> None:
    started = await starts_of(RateLimiter(0.03), 4)
    assert all(later - earlier >= 0.029 for earlier, later in pairwise(started))
    assert started[-1] - started[0] < 1


async def test_the_first_start_and_starts_without_a_delay_do_not_wait() -> None:
    before = now()
    assert (await starts_of(RateLimiter(60), 1))[0] - before < 1
    assert (await starts_of(RateLimiter(0), 50))[-1] - before < 1


async def test_nothing_starts_while_it_is_held_not_even_what_waits_already() -> None:
    pace = RateLimiter(0.02)
    before = now()
    waiting = asyncio.create_task(starts_of(pace, 2))
    await asyncio.sleep(0.005)
    pace.hold(0.1)
    pace.hold(0.01)  # a shorter hold does not shorten the longer one
    first, second = await waiting
    assert first - before < 0.05
    assert second - before >= 0.1


async def test_one_start_may_keep_the_next_away_for_longer() -> None:
    pace = RateLimiter(0.01)
    before = now()
    await pace.turn(0.05)
    await pace.turn(0.001)  # the delay is the least
    second = now()
    await pace.turn()
    third = now()
    assert second - before >= 0.049
    assert 0.009 <= third - second < 0.045


async def test_a_hold_without_a_delay_lets_all_go_at_once_when_it_ends() -> None:
    pace = RateLimiter()
    pace.hold(0.05)
    before = now()
    started = await starts_of(pace, 100)
    assert started[0] - before >= 0.049
    assert started[-1] - started[0] < 0.05


async def test_who_gives_up_waiting_keeps_nobody_waiting() -> None:
    pace = RateLimiter(0.05)
    await pace.turn()
    before = now()
    waiting = [asyncio.create_task(pace.turn()) for _ in range(10)]
    await asyncio.sleep(0.01)
    for task in waiting[:9]:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert 0.04 <= now() - before < 0.1
