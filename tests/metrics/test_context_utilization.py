from typing import Any

import pytest

from ragstone.metrics.contexts import ContextUtilization
from ragstone.types.questions import GradeContexts


async def test_the_worked_example(checks: Any) -> None:
    """Relevant at the ranks 1 and 3: (1/1 + 2/3) / 2 = 5/6."""
    grades = [{"relevant": good} for good in (True, False, True)]
    made = checks(others={"grade_contexts": grades})
    score = await made.score(ContextUtilization(), reference=None)
    assert score.value == pytest.approx(5 / 6)
    texts = ("one", "two", "three")
    assert made.judge.asked == [GradeContexts(query="q", answer="What it says.", contexts=texts)]


async def test_an_empty_response_is_undefined(checks: Any) -> None:
    score = await checks().score(ContextUtilization(), response="")
    assert score.reason == "the response is empty"
