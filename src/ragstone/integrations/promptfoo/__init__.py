"""promptfoo: scores in the place of a Python assertion, its configurations, and its results."""

from ragstone.integrations.promptfoo.assertion import JudgeFailedError, get_assert

__all__ = ["JudgeFailedError", "get_assert"]
