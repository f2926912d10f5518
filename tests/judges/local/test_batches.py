import asyncio
from collections.abc import Sequence
from threading import Event, get_ident

import pytest

from ragstone.judges.local.model import Batches


class Runs:
    """What was run together; an item is as long as its text, and comes back in capitals."""

    def __init__(self, hold: Event | None = None) -> None:
        self.seen: list[list[str]] = []
        self.threads: set[int] = set()
        self.hold, self.open_recorder = hold, Event()

    def __call__(self, items: Sequence[str]) -> list[str]:
        self.seen.append(list(items))
        self.threads.add(get_ident())
        self.open_recorder.set()
        if self.hold:
            self.hold.wait(10)
        if "bad" in items:
            raise ValueError("a bad one")
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


async def test_no_run_is_of_more_than_the_size() -> None:
    runs = Runs()
    texts = ["x" * n for n in range(1, 11)]
    assert await batches(runs).results(texts) == [text.upper() for text in texts]
    assert [len(items) for items in runs.seen] == [4, 4, 2]


async def test_what_arrives_during_a_run_is_the_next_one() -> None:
    hold = Event()
    runs = Runs(hold)
    both = batches(runs)
    first = asyncio.create_task(both.results(["a"]))
    await asyncio.to_thread(runs.open_recorder.wait, 10)
    later = [asyncio.create_task(both.results([text])) for text in ("b", "c")]
    await asyncio.sleep(0)
    hold.set()
    assert [await each for each in (first, *later)] == [["A"], ["B"], ["C"]]
    assert runs.seen == [["a"], ["b", "c"]]


async def test_an_error_is_that_of_those_who_were_in_the_run() -> None:
    both = batches(Runs(), size=1)
    with pytest.raises(ValueError, match="a bad one"):
        await both.results(["bad"])
    assert await both.results(["good"]) == ["GOOD"]


@pytest.mark.parametrize("wrong", [lambda items: items[1:], lambda items: [*items, "more"]])
async def test_fewer_or_more_results_than_items_are_an_error_and_no_wait(wrong) -> None:
    both = Batches[str, str](wrong, size=4, length=len)
    for _ in range(2):
        with pytest.raises(ValueError, match="zip"):
            await asyncio.wait_for(both.results(["a", "bb"]), 5)
    with pytest.raises(ValueError, match="zip"):
        await asyncio.wait_for(both.results(["a"]), 5)


async def test_what_nobody_waits_for_any_more_is_not_run() -> None:
    hold = Event()
    runs = Runs(hold)
    both = batches(runs)
    first = asyncio.create_task(both.results(["a"]))
    await asyncio.to_thread(runs.open_recorder.wait, 10)
    given_up = asyncio.create_task(both.results(["b"]))
    await asyncio.sleep(0)
    given_up.cancel()
    hold.set()
    assert await first == ["A"]
    assert await both.results(["c"]) == ["C"]
    assert runs.seen == [["a"], ["c"]]


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
