"""What the viewer computes from a store: run summaries and the list of runs, and their cache."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from threading import Lock, Thread
from time import monotonic
from typing import Generic, TypeVar, cast

from markupsafe import Markup

from ragstone._internal.text import count
from ragstone.reports.html.charts import Point, line
from ragstone.reports.terminal import run_entry
from ragstone.reports.view import Line, Tone, metric_titles, summarize_run
from ragstone.store import RunInfo, Store, running_runs
from ragstone.store.search import summarize
from ragstone.types.config import Manifest

T = TypeVar("T")

LIVE_SECONDS = 2
"""How long figures of an unfinished run are reused."""
FULL_SUMMARY_ROWS = 1000
"""Rows that are read quickly enough for a page to show notes on single rows."""
CACHED = 32
DEFAULT_RUNS = 100
"""Runs in the list by default."""
DRAWN_RUNS = 30
"""Runs in a chart; the newest."""
COUNTED_ROWS = 10_000
"""Rows that are counted quickly enough for the list."""
_SUMMARY_KEYS = {
    "metrics", "slices", "gates", "options", "usage", "blame", "not_run", "target_health",
}  # fmt: skip
"""What a page needs; summaries stored by an earlier version may not have it."""


def cache_key(info: RunInfo) -> Hashable:
    """Return a key for a run's present contents.

    Retried rows replace others, so the number of rows of an unfinished run is not enough.
    """
    moment = None if info.finished else int(monotonic() // LIVE_SECONDS)
    return info.id, info.finished_at, info.rows, moment


class AsyncCache(Generic[T]):
    """The latest results by key, each computed once in a thread.

    Computations run one at a time, so that slow ones leave CPU time for other requests. Concurrent
    requests for a key share a result; failures are not cached. Threads do not delay process exit.
    """

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._results: OrderedDict[Hashable, asyncio.Future[T]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], T]) -> T:
        result = self._results.get(key)
        if result is None or (result.done() and result.exception() is not None):
            result = self._results[key] = self._start(make)
        self._results.move_to_end(key)
        while len(self._results) > self._size:
            self._results.popitem(last=False)
        return await asyncio.shield(result)

    def _start(self, make: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda done: done.exception())  # mark the exception as retrieved

        def resolve(set_outcome: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(set_outcome)

        def work() -> None:
            try:
                with self._lock:
                    made = make()
            except Exception as error:  # noqa: BLE001 - raised again in get()
                resolve(lambda error=error: future.set_exception(error))
            else:
                resolve(lambda: future.set_result(made))

        Thread(target=work, name="ragstone view", daemon=True).start()
        return future


class Summaries:
    """Summaries of finished runs, as stored or computed from the rows.

    With the name of a `calibration`, they are computed, and have corrected means.
    """

    def __init__(self, store: Store, calibration: str | None = None) -> None:
        self._store, self._calibration = store, calibration
        self._cache: AsyncCache[Mapping[str, object]] = AsyncCache(CACHED)

    async def get(self, info: RunInfo) -> Mapping[str, object]:
        """Return a run's summary; rows are read if there are few or the stored one is incomplete.

        Raises:
            StoreError: the rows cannot be read.
        """
        stored = info.summary or {}
        name = self._calibration
        if name is None and info.rows > FULL_SUMMARY_ROWS and stored.keys() >= _SUMMARY_KEYS:
            lines = [vars(line) for line in _known_lines(info, stored)]
            return {**stored, "titles": metric_titles(info.metrics), "facts": lines}

        def make() -> Mapping[str, object]:
            run = self._store.load(info.id)
            plan = run.manifest.plan
            update = {"calibration": name or plan.calibration}
            return summarize_run(run.with_plan(plan.model_copy(update=update)))

        return await self._cache.get(cache_key(info), make)


def _known_lines(info: RunInfo, stored: Mapping[str, object]) -> Iterator[Line]:
    for note in info.manifest.source.notes:
        yield Line(note, label="Note")
    metrics = cast("Mapping[str, Mapping[str, int]]", stored["metrics"])
    for name, figures in metrics.items():
        if flagged := figures.get("flagged"):
            words = f"{name}: {count(flagged, 'score')} imputed by the policy"
            yield Line(words, Tone.BAD, "Imputed")
    if not info.ranked:  # rows of rankings have no notes
        yield Line(
            f"notes on individual rows, because the run has more than {FULL_SUMMARY_ROWS:,} rows; "
            f"`ragstone report {info.id} --html FILE` includes them",
            label="Not shown",
        )


class Progress(StrEnum):
    """Whether a run is finished, a process is working on it, or neither."""

    FINISHED = "finished"
    RUNNING = "running"
    STOPPED = "stopped"

    @classmethod
    def of(cls, info: RunInfo, busy: Container[str]) -> "Progress":
        if info.finished:
            return cls.FINISHED
        return cls.RUNNING if info.id in busy else cls.STOPPED


def list_runs(store: Store, limit: int = DEFAULT_RUNS) -> tuple[list[dict[str, object]], bool]:
    """Return the newest runs as in `ragstone runs --json`, and whether there are more.

    Each has its `state`; unfinished runs have the means so far.

    Raises:
        StoreError: the store cannot be read.
    """
    infos = store.runs(limit=limit + 1)
    busy = running_runs(store)
    runs: list[dict[str, object]] = []
    for info in infos[:limit]:
        state = Progress.of(info, busy)
        countable = state is Progress.RUNNING or info.rows <= COUNTED_ROWS
        known = summarize(store, info) if countable else info
        runs.append(run_entry(known) | {"state": state.value})
    return runs, len(infos) > limit


def history(store: Store, info: RunInfo, link: Callable[[str], str]) -> dict[str, Markup]:
    """Return a chart of each metric over the finished runs of the same rows, the oldest first.

    Metrics of one run only have none, nor has data without a fingerprint. `link` returns the
    address of a run.

    Raises:
        StoreError: the store cannot be read.
    """
    found: dict[str, list[Point]] = {}
    data = _data_key(info.manifest)
    for other in reversed(store.runs(limit=DEFAULT_RUNS)):
        if data is None or _data_key(other.manifest) != data:
            continue
        summary = cast("Mapping[str, Mapping[str, Mapping[str, object]]]", other.summary or {})
        metrics = summary.get("metrics") or dict[str, Mapping[str, object]]()
        for name in metrics.keys() & info.metrics.keys():
            mean = cast("float | None", metrics[name].get("mean"))
            if mean is not None:
                interval = cast("Sequence[float] | None", metrics[name].get("interval"))
                is_current = other.id == info.id
                label, address = other.tag or other.id, "" if is_current else link(other.id)
                found.setdefault(name, []).append(
                    Point(label, mean, interval, address, is_current=is_current)
                )
    return {
        name: line(found[name][-DRAWN_RUNS:], metric.range, title=f"{name} by run")
        for name, metric in info.metrics.items()
        if len(found.get(name, ())) > 1
    }


def _data_key(manifest: Manifest) -> Hashable | None:
    """Return a key of the rows that a run evaluates; None if they have no fingerprint.

    Rows in memory and judgments have theirs in the identity of the run only.
    """
    source, plan, known = manifest.source, manifest.plan, manifest.identity
    found = known.get("data fingerprint") or known.get("judgements fingerprint")
    fingerprint = source.fingerprint or found
    key = source.name, fingerprint, source.sample, plan.limit, plan.sheet
    return key if fingerprint else None
