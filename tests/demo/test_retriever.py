import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.demo.questions import Entry, corpus, entries
from ragstone.demo.server import (
    NOT_FOUND,
    Index,
    Retriever,
    Service,
    Variant,
    content_words,
    make_service,
)
from ragstone.errors import UnknownNameError

QUERY = "How long does the Tarn 4 take to charge from empty to 50 percent?"
ANSWERABLE = [entry for entry in entries() if entry.point_ids]


@pytest.fixture(scope="module")
def retriever() -> Retriever:
    return Retriever(corpus())


def ids(retriever: Retriever, entry: Entry, threshold: float = 0.0) -> list[int]:
    found = retriever.search(entry.query, score_threshold=threshold)
    return [place.passage.id for place in found]


def hit_and_mrr(retriever: Retriever) -> tuple[float, float]:
    """Hit@5 and MRR@5 over the questions that something answers."""
    first = []
    for entry in ANSWERABLE:
        ranks = [n for n, found in enumerate(ids(retriever, entry), 1) if found in entry.point_ids]
        first.append(1 / ranks[0] if ranks else 0.0)
    return sum(value > 0 for value in first) / len(first), sum(first) / len(first)


def test_the_right_passage_comes_first(retriever: Retriever):
    search = retriever.search
    found = search(QUERY)
    assert found[0].passage.id == 101
    assert [place.score for place in found] == sorted((p.score for p in found), reverse=True)
    assert search(QUERY, top_k=2) == search(QUERY, top_k=10)[:2]
    mark = found[2].score
    assert list(search(QUERY, score_threshold=mark)) == [p for p in found if p.score >= mark]


def test_the_good_retriever_is_better_but_not_perfect(retriever: Retriever):
    hit, mrr = hit_and_mrr(retriever)
    assert 0.85 <= hit <= 0.96
    assert mrr < hit
    worse_hit, worse_mrr = hit_and_mrr(Retriever(corpus(), variant=Variant.WORSE))
    assert worse_hit <= hit - 0.1
    assert worse_mrr <= mrr - 0.2


ENTRIES = [
    (1, "Charging", "the phone charges fast"),
    (2, "Water", "the phone dries slowly"),
    (3, "Camera", "take pictures at night"),
    (4, "Sound", "music plays loud"),
]


def test_content_words_are_lower_case_once_each_and_without_stop_words():
    assert content_words("How do I charge the Charge-Pad, at 45 W?") == ("charge", "pad", "45", "w")


@each_case("query", ['"', "NEAR(", "a* OR b:", "title:", "__", "\x00", "\ud800", "🙂"])
def test_no_query_breaks_the_search(query: str):
    assert Index(ENTRIES).similarities(content_words(query)) == {}


def test_many_threads_may_search_at_once() -> None:
    index = Index([(number, "", f"word{number % 7} other") for number in range(1, 50)])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: index.similarities([f"word{n % 7}"]), range(400)))
    assert all(len(entries) == 7 for entries in found)


BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "injected_errors.py"


def test_an_unknown_retriever_is_told():
    with pytest.raises(UnknownNameError, match="did you mean 'worse'"):
        make_service("worst")


SPOKEN = {line.spoken: passage.id for passage in corpus() for line in passage.lines}


@pytest.fixture(scope="module")
def service() -> Service:
    return make_service()


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
