import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.cases import each_case

from ragstone.demo.retriever import MOST_WORDS, Index, content_words

ENTRIES = [
    (1, "Charging", "the phone charges fast"),
    (2, "Water", "the phone dries slowly"),
    (3, "Camera", "take pictures at night"),
    (4, "Sound", "music plays loud"),
]


def test_content_words_are_lower_case_once_each_and_without_stop_words():
    assert content_words("How do I charge the Charge-Pad, at 45 W?") == ("charge", "pad", "45", "w")


def test_content_words_end_somewhere():
    assert len(content_words(" ".join(f"w{n}" for n in range(500)))) == MOST_WORDS


@each_case("query", ['"', "NEAR(", "a* OR b:", "title:", "__", "\x00", "\ud800", "🙂"])
def test_no_query_breaks_the_search(query: str):
    assert Index(ENTRIES).similarities(content_words(query)) == {}


def test_rarity_is_the_inverse_document_frequency():
    index = Index(ENTRIES)
    assert index.rarity("camera") == pytest.approx(math.log(3.5 / 1.5))
    assert index.rarity("unheard") == pytest.approx(math.log(4.5 / 0.5))
    assert index.rarity("phone") == 1e-6, (
        "half of the entries hold it: log(1) is raised to the floor"
    )


def test_a_similarity_follows_the_documented_formula():
    # One word, once, in a text of average length (every entry has 4 + 1 words or nearly).
    index = Index([(n, "", f"word{n} filler") for n in range(10)])
    assert index.similarities(["word3"]) == {3: pytest.approx(1 - math.exp(-2.6))}


def test_a_word_that_nothing_holds_lowers_the_similarity():
    index = Index(ENTRIES)
    alone, beside = index.similarities(["camera"]), index.similarities(["camera", "unheard"])
    assert 0 < beside[3] < alone[3] < 1


def test_stemming_finds_other_forms_and_can_be_switched_off():
    assert set(Index(ENTRIES).similarities(["charged"])) == {1}
    assert Index(ENTRIES, stem=False).similarities(["charged"]) == {}


def test_titles_can_be_left_out():
    assert set(Index(ENTRIES).similarities(["camera"])) == {3}
    assert Index(ENTRIES, title_weight=0).similarities(["camera"]) == {}


def test_many_threads_may_search_at_once() -> None:
    index = Index([(number, "", f"word{number % 7} other") for number in range(1, 50)])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: index.similarities([f"word{n % 7}"]), range(400)))
    assert all(len(entries) == 7 for entries in found)
