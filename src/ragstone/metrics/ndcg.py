"""NDCG@K."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Rankings, ratio


@register("ndcg")
class NDCG(CutoffMetric):
    """The grades found in the top K, discounted by rank, against the best possible order.

    Formula: DCG@k / DCG@k of all known documents, highest grade first; DCG = sum of gain /
    log2(rank + 1); gain = grade, with `gain="exponential"` 2^grade - 1. A list shorter than k
    gains nothing more; not judged or below 0: gain 0. Range 0 to 1. 1.0: the best order. 0.0:
    nothing relevant among the first k, or nothing is relevant. Undefined: relevance not known.
    Source: Järvelin & Kekäläinen (TOIS 2002); trec_eval's `ndcg_cut` (NIST), which is linear.
    """

    label: ClassVar[str] = "NDCG@K"
    gain: Literal["linear", "exponential"] = "linear"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the discounted gain as a share of the best possible one."""
        exponential = self.gain == "exponential"
        found = rankings.discounted(self.k, exponential=exponential)
        best = rankings.ideal.discounted(self.k, exponential=exponential)
        return np.minimum(ratio(found, best), 1.0)  # rounding may lift it above
