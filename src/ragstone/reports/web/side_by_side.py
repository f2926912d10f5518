"""SideBySide: what each policy makes of a row's verdicts, from its ledger; nobody is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragstone.errors import QuestionNotSupportedError, RagstoneError
from ragstone.exchanges import Reply
from ragstone.metrics import ClaimMetric, get
from ragstone.policies import POLICIES
from ragstone.rows import Row
from ragstone.scores import MetricInfo, Score
from ragstone.scoring import rescored
from ragstone.workers import finish_in_thread

Sides = Mapping[str, Mapping[str, Score]]
"""Metric name -> policy -> the score under it."""


class SideBySide:
    """Scores rows by every policy, for those of a run's metrics that have one."""

    def __init__(self, metrics: Mapping[str, MetricInfo]) -> None:
        found = {name: _known(name) for name, info in metrics.items() if info.policy}
        self._metrics = {
            name: {
                policy: replace(metric, policy=policy, include_reason=False) for policy in POLICIES
            }
            for name, metric in found.items()
            if metric is not None
        }

    def of(self, rows: Sequence[Row]) -> list[Sides]:
        """Return the scores of each row; none where its ledger does not hold what it takes."""
        told: list[Sides] = []

        async def score() -> None:
            told.extend([await self._sides(row) for row in rows])

        if not self._metrics:
            return [{} for _ in rows]
        finish_in_thread(score)
        return told

    async def _sides(self, row: Row) -> Sides:
        outcomes = [exchange.outcome for exchange in row.exchanges]
        if any(isinstance(outcome, Reply) and outcome.value is None for outcome in outcomes):
            return {}  # stored without its transcript
        every = [each for policies in self._metrics.values() for each in policies.values()]
        try:
            again = await rescored(row, every)
        except QuestionNotSupportedError:
            return {}
        return {
            name: {policy: again.scores[str(metric)] for policy, metric in policies.items()}
            for name, policies in self._metrics.items()
        }


def _known(name: str) -> ClaimMetric | None:
    """Return the metric of that name; None if it is a stranger's that is not loaded."""
    try:
        metric = get(name)
    except RagstoneError:
        return None
    return metric if isinstance(metric, ClaimMetric) else None
