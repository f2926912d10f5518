"""MAP@K."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Rankings, cut, ratio


@register("map")
class MAP(CutoffMetric):
    """The precision at each relevant document in the top K, averaged over all relevant ones.

    Formula: sum over the relevant among the first k of (relevant down to it / its rank) / all
    relevant, so that a list shorter than k loses what it left out. Not judged: not relevant.
    Range 0 to 1. 1.0: all relevant came first. 0.0: none among the first k, or nothing is
    relevant. Undefined: relevance not known.
    Source: Buckley & Voorhees (SIGIR 2004) on its use; trec_eval's `map_cut` (NIST).
    """

    label: ClassVar[str] = "MAP@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return each query's average precision."""
        gathered = cut(rankings.precisions(self.k), self.k)
        return ratio(gathered, rankings.n_relevant.astype(np.float64))
