"""Workers: a function over many items, so many at a time, results as they finish."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
)
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Generic, TypeVar, cast

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class _End:
    """All workers have ended: by themselves, or with an error."""

    error: BaseException | None = None


class _Results(Generic[B]):
    """Hands out results as they finish; raises what a worker raised."""

    def __init__(self, queue: "asyncio.Queue[B | _End]") -> None:
        self._queue = queue

    def __aiter__(self) -> AsyncIterator[B]:
        return self

    async def __anext__(self) -> B:
        item = await self._queue.get()
        if not isinstance(item, _End):
            return item
        self._queue.put_nowait(item)
        raise item.error or StopAsyncIteration


@asynccontextmanager
async def working(
    items: Iterable[A] | AsyncIterable[A], work: Callable[[A], Awaitable[B]], *, concurrency: int
) -> AsyncGenerator[AsyncIterator[B], None]:
    """Run `work` on every item with `concurrency` workers, and iterate over the results.

    At most twice `concurrency` results wait to be taken; then the workers wait too. Leaving the
    block cancels what is under way and waits until it has ended, so that no call goes on that
    nobody will read.
    """
    source = _stream(items)
    queue: asyncio.Queue[B | _End] = asyncio.Queue(concurrency)
    turn = asyncio.Lock()

    async def worker() -> None:
        while True:
            async with turn:
                try:
                    item = await anext(source)
                except StopAsyncIteration:
                    return
            await queue.put(await _finished(work(item)))

    async def all_workers() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(worker())
        except* Exception as errors:  # noqa: BLE001 - raised again where results are taken
            await queue.put(_End(errors.exceptions[0]))
        else:
            await queue.put(_End())

    task = asyncio.create_task(all_workers())
    try:
        yield _Results(queue)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await source.aclose()


async def together(calls: Iterable[Coroutine[object, object, A]]) -> list[A]:
    """Await all at once, results in order; when one raises, the others are cancelled and ended."""
    due = list(calls)
    if len(due) == 1:  # a task of its own would cost more than many a call
        return [await due[0]]
    tasks = [asyncio.create_task(call) for call in due]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _finished(under_way: Awaitable[B]) -> B:
    """Await it; if it was cancelled by itself, not by us, say so: else its item would be lost."""
    try:
        return await under_way
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("a call cancelled itself") from None


async def _stream(items: Iterable[A] | AsyncIterable[A]) -> AsyncGenerator[A, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def in_thread(function: Callable[[], A]) -> A:
    """Run a function in a daemon thread of its own.

    One that hangs holds up nothing but its own thread: neither others that wait for a thread of
    a pool, nor the end of the program.
    """
    future: Future[A] = Future()
    run = partial(copy_context().run, function)

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(run())
        except StopIteration as error:  # no future may hold one
            future.set_exception(RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            future.set_exception(error)

    Thread(target=work, name="ragstone call", daemon=True).start()
    return await asyncio.wrap_future(future)


def finish_in_thread(call: Callable[[], Coroutine[object, object, None]]) -> None:
    """Await a call in a loop of its own, in a thread of its own, and raise what it raises.

    Ctrl-C cancels the call and waits for it to end; a second one does not wait for what hangs.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    started: list[asyncio.Task[None]] = []
    outcome: list[BaseException] = []
    ended = Event()

    async def finish() -> None:
        started.append(cast("asyncio.Task[None]", asyncio.current_task()))
        await call()

    def work() -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(finish())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            outcome.append(error)
        finally:
            ended.set()

    Thread(target=copy_context().run, args=(work,), name="ragstone", daemon=True).start()
    try:
        _wait(ended)
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt, RuntimeError):  # the loop may have ended just now
            for task in started:
                task.get_loop().call_soon_threadsafe(task.cancel)
            _wait(ended)
        raise
    if outcome:
        raise outcome[0]


def _wait(ended: Event) -> None:
    while not ended.wait(0.2):  # in slices: a wait without end cannot be interrupted everywhere
        pass
