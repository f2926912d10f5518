"""Caller: makes calls so many at once, spaced, within a budget, and again where that may help."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import uniform
from typing import Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from ragstone.budget import Budget
from ragstone.errors import CallError, Cause
from ragstone.pace import Pace
from ragstone.slots import Slots

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
