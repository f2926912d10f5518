"""Workers: run a function on many items concurrently, and threads with their own event loop."""

import asyncio
import contextlib
import gc
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Sequence,
)
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Generic, Self, TypeVar, cast


class AsyncResource:
    """Opens its `_parts`, each once, and closes them again, at the end of the outermost block."""

    _parts: tuple[contextlib.AbstractAsyncContextManager[object], ...] = ()
    _open: contextlib.AsyncExitStack
    _entered = 0

    async def __aenter__(self) -> Self:
        if not self._entered:
            async with contextlib.AsyncExitStack() as stack:
                for part in {id(part): part for part in self._parts}.values():
                    await stack.enter_async_context(part)
                self._open = stack.pop_all()
        self._entered += 1
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._entered -= 1
        if not self._entered:
            await self._open.aclose()


A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class _End:
    error: BaseException | None = None


class Results(Generic[B]):
    """Yields results as they finish; raises the exception of a worker."""

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

    def waiting(self) -> list[B]:
        items = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [item for item in items if not isinstance(item, _End)]


@contextlib.asynccontextmanager
async def worker_pool(
    items: Iterable[A] | AsyncIterable[A], work: Callable[[A], Awaitable[B]], *, concurrency: int
) -> AsyncGenerator[Results[B], None]:
    """Run `work` on every item with `concurrency` workers, and iterate over the results.

    Workers wait if twice `concurrency` results wait to be taken. Leaving the block cancels them,
    and waits until they have ended, so that no call continues unread.
    """
    source = as_async(items)
    queue: asyncio.Queue[B | _End] = asyncio.Queue(concurrency)
    turn = asyncio.Lock()
    ending = False

    async def worker() -> None:
        nonlocal ending
        while not ending:
            async with turn:
                try:
                    item = await anext(source)
                except StopAsyncIteration:
                    return
            try:
                result = await work(item)
            except asyncio.CancelledError:
                if ending or task.cancelling():
                    raise
                # the item cancelled itself: an error, because its result would be missing silently
                raise RuntimeError("a call cancelled itself") from None
            except BaseException:
                ending = True
                raise
            await queue.put(result)

    async def all_workers() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(worker())
        except BaseExceptionGroup as errors:  # raised again to the consumer
            await queue.put(_End(errors.exceptions[0]))
        else:
            await queue.put(_End())

    task = asyncio.create_task(all_workers())
    try:
        yield Results(queue)
    finally:
        ending = True
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await source.aclose()


async def gather(calls: Iterable[Coroutine[object, object, A]]) -> list[A]:
    """Await all concurrently, and return results in order; if one raises, cancel the others."""
    coroutines = list(calls)
    if len(coroutines) == 1:  # a task would cost more than many calls
        return [await coroutines[0]]
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def as_async(items: Iterable[A] | AsyncIterable[A]) -> AsyncGenerator[A, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def _start(function: Callable[[], A], name: str) -> Future[A]:
    """Run a function in a daemon thread: unlike a pool, it blocks nothing if it hangs."""
    future: Future[A] = Future()
    run = partial(copy_context().run, function)

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(run())
        except StopIteration as error:  # a future cannot raise it
            future.set_exception(RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 - raised again to the caller
            future.set_exception(error)

    Thread(target=work, name=name, daemon=True).start()
    return future


async def in_thread(function: Callable[[], A]) -> A:
    return await asyncio.wrap_future(_start(function, "ragstone call"))


class Batches(Generic[A, B]):
    """Runs a function on batches of at most `size` items in a thread, one batch at a time.

    Items that arrive during a run are in the next one, sorted by `length`. The first item waits
    `gather` seconds for others.
    """

    def __init__(
        self,
        run: Callable[[Sequence[A]], Sequence[B]],
        *,
        size: int,
        gather: float = 0.0,
        length: Callable[[A], int] = lambda _: 0,
    ) -> None:
        self._run, self._size, self._gather, self._length = run, size, gather, length
        self._waiting: list[tuple[A, asyncio.Future[B]]] = []
        self._task: asyncio.Task[None] | None = None

    def submit(self, items: Sequence[A]) -> "list[asyncio.Future[B]]":
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in items]
        self._waiting += zip(items, futures, strict=True)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drain())
        return futures

    async def results(self, items: Sequence[A]) -> list[B]:
        return list(await asyncio.gather(*self.submit(items)))

    async def finish(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()

    async def _drain(self) -> None:
        await asyncio.sleep(self._gather)
        while self._waiting:
            waiting = [pair for pair in self._waiting if not pair[1].done()]
            self._waiting = []
            waiting.sort(key=lambda pair: self._length(pair[0]))
            for at in range(0, len(waiting), self._size):
                await self._finish(waiting[at : at + self._size])

    async def _finish(self, batch: Sequence[tuple[A, asyncio.Future[B]]]) -> None:
        pending = [pair for pair in batch if not pair[1].done()]
        if not pending:  # all were cancelled
            return
        try:
            found = await in_thread(partial(self._run, [item for item, _ in pending]))
            for (_, future), result in list(zip(pending, found, strict=True)):
                if not future.done():
                    future.set_result(result)
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            for _, future in pending:
                if not future.done():
                    future.set_exception(error)
        finally:
            for _, future in pending:
                future.cancel()  # unless it is done


def run_sync(call: Callable[[], Coroutine[object, object, B]]) -> B:
    """Await a call in its own event loop and thread, and return or raise what it does."""
    started: list[asyncio.Task[object]] = []

    async def finish() -> B:
        started.append(cast("asyncio.Task[object]", asyncio.current_task()))
        return await call()

    def work() -> B:
        with asyncio.Runner() as runner:
            return runner.run(finish())

    ended = _start(work, "ragstone")
    try:
        _wait(ended)
    except KeyboardInterrupt:  # the call is cancelled, and waited for unless it comes twice
        with contextlib.suppress(
            KeyboardInterrupt, RuntimeError
        ):  # the loop may have ended just now
            for task in started:
                task.get_loop().call_soon_threadsafe(task.cancel)
            _wait(ended)
        raise
    return ended.result()


def _wait(ended: Future[B]) -> None:
    while not wait([ended], 0.2).done:  # Ctrl-C cannot interrupt an endless wait on all systems
        pass


class BackgroundLoop:
    """Runs coroutines in one event loop in its own thread, in which resources stay open."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="ragstone", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[object, object, B]) -> B:
        __tracebackhide__ = True
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        async def cancel_tasks() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.get_running_loop().shutdown_asyncgens()

        self.call(cancel_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


YOUNG = 10_000  # new objects until a garbage collection; 700 to 2,000 by default


@contextlib.contextmanager
def gc_frozen() -> Generator[None]:
    """Keep the garbage collector off imported modules: a quarter of a run's CPU time."""
    if gc.get_freeze_count():
        yield
        return
    young, *older = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young and max(young, YOUNG), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
        gc.unfreeze()


LARGE = 100_000  # bytes of a reply that would block the event loop until other calls time out


async def parse(content: bytes | str, function: Callable[[], B]) -> B:
    return function() if len(content) < LARGE else await in_thread(function)
