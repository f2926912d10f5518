import pytest

from ragstone._internal.rate_limit import Budget
from ragstone.errors import CallError, Cause


def test_without_limits_nothing_is_ever_spent() -> None:
    budget = Budget()
    for _ in range(1000):
        budget.reserve()
        budget.charge(1e6)
    assert budget.spent is None


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_so_many_calls_begin_and_no_more(calls: int) -> None:
    budget = Budget(max_calls=calls)
    for _ in range(calls):
        assert budget.spent is None
        budget.reserve()
    for _ in range(3):
        with pytest.raises(CallError, match=rf"{calls} calls? \(--max-calls\) is spent") as caught:
            budget.reserve()
    assert caught.value.cause is Cause.BUDGET
    assert caught.value.tries == 0


def test_the_call_that_spends_the_last_cent_is_paid() -> None:
    budget = Budget(max_cost=0.5)
    budget.reserve()
    budget.charge(0.4)
    budget.reserve()
    budget.charge(0.4)
    assert budget.spent == "the budget of $0.5 (--max-cost) is spent"
    with pytest.raises(CallError, match="--max-cost"):
        budget.reserve()


def test_a_cost_that_is_not_known_counts_nothing() -> None:
    budget = Budget(max_cost=0.01)
    budget.charge(None)
    assert budget.spent is None


def test_no_money_buys_no_call() -> None:
    with pytest.raises(CallError, match=r"\$0 "):
        Budget(max_cost=0).reserve()


def test_calls_are_told_before_dollars_and_with_separators() -> None:
    budget = Budget(max_calls=0, max_cost=0)
    assert "calls" in (budget.spent or "")
    budget = Budget(max_calls=10_000)
    for _ in range(10_000):
        budget.reserve()
    assert budget.spent == "the budget of 10,000 calls (--max-calls) is spent"
