"""Recall@K."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Rankings


@register("recall")
class Recall(CutoffMetric):
    """The share of the relevant documents that are retrieved in the top K.

    Formula: relevant among the first k / all relevant. A list shorter than k is taken as it is.
    Not judged: not relevant. Range 0 to 1.
    1.0: all were found. 0.0: none was, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `recall` (NIST).
    """

    label: ClassVar[str] = "Recall@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of each query's relevant documents among the first k."""
        return rankings.recall(self.k)
