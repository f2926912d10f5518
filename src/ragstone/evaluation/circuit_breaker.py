"""Stops a run or a collection while a service is down."""

import math
from collections.abc import Collection

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.types.config import Plan

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

    Attributes:
        reason: why to stop; None as long as there is no reason.
    """

    reason: str | None = None

    def __init__(self, plan: Plan) -> None:
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

    def stop(self, reason: str) -> None:
        """Stop for this reason."""
        self.reason = reason
