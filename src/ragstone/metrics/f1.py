"""F1@K."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Denominator, Rankings, ratio
from ragstone.scores import Detail, Score, mean_detail

_PARTS = ("precision", "recall")


@register("f1")
class F1(CutoffMetric):
    """The harmonic mean of Precision@K and Recall@K, a query at a time.

    Formula: 2PR / (P + R); P is over k, also of a shorter list, or as its `denominator` says.
    Not judged: not relevant. Range 0 to 1. 1.0: all that is relevant and nothing else. 0.0:
    nothing relevant was found, or nothing is. Undefined: relevance not known.
    Source: van Rijsbergen, Information Retrieval (1979), chapter 7.
    """

    label: ClassVar[str] = "F1@K"
    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the harmonic mean, 0 where both are 0."""
        p, r = rankings.precision(self.k, self.denominator), rankings.recall(self.k)
        return ratio(2 * p * r, p + r)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Add the means of the two."""
        own = {f"Avg {name.title()}": mean_detail(scores, name) for name in _PARTS}
        return {**own, **super().summarise(scores)}
