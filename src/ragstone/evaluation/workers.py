"""Workers: an executor scores shards of rows in other processes, with the code of one process.

Whatever runs them, there is one seam: `executor.submit(score_shard, setup, rows, spent)` gives a
`ScoredShard`. `score_shard` returns exceptions instead of raising them. So an exception of the
future itself means that the worker has died, for every kind of executor, and the shard is cut in
two and scored again. A row that kills its worker is thus alone in the end, and only that row fails.

Limits on calls are cut into equal shares, one for each shard that may be scored at once. `spent`
is what counts as spent already: by a worker's own share, and by all other shares. It is unknown
what a dead worker spent, so its whole share counts as spent.
"""

import asyncio
import atexit
import logging
import math
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice, takewhile
from logging.handlers import QueueHandler
from multiprocessing import connection, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Self
from uuid import uuid4

from pydantic import ValidationError

from ragstone._internal.concurrency import BackgroundLoop, as_async, gc_frozen, in_thread
from ragstone._internal.plugins import check_extra, plugin_of
from ragstone._internal.rate_limit import RETRIES, Budget
from ragstone._internal.secrets import known_secrets, remember_secrets
from ragstone._internal.text import format_validation_errors, one_line, quoted
from ragstone.datasets.frames import column_errors
from ragstone.errors import Cause, UsageError
from ragstone.evaluation.recorder import VERSION, RowCounts
from ragstone.evaluation.scoring import BATCH, CircuitBreaker, Rows, score_retrieval, score_rows
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import is_free
from ragstone.metrics import Metric, get, load_plugin
from ragstone.metrics.retrieval import RankingMetric
from ragstone.store.codec import Record, Texts, decode_row, encode_body
from ragstone.types.config import Plan
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

LARGEST, FIRST = 200, 16  # rows of a shard; the time of the first sets the size of the next
SECONDS = 3.0  # for a shard: a dead worker loses as much, and progress moves as often
GRACE = 10.0  # seconds that running shards get to finish when the run is stopped
PATIENCE = 30.0  # seconds after which a warning says that workers have not started
MAX_DEATHS = 20  # one after another, without a scored shard; one row causes nine
_log = logging.getLogger("ragstone")
Spent = tuple[int, float]  # calls and dollars


class WorkerError(UsageError):
    """Workers cannot be started, or die again and again."""


@dataclass(frozen=True)
class WorkerSetup:
    """Settings from which a worker builds its judge and metrics; it can be pickled."""

    plan: Plan
    metrics: tuple[str, ...]
    plugins: tuple[str, ...]
    judge: bytes | None  # a pickled Judge that replaces the plan's
    secrets: Mapping[str, bool]
    transcript: bool = True
    calls_target: bool = False
    counts: bool = True
    # the working folder of processes that exist only for this run: they also print to standard
    # error, and return what they log
    folder: str | None = None
    log_level: int = field(default_factory=_log.getEffectiveLevel)
    number: int = 0  # of the share of the limits; each has a judge of its own
    id: str = field(default_factory=lambda: uuid4().hex)
    version: str = VERSION

    @classmethod
    def of(
        cls, plan: Plan, metrics: Sequence[Metric], *, judge: Judge | None, **options: Any
    ) -> Self:
        plugins = dict.fromkeys(filter(None, (plugin_of(type(metric)) for metric in metrics)))
        number = plan.workers
        shares = {name: limit / number for name in ("rpm", "tpm") if (limit := getattr(plan, name))}
        shares["concurrency"] = math.ceil(plan.concurrency / number)
        try:
            pickled = judge and pickle.dumps(judge)
        except Exception as error:
            name = judge.name if judge else ""
            raise UsageError(
                f"the judge {name} cannot be passed to worker processes: {error}; define its "
                "class in a module and open its connections in __aenter__, or use one worker"
            ) from error
        return cls(
            plan=plan.model_copy(update=shares),
            metrics=tuple(map(str, metrics)),
            plugins=tuple(plugins),
            judge=pickled,
            secrets=known_secrets(),
            **options,
        )


@dataclass
class ScoredShard:
    """The rows of a shard as the store writes them, in the order they finished."""

    counted: RowCounts
    transcript: bool
    counts: bool = True
    records: list[Record] = field(default_factory=list[Record])
    failed: list[bool] = field(default_factory=list[bool])  # for each record
    stopped: str | None = None  # why the worker stopped before the end of the shard
    logs: Sequence[logging.LogRecord] = ()
    retries: int = 0
    spent: Spent = (0, 0.0)
    too_little: str | None = None  # why no more may be spent, although something is left
    wait: float = 0.0  # seconds until another call may start

    def add(self, row: Row, texts: Texts | None = None) -> None:
        self.records.append(Record.of(row, transcript=self.transcript, texts=texts))
        self.failed.append(row.has_failed)
        if self.counts:
            self.counted.add(row)


class ShardScorer:
    """Scores shards in this process; the judge and its connections stay open."""

    def __init__(self, setup: WorkerSetup) -> None:
        if setup.version != VERSION:
            raise UsageError(
                f"a worker has ragstone {VERSION}, the run {setup.version}; install the same"
            )
        remember_secrets(setup.secrets)
        for plugin in setup.plugins:
            load_plugin(plugin)
        self.setup, plan = setup, setup.plan
        self.metrics = tuple(map(get, setup.metrics))
        self._ranking = [each for each in self.metrics if isinstance(each, RankingMetric)]
        self._budget = Budget(plan.max_calls, plan.max_cost)
        self._always_costs = each_row_costs(plan, self.metrics)
        if setup.judge:
            try:  # bytes of the process that started this one
                self.judge: Judge = pickle.loads(setup.judge)  # noqa: S301
            except Exception as error:
                raise UsageError(f"the judge cannot be imported: {error}") from error
        else:
            asked = [metric.question_kinds for metric in self.metrics]
            self.judge = make_judge(plan, asked=asked, budget=self._budget)
        self._opened, self._opening = False, asyncio.Lock()
        self._loop = BackgroundLoop()

    def score(self, rows: Sequence[Row], spent: Spent = (0, 0.0)) -> ScoredShard:
        """Score rows, without those that the budget cuts short, unless later ones may be free."""
        with gc_frozen():
            return self._loop.call(self._score(rows, spent))

    async def _score(self, rows: Sequence[Row], spent: Spent) -> ScoredShard:
        plan, retries, budget = self.setup.plan, RETRIES.count, self._budget
        async with self._opening:
            if not self._opened and any(metric.question_kinds for metric in self.metrics):
                await self.judge.__aenter__()
                self._opened = True
        breaker = CircuitBreaker(plan, self.metrics, calls_target=self.setup.calls_target)
        counted = RowCounts(self.metrics, cluster=plan.cluster)
        shard = ScoredShard(counted, self.setup.transcript, self.setup.counts)

        def add(row: Row) -> bool:
            cut = any(score.cause is Cause.BUDGET for score in row.scores.values())
            if cut and self._always_costs:
                return False
            shard.add(row)
            return True

        budget.calls, budget.cost = spent
        ranked = score_retrieval(rows, self._ranking)
        ranked = takewhile(lambda _: not (self._always_costs and budget.spent), ranked)
        scored = score_rows(ranked, self.metrics, self.judge, concurrency=plan.concurrency)
        async with scored as finished:
            async for row in finished:
                if add(row) and breaker.is_open(row):
                    for other in finished.waiting():
                        add(other)
                    break
        shard.stopped, shard.retries = breaker.reason, RETRIES.count - retries
        shard.spent, shard.too_little = (budget.calls, budget.cost), budget.spent
        shard.wait = budget.wait
        return shard

    def close(self) -> None:
        if self._opened:
            self._loop.call(self.judge.__aexit__(None, None, None))
        self._loop.close()


def each_row_costs(plan: Plan, metrics: Sequence[Metric]) -> bool:
    """Return whether no row can be scored once the budget is spent."""
    asks = any(metric.question_kinds for metric in metrics)
    return asks and not (is_free(plan.judge) and plan.embedding_model is None)


def describe_rows(shard: Sequence[Row]) -> str:
    ordered = sorted(shard, key=lambda row: row.index)
    first, last = ordered[0], ordered[-1]
    ids = f"{quoted(first.sample.id, 50)} to {quoted(last.sample.id, 50)}"
    return f"rows {first.index + 1:,} to {last.index + 1:,} (ids {ids})"


# process, setup and share -> what scores; a forked process has none of its parent's threads
_scorers: dict[tuple[int, str, int], ShardScorer] = {}
_turn = Lock()
_logs: SimpleQueue[logging.LogRecord] = SimpleQueue()


def scorer_of(setup: WorkerSetup) -> ShardScorer:
    limited = {setup.plan.max_calls, setup.plan.max_cost, setup.plan.rpm, setup.plan.tpm} != {None}
    key = os.getpid(), setup.id, setup.number if limited else 0
    with _turn:
        if key not in _scorers:
            if setup.folder is not None:
                sys.stdout = sys.stderr  # prints of user code must not mix with results
                _log.handlers[:] = [QueueHandler(_logs)]
                _log.setLevel(setup.log_level)
                _log.propagate = False
                with suppress(OSError):
                    os.chdir(setup.folder)
                if setup.folder not in sys.path:  # as for plugins
                    sys.path.insert(0, setup.folder)
            _scorers[key] = ShardScorer(setup)
        return _scorers[key]


def close_scorers(setup_id: str | None = None) -> None:
    """Close the judges of this process, of one setup or of all; the next shard opens them again."""
    with _turn:
        keys = [key for key in _scorers if key[0] == os.getpid() and setup_id in (None, key[1])]
        closing = [_scorers.pop(key) for key in keys]
    for scorer in closing:
        scorer.close()


atexit.register(close_scorers)


def score_shard(
    setup: WorkerSetup, rows: Sequence[Row], spent: Spent = (0, 0.0)
) -> ScoredShard | Exception:
    """Score rows in this process, or return what was raised; without rows, only get ready."""
    try:
        scored = scorer_of(setup).score(rows, spent)
    except Exception as error:  # noqa: BLE001 - raised again in the main process
        return portable(error)
    scored.logs = [_logs.get() for _ in range(_logs.qsize())]
    return scored


def portable(error: Exception) -> Exception:
    """Return the error, or one with its text if it cannot be passed to another process."""
    with suppress(Exception):  # what third-party exceptions raise here
        if type(pickle.loads(pickle.dumps(error))) is type(error):  # noqa: S301 - our own bytes
            return error
    kind = UsageError if isinstance(error, UsageError) else RuntimeError
    return kind("".join(traceback.format_exception_only(error)).strip())


class WorkerProcess(ProcessPoolExecutor):
    """One process: a pool of several would end all if one dies, and could not name its rows."""

    process: BaseProcess | None = None  # before the first call

    def __init__(self) -> None:
        super().__init__(1, get_context("spawn"), initializer=_begin_process)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future = super().submit(fn, *args, **kwargs)
        self.process = next(iter(self._processes.values()), self.process)
        return future

    def kill(self) -> None:
        if self.process:
            self.process.kill()

    def cause_of_death(self) -> str:
        self.shutdown()  # waits until the exit code is known
        code = self.process.exitcode if self.process else None
        hint = ", which often means too little memory" if code == -signal.SIGKILL else ""
        return f"exit code {code}{hint}"


def _begin_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent

    def end_with_parent() -> None:  # else it would wait for its next shard for ever
        if parent := parent_process():
            connection.wait([parent.sentinel])
            os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


@dataclass(eq=False)
class _Worker:
    executor: Executor
    setup: WorkerSetup
    budget: Budget  # what counts as spent: by this share, and all the other shares
    ready_at: float = 0.0  # when its next call may start


class WorkerPool(AbstractAsyncContextManager["WorkerPool"]):
    """Passes shards of rows to an executor, and yields their results as they finish.

    Use as `async with`. At most `plan.workers` shards are scored at once. Without an executor, each
    worker is a process on this machine. What they spend is added to `budget`.
    """

    def __init__(
        self, setup: WorkerSetup, executor: Executor | None, kind: str, *, budget: Budget
    ) -> None:
        self._setup, self._plan, self._budget, self._kind = setup, setup.plan, budget, kind
        self._metrics = [*map(get, setup.metrics)]
        self._always_costs = each_row_costs(self._plan, self._metrics)
        number, calls, cost = self._plan.workers, self._plan.max_calls or 0, self._plan.max_cost
        self._workers: list[_Worker] = []
        for n in range(number):
            share = Budget(self._plan.max_calls, cost)
            share.calls = calls - calls // number - (n < calls % number)
            share.cost = (cost or 0.0) * (1 - 1 / number)
            own_setup = replace(setup, number=n)
            self._workers.append(_Worker(executor or WorkerProcess(), own_setup, share))
        self._running: dict[asyncio.Task[None], _Worker] = {}
        self._again: deque[Sequence[Row]] = deque()
        self._finished: deque[ScoredShard] = deque()
        self._suspects: set[int] = set()  # rows of shards whose workers died
        self._size, self._deaths, self._stopping = FIRST, 0, False

    async def _begin(self) -> None:
        started = {
            asyncio.wrap_future(worker.executor.submit(score_shard, worker.setup, ())): worker
            for worker in self._workers
        }
        _, waiting = await asyncio.wait(started, timeout=PATIENCE)
        if waiting:
            _log.warning(
                "%d of %d workers have not started for %d s; free CPUs, GPUs or memory may be "
                "missing: stop other jobs, add machines, or set fewer workers",
                *(len(waiting), len(started), PATIENCE),
            )
        await asyncio.gather(*started, return_exceptions=True)
        for future, worker in started.items():
            if error := future.exception():
                hint = "each machine needs the same version of ragstone, with its extras"
                if isinstance(worker.executor, WorkerProcess):
                    hint = "in a script, call evaluate() below `if __name__ == '__main__':`"
                why = await self._replace(worker, error)
                raise WorkerError(
                    f"a {self._kind} ended before it was ready ({why}); {hint}"
                ) from error
            problem = future.result()
            if isinstance(problem, UsageError):
                raise WorkerError(
                    f"a {self._kind} cannot be set up: {problem}. Your own metrics and judges must "
                    "be in a module, and metrics loaded as a plugin; other machines also need "
                    "these modules, files at the same absolute paths, and keys in the environment"
                )
            if isinstance(problem, Exception):
                raise problem

    async def __aexit__(self, *raised: object) -> None:
        self._stopping = True
        executors = [worker.executor for worker in self._workers]
        own = [each for each in executors if isinstance(each, WorkerProcess)]
        for task, worker in self._running.items():
            task.cancel()
            if isinstance(worker.executor, WorkerProcess):
                worker.executor.kill()
        # judges are closed where they are
        ends: list[asyncio.Future[None]] = []
        ends += [asyncio.create_task(in_thread(process.shutdown)) for process in own]
        with suppress(Exception):  # an executor of others may be broken
            for other in [] if own else executors:
                future = other.submit(close_scorers, self._setup.id)
                ends.append(asyncio.wrap_future(future))
        if ends:
            await asyncio.wait(ends, timeout=GRACE)
        for process in own:
            process.kill()
        for end in [] if own else ends:
            end.cancel()
        await asyncio.gather(*ends, *self._running, return_exceptions=True)

    async def results(self, rows: Rows) -> AsyncGenerator[ScoredShard, None]:
        await self._begin()
        shards = self._shards(rows)
        upcoming = asyncio.create_task(anext(shards, None))  # None is the end
        try:
            while True:
                for worker in self._idle:
                    if self._again:
                        shard = self._again.popleft()
                    elif upcoming.done() and (shard := upcoming.result()):
                        upcoming = asyncio.create_task(anext(shards, None))
                    else:
                        break
                    self._running[asyncio.create_task(self._score(worker, shard))] = worker
                await asyncio.sleep(0)  # the workers get their shards before others are stored
                while self._finished:
                    yield self._finished.popleft()
                waiting: set[asyncio.Task[Any]] = {*self._running}
                if self._idle and not (upcoming.done() and upcoming.result() is None):
                    waiting.add(upcoming)
                if not waiting:
                    break
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                self._collect()
        finally:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)
            await shards.aclose()
        for worker in self._workers:
            if worker.budget.spent:
                self._budget.stop(worker.budget.spent)

    async def drain(self) -> Sequence[ScoredShard]:
        """Wait for running shards, and return those that were not yielded."""
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE)
        with suppress(Exception):  # another error, or a cancellation, ends the run
            self._collect()
        return [*self._finished]  # a shard may finish while these are stored

    @property
    def _idle(self) -> list[_Worker]:
        idle = [worker for worker in self._workers if worker not in self._running.values()]
        return [each for each in idle if not (self._always_costs and each.budget.spent)]

    def _collect(self) -> None:
        for task in [task for task in self._running if task.done()]:
            del self._running[task]
            task.result()

    async def _shards(self, rows: Rows) -> AsyncGenerator[Sequence[Row], None]:
        shard: list[Row] = []
        async with aclosing(as_async(rows)) as source:
            async for row in source:
                shard.append(row)
                if len(shard) >= self._size:
                    yield shard
                    shard = []
        if shard:
            yield shard

    async def _score(self, worker: _Worker, shard: Sequence[Row]) -> None:
        await asyncio.sleep(worker.ready_at - monotonic())
        start, spent = monotonic(), (worker.budget.calls, worker.budget.cost)
        try:
            future = worker.executor.submit(score_shard, worker.setup, shard, spent)
            scored = await asyncio.wrap_future(future)
        except (Exception, asyncio.CancelledError) as error:  # what a death raises, depending
            task = asyncio.current_task()  # on the executor, which may also cancel the future
            if self._stopping or (task and task.cancelling()):
                raise
            await self._lose(worker, shard, error)
            return
        if isinstance(scored, Exception):
            raise scored
        self._deaths = 0
        rows_in_time = len(shard) * SECONDS / max(monotonic() - start, 1e-3)
        self._size = max(1, min(LARGEST, round(rows_in_time)))
        worker.ready_at = monotonic() + scored.wait
        self._charge(worker, *scored.spent)
        if scored.too_little:
            worker.budget.stop(scored.too_little)
        done = {record.place for record in scored.records}
        left = [row for row in shard if row.index not in done]
        if left and not scored.stopped:  # the share of this worker is spent
            self._again.append(left)
        self._finished.append(scored)

    def _charge(self, worker: _Worker, calls: int, cost: float) -> None:
        self._budget.calls += calls - worker.budget.calls
        self._budget.cost += cost - worker.budget.cost
        worker.budget.calls, worker.budget.cost = calls, cost

    async def _lose(self, worker: _Worker, shard: Sequence[Row], error: BaseException) -> None:
        """Replace a dead worker. Its shard is cut in two; a single row fails the second time."""
        why = await self._replace(worker, error)
        calls, cost = self._plan.max_calls, self._plan.max_cost
        self._charge(worker, calls or worker.budget.calls, cost or worker.budget.cost)
        self._deaths += 1
        rows, died = describe_rows(shard), f"a {self._kind} died ({why})"
        if self._deaths >= MAX_DEATHS:
            raise WorkerError(
                f"{died} while it scored {rows}; {MAX_DEATHS} workers died one after another; "
                "`ragstone resume` continues with the rows that are stored"
            ) from error
        if len(shard) == 1 and shard[0].index in self._suspects:
            _log.warning(
                "%s; %s fails, because a worker died before while it scored it", died, rows
            )
            score = Score.failed(Cause.JUDGE_ERROR, f"{died} each time it scored this row")
            row = replace(shard[0], scores=dict.fromkeys(self._setup.metrics, score))
            breaker = CircuitBreaker(self._plan, self._metrics)
            breaker.is_open(row)
            cluster, transcript = self._plan.cluster, self._setup.transcript
            scored = ScoredShard(RowCounts(self._metrics, cluster=cluster), transcript)
            scored.add(row)
            scored.stopped = breaker.reason
            self._finished.append(scored)
            return
        _log.warning("%s; %s are scored again", died, rows)
        self._suspects |= {row.index for row in shard}
        half = (len(shard) + 1) // 2
        self._again.extend(filter(None, (shard[:half], shard[half:])))

    async def _replace(self, worker: _Worker, error: BaseException) -> str:
        """Give the worker a living executor; return why it died."""
        if not isinstance(worker.executor, WorkerProcess):
            return one_line(str(error), 300) or type(error).__name__
        why = await in_thread(worker.executor.cause_of_death)
        worker.executor = WorkerProcess()
        return why


# columns: the row as the store has it, its exchanges, and the key of what scored it
BODY, TRANSCRIPT, SETTINGS = "ragstone_row", "ragstone_transcript", "ragstone_settings"
# in columns `scores.METRIC.PART`
SCORE_FIELDS: Mapping[str, type] = {"value": float, "state": str, "cause": str, "reason": str}
AT_ONCE = 2000  # lines of a file that are in memory
SUFFIX = ".parquet"


class ScoredFiles:
    """The rows in a folder's files, and in those of its subfolders."""

    def __init__(self, folder: str | Path, settings: str) -> None:
        self.folder, self._settings = Path(folder), settings
        check_extra("polars", f"reading {folder}", "parquet")
        found = [self.folder] if self.folder.is_file() else self.folder.rglob(f"*{SUFFIX}")
        # names of files that are not complete begin with . or _, in Spark for example
        self._files = sorted(
            file
            for file in found
            if not any(part.startswith((".", "_")) for part in file.relative_to(self.folder).parts)
        )
        if not self._files:
            raise UsageError(f"there are no {SUFFIX} files of scored rows in {folder}")

    def shards(
        self,
        samples: Sequence[Sample],
        metrics: Sequence[Metric],
        *,
        cluster: str | None,
        transcript: bool,
        is_done: bytearray,
    ) -> Iterator[ScoredShard]:
        """Yield the rows, with scores by these metrics, as workers would return them.

        `is_done` has a byte for each sample, which is set if its row is not needed or was yielded.
        """
        rows = self._rows(samples, tuple(map(str, metrics)), is_done)
        while some := list(islice(rows, BATCH)):
            shard = ScoredShard(RowCounts(metrics, cluster=cluster), transcript)
            for row, texts in some:
                shard.add(row, texts if transcript else None)
            yield shard

    def _rows(
        self, samples: Sequence[Sample], metrics: Sequence[str], is_done: bytearray
    ) -> Iterator[tuple[Row, Texts]]:
        by_id: dict[str, int] = {}  # made if a row has another place than its sample
        for file, body, transcript, key in self._lines():
            texts = Texts(body, transcript)
            try:
                row = decode_row(texts, values=False)
            except ValidationError as error:
                reason = one_line(format_validation_errors(error), 300)
                raise UsageError(f"{file} contains a row that cannot be read: {reason}") from error
            if key != self._settings or not row.scores.keys() >= set(metrics):
                raise UsageError(
                    f"{file} was scored with other settings; pass the same metrics, judge and "
                    "options to Scorer and to the run, or name another folder"
                )
            place, name = row.index, row.sample.id
            if by_id or place >= len(samples) or samples[place].id != name:
                by_id = by_id or {sample.id: n for n, sample in enumerate(samples)}
                place = by_id.get(name, -1)
            sample = samples[place] if place >= 0 else None
            # an engine may change the types of tags
            if not sample or row.sample.model_copy(update={"tags": sample.tags}) != sample:
                what = "differs from the data" if sample else "is not in the data"
                raise UsageError(
                    f"{file}: row {name!r} {what}; name the data that was scored, or score it again"
                )
            if is_done[place]:
                continue
            is_done[place] = True
            if (row.index, row.sample, *row.scores) != (place, sample, *metrics):
                scores = {name: row.scores[name] for name in metrics}
                row = replace(row, index=place, sample=sample, scores=scores)
                texts = Texts(encode_body(row), transcript)
            yield row, texts

    def _lines(self) -> Iterator[tuple[Path, str, str, str]]:
        from polars import scan_parquet  # an extra, and slow to import

        names = [BODY, TRANSCRIPT, SETTINGS]
        for file in self._files:
            with column_errors(file.name):
                lazy = scan_parquet(file, glob=False, hive_partitioning=False)
                if missing := [name for name in names if name not in lazy.collect_schema()]:
                    raise UsageError(
                        f"{file} has no column {missing[0]}: it was not written from the rows "
                        "that ragstone.Scorer returns"
                    )
            for start in count(step=AT_ONCE):
                with column_errors(file.name):
                    part = lazy.select(names).slice(start, AT_ONCE).collect()
                for line in part.iter_rows():
                    yield (file, *line)
                if part.height < AT_ONCE:
                    break
