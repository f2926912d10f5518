"""Hit@K."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Rankings
from ragstone.scores import Detail, Score


@register("hit")
class Hit(CutoffMetric):
    """Whether at least one relevant document appears in the top K.

    Formula: 1 if any of the first k documents is relevant, else 0. A list shorter than k is
    taken as it is. Not judged: not relevant. Range 0 to 1.
    1.0: one was found. 0.0: none was, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `success` (NIST).
    """

    label: ClassVar[str] = "Hit@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return 1 where something relevant is among the first k."""
        return (rankings.hits(self.k) > 0).astype(np.float64)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count hits and misses."""
        hits = sum(score.value == 1 for score in scores)
        misses = sum(score.value == 0 for score in scores)
        return {"Hits": hits, "Misses": misses, **super().summarise(scores)}
