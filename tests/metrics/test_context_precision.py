from typing import Any

import pytest

from ragstone.metrics import get
from ragstone.metrics.contexts import ContextPrecision
from ragstone.types.questions import GradeContexts

# ranks     1    2    3    4       P@2 = 1/2, P@4 = 2/4: their mean is 1/2
GOOD = [False, True, False, True]  # over all ranks (0 + 1/2 + 1/3 + 2/4) / 4 = 1/3
CONTEXTS = tuple({"text": f"text {number}"} for number in (1, 2, 3, 4))


def judge(good: list[bool]) -> dict[str, object]:
    return {"grade_contexts": [{"relevant": each} for each in good]}


@pytest.mark.parametrize(("weighting", "value"), [("rank", 1 / 2), ("mean", 1 / 3)])
async def test_the_worked_example(checks: Any, weighting: str, value: float) -> None:
    made = checks(others=judge(GOOD))
    score = await made.score(get(f"context_precision,weighting={weighting}"), contexts=CONTEXTS)
    assert score.value == pytest.approx(value)
    expected = {"contexts": 4, "relevant": 2, "relevant_ranks": "2, 4", "graded": "contexts"}
    assert score.detail == expected
    texts = ("text 1", "text 2", "text 3", "text 4")
    assert made.judge.asked == [GradeContexts(query="q", answer="What is right.", contexts=texts)]


@pytest.mark.parametrize(
    ("good", "value"),
    [([True, True, False], 1.0), ([False] * 3, 0.0), ([False, False, True], 1 / 3)],
)
async def test_what_comes_first_counts(checks: Any, good: list[bool], value: float) -> None:
    score = await checks(others=judge(good)).score(ContextPrecision())
    assert score.value == pytest.approx(value)


async def test_an_empty_reference_is_undefined(checks: Any) -> None:
    score = await checks().score(ContextPrecision(), reference=" ")
    assert (score.state, score.value) == ("undefined", None)
