"""Check that answers are supported by their contexts. Needs no server and no key.

pytest examples/test_answers.py
"""

import pytest

from ragstone.integrations.pytest.plugin import EvaluateSample, assert_faithful, assert_sample

GUIDE = {
    "battery": "The battery charges to 50 percent in 22 minutes.",
    "camera": "The main camera has 50 megapixels.",
}


def answer(query: str) -> dict[str, object]:
    """Retrieve texts by keyword, and answer with them."""
    found = [text for key, text in GUIDE.items() if key in query.lower()]
    return {"query": query, "response": " ".join(found), "contexts": found}


def test_one_answer() -> None:
    """The contexts must support every claim of the response."""
    assert_faithful("It charges to 50 percent in 22 minutes.", list(GUIDE.values()))


@pytest.mark.parametrize("topic", GUIDE)
def test_every_topic(topic: str) -> None:
    """Several metrics, each with a threshold."""
    sample = answer(f"Tell me about the {topic}.")
    assert_sample(sample, {"faithfulness": 0.8, "hallucination": 0})


@pytest.mark.rag(metric="faithfulness", fail_under=0.8)
def test_marked(evaluate_sample: EvaluateSample) -> None:
    """The marker sets the threshold; the returned row has the scores."""
    row = evaluate_sample(answer("How good is the camera?"))
    assert row.scores["faithfulness"].value == 1
