"""Limits that several processes share: each leases its next calls from one stored account."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from sqlalchemy import Connection, Engine, Executable, event, extract, func, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.schema import CreateTable

from ragstone._internal.concurrency import in_thread
from ragstone._internal.rate_limit import Budget, RateLimiter
from ragstone.errors import CallError
from ragstone.store.engine import WRITING, create_store_engine, translate_errors
from ragstone.store.errors import StoreError, display_name
from ragstone.store.run_info import format_time
from ragstone.store.schema import LIMITS

AHEAD = 1.0
"""Seconds: a lease has the calls that may start in this time, and at least one.

A call that is later than this is leased again, so that delayed calls cannot start all at once.
"""

POLL = 0.2
"""Seconds until a process looks again whether others have released enough for its next call."""


@dataclass(frozen=True)
class LeaseRequest:
    """What a process asks for, and what it has to report.

    Attributes:
        process: a name that no other process has, also if it replaces one that died.
        provider: what the rates are about.
        calls: for each call that waits, the least seconds until the call after it, and the dollars
            that it may cost.
        pause: seconds in which no call to the provider may start.
        unused: leased calls that were not made.
        released: calls whose reserved cost is returned, and the sum of those costs.
        cost: dollars that they did cost.
    """

    process: str = ""
    provider: str = ""
    calls: Sequence[tuple[float, float]] = ()
    pause: float = 0.0
    unused: int = 0
    released: tuple[int, float] = (0, 0.0)
    cost: float = 0.0


@dataclass(frozen=True)
class Lease:
    """For each call that may start, the seconds until then; and what all have spent so far.

    Attributes:
        spent: why no call may start; None if some may, now or later.
    """

    waits: Sequence[float]
    calls: int
    cost: float
    spent: str | None = None


class LeaseSource(Protocol):
    """Where processes lease calls, all from the same account."""

    def lease(self, request: LeaseRequest) -> Lease: ...


class Account(Budget):
    """What all processes have spent and reserved, and when calls may start.

    What is spent stays spent, even if leased calls are not made.

    Attributes:
        reserved: process -> its calls whose highest cost is reserved, and the sum of those costs;
            None if the process has died.
        starts: provider -> when the next call may start.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        super().__init__(max_calls, max_cost)
        self.reserved: dict[str, tuple[int, float] | None] = {}
        self.starts: dict[str, float] = {}

    def grant(self, request: LeaseRequest, now: float) -> Lease:
        if not self.spent:
            self.calls -= request.unused
        self.charge(request.cost)
        held = self.reserved.get(request.process, (0, 0.0))
        if held is None:
            raise StoreError(
                f"the process {request.process} was replaced, because it did not answer"
            )
        count, dollars = held[0] - request.released[0], held[1] - request.released[1]
        others = [held for name, held in self.reserved.items() if held and name != request.process]
        self._open = count + sum(number for number, _ in others)
        self._reserved = (dollars if count else 0.0) + sum(most for _, most in others)
        start = max(now + request.pause, self.starts.get(request.provider, now))
        waits: list[float] = []
        with suppress(CallError):  # a call may cost more than what is left
            for gap, most in request.calls:
                if self.spent or (waits and start > now + AHEAD) or not self.reserve(most):
                    break
                count, dollars = count + (most > 0), dollars + most
                waits.append(start - now)
                start += gap
        self.reserved[request.process] = (count, dollars if count else 0.0)
        if request.calls or request.pause:
            self.starts[request.provider] = start
        return Lease(waits, self.calls, self.cost, self.spent)

    def charge_dead(self, process: str) -> None:
        held = self.reserved.get(process)
        self.charge(held[1] if held else 0.0)
        self.reserved[process] = None


class SharedBudget(Budget):
    """The budget of several processes; `calls` and `cost` are those of all, at the last lease."""

    def __init__(
        self,
        source: LeaseSource,
        max_calls: int | None = None,
        max_cost: float | None = None,
        *,
        process: str = "",
    ) -> None:
        super().__init__(max_calls, max_cost)
        self._source, self._process = source, process
        self._lock = asyncio.Lock()
        self._unused, self._charged = 0, 0.0
        self._given_back = (0, 0.0)

    def limiter(self, provider: str, delay: float) -> RateLimiter:
        return SharedLimiter(provider, delay, self)

    async def lease(
        self, provider: str = "", calls: Sequence[tuple[float, float]] = (), pause: float = 0.0
    ) -> Sequence[float]:
        async with self._lock:
            ended = self._unused, self._given_back, self._charged
            self._unused, self._given_back, self._charged = 0, (0, 0.0), 0.0
            request = LeaseRequest(self._process, provider, calls, pause, *ended)
            lease = await in_thread(partial(self._source.lease, request))
            self.note(lease.calls, lease.cost, lease.spent)
        return lease.waits

    def charge(self, cost_usd: float | None) -> None:
        self._charged += cost_usd or 0.0

    def release(self, cost: float) -> None:
        if cost:
            count, dollars = self._given_back
            self._given_back = count + 1, dollars + cost
            self._wake()

    def give_back(self, cost: float) -> None:
        self._unused += 1
        self.release(cost)

    async def settle(self) -> None:
        """Report what ended since the last lease."""
        if self._unused or self._given_back[0] or self._charged:
            await self.lease()


class SharedLimiter(RateLimiter):
    """Starts the calls of this process to a provider; calls that wait are leased together."""

    def __init__(self, provider: str, delay: float, budget: SharedBudget) -> None:
        super().__init__(delay)
        self._provider, self._shared = provider, budget
        self._waiting: deque[tuple[tuple[float, float], asyncio.Future[float]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._pause = 0.0

    async def turn(self, after: float = 0.0, cost: float = 0.0) -> None:
        loop = asyncio.get_running_loop()
        gap = max(self._delay, after)
        while True:
            granted: asyncio.Future[float] = loop.create_future()
            self._waiting.append(((gap, cost), granted))
            self._begin_leasing()
            try:
                start = await granted
                await self._sleep_until(start)
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled() and not granted.exception():
                    self._shared.give_back(cost)
                raise
            if not gap or loop.time() - start <= AHEAD:
                return
            self._shared.give_back(cost)

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        self._pause = max(self._pause, seconds)
        self._begin_leasing()

    def _begin_leasing(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._lease())

    async def _lease(self) -> None:
        loop, waiting = asyncio.get_running_loop(), self._waiting
        try:
            while waiting or self._pause:
                calls = [call for call, _ in waiting]
                pause, self._pause = self._pause, 0.0
                waits = await self._shared.lease(self._provider, calls, pause)
                now = loop.time()
                for wait in waits:
                    (_, cost), granted = waiting.popleft()
                    if granted.done():  # cancelled
                        self._shared.give_back(cost)
                    else:
                        granted.set_result(now + wait)
                if len(waits) < len(calls):
                    self._shared.check()
                    if not waits and (main := parent_process()) and not main.is_alive():
                        raise StoreError(
                            "the main process has ended"
                        )  # it would charge for dead workers
                    # no more may start in the time of these, or before enough is released
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._shared.released(), max([POLL, *waits[-1:]]))
                    while waiting and waiting[0][1].done():
                        waiting.popleft()
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            while waiting:
                if not (granted := waiting.popleft()[1]).done():
                    granted.set_exception(error)


LEFT_BEHIND = timedelta(days=30)
"""Age of a line whose process was killed; a run does not take that long."""


class StoredLimits:
    """What a run has spent, and when its calls may start: one line of a store."""

    def __init__(
        self, place: str, run_id: str, max_calls: int | None = None, max_cost: float | None = None
    ) -> None:
        self._run_id, self._limits = run_id, (max_calls, max_cost)
        self._name = display_name(place)
        if "://" not in place and not Path(place).exists():
            raise StoreError(
                f"there is no file {place}, which has the limits of all workers; on several "
                "machines, they need a store in PostgreSQL: --store postgresql://USER@HOST/DATABASE"
            )
        self._engine = _engine(place)
        self._connection = self._engine.connect().execution_options(**WRITING)
        of_run = LIMITS.c.run_id == run_id
        columns = LIMITS.c.calls, LIMITS.c.cost_usd, LIMITS.c.reserved, LIMITS.c.starts
        self._find = select(*columns).where(of_run)
        if self._engine.dialect.name == "postgresql":
            now = extract("epoch", func.clock_timestamp())
            self._find = self._find.add_columns(now).with_for_update()
        self._change = LIMITS.update().where(of_run)

    def lease(self, request: LeaseRequest) -> Lease:
        with self._account() as (account, now):
            return account.grant(request, now)

    def charge_dead(self, process: str) -> None:
        with self._account() as (account, _):
            account.charge_dead(process)

    @contextmanager
    def _account(self) -> Generator[tuple[Account, float], None, None]:
        with translate_errors(self._name), self._connection.begin():
            line = self._connection.execute(self._find).one_or_none()
            if line is None:
                raise StoreError(f"{self._name}: the run {self._run_id} has ended")
            account = Account(*self._limits)
            account.calls, account.cost, reserved, starts, *now = line
            account.reserved, account.starts = json.loads(reserved), json.loads(starts)
            # without a server, all processes are on one machine, with one monotonic clock
            yield account, float(now[0]) if now else time.monotonic()
            values = {"calls": account.calls, "cost_usd": account.cost}
            values |= {
                "reserved": json.dumps(account.reserved),
                "starts": json.dumps(account.starts),
            }
            self._connection.execute(self._change, values)

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


def _engine(place: str) -> Engine:
    engine = create_store_engine(place)

    def connect(connection: DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute("SET synchronous_commit TO off")  # others wait for the line meanwhile
        connection.commit()
        cursor.close()

    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", connect)
    return engine


@contextmanager
def shared_limits(place: str | None, run_id: str) -> Generator[str, None, None]:
    """Add the account of a run, with nothing spent, and remove it when the block ends.

    `place` is a store, and None a temporary file. Gives the place for `StoredLimits`.
    """
    if place is None:
        with TemporaryDirectory(prefix="ragstone-") as folder:
            file = str(Path(folder) / "limits.db")
            _execute(file, CreateTable(LIMITS))
            with shared_limits(file, run_id):
                yield file
        return
    now = datetime.now(UTC)
    old = LIMITS.c.began_at < format_time(now - LEFT_BEHIND)
    removed = LIMITS.delete().where((LIMITS.c.run_id == run_id) | old)
    line = {"run_id": run_id, "began_at": format_time(now)}
    added = LIMITS.insert().values(**line, calls=0, cost_usd=0.0, reserved="{}", starts="{}")
    try:
        _execute(place, removed, added)
        yield place
    finally:
        _execute(place, removed)


def _execute(place: str, *statements: Executable) -> None:
    engine = _engine(place)
    try:
        with translate_errors(display_name(place)), _writing(engine) as connection:
            for statement in statements:
                connection.execute(statement)
    finally:
        engine.dispose()


@contextmanager
def _writing(engine: Engine) -> Generator[Connection, None, None]:
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        yield connection
