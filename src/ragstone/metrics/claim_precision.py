"""Claim precision."""

from typing import ClassVar

from ragstone.metrics.families.checks import RESPONSE_IN_REFERENCE, Check
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.registry import register


@register("claim_precision")
class ClaimPrecision(ClaimMetric):
    """The share of the response's claims that the reference supports.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    reference is the expected answer together with the row's `reference_claims`. Range 0 to 1.
    1.0: all that the response says is right. 0.0: nothing is. Undefined: the response is empty or
    makes no claims, or the reference is blank. Two calls a sample, one of them faithfulness's.
    Source: Ru et al., RAGChecker (2024), precision.
    """

    label: ClassVar[str] = "Claim Precision"
    check: ClassVar[Check] = RESPONSE_IN_REFERENCE
