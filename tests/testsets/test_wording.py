from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st
from tests.testsets.test_documents import corpus_of

from ragstone.testsets.documents import Chunk, ChunkIndex, Corpus, Document
from ragstone.testsets.wording import (
    ALIKE,
    answer_in_query,
    near_duplicate,
    query_overlap,
    rarest_terms,
    similarity,
    vague_wording,
)


def test_near_duplicates() -> None:
    for one, other in (
        ("How long does the battery last?", "How long will the battery last"),
        ("Wie lange hält der Akku?", "wie lange hält der Akku"),
        ("電池はどれくらい持ちますか", "電池は どれくらい持ちますか？"),
    ):
        assert near_duplicate(one, ["Who pays?", other]) == other
        assert not {*rarest_terms(one, len)}.isdisjoint(rarest_terms(other, len))


def test_questions_that_differ_in_a_figure_a_negation_or_a_topic() -> None:
    for one, other in (
        ("How much is the Tarn 4?", "How much is the Tarn 5?"),
        ("Which phone can charge wirelessly?", "Which phone cannot charge wirelessly?"),
        ("How long does the battery last?", "How long does the guarantee last?"),
        ("What is it?", "Where was he?"),
    ):
        assert near_duplicate(one, [other]) is None


def test_wording_that_refers_to_a_text() -> None:
    for query in (
        "What does this document require?",
        "According to the text, who pays?",
        "Who are the persons mentioned above?",
        "Was steht in diesem Abschnitt?",
        "Que dit ce texte ?",
    ):
        assert vague_wording(query), query
    for query in (
        "Which documents do I need to travel?",
        "Who wrote the article about Orvane?",
        "What settings are listed below the volume slider?",
    ):
        assert vague_wording(query) is None, query


def test_an_answer_may_be_one_of_the_names_in_a_query() -> None:
    both = "Of the Pixa Max and the Pixa Mini, which weighs more?"
    for query, reference, wanted in (
        (both, "The Pixa Max.", False),
        (both, "The Pixa Max and the Pixa Mini.", True),
        ("Between Max and Mini, which is heavier?", "Max", False),
        ("Which town is as large as Oslo and has a port, and is Bergen?", "Bergen", True),
    ):
        assert answer_in_query(query, reference) is wanted, (query, reference)


def test_words_of_the_documents_are_no_typing_errors_of_each_other() -> None:
    one, other = "How do I upload the film?", "How do I unload the film?"
    index = ChunkIndex(corpus_of("How to upload a film.", "How to unload a film."))
    assert similarity(one, other) == 1
    assert similarity(one, other, index) < ALIKE
    assert similarity(one, "How do I uplaod the film?", index) == 1


def test_the_leak_is_the_share_of_the_rare_words() -> None:
    texts = [f"The phone number {n} is made of metal." for n in range(20)]
    texts[0] = "The Qualm coil of the phone charges at 15 W."
    chunks = tuple(Chunk(f"d#{n}", "d", 0, len(text), "", text) for n, text in enumerate(texts))
    documents = MappingProxyType({"d": Document("d", "", "")})
    index = ChunkIndex(Corpus(documents, chunks))
    query = "How fast does the Qualm coil of a phone fill?"  # rare: fast, qualm, coil, fill
    assert query_overlap(query, texts[:1], index) == 0.5
    assert query_overlap(query, texts[1:], index) == 0
    assert query_overlap("What is the phone?", texts, index) is None


@given(st.text(), st.text())
def test_no_text_breaks_a_check_and_a_question_duplicates_itself(one: str, other: str) -> None:
    vague_wording(one)
    assert near_duplicate(one, [one]) == one
    assert (near_duplicate(one, [other]) is None) == (near_duplicate(other, [one]) is None)
