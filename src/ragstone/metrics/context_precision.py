"""Context precision."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from ragstone.metrics.families.grade_metric import GradeMetric, precision_by_rank
from ragstone.metrics.registry import register


@register("context_precision")
class ContextPrecision(GradeMetric):
    """How far ahead of the others those contexts stand that help to the reference answer.

    Formula: the sum, over the ranks i of relevant contexts, of P@i / their number, where P@i is
    the share of the first i that is relevant. With `weighting="mean"` the mean of P@i over all
    ranks. Range 0 to 1. 1.0: all relevant ones come first. 0.0: none is relevant, or nothing was
    retrieved. Undefined: no texts, or the reference is empty. One call a sample.
    Source: RAGAS, LLMContextPrecisionWithReference.
    """

    label: ClassVar[str] = "Context Precision"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "reference")
    against: ClassVar[Literal["reference", "response"]] = "reference"
    weighting: Literal["rank", "mean"] = "rank"

    def value(self, relevant: Sequence[bool]) -> float:
        """Return the mean precision down to each relevant context, or to each."""
        return precision_by_rank(relevant, every_rank=self.weighting == "mean")
