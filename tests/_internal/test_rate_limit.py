import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from tests.cases import each_case

from ragstone._internal.rate_limit import (
    LONGEST_CALL,
    LONGEST_WAIT,
    MAX_FAILURES,
    RETRIES,
    AdaptiveLimiter,
    Budget,
    CallResult,
    Limits,
    PaidCall,
    RateLimiter,
    RetryableError,
    RetryingCaller,
)
from ragstone.errors import CallError, Cause

pytestmark = pytest.mark.usefixtures("quick", "clock")


def busy(wait: float | None = None) -> RetryableError:
    return RetryableError(Cause.RATE_LIMITED, "too many", wait=wait)


def down() -> RetryableError:
    return RetryableError(Cause.UNREACHABLE, "down")


def late() -> RetryableError:
    return RetryableError(Cause.TIMEOUT, "no reply")


class Server:
    """Plays outcomes one after the other, the last for ever, and keeps the times of its calls."""

    def __init__(self, *outcomes: object, takes: float = 0.0) -> None:
        self._outcomes = list(outcomes)
        self._takes = takes
        self.times: list[float] = []
        self.busy = self.most = 0

    async def __call__(self) -> object:
        self.times.append(asyncio.get_running_loop().time())
        self.busy += 1
        self.most = max(self.most, self.busy)
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        try:
            await asyncio.sleep(self._takes)
        finally:
            self.busy -= 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def gaps(self) -> list[float]:
        return [later - sooner for sooner, later in pairwise(self.times)]


async def failure(call: Awaitable[object]) -> CallError:
    with pytest.raises(CallError) as caught:
        await call
    assert not isinstance(caught.value, RetryableError)
    return caught.value


async def outcomes(calls: list[Awaitable[object]]) -> list[object]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


async def most(caller: RetryingCaller, calls: int, *said: object) -> int:
    """Make so many calls at once, and tell how many were under way together."""
    server = Server(*said, takes=0.005)
    await outcomes([caller.make(server) for _ in range(calls)])
    return server.most


async def test_after_the_last_try_the_error_says_how_many_there_were() -> None:
    for retries, own, tries in ((0, None, 1), (4, None, 5), (4, 0, 1)):
        call = RetryingCaller(Limits(retries=retries)).make(server := Server(down()), retries=own)
        error = await failure(call)
        assert (error.cause, error.tries, len(server.times)) == (Cause.UNREACHABLE, tries, tries)
        assert str(error) == ("down" if tries == 1 else "down (tried 5 times)")


async def test_a_call_that_was_late_twice_is_given_up() -> None:
    once = Server(down(), late(), down(), "fine")
    assert await RetryingCaller(Limits(retries=9)).make(once) == CallResult("fine", 4)
    twice = Server(late(), down(), busy(), late(), "fine")
    error = await failure(RetryingCaller(Limits(retries=9)).make(twice))
    assert (error.cause, error.tries, len(twice.times)) == (Cause.TIMEOUT, 4, 4)


@each_case(("wait", "tries"), [(50.0, 5), (100.0, 3), (LONGEST_WAIT, 3)])
async def test_no_call_waits_for_its_retries_for_ever(wait: float, tries: int) -> None:
    server = Server(busy(wait))
    error = await failure(RetryingCaller(Limits(retries=99)).make(server))
    assert (error.cause, error.tries) == (Cause.RATE_LIMITED, tries)
    assert sum(server.gaps) <= LONGEST_CALL < sum(server.gaps) + wait + 1


async def test_before_the_first_success_two_late_replies_in_all_are_enough() -> None:
    caller = RetryingCaller(Limits(retries=9))
    assert (await failure(caller.make(Server(late())))).tries == 2
    assert (await failure(caller.make(Server(late())))).tries == 1
    assert await caller.make(Server(down(), busy(), "fine")) == CallResult("fine", 3)
    for _ in range(2):  # after a success, each call may be late once
        assert (await failure(caller.make(Server(late())))).tries == 2
    assert await caller.make(Server(late(), "fine")) == CallResult("fine", 2)


async def test_until_one_call_succeeds_few_are_under_way() -> None:
    caller = RetryingCaller(Limits(concurrency=20, first=3, retries=1))
    assert await most(caller, 9, CallError(Cause.REJECTED, "no", status=400)) == 3
    assert await most(caller, 9, down()) == 3
    assert await most(caller, 9, "fine") >= 6  # all that waited for the first
    assert await most(caller, 30, "fine") == 20
    assert await most(RetryingCaller(Limits(concurrency=2, first=3)), 9, "fine") == 2


@each_case("error", [busy, late])
async def test_429_and_late_replies_halve_what_is_under_way_and_answers_widen_it_again(
    error: Callable[[], RetryableError],
) -> None:
    caller = RetryingCaller(Limits(concurrency=8, retries=9))
    await caller.make(Server("fine"))
    await most(caller, 8, *[error() for _ in range(8)], "fine")
    assert caller.slots.limit < 8
    assert await most(caller, 8, "fine") < 8
    await most(caller, 60, "fine")
    assert await most(caller, 20, "fine") == 8


async def test_429_narrows_before_the_first_success_too_and_500_never() -> None:
    for first, error, limit in ((8, down(), 8), (4, busy(), 2)):
        caller = RetryingCaller(Limits(concurrency=8, first=first, retries=1))
        await caller.make(Server(error, "fine"))
        assert caller.slots.limit == limit


async def test_retry_after_holds_every_call() -> None:
    caller = RetryingCaller(Limits())
    first, others = Server(busy(0.2), "fine"), Server("fine")
    one = asyncio.create_task(caller.make(first))
    await asyncio.sleep(0.01)
    await asyncio.gather(one, *(caller.make(others) for _ in range(5)))
    assert first.gaps[0] >= 0.199
    assert min(others.times) - first.times[0] >= 0.199


@each_case(
    ("limits", "replies", "tokens", "gaps"),
    [
        (Limits(rpm=60 / 0.03), ["fine"], [0] * 5, [0.03] * 4),
        (Limits(tpm=60_000), ["fine"], [20, 80, 40], [0.02, 0.08]),
        (Limits(rpm=60 / 0.05, tpm=60_000, delay=0.01), ["fine"], [10] * 3, [0.05] * 2),
        (Limits(rpm=60 / 0.05), [down(), down(), "fine"], [0], [0.05] * 2),  # retries too
    ],
)
async def test_starts_are_spaced_by_calls_and_tokens_a_minute(
    limits: Limits, replies: list[object], tokens: list[int], gaps: list[float]
) -> None:
    caller, server = RetryingCaller(limits), Server(*replies)
    await asyncio.gather(*(caller.make(server, tokens=each) for each in tokens))
    for gap, least in zip(server.gaps, gaps, strict=True):
        assert gap >= least - 0.001


async def test_a_budget_counts_every_try() -> None:
    server = Server(*[down(), "fine"] * 10)
    caller = RetryingCaller(Limits(budget=Budget(max_calls=7), concurrency=3))
    told = await outcomes([caller.make(server) for _ in range(10)])
    assert len(server.times) == 7
    failed = [error for error in told if isinstance(error, CallError)]
    assert {error.cause for error in failed} == {Cause.BUDGET}
    made = sum(each.tries for each in told if isinstance(each, CallResult))
    assert made + sum(error.tries for error in failed) == 7
    for calls in (0, 1):  # a try that the budget forbids is not counted
        caller = RetryingCaller(Limits(budget=Budget(max_calls=calls)))
        error = await failure(caller.make(Server(down(), "fine")))
        assert (error.cause, error.tries) == (Cause.BUDGET, calls)


async def test_after_ten_calls_given_up_in_a_row_each_is_tried_once_until_one_succeeds() -> None:
    caller = RetryingCaller(Limits(retries=1))
    await outcomes([caller.make(Server(down())) for _ in range(MAX_FAILURES)])
    assert (await failure(caller.make(Server(down())))).tries == 1
    await caller.make(Server("fine"))
    assert await caller.make(Server(down(), "fine")) == CallResult("fine", 2)


@each_case("between", ["fine", CallError(Cause.MALFORMED, "no", status=400)])
async def test_answers_between_keep_up_hope(between: object) -> None:
    caller = RetryingCaller(Limits(retries=1))
    for _ in range(MAX_FAILURES):
        await outcomes([caller.make(Server(down()))])
        await outcomes([caller.make(Server(between))])
    assert (await failure(caller.make(Server(down())))).tries == 2


@each_case("when", ["in line", "under way", "between tries"])
async def test_a_call_that_is_cancelled_leaves_its_slot(when: str, monkeypatch) -> None:
    monkeypatch.setattr("ragstone._internal.rate_limit.FIRST_BACKOFF", 10)
    caller = RetryingCaller(Limits(concurrency=1))
    holder = asyncio.create_task(caller.make(Server("fine", takes=0.05)))
    await asyncio.sleep(0.001)
    call = Server(down(), "fine") if when == "between tries" else Server("fine", takes=10)
    task = asyncio.create_task(caller.make(call))
    await asyncio.sleep(0.001 if when == "in line" else 0.08)
    if when == "between tries":  # who waits for another try holds no slot
        await asyncio.wait_for(caller.make(Server("fine")), 1)
    task.cancel()
    await asyncio.gather(task, holder, return_exceptions=True)
    assert task.cancelled()
    await asyncio.wait_for(caller.make(Server("fine")), 1)


def now() -> float:
    return asyncio.get_running_loop().time()


async def turns() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def in_line(slots: AdaptiveLimiter, count: int) -> list[asyncio.Task[None]]:
    """Ask for so many slots; a task that is done holds one."""
    tasks = [asyncio.create_task(slots.__aenter__()) for _ in range(count)]
    await turns()
    return tasks


async def let_go(slots: AdaptiveLimiter, count: int) -> None:
    for _ in range(count):
        await slots.__aexit__()
    await turns()


def holding(tasks: list[asyncio.Task[None]]) -> list[int]:
    return [place for place, task in enumerate(tasks) if task.done() and not task.cancelled()]


async def free(slots: AdaptiveLimiter, count: int) -> bool:
    """Tell whether exactly so many slots can be had, and give them back."""
    tasks = await in_line(slots, count + 1)
    had = len(holding(tasks))
    await let_go(slots, count + 1)
    return had == count


async def test_so_many_hold_at_once_and_who_came_first_is_first() -> None:
    slots = AdaptiveLimiter(2)
    tasks = await in_line(slots, 5)
    assert holding(tasks) == [0, 1]
    await let_go(slots, 1)
    assert holding(tasks) == [0, 1, 2]
    tasks[3].cancel()  # who gives up waiting is passed over
    await turns()
    await let_go(slots, 1)
    assert holding(tasks) == [0, 1, 2, 4]
    await let_go(slots, 2)
    with pytest.raises(ValueError, match="no"):
        async with slots:
            raise ValueError("no")
    assert await free(slots, 2)


async def test_a_cancellation_in_the_moment_of_the_grant_leaks_no_slot() -> None:
    for cancelled_first in (True, False):
        slots = AdaptiveLimiter(1)
        async with slots:
            [waiting] = await in_line(slots, 1)
            if cancelled_first:
                waiting.cancel()
        waiting.cancel()
        await turns()
        assert waiting.cancelled()  # and not ended by an error of another kind
        assert await free(slots, 1)


async def test_a_crowd_that_is_refused_narrows_once_and_one_slot_stays() -> None:
    slots = AdaptiveLimiter(16)
    begun = now()
    await asyncio.sleep(0.001)
    for _ in range(16):
        slots.narrow(begun)
    assert slots.limit == 8
    for limit in (4, 2, 1, 1):
        slots.narrow(now())
        await asyncio.sleep(0.001)
        assert slots.limit == limit
    assert await free(slots, 1)


async def starts_of(pace: RateLimiter, count: int) -> list[float]:
    started = list[float]()

    async def start() -> None:
        await pace.turn()
        started.append(now())

    await asyncio.gather(*(start() for _ in range(count)))
    return started


async def test_nothing_starts_while_it_is_held_not_even_what_waits_already() -> None:
    pace = RateLimiter(0.02)
    before = now()
    waiting = asyncio.create_task(starts_of(pace, 2))
    await asyncio.sleep(0.005)
    pace.pause(0.1)
    pace.pause(0.01)  # a shorter pause does not shorten the longer one
    first, second = await waiting
    assert first - before < 0.05
    assert second - before >= 0.1


def test_without_limits_or_known_costs_nothing_is_ever_spent() -> None:
    for budget, cost in ((Budget(), 1e6), (Budget(max_cost=0.01), None)):
        budget.reserve()
        budget.charge(cost)
        assert budget.spent is None


def test_so_many_calls_begin_and_no_more() -> None:
    for calls in (0, 1, 3):
        budget = Budget(max_calls=calls)
        for _ in range(calls):
            assert budget.spent is None
            budget.reserve()
        for _ in range(3):
            with pytest.raises(CallError, match=rf"{calls} calls? \(max_calls\) is") as caught:
                budget.reserve()
        assert (caught.value.cause, caught.value.tries) == (Cause.BUDGET, 0)
    assert Budget(max_calls=1000, max_cost=0).spent == "the budget of $0 (max_cost) is spent"


def test_a_call_starts_if_the_budget_can_pay_for_it() -> None:
    budget = Budget(max_cost=0.5)
    assert budget.reserve(0.3)
    assert not budget.reserve(0.3)  # later
    budget.release(0.3)
    budget.charge(0.2)
    assert budget.reserve(0.3)
    budget.release(0.3)
    budget.charge(0.3)
    assert budget.spent == "the budget of $0.5 (max_cost) is spent"
    with pytest.raises(CallError, match="max_cost"):
        budget.reserve()
    budget = Budget(max_cost=0.5)
    why = r"\$0.5 \(max_cost\) is too small .*\$0.5000 is left, and it may cost \$0.6000"
    with pytest.raises(CallError, match=why):
        budget.reserve(0.6)
    assert budget.calls == 0


async def test_concurrent_calls_wait_for_each_other_and_never_exceed_the_budget() -> None:
    budget = Budget(max_cost=1.0)
    caller = RetryingCaller(Limits(concurrency=8, budget=budget))
    server = Server("fine", takes=0.001)

    async def ask() -> None:
        with PaidCall(budget, 0.3) as paid_call:
            await caller.make(server)
            paid_call.charge(0.06)

    found = await outcomes([ask() for _ in range(30)])
    assert (server.most, len(server.times)) == (3, 12)  # after 12 calls, $0.28 is left
    assert budget.cost == pytest.approx(12 * 0.06)
    left = "$0.2800 is left, and it may cost $0.3000 with this max_tokens"
    assert all(str(each).endswith(left) for each in found if each)


async def test_what_a_provider_may_charge_counts_at_its_most() -> None:
    refused, lost = RetryableError(Cause.UNREACHABLE, "503"), CallError(Cause.TIMEOUT, "late")
    lost.lost = True
    budget = Budget(max_cost=10.0)
    caller = RetryingCaller(Limits(retries=1, budget=budget))
    for error, cost in ((refused, 0.0), (lost, 1.0), (None, 1.0)):

        async def once(error: CallError | None = error) -> None:
            if error:
                raise error

        budget.cost = 0.0
        with suppress(CallError), PaidCall(budget, 1.0):  # the reply is not read
            await caller.make(once)
        assert budget.cost == cost
    with PaidCall(Budget(max_cost=1.0), 0.5):  # another budget's
        await caller.make(once)
    assert budget.cost == 1.0


async def test_retries_are_counted_for_progress() -> None:
    before = RETRIES.count
    server = Server(busy(), busy(), "done")
    await RetryingCaller(Limits()).make(server)
    assert (RETRIES.count - before, RETRIES.reason) == (2, "too many")
