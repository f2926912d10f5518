"""MRR@K."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Rankings
from ragstone.scores import Detail, Score


@register("mrr")
class MRR(CutoffMetric):
    """The reciprocal rank of the first relevant document in the top K, averaged over queries.

    Formula: 1 / rank of the first relevant document, 0 if it is not among the first k, or not in
    a shorter list. Not judged: not relevant. Range 0 to 1. 1.0: it came first. 0.0: none among
    the first k, or nothing is relevant. Undefined: relevance not known.
    Source: Voorhees, The TREC-8 Question Answering Track Report (1999); `recip_rank` (NIST).
    """

    label: ClassVar[str] = "MRR@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the reciprocal rank."""
        return 1 / rankings.first_hit_rank(self.k)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count where the first relevant document was found."""
        found = sum(bool(score.value) for score in scores)
        missed = sum(score.value == 0 for score in scores)
        first = sum(score.value == 1 for score in scores)
        own = {"Found in Top-K": found, "Not Found": missed, "Rank 1 (Perfect)": first}
        return {**own, **super().summarise(scores)}
