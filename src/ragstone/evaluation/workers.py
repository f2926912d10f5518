"""Workers: processes that score shards of rows with the code of a single process."""

import asyncio
import logging
import math
import pickle
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, aclosing, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any, Self
from uuid import uuid4

from ragstone._internal.concurrency import BackgroundLoop, heap_frozen, in_thread, stream
from ragstone._internal.plugins import plugin_of
from ragstone._internal.rate_limit import RETRIES, Budget
from ragstone._internal.secrets import known_secrets, remember_secrets
from ragstone._internal.text import quoted
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import RowCounts
from ragstone.evaluation.scoring import CircuitBreaker, score_retrieval, score_rows
from ragstone.evaluation.worker_processes import GRACE, Worker
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import begins_free, is_free
from ragstone.metrics import Metric, get, load_plugin
from ragstone.metrics.retrieval import RankingMetric
from ragstone.store.limits import SharedBudget, StoredLimits, shared_limits
from ragstone.store.writer import Record
from ragstone.types.config import Plan
from ragstone.types.row import Row

LARGEST, FIRST = 200, 16
"""Rows of the largest shard, and of the first one, whose time sets the size of the next."""
SECONDS = 3.0
"""How long a shard should take: a dead worker loses as much, and progress moves as often."""
_log = logging.getLogger("ragstone")


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker makes its judge and metrics from; it can be pickled.

    Attributes:
        judge: a pickled Judge that replaces the plan's; None if the plan names it.
        calls_target: whether the rows have answers of a target.
        secrets: texts that no message or reply may contain; see `_internal.secrets`.
        limits: the place of the calls and dollars that all workers share, and the id of the run;
            None without such limits. See `StoredLimits`.
        process: a name that no other process of the run has.
    """

    plan: Plan
    metrics: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    judge: bytes | None = None
    transcript: bool = True
    calls_target: bool = False
    folder: str = ""
    secrets: Mapping[str, bool] | None = None
    limits: tuple[str, str] | None = field(default=None, repr=False)
    process: str = ""
    counts: bool = True
    version: str = field(default_factory=partial(version, "ragstone"))

    def scorer(self) -> "ShardScorer":
        return ShardScorer(self)

    def for_process(self) -> Self:
        if self.limits is None:
            return self
        if self.process:
            with closing(StoredLimits(*self.limits)) as limits:
                limits.charge_dead(self.process)
        return replace(self, process=uuid4().hex)

    def describe(self, shard: Sequence[Row]) -> str:
        return describe_rows(shard)

    @classmethod
    def of(
        cls,
        plan: Plan,
        metrics: Sequence[Metric],
        *,
        judge: Judge | None,
        transcript: bool = True,
        calls_target: bool = False,
    ) -> Self:
        plugins = dict.fromkeys(
            plugin for metric in metrics if (plugin := plugin_of(type(metric))) is not None
        )
        share = math.ceil(plan.concurrency / (plan.workers or 1))
        return cls(
            plan=plan.model_copy(update={"concurrency": share}),
            metrics=tuple(map(str, metrics)),
            plugins=tuple(plugins),
            judge=judge and _pickled(judge),
            transcript=transcript,
            calls_target=calls_target,
            folder=str(Path.cwd()),
            secrets=known_secrets(),
        )


def _pickled(judge: Judge) -> bytes:
    try:
        return pickle.dumps(judge)
    except Exception as error:
        raise UsageError(
            f"the judge {judge.name} cannot be passed to worker processes: {error}; define its "
            "class in a module and open its connections in __aenter__, or use one worker"
        ) from error


def _unpickled(judge: bytes) -> Judge:
    try:
        return pickle.loads(judge)  # noqa: S301 - from the process that started this one
    except Exception as error:
        raise UsageError(f"the judge cannot be imported: {error}") from error


@dataclass(frozen=True)
class ScoredShard:
    """The result of a shard.

    Attributes:
        records: its rows as the store writes them, in the order they finished.
        failed: for each record, whether one of its scores failed.
        stopped: why the worker stopped before the end of the shard; None if it did not.
        spent: calls and dollars of all workers, as far as this one knows, and why no more may be
            spent.
    """

    records: Sequence[Record]
    counted: RowCounts
    failed: Sequence[bool]
    stopped: str | None = None
    logs: Sequence[logging.LogRecord] = ()
    retries: int = 0
    spent: tuple[int, float, str | None] = (0, 0.0, None)


class ShardScorer:
    """Scores shards in this process. The judge and its connections are made once, and stay open."""

    def __init__(self, setup: WorkerSetup) -> None:
        if setup.version != (here := version("ragstone")):
            raise UsageError(
                f"a worker has ragstone {here}, the run {setup.version}; install the same"
            )
        remember_secrets(setup.secrets or {})
        for plugin in setup.plugins:
            load_plugin(plugin)
        self.setup = setup
        self.metrics = tuple(map(get, setup.metrics))
        self._ranking = [each for each in self.metrics if isinstance(each, RankingMetric)]
        asked = [metric.question_kinds for metric in self.metrics]
        own = setup.judge and _unpickled(setup.judge)
        self._budget, self._limits = Budget(), ExitStack()
        if setup.limits:
            most = setup.plan.max_calls, setup.plan.max_cost
            limits = self._limits.enter_context(closing(StoredLimits(*setup.limits, *most)))
            self._budget = SharedBudget(limits, *most, process=setup.process)
        self._each_costs = each_row_costs(setup.plan, self.metrics, setup.calls_target)
        self.judge = own or make_judge(setup.plan, asked=asked, budget=self._budget)
        self._opened, self._opening = False, asyncio.Lock()
        self._loop = BackgroundLoop()

    def score(self, rows: Sequence[Row]) -> ScoredShard:
        with heap_frozen():
            return self._loop.call(self._score(rows))

    async def _score(self, rows: Sequence[Row]) -> ScoredShard:
        plan, retries = self.setup.plan, RETRIES.count
        async with self._opening:
            if not self._opened and any(metric.question_kinds for metric in self.metrics):
                await self.judge.__aenter__()
                self._opened = True
        breaker = CircuitBreaker(plan, self.metrics, calls_target=self.setup.calls_target)
        counted = RowCounts(self.metrics, cluster=plan.cluster)
        records: list[Record] = []
        failed: list[bool] = []

        def add(row: Row) -> None:
            records.append(Record.of(row, transcript=self.setup.transcript))
            if self.setup.counts:
                counted.add(row)
            failed.append(row.has_failed)

        budget = self._budget
        ranked = score_retrieval(rows, self._ranking)
        ranked = takewhile(lambda _: not (self._each_costs and budget.spent), ranked)
        scored = score_rows(ranked, self.metrics, self.judge, concurrency=plan.concurrency)
        async with scored as finished:
            async for row in finished:
                add(row)
                if breaker.is_open(row):
                    for other in finished.waiting():
                        add(other)
                    break
        await budget.settle()
        spent = budget.calls, budget.cost, budget.spent
        retried = RETRIES.count - retries
        why = breaker.reason
        return ScoredShard(records, counted, failed, why, retries=retried, spent=spent)

    def close(self) -> None:
        if self._opened:
            self._loop.call(self.judge.__aexit__(None, None, None))
        self._loop.close()
        self._limits.close()


def each_row_costs(plan: Plan, metrics: Sequence[Metric], calls_target: bool) -> bool:
    """Return whether no row can be scored once the budget is spent.

    The offline judge and local models are free. A cascade that starts with them can be free for
    some rows if sentences are the claims and no target is asked.
    """
    may_be_free = plan.claim_source == "sentences" and not calls_target
    free = is_free(plan.judge) or (may_be_free and begins_free(plan.judge))
    asks = any(metric.question_kinds for metric in metrics)
    return asks and not (free and plan.embedding_model is None)


@contextmanager
def with_limits(
    setup: WorkerSetup, run_id: str, store: str | None
) -> Generator[WorkerSetup, None, None]:
    plan = setup.plan
    if {plan.max_calls, plan.max_cost, plan.rpm, plan.tpm} == {None}:
        yield setup
        return
    with shared_limits(store, run_id) as place:
        yield replace(setup, limits=(place, run_id))


def describe_rows(shard: Sequence[Row]) -> str:
    first, last = min(shard, key=_place), max(shard, key=_place)
    ids = f"{quoted(first.sample.id, 50)} to {quoted(last.sample.id, 50)}"
    return f"rows {first.index + 1:,} to {last.index + 1:,} (ids {ids})"


def _place(row: Row) -> int:
    return row.index


RowWorker = Worker[Sequence[Row], ScoredShard]


class WorkerPool:
    """Passes shards of rows to workers, and yields their results as they finish."""

    def __init__(self, start: Callable[[], RowWorker], workers: int) -> None:
        self._start, self._number = start, workers
        self._idle: list[RowWorker] = []
        self._running: dict[asyncio.Task[ScoredShard], RowWorker] = {}
        self._finished: deque[ScoredShard] = deque()
        self._size = FIRST

    async def __aenter__(self) -> Self:
        starts = (in_thread(self._start) for _ in range(self._number))
        started = await asyncio.gather(*starts, return_exceptions=True)
        self._idle = [each for each in started if not isinstance(each, BaseException)]
        for error in started:
            if isinstance(error, BaseException):
                await self.__aexit__()
                raise error
        return self

    async def __aexit__(self, *raised: object) -> None:
        busy = (in_thread(partial(each.stop, at_once=True)) for each in self._running.values())
        idle = (in_thread(partial(each.stop, at_once=False)) for each in self._idle)
        await asyncio.gather(*busy, *idle)
        await asyncio.gather(*self._running, return_exceptions=True)

    async def results(
        self, rows: Iterable[Row] | AsyncIterable[Row]
    ) -> AsyncGenerator[ScoredShard, None]:
        shards = self._shards(rows)
        upcoming: asyncio.Task[Sequence[Row] | None] | None
        upcoming = asyncio.create_task(anext(shards, None))
        try:
            while upcoming or self._running:
                waiting: set[asyncio.Task[Any]] = {*self._running}
                if upcoming and self._idle:
                    waiting.add(upcoming)
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                self._collect()
                if upcoming and upcoming.done() and self._idle:
                    shard = upcoming.result()
                    upcoming = None
                    if shard is not None:
                        worker = self._idle.pop()
                        self._running[asyncio.create_task(self._score(worker, shard))] = worker
                        upcoming = asyncio.create_task(anext(shards, None))
                        await asyncio.sleep(0)  # the worker gets the shard before others are stored
                while self._finished:
                    yield self._finished.popleft()
        finally:
            if upcoming:
                upcoming.cancel()
                await asyncio.gather(upcoming, return_exceptions=True)
            await shards.aclose()

    async def drain(self) -> Sequence[ScoredShard]:
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE)
        with suppress(Exception):  # another error, or a cancellation, ends the run
            self._collect()
        return self._finished

    def _collect(self) -> None:
        for task in [task for task in self._running if task.done()]:
            self._idle.append(self._running.pop(task))
            self._finished.append(task.result())

    async def _shards(
        self, rows: Iterable[Row] | AsyncIterable[Row]
    ) -> AsyncGenerator[Sequence[Row], None]:
        shard: list[Row] = []
        async with aclosing(stream(rows)) as source:
            async for row in source:
                shard.append(row)
                if len(shard) >= self._size:
                    yield shard
                    shard = []
        if shard:
            yield shard

    async def _score(self, worker: RowWorker, shard: Sequence[Row]) -> ScoredShard:
        start = monotonic()
        found = await in_thread(partial(worker.score, shard))
        rows_in_time = len(shard) * SECONDS / max(monotonic() - start, 1e-3)
        self._size = max(1, min(LARGEST, round(rows_in_time)))
        return found
