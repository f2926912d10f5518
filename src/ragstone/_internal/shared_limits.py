"""Limits that several processes share: each leases its next calls from one account."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ragstone._internal.concurrency import in_thread
from ragstone._internal.rate_limit import Budget, RateLimiter

AHEAD = 1.0
"""Seconds: a lease has the calls that may start in this time, and at least one.

A call that is later than this is leased again, so that delayed calls cannot start all at once.
"""


@dataclass(frozen=True)
class LeaseRequest:
    """What a process asks for, and what it has to report.

    Attributes:
        provider: what the rates are about.
        gaps: for each call that waits, the least seconds until the call after it.
        unused: leased calls that were not made.
        cost: dollars to add: what calls have cost, less what was leased for them.
        pause: seconds in which no call to the provider may start.
    """

    provider: str = ""
    gaps: Sequence[float] = ()
    unused: int = 0
    cost: float = 0.0
    pause: float = 0.0


@dataclass(frozen=True)
class Lease:
    """Calls that a process may start.

    Attributes:
        waits: for each of them, the seconds until it may start, in order.
        estimate: dollars leased for each of them.
        calls, cost: what all processes have spent or leased.
    """

    waits: Sequence[float]
    estimate: float
    calls: int
    cost: float


class LeaseSource(Protocol):
    """Where processes lease calls, all from the same account."""

    def lease(self, request: LeaseRequest) -> Lease:
        """Return the calls that may start soon; called in any thread."""
        ...


def grant(request: LeaseRequest, budget: Budget, starts: dict[str, float], now: float) -> Lease:
    """Return what an account grants, and change it: the budget, and provider -> next start.

    A call is estimated to cost as much as the mean call so far. What is spent stays spent, even if
    calls turn out to be cheaper.
    """
    if not budget.spent:
        budget.calls -= request.unused
    if not budget.spent or request.cost > 0:
        budget.charge(request.cost)
    estimate = budget.cost / budget.calls if budget.calls else 0.0
    start = max(now + request.pause, starts.get(request.provider, now))
    waits: list[float] = []
    for gap in request.gaps:
        if budget.spent or (waits and start > now + AHEAD):
            break
        budget.reserve()
        budget.charge(estimate)
        waits.append(start - now)
        start += gap
    if request.gaps or request.pause:
        starts[request.provider] = start
    return Lease(waits, estimate, budget.calls, budget.cost)


class SharedBudget(Budget):
    """The budget of several processes; `calls` and `cost` are those of all, at the last lease."""

    def __init__(
        self, source: LeaseSource, max_calls: int | None = None, max_cost: float | None = None
    ) -> None:
        super().__init__(max_calls, max_cost)
        self._source = source
        self._line = asyncio.Lock()
        self._running = self._unused = 0
        self._charged: float = 0.0
        self._held: float = 0.0
        self._estimate: float = 0.0

    def limiter(self, provider: str, delay: float) -> RateLimiter:
        """Return what starts the calls of this process to a provider, in turn with all others."""
        return SharedLimiter(provider, delay, self)

    async def lease(
        self, provider: str, gaps: Sequence[float] = (), *, pause: float = 0.0
    ) -> Sequence[float]:
        """Lease calls, and report what ended; return the waits of the calls."""
        async with self._line:
            held = self._running * self._estimate
            cost, unused = self._charged + held - self._held, self._unused
            self._charged, self._held, self._unused = 0.0, held, 0
            request = LeaseRequest(provider, gaps, unused, cost, pause)
            lease = await in_thread(partial(self._source.lease, request))
            self._running += len(lease.waits)
            self._held += len(lease.waits) * lease.estimate
            self.calls, self.cost, self._estimate = lease.calls, lease.cost, lease.estimate
        return lease.waits

    def charge(self, cost_usd: float | None) -> None:
        """Report the cost of a call with the next lease."""
        self._charged += cost_usd or 0.0

    def finish(self) -> None:
        """Note the end of a call, before it is charged."""
        self._running -= 1

    def give_back(self) -> None:
        """Give back a leased call that is not made."""
        self._running -= 1
        self._unused += 1

    async def settle(self) -> None:
        """Report what was spent since the last lease."""
        if self._charged or self._held or self._unused:
            await self.lease("")


class SharedLimiter(RateLimiter):
    """Starts the calls of this process to a provider; calls that wait are leased together."""

    def __init__(self, provider: str, delay: float, budget: SharedBudget) -> None:
        super().__init__(delay)
        self._provider, self._shared = provider, budget
        self._waiting: deque[tuple[float, asyncio.Future[float]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._pause = 0.0

    async def turn(self, after: float = 0.0) -> None:
        """Wait until the next start is allowed; see `RateLimiter.turn`."""
        loop = asyncio.get_running_loop()
        gap = max(self._delay, after)
        while True:
            granted: asyncio.Future[float] = loop.create_future()
            self._waiting.append((gap, granted))
            self._begin_leasing()
            try:
                start = await granted
                await self._sleep_until(start)
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled() and not granted.exception():
                    self._shared.give_back()
                raise
            if not gap or loop.time() - start <= AHEAD:
                return
            self._shared.give_back()

    def pause(self, seconds: float) -> None:
        """Allow no start for that many seconds, in no process."""
        super().pause(seconds)
        self._pause = max(self._pause, seconds)
        self._begin_leasing()

    def _begin_leasing(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._lease())

    async def _lease(self) -> None:
        """Lease calls until none waits."""
        loop, waiting = asyncio.get_running_loop(), self._waiting
        try:
            while waiting or self._pause:
                gaps = [gap for gap, granted in waiting if not granted.done()]
                pause, self._pause = self._pause, 0.0
                waits = await self._shared.lease(self._provider, gaps, pause=pause)
                now = loop.time()
                for wait in waits:
                    while waiting and waiting[0][1].done():  # cancelled
                        waiting.popleft()
                    if waiting:
                        waiting.popleft()[1].set_result(now + wait)
                    else:
                        self._shared.give_back()
                if len(waits) < len(gaps):
                    self._shared.check()
                    await asyncio.sleep(waits[-1])  # nothing may start before
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            while waiting:
                if not (granted := waiting.popleft()[1]).done():
                    granted.set_exception(error)
