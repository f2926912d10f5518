import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.cases import each_case

from ragstone.demo.questions import Entry, corpus, entries
from ragstone.demo.server import MOST_WORDS, Index, Retriever, Variant, content_words

QUERY = "How long does the Tarn 4 take to charge from empty to 50 percent?"
ANSWERABLE = [entry for entry in entries() if entry.point_ids]


@pytest.fixture(scope="module")
def good() -> Retriever:
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


def test_the_right_passage_comes_first(good: Retriever):
    found = good.search(QUERY)
    assert found[0].passage.id == 101
    assert [place.score for place in found] == sorted((p.score for p in found), reverse=True)
    assert good.search(QUERY, top_k=2) == good.search(QUERY, top_k=10)[:2]
    mark = found[2].score
    assert list(good.search(QUERY, score_threshold=mark)) == [p for p in found if p.score >= mark]
    assert found[0].score > 0.7
    strange = good.search("Which phone call did the baker make before the sourdough bread rose?")
    assert all(place.score < 0.4 for place in strange)


def test_a_threshold_leaves_most_answers_and_nothing_of_what_nothing_answers(good: Retriever):
    above = sum(bool(ids(good, entry, 0.7)) for entry in ANSWERABLE)
    assert 0.7 <= above / len(ANSWERABLE) <= 0.95
    unanswerable = [entry for entry in entries() if not entry.point_ids]
    assert sum(bool(ids(good, entry, 0.7)) for entry in unanswerable) <= 1


def test_the_good_retriever_is_better_but_not_perfect(good: Retriever):
    hit, mrr = hit_and_mrr(good)
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
    assert len(content_words(" ".join(f"w{n}" for n in range(500)))) == MOST_WORDS


@each_case("query", ['"', "NEAR(", "a* OR b:", "title:", "__", "\x00", "\ud800", "🙂"])
def test_no_query_breaks_the_search(query: str):
    assert Index(ENTRIES).similarities(content_words(query)) == {}


def test_rarity_is_the_inverse_document_frequency():
    index = Index(ENTRIES)
    assert index.rarity("camera") == pytest.approx(math.log(3.5 / 1.5))
    assert index.rarity("unheard") == pytest.approx(math.log(4.5 / 0.5))
    assert index.rarity("phone") == 1e-6, "half of the entries: log(1) is raised to the floor"


def test_a_similarity_follows_the_documented_formula():
    # One word, once, in a text of average length (every entry has 4 + 1 words or nearly).
    index = Index([(n, "", f"word{n} filler") for n in range(10)])
    assert index.similarities(["word3"]) == {3: pytest.approx(1 - math.exp(-2.6))}
    index = Index(ENTRIES)
    alone, beside = index.similarities(["camera"]), index.similarities(["camera", "unheard"])
    assert 0 < beside[3] < alone[3] < 1


def test_stems_and_titles_can_be_left_out():
    assert set(Index(ENTRIES).similarities(["charged"])) == {1}
    assert Index(ENTRIES, stem=False).similarities(["charged"]) == {}
    assert set(Index(ENTRIES).similarities(["camera"])) == {3}
    assert Index(ENTRIES, title_weight=0).similarities(["camera"]) == {}


def test_many_threads_may_search_at_once() -> None:
    index = Index([(number, "", f"word{number % 7} other") for number in range(1, 50)])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: index.similarities([f"word{n % 7}"]), range(400)))
    assert all(len(entries) == 7 for entries in found)
