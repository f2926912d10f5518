"""The offline judge finds the demo's injected errors, and does not cry wolf."""

import importlib.util
import sys
from pathlib import Path

import pytest

from ragstone.demo.questions import corpus, entries
from ragstone.demo.server import NOT_FOUND, WITHOUT_GUIDES, Found, Retriever, Service, make_service
from ragstone.errors import UnknownNameError

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "injected_errors.py"
QUERY = "How long is the warranty of a new phone?"


def test_chat_looks_at_what_search_finds(service: Service):
    answer = service.chat(QUERY, top_k=3, score_threshold=0.3)
    assert answer.found == service.search(QUERY, top_k=3, score_threshold=0.3)
    alone = service.chat(QUERY, mode="llm_only")
    assert (alone.response, alone.found) == (WITHOUT_GUIDES, ())


def test_an_unknown_retriever_is_told():
    with pytest.raises(UnknownNameError, match="did you mean 'worse'"):
        make_service("worst")


SPOKEN = {line.spoken: passage.id for passage in corpus() for line in passage.lines}


@pytest.fixture(scope="module")
def service() -> Service:
    return make_service()


@pytest.fixture(scope="module")
def retriever() -> Retriever:
    return Retriever(corpus())


def sentences(answer: str) -> list[str]:
    return [f"{piece}." for piece in answer.removesuffix(".").split(". ")]


def test_every_sentence_comes_from_a_passage_that_was_retrieved(service, retriever: Retriever):
    for entry in entries():
        found = retriever.search(entry.query)
        answer = service.answer(entry.query, found)
        if answer != NOT_FOUND:
            said = sentences(answer)
            assert 2 <= len(said) <= 4
            assert {SPOKEN[sentence] for sentence in said} <= {p.passage.id for p in found}
    query = "There is a blue snowflake next to the battery symbol. What does it mean?"
    said = "When it is colder than 0 °C, a blue snowflake is shown next to the battery symbol"
    assert service.answer(query, retriever.search(query)).startswith(said)


def test_a_passage_that_is_too_far_off_is_nothing_found(service: Service):
    assert service.answer("How long is the warranty?", ()) == NOT_FOUND
    assert service.answer("warranty", [Found(corpus()[0], 0.44)]) == NOT_FOUND
    assert service.answer("charging", [Found(corpus()[0], 0.46)]) != NOT_FOUND


def test_several_questions_are_answered_with_nothing_found(service: Service, retriever: Retriever):
    unanswerable = [entry for entry in entries() if not entry.point_ids]
    answers = [service.answer(e.query, retriever.search(e.query)) for e in unanswerable]
    assert 4 <= answers.count(NOT_FOUND) < len(unanswerable), "most, but as in life not all"


def test_most_injected_errors_are_found_and_few_others(monkeypatch) -> None:
    spec = importlib.util.spec_from_file_location("injected_errors", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)
    spec.loader.exec_module(script)
    result = script.count()
    assert result.wrong >= 25
    assert result.precision >= 0.8
    assert result.recall >= 0.8
