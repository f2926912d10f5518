"""Claim utilization."""

from typing import ClassVar

from ragstone.metrics.families.check_metric import CheckMetric, JudgedClaims, supported
from ragstone.metrics.families.checks import REFERENCE_IN_CONTEXTS, REFERENCE_IN_RESPONSE, Check
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


@register("claim_utilization")
class ClaimUtilization(CheckMetric):
    """Of the reference's claims that the contexts support, the share that the response makes too.

    Formula: claims of the reference that both contexts and response support / those that the
    contexts support. Range 0 to 1. 1.0: what was retrieved and was needed was used. 0.0: none of
    it. Undefined: the contexts support no claim of the reference, or it makes none. Three calls a
    sample, two with `reference_claims`.
    Source: Ru et al., RAGChecker (2024), context utilization.
    """

    label: ClassVar[str] = "Claim Utilization"
    checks: ClassVar[tuple[Check, ...]] = (REFERENCE_IN_CONTEXTS, REFERENCE_IN_RESPONSE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what was retrieved, and of that what was said."""
        del sample
        pairs = list(zip(*map(supported, judged), strict=True))
        used = [said for found, said in pairs if found]
        if not used:
            none = "the contexts support none of the reference's claims"
            return Score.undefined(none if pairs else "the reference makes no claims")
        return Score.scored(sum(used) / len(used), detail={"found": len(used), "used": sum(used)})
