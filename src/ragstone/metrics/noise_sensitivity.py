"""Noise sensitivity."""

from typing import ClassVar

from ragstone.metrics.families.noise_metric import NoiseMetric
from ragstone.metrics.registry import register


@register("noise_sensitivity")
class NoiseSensitivity(NoiseMetric):
    """The share of the response's claims that are wrong and come from the contexts.

    Formula: claims that the contexts support and the reference does not / claims. With
    `contexts="relevant"` only those one of whose quotes stands in a context that a quote of a
    supported claim of the reference stands in too; with `contexts="irrelevant"` those of whose
    quotes none does. Range 0 to 1; lower is better. 0.0: no such claim. 1.0: no other. Undefined:
    no claims, or a blank reference; where relevance is asked for, one without claims too. Three
    calls a sample, two of them faithfulness's; two more where relevance is asked for.
    Source: Ru et al., RAGChecker (2024), noise sensitivity.
    """

    label: ClassVar[str] = "Noise Sensitivity"
    higher_is_better: ClassVar[bool] = False
