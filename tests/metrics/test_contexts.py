from typing import Any

import pytest
from tests.cases import each_case

from ragstone.metrics import get
from ragstone.metrics.contexts import ContextPrecision, ContextRelevance, ContextUtilization
from ragstone.types.questions import GradeContexts, GradeSentences

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


@each_case(
    ("good", "value"),
    [([True, True, False], 1.0), ([False] * 3, 0.0), ([False, False, True], 1 / 3)],
)
async def test_what_comes_first_counts(checks: Any, good: list[bool], value: float) -> None:
    score = await checks(others=judge(good)).score(ContextPrecision())
    assert score.value == pytest.approx(value)


async def test_an_empty_reference_is_undefined(checks: Any) -> None:
    score = await checks().score(ContextPrecision(), reference=" ")
    assert (score.state, score.value) == ("undefined", None)
    score = await checks().score(ContextUtilization(), response="")
    assert score.reason == "the response is empty"


async def test_the_worked_example_of_context_utilization(checks: Any) -> None:
    """Relevant at the ranks 1 and 3: (1/1 + 2/3) / 2 = 5/6."""
    made = checks(others=judge([True, False, True]))
    score = await made.score(ContextUtilization(), reference=None)
    assert score.value == pytest.approx(5 / 6)
    texts = ("one", "two", "three")
    assert made.judge.asked == [GradeContexts(query="q", answer="What it says.", contexts=texts)]


def grades(question: GradeSentences) -> list[dict[str, bool]]:
    return [{"relevant": "hours" in sentence} for sentence in question.sentences]


async def test_the_worked_example_of_context_relevance(checks: Any) -> None:
    """One of three sentences matters; the rule of dashes is none: 1/3."""
    made = checks(others={"grade_sentences": grades})
    texts = ("It lasts 20 hours. It is blue.\n\n---\n", " ", "Hello.")
    score = await made.score(ContextRelevance(), contexts=[{"text": text} for text in texts])
    assert score.value == pytest.approx(1 / 3)
    assert score.detail == {"sentences": 3, "relevant": 1}
    sentences = ("It lasts 20 hours.", "It is blue.", "Hello.")
    assert made.judge.asked == [GradeSentences(query="q", sentences=sentences)]


async def test_without_sentences_it_is_undefined(checks: Any) -> None:
    for contexts in ((), ({"text": " \n"}, {"text": "---"})):
        made = checks(others={"grade_sentences": grades})
        score = await made.score(ContextRelevance(), contexts=contexts)
        assert score.reason == "there are no sentences in the contexts"
        assert (score.state, made.judge.asked) == ("undefined", [])


RANKING = ({"text": "first"}, {"text": "second"})
BARE = ({"id": "1"}, {"id": "2"})


async def graded(checks: Any, **changed: object) -> tuple[Any, Any]:
    made = checks(others={"grade_contexts": lambda q: [{"relevant": True} for _ in q.contexts]})
    score = await made.score(ContextUtilization(), **changed)
    return score, made.judge.asked


@each_case(
    ("changed", "texts"),
    [
        ({"ranking": RANKING}, ("first", "second")),
        ({"ranking": BARE}, ("one", "two", "three")),
        ({"ranking": None}, ("one", "two", "three")),
        ({"ranking": RANKING, "contexts": None}, ("first", "second")),
    ],
)
async def test_the_ranking_is_graded_where_it_has_texts(
    checks: Any, changed: dict[str, Any], texts: tuple[str, ...]
) -> None:
    _, (asked,) = await graded(checks, **changed)
    assert asked.contexts == texts


async def test_nothing_retrieved_is_0_and_nobody_is_asked(checks: Any) -> None:
    for changed in ({"ranking": ()}, {"ranking": None, "contexts": ()}):
        score, asked = await graded(checks, **changed)
        assert (score.value, score.detail["contexts"], asked) == (0.0, 0, [])
    score, asked = await graded(checks, ranking=BARE, contexts=())  # ids alone are not nothing
    assert (score.state, asked) == ("undefined", [])
    score, asked = await graded(checks, ranking=BARE, contexts=None)
    assert (score.state, score.reason) == ("undefined", "the retrieved documents have no text")
    assert asked == []


async def test_a_place_without_a_text_is_not_relevant_and_not_asked_about(checks: Any) -> None:
    contexts = [{"text": text} for text in ("one", " ", "three")]
    score, (asked,) = await graded(checks, ranking=None, contexts=contexts)
    assert asked.contexts == ("one", "three")
    assert score.detail["relevant_ranks"] in ("1", "1, 3", "3")
