"""Precision@K."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.cutoff_metric import CutoffMetric
from ragstone.metrics.registry import register
from ragstone.rankings import Denominator, Rankings


@register("precision")
class Precision(CutoffMetric):
    """The share of the top K documents that are relevant.

    Formula: relevant among the first k / k; with `denominator="retrieved"`, / the number of
    documents among the first k that came back, so that a list shorter than k loses nothing by
    it. Not judged: not relevant. Range 0 to 1. 1.0: all are relevant. 0.0: none is, nothing came
    back, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `P` (NIST), which divides by k.
    """

    label: ClassVar[str] = "Precision@K"

    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first k that is relevant."""
        return rankings.precision(self.k, self.denominator)
