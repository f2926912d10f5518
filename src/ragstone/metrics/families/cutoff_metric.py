"""CutoffMetric: ranking metrics that look at the first k ranks alone."""

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Cutoff
from ragstone.metrics.families.ranking_metric import RankingMetric


@dataclass(frozen=True)
class CutoffMetric(RankingMetric):
    """Scores the first k documents, whatever comes behind them.

    Attributes:
        k: ranks that count, 1 or more.
    """

    k: Cutoff = 5

    @property
    def depth(self) -> int:
        """The cut-off."""
        return self.k
