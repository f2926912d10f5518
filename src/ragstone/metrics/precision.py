"""Precision@K."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.base import Cutoff
from ragstone.metrics.ranking_metric import RankingMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Denominator, Rankings


@register("precision")
class Precision(RankingMetric):
    """The share of the top K documents that are relevant.

    Formula: relevant among the first k / k; with `denominator="retrieved"`, / the number of
    documents among the first k that came back. Range 0 to 1.
    1.0: all are relevant. 0.0: none is, or nothing came back. Undefined: relevance not known.
    Source: trec_eval's `P` (NIST), which divides by k.
    """

    label: ClassVar[str] = "Precision@K"

    k: Cutoff = 5
    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first k that is relevant."""
        return rankings.precision(self.k, self.denominator)
