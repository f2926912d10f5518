"""Abstention."""

from typing import ClassVar

from ragstone.metrics.families.abstention_metric import AbstentionMetric
from ragstone.metrics.registry import register


@register("abstention")
class Abstention(AbstentionMetric):
    """Whether the system abstained ("I don't know") where there is no answer, and only there.

    Formula: 1 if it abstained from a query that cannot be answered or did not from one that can,
    else 0; a blank response abstains. A query can be answered if some grade of its `relevance` is
    above 0; where that is not known, if its reference is no abstention itself, or if it lists
    `reference_claims`. Range 0 to 1. 1.0: right to abstain or to answer, which is not to say that
    the answer is right. 0.0: wrong to. Undefined: relevance is not known, and the reference blank
    or missing. One call a sample, two where the reference tells.
    Source: Rajpurkar et al., SQuAD 2.0 (ACL 2018), on queries without an answer.
    """

    label: ClassVar[str] = "Abstention"
