"""Stops a run or a collection while a service is down."""

import math
from collections.abc import Collection, Sequence

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.metrics.base import Metric
from ragstone.types.config import Plan
from ragstone.types.row import Row
from ragstone.types.score import State

MAX_FAILED_ROWS = 20
"""Failed rows in a row that stop a run, unless more are in progress at once."""
SERVICE_CAUSES = frozenset(
    (Cause.UNREACHABLE, Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.JUDGE_ERROR, Cause.TARGET_ERROR)
)
"""Causes that suggest a service is down; others depend on the content of a row."""


class CircuitBreaker:
    """Counts rows that fail in a row for the same cause, because a service is probably down.

    A short outage fails all rows in progress, so the limit is at least twice the concurrency. With
    a failure rate of 100%, there is no limit.
    """

    reason: str | None = None

    def __init__(
        self, plan: Plan, metrics: Sequence[Metric] = (), *, calls_target: bool = False
    ) -> None:
        self._asking = {str(metric) for metric in metrics if metric.question_kinds}
        self._fail_fast, self._calls_target = plan.fail_fast, calls_target
        accepted = plan.max_failure_rate >= 1
        self._limit = math.inf if accepted else max(MAX_FAILED_ROWS, 2 * plan.concurrency)
        self._cause: Cause | None = None
        self._failed = 0

    def add(self, causes: Collection[Cause | None], message: str | None) -> None:
        """Count a row by the causes of its failures; None is the cause of a success.

        A row counts if it has only one cause, which is one of SERVICE_CAUSES; another row ends the
        count.
        """
        cause = next(iter(causes)) if len(causes) == 1 else None
        cause = cause if cause in SERVICE_CAUSES else None
        self._failed = 0 if cause is None else self._failed + 1 if cause is self._cause else 1
        self._cause = cause
        if self._failed >= self._limit:
            self.stop(f"{self._failed} consecutive rows failed ({cause}): {quoted(message or '')}")

    def is_open(self, row: Row) -> bool:
        """Count a scored row, and return whether to stop after it.

        Only metrics that ask the judge count, or all if none does. Undefined scores and failures
        recorded in the data do not count. With `fail_fast`, the first failed score is enough.
        """
        recorded = () if self._calls_target else row.failures.values()
        ignored = {(failure.cause, failure.message) for failure in recorded}
        made = {
            name: score
            for name, score in row.scores.items()
            if score.state is not State.UNDEFINED and (score.cause, score.reason) not in ignored
        }
        failed = {name: score for name, score in made.items() if score.state is State.FAILED}
        if self._fail_fast and failed:
            name, score = next(iter(failed.items()))
            why = f"{name} failed for sample {row.sample.id} ({score.cause})"
            self.stop(f"{why}: {quoted(score.reason or '')} (--fail-fast)")
            return True
        asking = self._asking or made.keys()
        if asked := [score for name, score in made.items() if name in asking]:
            reasons = (score.reason for score in asked if score.state is State.FAILED)
            # the cause of a score that did not fail is None
            self.add({score.cause for score in asked}, next(reasons, None))
        return self.reason is not None

    def stop(self, reason: str) -> None:
        self.reason = reason
