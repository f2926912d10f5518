"""Claim recall."""

from typing import ClassVar

from ragstone.metrics.families.checks import REFERENCE_IN_RESPONSE, Check
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.registry import register


@register("claim_recall")
class ClaimRecall(ClaimMetric):
    """The share of the reference's claims that the response makes too.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, else those of its reference. Range 0 to 1. 1.0: the
    response says all that it should. 0.0: none of it, or it is blank. Undefined: the reference
    makes no claims. Two calls a sample, one with `reference_claims`.
    Source: Ru et al., RAGChecker (2024), recall.
    """

    label: ClassVar[str] = "Claim Recall"
    check: ClassVar[Check] = REFERENCE_IN_RESPONSE
