"""The verdict on one evaluated sample: it holds, or its test fails or is skipped."""

import pytest

from ragstone.errors import RagstoneError
from ragstone.gates import GateResult
from ragstone.integrations.pytest.failure import failure_message
from ragstone.messages import one_line
from ragstone.reports.facts import CAUSES
from ragstone.run import Run
from ragstone.scores import State

LONGEST = 1000
"""Characters told of a failure; servers answer with whole pages."""


class ScoreMissingError(RagstoneError):
    """A sample has no score, as the judge or the target did not answer; the test fails."""


def check(run: Run, spent: str | None) -> None:
    """Return if the sample of a run reaches its marks; `spent` is the reason to skip its test.

    Raises:
        AssertionError: a score does not reach its mark, is undefined, or is made up by a policy.
        ScoreMissingError: a score failed.
    """
    __tracebackhide__ = True
    scores = run.rows[0].scores
    missed = [gate for gate in run.gates() if _is_missed(run, gate, over_budget=spent is not None)]
    if missed:
        raise AssertionError(failure_message(run, missed))
    if spent is not None:
        pytest.skip(spent)
    failed = [
        f"{name} has no score, {CAUSES[score.cause]}: {one_line(score.reason or '', LONGEST)}"
        for name, score in scores.items()
        if score.cause is not None
    ]
    if failed:
        raise ScoreMissingError("\n".join(failed))


def _is_missed(run: Run, gate: GateResult, *, over_budget: bool) -> bool:
    """Tell whether a score is to blame for a gate that it did not pass.

    A failed one is told apart. What a policy made up is no score, and it is skipped with the rest
    where the budget is why.
    """
    score = run.rows[0].scores[gate.metric]
    if score.state is State.FAILED:
        return False
    return not over_budget if score.fallback else gate.passed is not True
