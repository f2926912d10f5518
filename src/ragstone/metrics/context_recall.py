"""Context recall."""

from typing import ClassVar

from ragstone.metrics.families.checks import REFERENCE_IN_CONTEXTS, Check
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.registry import register


@register("context_recall")
class ContextRecall(ClaimMetric):
    """The share of the reference's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, else those of its reference. Range 0 to 1. 1.0: all
    that a right answer needs was retrieved. 0.0: none of it. Undefined: the reference makes no
    claims. Two calls a sample, one with `reference_claims`.
    Source: RAGAS, LLMContextRecall; RAGChecker (2024), claim recall of the retriever.
    """

    label: ClassVar[str] = "Context Recall"
    check: ClassVar[Check] = REFERENCE_IN_CONTEXTS
