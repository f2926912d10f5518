"""Self-knowledge."""

from typing import ClassVar

from ragstone.metrics.families.check_metric import NO_CLAIMS, CheckMetric, JudgedClaims, supported
from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE, Check
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


@register("self_knowledge")
class SelfKnowledge(CheckMetric):
    """The share of the response's claims that are right and stand in no context.

    Formula: claims that the reference supports and the contexts do not / claims. Range 0 to 1;
    lower is better: such an answer came from the model's memory. 0.0: none did. 1.0: all did.
    Undefined: no claims, or a blank reference. Three calls a sample, two faithfulness's.
    Source: Ru et al., RAGChecker (2024), self-knowledge.
    """

    label: ClassVar[str] = "Self-Knowledge"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is right and not in the contexts."""
        del sample
        if not judged[0]:
            return Score.undefined(NO_CLAIMS)
        pairs = list(zip(*map(supported, judged), strict=True))
        known = sum(right and not found for found, right in pairs)
        return Score.scored(known / len(pairs), detail={"claims": len(pairs), "known": known})
