import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextvars import ContextVar
from threading import Event, get_ident
from typing import Self

import pytest
from tests.cases import each_case

from ragstone._internal.concurrency import (
    AsyncResource,
    Batches,
    gc_frozen,
    in_thread,
    worker_pool,
)
from ragstone.errors import UsageError


@pytest.fixture(autouse=True)
async def nothing_is_left_behind(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """No task outlives its block, and asyncio has nothing to complain about."""
    before = asyncio.all_tasks()
    gc.freeze()  # what is there already need not be looked through
    yield
    assert asyncio.all_tasks() - {asyncio.current_task()} <= before
    gc.collect()  # asyncio reports a pending task that was destroyed when it is collected
    gc.unfreeze()
    records = caplog.get_records("call") + caplog.records
    assert not [record for record in records if record.name == "asyncio"]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


class Gauge:
    """Work that counts how much of it goes on at once, and what became of it."""

    def __init__(self, *, seconds: float = 0.001) -> None:
        self.seconds = seconds
        self.now = self.most = self.started = self.finished = self.cancelled = 0

    async def work(self, number: int) -> int:
        self.now += 1
        self.started += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1
        self.finished += 1
        return number


async def stream(numbers: range) -> AsyncIterator[int]:
    for number in numbers:
        await asyncio.sleep(0)
        yield number


@each_case("concurrency", [1, 3, 100])
@each_case("count", [0, 1, 50])
async def test_all_results_come(count: int, concurrency: int) -> None:
    for items in (range(count), stream(range(count))):
        async with worker_pool(items, double, concurrency=concurrency) as results:
            found = [item async for item in results]
        assert (found if concurrency == 1 else sorted(found)) == [2 * n for n in range(count)]


@each_case("concurrency", [1, 4])
async def test_so_many_are_under_way_and_no_more(concurrency: int) -> None:
    gauge = Gauge()
    async with worker_pool(range(40), gauge.work, concurrency=concurrency) as results:
        assert len([item async for item in results]) == 40
    assert gauge.most == concurrency
    gauge = Gauge(seconds=0)
    async with worker_pool(range(1000), gauge.work, concurrency=concurrency) as results:
        for taken in range(1, 6):
            await anext(results)
            await asyncio.sleep(0.01)  # workers wait where nobody takes their results
            assert gauge.started - taken <= 2 * concurrency


async def test_an_exception_of_the_work_comes_out_where_results_are_taken() -> None:
    gauge = Gauge(seconds=60)

    async def work(number: int) -> int:
        if number == 2:
            raise ZeroDivisionError("2")
        return number if number == 0 else await gauge.work(number)

    async with worker_pool(range(10), work, concurrency=4) as results:
        assert await anext(results) == 0  # what was finished before still comes
        for _ in range(2):  # and again: there is nothing after it
            with pytest.raises(ZeroDivisionError, match="2"):
                await anext(results)
            assert gauge.now == 0
    assert gauge.cancelled == gauge.started
    async with worker_pool(range(2, 5), work, concurrency=3):
        await asyncio.sleep(0.01)  # nobody takes it: the block does not raise it


async def test_a_source_that_raises_is_told_too() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        raise OSError("the disk is gone")

    async with worker_pool(source(), double, concurrency=1) as results:
        assert await anext(results) == 2
        with pytest.raises(OSError, match="the disk is gone"):
            await anext(results)


async def test_leaving_early_cancels_and_awaits_what_is_under_way() -> None:
    gauge = Gauge(seconds=60)
    ended, cleaned = False, 0

    def source() -> Iterator[int]:
        nonlocal ended
        try:
            yield from range(1000)
        finally:
            ended = True

    async def work(number: int) -> int:
        nonlocal cleaned
        try:
            return number if number == 0 else await gauge.work(number)
        finally:
            await asyncio.sleep(0.01)
            cleaned += 1

    async with worker_pool(source(), work, concurrency=4) as results:
        assert await anext(results) == 0
        await asyncio.sleep(0.03)
        assert gauge.now == 4
    assert (gauge.now, gauge.cancelled, gauge.finished) == (0, 4, 0)
    assert (ended, cleaned) == (True, 5)


async def test_an_exception_or_a_cancellation_in_the_block_goes_through() -> None:
    gauge = Gauge(seconds=60)

    async def enter(*, leave: bool) -> None:
        async with worker_pool(range(9), gauge.work, concurrency=2) as results:
            await asyncio.sleep(0.005)
            if leave:
                raise KeyError
            await anext(results)

    with pytest.raises(KeyError):
        await enter(leave=True)
    assert (gauge.now, gauge.cancelled) == (0, 2)
    task = asyncio.create_task(enter(leave=False))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (gauge.now, gauge.cancelled) == (0, 4)


async def test_a_function_runs_in_a_thread_of_its_own_and_in_our_context() -> None:
    variable = ContextVar("variable", default=0)
    variable.set(42)

    def work() -> tuple[int, bool]:
        return variable.get(), threading.current_thread().daemon

    assert await in_thread(work) == (42, True)


def test_the_heap_is_frozen_during_a_run_and_released_after_it() -> None:
    with gc_frozen():
        pass
    assert gc.get_freeze_count()  # what the program froze, here the fixture, stays frozen
    gc.unfreeze()
    before = gc.get_threshold()
    with gc_frozen():
        assert gc.get_threshold()[0] > before[0]
        with gc_frozen():
            pass
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


class Runs:
    """What was run together; an item is as long as its text, and comes back in capitals."""

    def __init__(self, hold: Event | None = None) -> None:
        self.seen: list[list[str]] = []
        self.threads: set[int] = set()
        self.hold, self.begun = hold, Event()

    def __call__(self, items: Sequence[str]) -> list[str]:
        self.seen.append(list(items))
        self.threads.add(get_ident())
        self.begun.set()
        if self.hold:
            self.hold.wait(10)
        return [item.upper() for item in items]


def batches(runs: Runs, size: int = 4) -> Batches[str, str]:
    return Batches(runs, size=size, length=len)


async def test_what_arrives_together_is_run_together_sorted_by_length() -> None:
    runs = Runs()
    both = batches(runs)
    assert await both.results(["ccc", "a"]) == ["CCC", "A"]
    assert runs.seen == [["a", "ccc"]]
    found = await asyncio.gather(both.results(["dddd"]), both.results(["b", "cc"]))
    assert found == [["DDDD"], ["B", "CC"]]
    assert runs.seen[1] == ["b", "cc", "dddd"]
    assert get_ident() not in runs.threads


async def test_what_arrives_during_a_run_is_the_next_one() -> None:
    hold = Event()
    runs = Runs(hold)
    both = batches(runs)
    first = asyncio.create_task(both.results(["a"]))
    await asyncio.to_thread(runs.begun.wait, 10)
    given_up, *later = [asyncio.create_task(both.results([text])) for text in "bcd"]
    await asyncio.sleep(0)
    given_up.cancel()  # what nobody waits for any more is not run
    hold.set()
    assert [await each for each in (first, *later)] == [["A"], ["C"], ["D"]]
    assert runs.seen == [["a"], ["c", "d"]]


@each_case("wrong", [lambda items: items[1:], lambda items: [*items, "more"]])
async def test_fewer_or_more_results_than_items_are_an_error_and_no_wait(wrong) -> None:
    both = Batches[str, str](wrong, size=4, length=len)
    for items in (["a", "bb"], ["a", "bb"], ["a"]):
        with pytest.raises(ValueError, match="zip"):
            await asyncio.wait_for(both.results(items), 5)


async def test_closing_lets_go_of_what_waits() -> None:
    hold = Event()
    both = batches(Runs(hold))
    waiting = asyncio.create_task(both.results(["a"]))
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(both.close())
    await asyncio.sleep(0.01)
    hold.set()
    await closing
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_no_run_is_of_more_than_the_size_and_finishing_waits_for_all() -> None:
    runs = Runs()
    texts = ["x" * n for n in range(1, 11)]
    assert await batches(runs).results(texts) == [text.upper() for text in texts]
    assert [len(items) for items in runs.seen] == [4, 4, 2]
    runs = Runs()
    both = Batches[str, str](runs, size=2)  # without a length, items stay in order
    waiting = asyncio.create_task(both.results(["ccc", "a", "bb"]))
    await asyncio.sleep(0)
    await both.finish()
    assert runs.seen == [["ccc", "a"], ["bb"]]
    assert await waiting == ["CCC", "A", "BB"]


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
        async with house, house as opened:  # entered twice, it stays open until the last one leaves
            assert opened is house
            assert seen == ["+a", "+b", "+c"]
        assert seen == ["+a", "+b", "+c", "-c", "-b", "-a"]


async def test_where_one_cannot_be_opened_none_is_left_open() -> None:
    seen: list[str] = []
    with pytest.raises(UsageError, match="b is stuck"):
        async with House(Door("a", seen), Door("b", seen, stuck="opening"), Door("c", seen)):
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
