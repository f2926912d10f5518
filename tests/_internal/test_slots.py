import asyncio

import pytest

from ragstone._internal.rate_limit import AdaptiveLimiter


def now() -> float:
    return asyncio.get_running_loop().time()


async def turns() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


class Holders:
    """Tasks that hold a slot until they are let go, in the order in which they got it."""

    def __init__(self, slots: AdaptiveLimiter) -> None:
        self.slots = slots
        self.holding: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._let_go: list[asyncio.Event] = []

    async def add(self, count: int) -> None:
        for number in range(len(self.tasks), len(self.tasks) + count):
            self._let_go.append(asyncio.Event())
            self.tasks.append(asyncio.create_task(self._hold(number)))
        await turns()

    async def let_go(self, *numbers: int) -> None:
        for number in numbers:
            self._let_go[number].set()
        await turns()

    async def _hold(self, number: int) -> None:
        async with self.slots:
            self.holding.append(number)
            try:
                await self._let_go[number].wait()
            finally:
                self.holding.remove(number)


async def free(slots: AdaptiveLimiter, count: int) -> bool:
    """Tell whether exactly so many slots can be had, and give them back."""
    holders = Holders(slots)
    await holders.add(count + 1)
    had = len(holders.holding)
    await holders.let_go(*range(count + 1))
    await asyncio.gather(*holders.tasks)
    return had == count


async def test_so_many_hold_at_once_and_who_came_first_is_first() -> None:
    holders = Holders(AdaptiveLimiter(2))
    await holders.add(5)
    assert holders.holding == [0, 1]
    await holders.let_go(1)
    assert holders.holding == [0, 2]
    await holders.let_go(0, 2)
    assert holders.holding == [3, 4]


async def test_a_newcomer_does_not_pass_the_line() -> None:
    slots = AdaptiveLimiter(1)
    order = list[int]()

    async def hold(number: int) -> None:
        async with slots:
            order.append(number)
            await asyncio.sleep(0)
            if number == 0:  # the slot is free in a moment, the line stands
                tasks.append(asyncio.create_task(hold(2)))

    tasks = [asyncio.create_task(hold(number)) for number in (0, 1)]
    await turns()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]


async def test_an_error_gives_the_slot_back() -> None:
    slots = AdaptiveLimiter(1)
    with pytest.raises(ValueError, match="no"):
        async with slots:
            raise ValueError("no")
    assert await free(slots, 1)


async def test_who_gives_up_waiting_is_passed_over() -> None:
    slots = AdaptiveLimiter(1)
    holders = Holders(slots)
    await holders.add(3)
    holders.tasks[1].cancel()
    await turns()
    await holders.let_go(0)
    assert holders.holding == [2]
    await holders.let_go(2)
    assert await free(slots, 1)


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_a_cancellation_in_the_moment_of_the_grant_leaks_no_slot(
    cancelled_first: bool,
) -> None:
    slots, go = AdaptiveLimiter(1), asyncio.Event()

    async def hold() -> None:
        async with slots:
            await go.wait()
            if cancelled_first:
                waiting.tasks[0].cancel()
        waiting.tasks[0].cancel()

    holder = asyncio.create_task(hold())
    waiting = Holders(slots)
    await turns()
    await waiting.add(1)
    go.set()
    await turns()
    assert holder.done()
    assert waiting.tasks[0].cancelled()  # and not ended by an error of another kind
    assert await free(slots, 1)


async def test_all_cancelled_at_once_end_cancelled() -> None:
    slots = AdaptiveLimiter(3)
    holders = Holders(slots)
    await holders.add(50)
    for task in holders.tasks:
        task.cancel()
    await turns()
    assert all(task.cancelled() for task in holders.tasks)
    assert await free(slots, 3)


async def test_a_crowd_that_is_refused_narrows_once() -> None:
    slots = AdaptiveLimiter(16)
    begun = now()
    await asyncio.sleep(0.001)
    for _ in range(16):
        slots.narrow(begun)
    assert slots.limit == 8
    slots.narrow(now())
    assert slots.limit == 4


async def test_one_slot_stays() -> None:
    slots = AdaptiveLimiter(4)
    for _ in range(9):
        slots.narrow(now())
        await asyncio.sleep(0.001)
    assert slots.limit == 1
    assert await free(slots, 1)


async def test_while_more_hold_than_there_are_slots_nobody_is_let_in() -> None:
    slots = AdaptiveLimiter(4)
    holders = Holders(slots)
    await holders.add(6)
    slots.narrow(now())
    await holders.let_go(0, 1)
    assert holders.holding == [2, 3]
    await holders.let_go(2)
    assert holders.holding == [3, 4]


async def test_answered_calls_give_the_slots_back_one_by_one() -> None:
    slots = AdaptiveLimiter(8)
    slots.narrow(now())
    holders = Holders(slots)
    await holders.add(8)
    limits = list[int]()
    for _ in range(60):
        slots.widen()
        limits.append(slots.limit)
    assert limits == sorted(limits)
    assert limits[3] == 4  # as many answers as there were slots make one more
    assert limits[4] == 5
    assert limits[-1] == 8
    await turns()
    assert len(holders.holding) == 8
