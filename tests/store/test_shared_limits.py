import asyncio
from collections.abc import Awaitable
from functools import partial
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone._internal.rate_limit import (
    Limits,
    PaidCall,
    RateLimiter,
    RetryableError,
    RetryingCaller,
)
from ragstone.errors import CallError, Cause, UsageError
from ragstone.store.errors import StoreError
from ragstone.store.limits import (
    AHEAD,
    Account,
    Lease,
    LeaseRequest,
    SharedBudget,
)


class Shared(Account):
    """An account in memory, with the time of the event loop."""

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        super().__init__(max_calls, max_cost)
        self.requests: list[LeaseRequest] = []
        self.names = count()
        self.loop = asyncio.get_running_loop()

    def lease(self, request: LeaseRequest) -> Lease:
        self.requests.append(request)
        return self.grant(request, self.loop.time())

    def process(self) -> SharedBudget:
        name = str(next(self.names))
        return SharedBudget(self, self.max_calls, self.max_cost, process=name)


@given(
    asked=st.lists(
        st.tuples(
            st.floats(0, 3),
            st.sampled_from(["a", "b"]),
            st.integers(0, 9),
            st.sampled_from([0.0, 0.0, 2.0]),
        ),
        max_size=40,
    ),
    max_calls=st.none() | st.integers(0, 30),
)
def test_no_requests_exceed_the_calls_or_the_rate(
    asked: list[tuple[float, str, int, float]], max_calls: int | None
) -> None:
    account, now = Account(max_calls), 0.0
    granted: dict[str, list[float]] = {"a": [], "b": []}
    resumes = {"a": 0.0, "b": 0.0}
    for after, provider, calls, pause in asked:
        now += after
        lease = account.grant(LeaseRequest("p", provider, ((0.25, 0.0),) * calls, pause), now)
        resumes[provider] = max(resumes[provider], now + pause)
        times = [now + wait for wait in lease.waits]
        assert all(time >= resumes[provider] - 1e-9 for time in times)
        assert all(wait <= lease.waits[0] + AHEAD + 0.25 for wait in lease.waits)
        if calls and not lease.waits:
            assert account.spent
        granted[provider] += times
    assert len(granted["a"] + granted["b"]) == account.calls
    assert max_calls is None or account.calls <= max_calls
    for times in granted.values():
        assert all(later - earlier >= 0.25 - 1e-9 for earlier, later in pairwise(times))


@given(
    max_cost=st.integers(0, 30),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["ask", "ask", "end", "end", "die"]),
            st.sampled_from(["p", "q", "r"]),
            st.lists(st.integers(1, 9), min_size=1, max_size=4),
            st.floats(0, 1),
        ),
        max_size=60,
    ),
)
def test_no_order_of_calls_and_deaths_exceeds_the_dollars(
    max_cost: int, steps: list[tuple[str, str, list[int], float]]
) -> None:
    """All calls of the dead, and calls in flight, cost as much as they may."""
    stored: dict[str, tuple[int, float] | None] = {}
    spent, charged = 0.0, 0.0
    names = {name: name for name in "pqr"}
    flying: dict[str, list[int]] = {name: [] for name in names}
    for number, (step, which, mosts, share) in enumerate(steps):
        process = names[which]
        account = Account(max_cost=max_cost)  # as it is read from the store
        account.reserved, account.cost = stored, charged
        calls, ended, cost = (), (0, 0.0), 0.0
        if step == "die":
            account.charge_dead(process)
            spent += sum(flying.pop(process))
            names[which] = f"{which}{number}"
            flying[names[which]] = []
        else:
            if step == "ask":
                calls = tuple((0.0, float(most)) for most in mosts)
            elif flying[process]:
                most = flying[process].pop()
                ended, cost = (1, float(most)), share * most
                spent += cost
            lease = account.grant(LeaseRequest(process, "", calls, 0.0, 0, ended, cost), 0.0)
            flying[process] += mosts[: len(lease.waits)]
            if calls and not lease.waits and not lease.spent:
                assert any(flying.values())  # something will be released
        stored, charged = account.reserved, account.cost
        assert spent + sum(map(sum, flying.values())) <= max_cost + 1e-6


def test_what_is_spent_stays_spent() -> None:
    account = Account(max_calls=4)
    account.grant(LeaseRequest("p", "a", ((0.0, 0.0),) * 5), 0.0)
    account.grant(LeaseRequest("p", unused=2), 0.0)
    assert "4 calls" in str(account.spent)


def test_a_process_that_was_replaced_gets_no_calls() -> None:
    account = Account(max_cost=4.0)
    account.grant(LeaseRequest("p", "a", ((0.0, 3.0),)), 0.0)
    assert account.grant(LeaseRequest("q", "a", ((0.0, 3.0),)), 0.0) == Lease([], 1, 0.0)
    account.charge_dead("p")
    assert "$1.0000 is left" in (account.grant(LeaseRequest("q", "", ((0.0, 3.0),)), 0).spent or "")
    with pytest.raises(StoreError, match="was replaced"):
        account.grant(LeaseRequest("p", "a", ((0.0, 1.0),)), 0.0)


async def outcomes(*calls: Awaitable[object]) -> list[object]:
    return list(await asyncio.gather(*calls, return_exceptions=True))


async def test_several_processes_make_as_many_calls_as_the_budget_allows() -> None:
    account = Shared(max_calls=30)
    made: list[int] = []

    async def call() -> None:
        made.append(account.calls)
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
    account = Shared()
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


async def leased(account: Shared, limiter: RateLimiter) -> asyncio.Task[None]:
    """Start a call whose turn has not come when this returns, but which is leased."""
    await limiter.turn()
    waiting = asyncio.create_task(limiter.turn())
    while account.calls < 2:  # noqa: ASYNC110 - another thread counts
        await asyncio.sleep(0.001)
    return waiting


async def test_a_call_that_is_late_is_leased_again() -> None:
    account = Shared(max_calls=3)
    limiter = account.process().limiter("a", 0.3)
    waiting = await leased(account, limiter)
    limiter.pause(AHEAD + 0.5)
    await waiting
    assert [(len(each.calls), each.unused) for each in account.requests] == [
        (1, 0), (1, 0), (0, 0), (1, 1)
    ]  # fmt: skip
    assert account.calls == 2


async def test_a_call_that_is_cancelled_is_given_back() -> None:
    account = Shared(max_calls=3)
    budget = account.process()
    waiting = await leased(account, budget.limiter("a", 10))
    waiting.cancel()
    await outcomes(waiting)
    await budget.settle()
    assert account.calls == 1


async def test_a_call_waits_for_what_others_reserve_until_they_die() -> None:
    account = Shared(max_cost=1.0)
    first, dead = account.process(), account.process()
    caller = RetryingCaller(Limits(budget=first, provider="a"))
    with PaidCall(dead, 0.3) as call:
        await dead.limiter("a", 0.0).turn(cost=call.most)  # it never ends
        made: list[float] = []

        async def ask() -> None:
            with PaidCall(first, 0.3) as call:
                await caller.make(partial(asyncio.sleep, 0.001))
                made.append(0.1)
                call.charge(0.1)

        found = await outcomes(*(asyncio.wait_for(ask(), 0.8) for _ in range(8)))
        assert (len(made), account.reserved["1"]) == (5, (1, 0.3))  # 0.5 and 0.3 are left
        assert {type(each) for each in found if each} == {TimeoutError}
        waiting = asyncio.create_task(outcomes(ask(), ask()))
        await asyncio.sleep(0.3)
        account.charge_dead("1")
        assert all("$0.2000 is left" in str(each) for each in await waiting)
    await first.settle()
    assert account.reserved == {"0": (0, 0.0), "1": None}
    assert account.cost == pytest.approx(0.8)


async def test_an_error_of_the_account_is_that_of_each_call() -> None:
    class Broken(Shared):
        def lease(self, request: LeaseRequest) -> Lease:
            raise UsageError(f"{request.provider}: the disk is full")

    caller = RetryingCaller(Limits(budget=Broken().process(), provider="a"))

    async def call() -> None:
        raise AssertionError

    for _ in range(2):
        found = await outcomes(*(caller.make(call) for _ in range(3)))
        assert [str(error) for error in found] == ["a: the disk is full"] * 3
