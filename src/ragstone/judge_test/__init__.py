"""A judge tested without labels: what is changed in claims it supports must be noticed."""

from ragstone.judge_test.cases import PassedOver, cases_of
from ragstone.judge_test.kept import KEPT, keep, kept
from ragstone.judge_test.result import JudgeTest, KindResult, TriedClaim
from ragstone.judge_test.testing import Testing, planned, tried

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
