"""Context utilization."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from ragstone.metrics.families.grade_metric import GradeMetric, precision_by_rank
from ragstone.metrics.registry import register


@register("context_utilization")
class ContextUtilization(GradeMetric):
    """How far ahead of the others those contexts stand that help to the response.

    Formula: context precision, with the response in place of the reference: the sum, over the
    ranks i of relevant contexts, of P@i / their number. Range 0 to 1. 1.0: all relevant ones come
    first. 0.0: none is relevant, or nothing was retrieved. Undefined: no texts, or the response
    is empty. One call a sample.
    Source: RAGAS, LLMContextPrecisionWithoutReference (context utilization).
    """

    label: ClassVar[str] = "Context Utilization"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "response")
    against: ClassVar[Literal["reference", "response"]] = "response"

    def value(self, relevant: Sequence[bool]) -> float:
        """Return the mean precision down to each relevant context."""
        return precision_by_rank(relevant)
