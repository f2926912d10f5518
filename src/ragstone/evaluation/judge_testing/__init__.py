"""A judge tested without labels: what is changed in claims it supports must be noticed."""

from ragstone.evaluation.judge_testing.cases import PassedOver, cases_of
from ragstone.evaluation.judge_testing.result import JudgeTest, KindResult, TriedClaim
from ragstone.evaluation.judge_testing.runner import Testing, planned, tried
from ragstone.evaluation.judge_testing.storage import KEPT, keep, kept

__all__ = [
    "KEPT",
    "JudgeTest",
    "KindResult",
    "PassedOver",
    "Testing",
    "TriedClaim",
    "cases_of",
    "keep",
    "kept",
    "planned",
    "tried",
]
