from typing import Any

import pytest

from ragstone.metrics.contexts import ContextRelevance
from ragstone.types.questions import GradeSentences

CONTEXTS = ({"text": "It lasts 20 hours. It is blue.\n\n---\n"}, {"text": " "}, {"text": "Hello."})
SENTENCES = ("It lasts 20 hours.", "It is blue.", "Hello.")


def grades(question: GradeSentences) -> list[dict[str, bool]]:
    return [{"relevant": "hours" in sentence} for sentence in question.sentences]


async def test_the_worked_example(checks: Any) -> None:
    """One of three sentences matters; the rule of dashes is none: 1/3."""
    made = checks(others={"grade_sentences": grades})
    score = await made.score(ContextRelevance(), contexts=CONTEXTS)
    assert score.value == pytest.approx(1 / 3)
    assert score.detail == {"sentences": 3, "relevant": 1}
    assert made.judge.asked == [GradeSentences(query="q", sentences=SENTENCES)]


@pytest.mark.parametrize("contexts", [(), ({"text": ""},), ({"text": " \n"}, {"text": "---"})])
async def test_without_sentences_it_is_undefined(checks: Any, contexts: Any) -> None:
    made = checks(others={"grade_sentences": grades})
    score = await made.score(ContextRelevance(), contexts=contexts)
    assert (score.state, score.reason) == ("undefined", "there are no sentences in the contexts")
    assert made.judge.asked == []
