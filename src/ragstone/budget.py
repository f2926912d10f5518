"""Budget: what a run may spend on its judge, in calls and in dollars."""

from ragstone.errors import CallError, Cause


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
