import pytest

from ragstone.demo.corpus import corpus
from ragstone.demo.questions import entries
from ragstone.demo.retriever import Found, Retriever
from ragstone.demo.service import NOT_FOUND, Answerer

SPOKEN = {line.spoken: passage.id for passage in corpus() for line in passage.lines}


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(corpus())


@pytest.fixture(scope="module")
def retriever() -> Retriever:
    return Retriever(corpus())


def sentences(answer: str) -> list[str]:
    return [f"{piece}." for piece in answer.removesuffix(".").split(". ")]


def test_an_answer_says_lines_of_the_passages_in_other_words(
    answerer: Answerer, retriever: Retriever
):
    query = "There is a blue snowflake next to the battery symbol. What does it mean?"
    assert answerer.answer(query, retriever.search(query)).startswith(
        "When it is colder than 0 °C, a blue snowflake is shown next to the battery symbol"
    )


def test_every_sentence_comes_from_a_passage_that_was_retrieved(
    answerer: Answerer, retriever: Retriever
):
    for entry in entries():
        found = retriever.search(entry.query)
        answer = answerer.answer(entry.query, found)
        if answer != NOT_FOUND:
            said = sentences(answer)
            assert 2 <= len(said) <= 4
            assert {SPOKEN[sentence] for sentence in said} <= {p.passage.id for p in found}


def test_nothing_retrieved_is_nothing_found(answerer: Answerer):
    assert answerer.answer("How long is the warranty?", ()) == NOT_FOUND


def test_a_passage_that_is_too_far_off_is_nothing_found(answerer: Answerer):
    assert answerer.answer("warranty", [Found(corpus()[0], 0.44)]) == NOT_FOUND
    assert answerer.answer("charging", [Found(corpus()[0], 0.46)]) != NOT_FOUND


def test_several_questions_are_answered_with_nothing_found(
    answerer: Answerer, retriever: Retriever
):
    unanswerable = [entry for entry in entries() if not entry.point_ids]
    answers = [answerer.answer(e.query, retriever.search(e.query)) for e in unanswerable]
    assert 4 <= answers.count(NOT_FOUND) < len(unanswerable), "most, but as in life not all"
