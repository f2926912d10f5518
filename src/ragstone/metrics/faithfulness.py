"""Faithfulness."""

from typing import ClassVar

from ragstone.metrics.claim_metric import ClaimMetric
from ragstone.metrics.registry import register
from ragstone.samples import Sample


@register("faithfulness")
class Faithfulness(ClaimMetric):
    """The share of the response's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. Range 0
    to 1. 1.0: every claim is supported. 0.0: none is. Undefined: the response is empty or makes
    no claims. Two questions a sample.
    Source: Es et al., RAGAS (EACL 2024), section 3.
    """

    label: ClassVar[str] = "Faithfulness"
    needs: ClassVar[tuple[str, ...]] = ("response", "contexts")

    def text(self, sample: Sample) -> str:
        """Judge what the system answered."""
        return sample.response or ""

    def sources(self, sample: Sample) -> tuple[str, ...]:
        """Hold it against what the generator saw."""
        return tuple(context.text for context in sample.contexts or ())
