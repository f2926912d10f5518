"""Unsupported claims."""

from typing import ClassVar

from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, Check
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.registry import register


@register("unsupported_claims")
class UnsupportedClaims(ClaimMetric):
    """The share of the response's claims that the contexts do not support.

    Formula: 1 - faithfulness, whatever the policy; a policy's pass mark is turned round too.
    Range 0 to 1; lower is better. 0.0: every claim is supported. 1.0: none is. Undefined: the
    response is empty or makes no claims. Two calls a sample, both faithfulness's.
    Source: Es et al., RAGAS (EACL 2024), section 3, faithfulness.
    """

    label: ClassVar[str] = "Unsupported Claims"
    higher_is_better: ClassVar[bool] = False
    check: ClassVar[Check] = RESPONSE_IN_CONTEXTS
