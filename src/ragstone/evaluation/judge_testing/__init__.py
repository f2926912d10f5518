"""Tests a judge without labels: errors injected into supported claims must be detected."""

from ragstone.evaluation.judge_testing.runner import run_judge_test

__all__ = ["run_judge_test"]
