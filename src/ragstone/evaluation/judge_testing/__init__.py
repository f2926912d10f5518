"""Tests a judge without labels: errors injected into supported claims must be detected."""

from ragstone.evaluation.judge_testing.cases import SkippedCounts, select_cases
from ragstone.evaluation.judge_testing.result import (
    FILE,
    JudgeTest,
    KindResult,
    TrialResult,
    load_test,
    save_test,
)
from ragstone.evaluation.judge_testing.runner import (
    JudgeTestRunner,
    estimate_usage,
    plan_questions,
    run_judge_test,
)

__all__ = [
    "FILE",
    "JudgeTest",
    "JudgeTestRunner",
    "KindResult",
    "SkippedCounts",
    "TrialResult",
    "estimate_usage",
    "load_test",
    "plan_questions",
    "run_judge_test",
    "save_test",
    "select_cases",
]
