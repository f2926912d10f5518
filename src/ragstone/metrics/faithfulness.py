"""Faithfulness."""

from typing import ClassVar

from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, Check
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.registry import register


@register("faithfulness")
class Faithfulness(ClaimMetric):
    """The share of the response's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. Range 0
    to 1. 1.0: every claim is supported. 0.0: none is. Undefined: the response is empty or makes
    no claims. Two calls a sample.
    Source: Es et al., RAGAS (EACL 2024), section 3.
    """

    label: ClassVar[str] = "Faithfulness"
    check: ClassVar[Check] = RESPONSE_IN_CONTEXTS
