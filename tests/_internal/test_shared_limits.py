import asyncio
from collections.abc import Awaitable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone._internal.rate_limit import (
    Budget,
    Limits,
    RateLimiter,
    RetryableError,
    RetryingCaller,
)
from ragstone._internal.shared_limits import (
    AHEAD,
    Lease,
    LeaseRequest,
    SharedBudget,
    grant,
)
from ragstone.errors import CallError, Cause, UsageError


class Account:
    """An account in memory, with the time of the event loop."""

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.limits = max_calls, max_cost
        self.budget = Budget(*self.limits)
        self.starts: dict[str, float] = {}
        self.requests: list[LeaseRequest] = []
        self.loop = asyncio.get_running_loop()

    def lease(self, request: LeaseRequest) -> Lease:
        self.requests.append(request)
        return grant(request, self.budget, self.starts, self.loop.time())

    def process(self) -> SharedBudget:
        return SharedBudget(self, *self.limits)


requests = st.builds(
    LeaseRequest,
    provider=st.sampled_from(["a", "b"]),
    gaps=st.lists(st.just(0.25), max_size=9),
    cost=st.floats(0, 0.5),
    pause=st.sampled_from([0.0, 0.0, 2.0]),
)


@given(
    asked=st.lists(st.tuples(st.floats(0, 3), requests), max_size=40),
    max_calls=st.none() | st.integers(0, 30),
    max_cost=st.none() | st.floats(0, 5),
)
def test_no_requests_exceed_the_budget_or_the_rate(
    asked: list[tuple[float, LeaseRequest]], max_calls: int | None, max_cost: float | None
) -> None:
    budget, starts, now = Budget(max_calls, max_cost), dict[str, float](), 0.0
    granted: dict[str, list[float]] = {"a": [], "b": []}
    resumes = {"a": 0.0, "b": 0.0}
    for after, request in asked:
        now += after
        lease = grant(request, budget, starts, now)
        resumes[request.provider] = max(resumes[request.provider], now + request.pause)
        times = [now + wait for wait in lease.waits]
        assert all(time >= resumes[request.provider] - 1e-9 for time in times)
        assert all(wait <= lease.waits[0] + AHEAD + 0.25 for wait in lease.waits)
        if request.gaps and not lease.waits:
            assert budget.spent
        granted[request.provider] += times
        assert (lease.calls, lease.cost) == (budget.calls, budget.cost)
    assert len(granted["a"] + granted["b"]) == budget.calls
    assert max_calls is None or budget.calls <= max_calls
    for times in granted.values():
        assert all(later - earlier >= 0.25 - 1e-9 for earlier, later in pairwise(times))


def test_what_is_spent_stays_spent() -> None:
    for request in (LeaseRequest(unused=2), LeaseRequest(cost=-0.5)):
        budget = Budget(max_calls=4, max_cost=1.0)
        grant(LeaseRequest("a", gaps=(0, 0, 0, 0, 0), cost=1.0), budget, {}, 0.0)
        assert budget.spent
        grant(request, budget, {}, 0.0)
        assert budget.spent


async def outcomes(*calls: Awaitable[object]) -> list[object]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


async def test_several_processes_make_as_many_calls_as_the_budget_allows() -> None:
    account = Account(max_calls=30)
    made: list[int] = []

    async def call() -> None:
        made.append(account.budget.calls)
        await asyncio.sleep(0.001)

    callers = [
        RetryingCaller(Limits(concurrency=4, budget=account.process(), provider="a"))
        for _ in range(3)
    ]
    found = await outcomes(*(caller.make(call) for caller in callers for _ in range(20)))
    refused = [each for each in found if isinstance(each, CallError)]
    assert (len(made), len(refused)) == (30, 30)
    assert {(each.cause, each.tries) for each in refused} == {(Cause.BUDGET, 0)}
    assert "30 calls (--max-calls) is spent" in str(refused[0])
    assert len(account.requests) < 60  # calls that wait are leased together


async def test_all_processes_share_the_rate_and_a_pause(quick: None) -> None:
    account = Account()
    loop = asyncio.get_running_loop()
    times: list[float] = []
    busy = [RetryableError(Cause.RATE_LIMITED, "too many", wait=0.3)]

    async def call() -> None:
        times.append(loop.time())
        if len(times) == 5:
            raise busy.pop()

    limits = {"concurrency": 4, "rpm": 60 / 0.02, "provider": "a"}
    callers = [RetryingCaller(Limits(budget=account.process(), **limits)) for _ in range(3)]
    begin = loop.time()
    await asyncio.gather(*(caller.make(call) for caller in callers for _ in range(8)))
    assert len(times) == 25
    assert all(number <= (time - begin) / 0.02 + 1 for number, time in enumerate(times))
    assert [request.pause for request in account.requests if request.pause] == [0.3]
    paused_until = times[4] + 0.3
    assert sum(time > paused_until for time in times) >= 25 - 5 - 12  # the others were leased


async def leased(account: Account, limiter: RateLimiter) -> asyncio.Task[None]:
    """Start a call whose turn has not come when this returns, but which is leased."""
    await limiter.turn()
    waiting = asyncio.create_task(limiter.turn())
    while account.budget.calls < 2:  # noqa: ASYNC110 - another thread counts
        await asyncio.sleep(0.001)
    return waiting


async def test_a_call_that_is_late_is_leased_again() -> None:
    account = Account(max_calls=3)
    limiter = account.process().limiter("a", 0.3)
    waiting = await leased(account, limiter)
    limiter.pause(AHEAD + 0.5)
    await waiting
    assert [(len(each.gaps), each.unused) for each in account.requests] == [
        (1, 0), (1, 0), (0, 0), (1, 1)
    ]  # fmt: skip
    assert account.budget.calls == 2


async def test_a_call_that_is_cancelled_is_given_back() -> None:
    account = Account(max_calls=3)
    budget = account.process()
    waiting = await leased(account, budget.limiter("a", 10))
    waiting.cancel()
    await outcomes(waiting)
    await budget.settle()
    assert account.budget.calls == 1


async def test_dollars_are_leased_by_estimate_and_the_difference_is_paid_back() -> None:
    account = Account(max_cost=1.0)
    first, second = account.process(), account.process()
    caller = RetryingCaller(Limits(budget=first, provider="a"))

    async def call() -> None:
        await asyncio.sleep(0)

    for _ in range(4):
        await caller.make(call)
        first.charge(0.1)
    await first.settle()
    assert account.budget.cost == pytest.approx(0.4)
    limiter = second.limiter("a", 0.0)
    await limiter.turn()  # a process that dies now has lost its estimate
    assert account.budget.cost == pytest.approx(0.5)
    second.finish()
    second.charge(0.3)
    await second.settle()
    assert account.budget.cost == pytest.approx(0.7)
    for _ in range(3):
        await limiter.turn()  # each counts although none ends
    with pytest.raises(CallError, match="--max-cost"):
        await limiter.turn()
    assert account.budget.calls == 8
    assert account.budget.cost == pytest.approx(0.7 + 3 * 0.14, rel=0.2)


async def test_an_error_of_the_account_is_that_of_each_call() -> None:
    class Broken(Account):
        def lease(self, request: LeaseRequest) -> Lease:
            raise UsageError(f"{request.provider}: the disk is full")

    caller = RetryingCaller(Limits(budget=Broken().process(), provider="a"))

    async def call() -> None:
        raise AssertionError

    for _ in range(2):
        found = await outcomes(*(caller.make(call) for _ in range(3)))
        assert [str(error) for error in found] == ["a: the disk is full"] * 3
