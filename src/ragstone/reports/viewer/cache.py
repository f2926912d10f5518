"""Kept: what takes long to make is made once, in a thread of its own, and kept for a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from threading import Lock, Thread
from time import monotonic
from typing import Generic, TypeVar, cast

from ragstone._internal.text import count
from ragstone.reports.facts import Fact, summary_of, titles
from ragstone.reports.runs_table import listing
from ragstone.store import RunInfo, Store, running_runs
from ragstone.store.search import summarise

T = TypeVar("T")

MOMENT = 2
"""Seconds for which what is told of an unfinished run is taken for true."""


def as_of(info: RunInfo) -> Hashable:
    """Return a key of what a run is now.

    Rows that are done again take the place of others: while a run is unfinished, that it has as
    many rows as before says nothing.
    """
    moment = None if info.finished else int(monotonic() // MOMENT)
    return info.id, info.finished_at, info.rows, moment


class Kept(Generic[T]):
    """The latest few results by key.

    One is made at a time, so that those that take long leave the processor to others. Who asks
    for what is being made waits for the same; what failed is made anew when it is asked for again.
    A thread that is under way does not hold up the end of the process.
    """

    def __init__(self, most: int) -> None:
        self._most, self._turn = most, Lock()
        self._made: OrderedDict[Hashable, asyncio.Future[T]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gives, or gave for this key before."""
        known = self._made.get(key)
        if known is None or (known.done() and known.exception() is not None):
            known = self._made[key] = self._begin(make)
        self._made.move_to_end(key)
        while len(self._made) > self._most:
            self._made.popitem(last=False)
        return await asyncio.shield(known)

    def _begin(self, make: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda ended: ended.exception())  # so that asyncio counts it seen

        def tell(tell_future: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell_future)

        def work() -> None:
            try:
                with self._turn:
                    made = make()
            except Exception as error:  # noqa: BLE001 - raised again where it is waited for
                tell(lambda error=error: future.set_exception(error))
            else:
                tell(lambda: future.set_result(made))

        Thread(target=work, name="ragstone view", daemon=True).start()
        return future


# Summaries: what a run came to, as pages show it: as it was stored, or reckoned from the rows.

FEW = 1000
"""Rows that are read in no time: of such runs pages tell all facts."""
KEPT = 32
_NEEDED = {"metrics", "slices", "gates", "options", "usage", "blame", "not_run", "target_health"}
"""What a page cannot be without; runs that an earlier version stored may lack it."""


class Summaries:
    """Gives the summaries of a store's runs that have one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[Mapping[str, object]] = Kept(KEPT)

    async def of(self, info: RunInfo) -> Mapping[str, object]:
        """Return a run's summary; of a short run, or where it was not stored whole, by its rows.

        Raises:
            StoreError: the rows cannot be read.
        """
        stored = info.summary or {}
        if info.rows > FEW and stored.keys() >= _NEEDED:
            told = [vars(fact) for fact in _facts(info, stored)]
            return {**stored, "titles": titles(info.metrics), "facts": told}
        return await self._kept.get(as_of(info), partial(self._reckoned, info.id))

    def _reckoned(self, run_id: str) -> Mapping[str, object]:
        return summary_of(self._store.load(run_id))


def _facts(info: RunInfo, stored: Mapping[str, object]) -> Iterator[Fact]:
    """Yield what is to be known of a long run, as far as that is known without its rows."""
    for note in info.manifest.source.notes:
        yield Fact("Note", note)
    metrics = cast("Mapping[str, Mapping[str, int]]", stored["metrics"])
    for name, figures in metrics.items():
        if flagged := figures.get("flagged"):
            yield Fact(
                "Made up", f"{name}: {count(flagged, 'score')}, by the policy", alarming=True
            )
    if info.ranked:  # its rows have no notes
        return
    yield Fact(
        "Not shown",
        f"notes on single rows, as the run has more than {FEW:,}: "
        f"`ragstone report {info.id} --html FILE` writes a page that has them",
    )


# RunList: the runs of a store, newest first, and how far each is.

AT_ONCE = 100
"""Runs on the page, unless more are asked for."""
RUN_LIST_FEW = 10_000
"""Rows that are counted in no time."""


class Progress(StrEnum):
    """How far a run is: all rows are there, a process works on it, or nobody does."""

    FINISHED = "finished"
    GOING = "going"
    STOPPED = "stopped"

    @classmethod
    def of(cls, info: RunInfo, busy: Container[str]) -> "Progress":
        """Tell how far a run is; `busy` are the runs that a process works on."""
        if info.finished:
            return cls.FINISHED
        return cls.GOING if info.id in busy else cls.STOPPED


@dataclass(frozen=True)
class RunList:
    """The newest runs as plain data, and whether there are more.

    Each is as `ragstone runs --json` has it, with its `state`, and the means so far where it
    was not summed up.
    """

    runs: tuple[dict[str, object], ...]
    more: bool

    @classmethod
    def of(cls, store: Store, limit: int = AT_ONCE) -> "RunList":
        """Read the list.

        Raises:
            StoreError: the store cannot be read.
        """
        infos = store.runs(limit=limit + 1)
        busy = running_runs(store)
        return cls(tuple(_told(store, info, busy) for info in infos[:limit]), len(infos) > limit)


def _told(store: Store, info: RunInfo, busy: Container[str]) -> dict[str, object]:
    state = Progress.of(info, busy)
    if state is Progress.GOING or info.rows <= RUN_LIST_FEW:
        info = summarise(store, info)
    return listing(info) | {"state": state.value}
