"""Hallucinated claims."""

from typing import ClassVar

from ragstone.metrics.families.check_metric import NO_CLAIMS, CheckMetric, JudgedClaims, supported
from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE, Check
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


@register("hallucinated_claims")
class HallucinatedClaims(CheckMetric):
    """The share of the response's claims that are wrong and stand in no context.

    Formula: claims that neither the reference nor the contexts support / claims. Range 0 to 1;
    lower is better. 0.0: each is right or was retrieved. 1.0: no claim is. Undefined: no claims,
    or a blank reference. Three calls a sample, two of them faithfulness's.
    Source: Ru et al., RAGChecker (2024), hallucination.
    """

    label: ClassVar[str] = "Hallucinated Claims"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is neither right nor in the contexts."""
        del sample
        if not judged[0]:
            return Score.undefined(NO_CLAIMS)
        pairs = list(zip(*map(supported, judged), strict=True))
        made_up = sum(not found and not right for found, right in pairs)
        return Score.scored(made_up / len(pairs), detail={"claims": len(pairs), "made_up": made_up})
