"""Caller: makes calls so many at once, spaced, within a budget, and again where that may help."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import uniform
from types import TracebackType
from typing import Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from ragstone.errors import CallError, Cause

# Slots: so many calls at once, fewer after a server said "too many", and slowly more again.


class Slots:
    """At most `most` holders at once; use as `async with slots`. First come, first served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._busy = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._narrowed_at = 0.0

    @property
    def limit(self) -> int:
        """How many may hold a slot just now."""
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
                self._leave()
            elif turn in self._line:  # else it was passed over already
                self._line.remove(turn)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def narrow(self, open_recorder: float) -> None:
        """Halve the slots after a refused call that began at that time of the loop's clock.

        Calls that had begun before the last halving are of the same crowd and halve nothing.
        """
        if open_recorder >= self._narrowed_at:
            self._narrowed_at = asyncio.get_running_loop().time()
            self._limit = max(1.0, self._limit / 2)

    def widen(self) -> None:
        """Add a slot after as many answered calls as there are slots."""
        if self._limit < self._most:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._admit()

    def _leave(self) -> None:
        self._busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._line and self._busy < self.limit:
            turn = self._line.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)


# Pace: starts that keep a distance, one after the other.


class Pace:
    """Spaces starts: one turn after the other, and none while held."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._line = asyncio.Lock()
        self._next = 0.0

    async def turn(self, after: float = 0.0) -> None:
        """Wait in line until the next one may start.

        The one that follows waits `after` seconds, `delay` at the least.
        """
        loop = asyncio.get_running_loop()
        if self._next <= (now := loop.time()) and not self._line.locked():
            self._next = now + max(self._delay, after)
            return
        async with self._line:
            while (wait := self._next - loop.time()) > 0:  # noqa: ASYNC110 - a hold may come meanwhile
                await asyncio.sleep(wait)
            self._next = loop.time() + max(self._delay, after)

    def hold(self, seconds: float) -> None:
        """Let nothing start for so many seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


# Budget: what a run may spend on its judge, in calls and in dollars.


class Budget:
    """Counts calls and dollars, and lets no call begin once either is spent.

    Calls under way when the dollars run out are still paid: the last ones may go over.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._calls, self._cost = 0, 0.0

    @property
    def spent(self) -> str | None:
        """What is spent, in words; None as long as a call may begin."""
        if self._max_calls is not None and self._calls >= self._max_calls:
            calls = "1 call" if self._max_calls == 1 else f"{self._max_calls:,} calls"
            return f"the budget of {calls} (--max-calls) is spent"
        if self._max_cost is not None and self._cost >= self._max_cost:
            return f"the budget of ${self._max_cost:g} (--max-cost) is spent"
        return None

    def take(self) -> None:
        """Count a call that is about to begin.

        Raises:
            CallError: the budget is spent.
        """
        if spent := self.spent:
            raise CallError(Cause.BUDGET, spent, tries=0)
        self._calls += 1

    def pay(self, cost_usd: float | None) -> None:
        """Count what a call cost, where that is known."""
        self._cost += cost_usd or 0.0


T = TypeVar("T")

_log = logging.getLogger("ragstone.calls")

FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
LONGEST_WAIT = 120.0
"""Seconds that Retry-After is obeyed for at most."""
LATE = "no reply within {timeout:g} s; --timeout gives it more"
HOPELESS = 10
"""Calls given up in a row after which the next ones are tried once, until one is answered."""


class RetryableError(CallError):
    """A failure that another try may fix; `wait` is what the server asked for, in seconds."""

    def __init__(self, cause: Cause, message: str, *, wait: float | None = None) -> None:
        super().__init__(cause, message)
        self.wait = wait


def put_off(cause: Cause, message: str, wait: float | None) -> CallError:
    """Return the error of a server that cannot answer now; None is a wait it does not name."""
    if wait is not None and wait > LONGEST_WAIT:
        return CallError(cause, f"{message} (it asks to wait {wait:.0f} s)")
    return RetryableError(cause, message, wait=wait)


@dataclass(frozen=True)
class Limits:
    """How calls are made.

    Attributes:
        concurrency: calls under way at once; fewer for a while after a 429.
        retries: further tries after a failure that may pass.
        delay: seconds between two starts.
        rpm, tpm: starts and tokens a minute; None is no limit.
        budget: what may be spent; None is no limit.
    """

    concurrency: int = 1000
    retries: int = 7
    delay: float = 0.0
    rpm: float | None = None
    tpm: float | None = None
    budget: Budget | None = None


@dataclass(frozen=True)
class Made(Generic[T]):
    """What a call gave, and how many tries it took."""

    value: T
    tries: int


class Caller:
    """Makes calls under limits that they share."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = Slots(limits.concurrency)
        self._given_up = 0
        self._pace = Pace(max(limits.delay, 60 / limits.rpm if limits.rpm else 0.0))

    async def make(
        self, once: Callable[[], Awaitable[T]], *, retries: int | None = None, tokens: int = 0
    ) -> Made[T]:
        """Make one call; where it raises RetryableError, after a growing wait, again.

        `tokens` is what it is thought to take. While Retry-After of one call lasts, no other
        starts.

        Raises:
            CallError: the last try failed; `tries` says which that was.
        """
        if self._given_up >= HOPELESS:
            retries = 0
        elif retries is None:
            retries = self._limits.retries
        try:
            made = Made(await self._try(once, tokens), 1)
        except RetryableError as error:
            made = await self._again(error, once, most=1 + retries, tokens=tokens)
        except CallError as error:
            raise self._ended(error, error.tries) from None  # 0 where the budget forbade it
        self._given_up = 0
        return made

    async def _again(
        self, first: RetryableError, once: Callable[[], Awaitable[T]], *, most: int, tokens: int
    ) -> Made[T]:
        """Go on from a first try that failed.

        Tenacity is handed that failure, as building its machine for every call takes longer than
        all else here.
        """
        tries = 0
        again = AsyncRetrying(
            stop=stop_after_attempt(most),
            retry=retry_if_exception_type(RetryableError),
            wait=_wait,
            reraise=True,
        )
        try:
            async for attempt in again:
                with attempt:
                    tries += 1
                    if tries == 1:
                        raise first
                    return Made(await self._try(once, tokens), tries)
        except CallError as error:
            raise self._ended(error, tries - (error.tries == 0)) from None
        raise AssertionError("a retried call returns or raises")

    def _ended(self, error: CallError, tries: int) -> CallError:
        """Count a call that failed, and return the error of its last try as that of the call."""
        if isinstance(error, RetryableError):
            self._given_up += 1
        elif error.status is not None:  # the server does answer
            self._given_up = 0
        _log.debug("given up after %d tries: %s", tries, error)
        after = f" (tried {tries} times)" if tries > 1 else ""
        return CallError(error.cause, f"{error}{after}", status=error.status, tries=tries)

    async def _try(self, once: Callable[[], Awaitable[T]], tokens: int) -> T:
        async with self._slots:
            await self._pace.turn(60 * tokens / self._limits.tpm if self._limits.tpm else 0.0)
            if self._limits.budget:
                self._limits.budget.take()
            open_recorder = asyncio.get_running_loop().time()
            try:
                value = await once()
            except RetryableError as error:
                _log.debug("a try failed: %s", error)
                if error.cause is Cause.RATE_LIMITED:
                    self._slots.narrow(open_recorder)
                if error.wait:
                    self._pace.hold(error.wait)
                raise
            self._slots.widen()
            return value


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, RetryableError) and error.wait is not None:
        return error.wait
    backoff = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (state.attempt_number - 1))
    return uniform(backoff / 2, backoff)  # noqa: S311 - spreads retries, guards nothing
