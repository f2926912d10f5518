"""Calls under limits: concurrency, request rate, budget and retries."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from random import uniform
from typing import ClassVar, Generic, Self, TypeVar

from ragstone.errors import CallError, Cause

T = TypeVar("T")

_log = logging.getLogger("ragstone.calls")

FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
LONGEST_WAIT = 120.0  # seconds; a longer Retry-After fails the call at once
LATE = "no reply within {timeout:g} s; raise the timeout"
TIMEOUTS = 2  # of one call: a server that is too slow twice gets no third request
LONGEST_CALL = 240.0  # seconds of waiting for retries of one call
MAX_FAILURES = 10  # in a row, after which calls are not retried until one succeeds


class AdaptiveLimiter:
    """Limits concurrency to `most`: a 429 halves the limit, successful calls raise it again.

    Until the first success, `first` calls run at once.
    """

    def __init__(self, most: int, first: int | None = None) -> None:
        self._most = most
        self.proven = False  # whether a call has succeeded
        self._first = first
        self._limit = float(most if first is None else min(most, first))
        self._busy = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._narrowed_at = 0.0

    @property
    def limit(self) -> int:
        return int(self._limit)

    async def __aenter__(self) -> None:
        if self._busy < self.limit and not self._line:
            self._busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot was given just now
                await self.__aexit__()
            elif turn in self._line:  # else it was skipped already
                self._line.remove(turn)
            raise

    async def __aexit__(self, *raised: object) -> None:
        self._busy -= 1
        self._admit()

    def narrow(self, started_at: float) -> None:
        if started_at >= self._narrowed_at:  # else the call hit the limit before the last halving
            self._narrowed_at = asyncio.get_running_loop().time()
            self._limit, self._first = max(1.0, self._limit / 2), None

    def widen(self) -> None:
        if self._limit < self._most:
            # one more after about as many successes as calls may run, as TCP does after congestion
            more = self._limit + 1 / self._limit if self._first is None else inf
            self._limit = min(float(self._most), more)
            self._admit()
        self.proven, self._first = True, None

    def _admit(self) -> None:
        while self._line and self._busy < self.limit:
            turn = self._line.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)


ROUNDING = 1e-9  # dollars by which a sum of costs may be wrong


class Budget:
    """Limits the calls and dollars of a run: no call starts that may exceed them.

    The highest cost of a call is reserved before it starts, and replaced by its real cost when its
    reply has arrived; see `PaidCall`.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_calls, self.max_cost = max_calls, max_cost
        self.calls, self.cost = 0, 0.0
        self.judges, self.answered = set[str](), set[str]()  # names, and kinds of question
        self._reserved, self._open = 0.0, 0
        self._too_little: str | None = None
        self._waiting: list[asyncio.Future[None]] = []  # an Event would belong to one loop
        self.limiters: list[RateLimiter] = []

    @property
    def spent(self) -> str | None:
        if self.max_calls is not None and self.calls >= self.max_calls:
            calls = "1 call" if self.max_calls == 1 else f"{self.max_calls:,} calls"
            return f"the budget of {calls} (max_calls) is spent"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the budget of ${self.max_cost:g} (max_cost) is spent"
        return self._too_little

    def stop(self, reason: str) -> None:
        self._too_little = self._too_little or reason

    def reserve(self, cost: float = 0.0) -> bool:
        """Count a call that is about to start, and reserve its highest cost until `release`.

        Return False if more may be left later. Raises CallError if the budget is spent; it also
        counts as spent if this call may cost more than what is left.
        """
        left = inf if self.max_cost is None else self.max_cost - self.cost - self._reserved
        if not self.spent and cost > left + ROUNDING:
            if self._open:
                return False
            self._too_little = (
                f"the budget of ${self.max_cost:g} (max_cost) is too small for another call: "
                f"${left:.4f} is left, and it may cost ${cost:.4f} with this max_tokens"
            )
        if spent := self.spent:
            raise CallError(Cause.BUDGET, spent, tries=0)
        self.calls += 1
        if cost:
            self._open, self._reserved = self._open + 1, self._reserved + cost
        return True

    def release(self, cost: float) -> None:
        if cost:
            self._open -= 1
            self._reserved = self._reserved - cost if self._open else 0.0
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    def charge(self, cost_usd: float | None) -> None:
        self.cost += cost_usd or 0.0

    async def released(self) -> None:
        self._waiting.append(asyncio.get_running_loop().create_future())
        await self._waiting[-1]

    @property
    def wait(self) -> float:
        """Seconds until each of its rate limiters lets another call start."""
        now = asyncio.get_running_loop().time()
        return max((limiter.next_start - now for limiter in self.limiters), default=0.0)


class PaidCall:
    """A call to a model, which `RetryingCaller` finds in the context.

    Its highest cost is reserved during each try, and charged if the reply cannot be read or was
    lost after the request was sent: the provider may charge it.
    """

    current: ClassVar[ContextVar["PaidCall | None"]] = ContextVar("paid_call", default=None)

    def __init__(self, budget: Budget, most: float) -> None:
        self.budget, self.most = budget, most if budget.max_cost is not None else 0.0
        self.reserved = False

    def __enter__(self) -> Self:
        self._token = self.current.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        self.current.reset(self._token)
        if self.reserved:
            self.charge(self.most)

    @classmethod
    def of(cls, budget: Budget) -> "PaidCall":
        call = cls.current.get()
        return call if call and call.budget is budget else cls(budget, 0.0)

    def release(self) -> None:
        if self.reserved:
            self.budget.release(self.most)
        self.reserved = False

    def charge(self, cost_usd: float | None) -> None:
        self.budget.charge(cost_usd)
        self.release()


class RateLimiter:
    """A minimum delay between the starts of calls of a budget; `pause` stops all starts."""

    def __init__(self, delay: float = 0.0, budget: Budget | None = None) -> None:
        self._delay, self._budget = delay, budget or Budget()
        self._budget.limiters.append(self)
        self._line = asyncio.Lock()
        self.next_start = 0.0

    async def turn(self, after: float = 0.0, cost: float = 0.0) -> None:
        """Wait until a start is allowed, and reserve its cost; the next start waits `after`."""
        loop = asyncio.get_running_loop()
        while True:
            async with self._line:
                while (wait := self.next_start - loop.time()) > 0:  # noqa: ASYNC110 - pause() may be called meanwhile
                    await asyncio.sleep(wait)
                self.next_start = loop.time() + max(self._delay, after)
            if self._budget.reserve(cost):
                return
            await self._budget.released()

    def pause(self, seconds: float) -> None:
        self.next_start = max(self.next_start, asyncio.get_running_loop().time() + seconds)


class RetryableError(CallError):
    """A failure that a retry may fix; `wait` is the server's Retry-After in seconds."""

    def __init__(self, cause: Cause, message: str, *, wait: float | None = None) -> None:
        super().__init__(cause, message)
        self.wait = wait


def retry_after(cause: Cause, message: str, wait: float | None) -> CallError:
    if wait is not None and wait > LONGEST_WAIT:
        return CallError(cause, f"{message} (the server asked to wait {wait:.0f} s)")
    return RetryableError(cause, message, wait=wait)


@dataclass(frozen=True)
class Limits:
    concurrency: int = 1000
    first: int | None = None  # concurrent calls until one succeeds
    retries: int = 7
    delay: float = 0.0  # seconds
    rpm: float | None = None  # requests per minute
    tpm: float | None = None  # tokens per minute
    budget: Budget | None = None


@dataclass(frozen=True)
class CallResult(Generic[T]):
    value: T
    tries: int


@dataclass
class RetryLog:
    count: int = 0
    reason: str = ""


RETRIES = RetryLog()  # of this process; progress shows the last reason if no row finishes


class RetryingCaller:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.slots = AdaptiveLimiter(limits.concurrency, limits.first)
        self._failures, self._timeouts = 0, 0  # timeouts before the first reply
        self._budget = limits.budget or Budget()
        delay = max(limits.delay, 60 / limits.rpm if limits.rpm else 0.0)
        self._starts = RateLimiter(delay, self._budget)

    async def make(
        self, once: Callable[[], Awaitable[T]], *, retries: int | None = None, tokens: int = 0
    ) -> CallResult[T]:
        """Make one call; retry it with growing waits while it raises RetryableError.

        `tokens` is an estimate for the limit per minute. While a Retry-After lasts, no other call
        starts.
        """
        # the server is probably down; with all retries, a run would take hours to report it
        if self._failures >= MAX_FAILURES:
            retries = 0
        elif retries is None:
            retries = self._limits.retries
        tries, late, waited = 0, 0, 0.0
        while True:
            tries += 1
            try:
                value = await self._try(once, tokens)
            except CallError as error:
                late += error.cause is Cause.TIMEOUT
                self._timeouts += error.cause is Cause.TIMEOUT and not self.slots.proven
                backoff = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1))
                wait = uniform(backoff / 2, backoff)  # noqa: S311 - no secret
                if isinstance(error, RetryableError):
                    wait = max(wait, error.wait or 0.0)
                waited += wait
                waits = late and not self.slots.proven and self._timeouts >= TIMEOUTS
                slow = late >= TIMEOUTS or waits
                ended = tries > retries or slow or waited > LONGEST_CALL
                if not isinstance(error, RetryableError) or ended:
                    if isinstance(error, RetryableError):
                        self._failures += 1
                    elif error.status is not None:  # the server does answer
                        self._failures = 0
                    made = tries - (error.tries == 0)
                    _log.debug("gave up after %d tries: %s", made, error)
                    after = f" (tried {made} times)" if made > 1 else ""
                    failed = CallError(
                        error.cause, f"{error}{after}", status=error.status, tries=made
                    )
                    failed.body = error.body
                    raise failed from None
                RETRIES.count, RETRIES.reason = RETRIES.count + 1, str(error)
            else:
                self._failures = 0
                return CallResult(value, tries)
            await asyncio.sleep(wait)

    async def _try(self, once: Callable[[], Awaitable[T]], tokens: int) -> T:
        async with self.slots:
            call = PaidCall.of(self._budget)
            gap = 60 * tokens / self._limits.tpm if self._limits.tpm else 0.0
            await self._starts.turn(gap, call.most)
            call.reserved = True
            started_at = asyncio.get_running_loop().time()
            try:
                value = await once()
            except CallError as error:
                if error.lost:
                    call.charge(call.most)
                call.release()
                if isinstance(error, RetryableError):
                    _log.debug("try failed: %s", error)
                    if error.cause in (Cause.RATE_LIMITED, Cause.TIMEOUT):
                        self.slots.narrow(started_at)
                    if error.wait:
                        self._starts.pause(error.wait)
                raise
            self.slots.widen()
            return value
