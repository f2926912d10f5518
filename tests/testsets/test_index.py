from ragstone.testsets.documents import Chunk, Corpus, Document
from ragstone.testsets.index import ChunkIndex, terms_of


def corpus_of(*texts: str) -> Corpus:
    documents = {f"d{n}": Document(f"d{n}", text, "") for n, text in enumerate(texts)}
    chunks = [Chunk(f"c{n}", f"d{n}", 0, len(text), "", text) for n, text in enumerate(texts)]
    return Corpus(documents, tuple(chunks))


def test_the_chunk_with_the_rare_words_is_first():
    index = ChunkIndex(
        corpus_of(
            "The phone charges at 45 W.",
            "The phone survives water. The phone is small.",
            "Das Telefon lädt mit 45 W.",
            "電池は交換できません。",
            "---",
        )
    )
    for query, found in (
        ("How fast are phones charging?", ["c0", "c1"]),
        ("Water?", ["c1"]),
        ("LADT das Telefon?", ["c2"]),
        ("電池の交換", ["c3"]),
        ("nothing here", []),
        ("", []),
    ):
        hits = index.search(query, 5)
        assert [hit.chunk.id for hit in hits] == found, query
        assert all(hit.score > 0 for hit in hits)
    assert index.search("phone", 1)[0].chunk.id == "c1"
    assert index.search("phone", 0) == []
    assert [index.frequency(term) for term in terms_of("phones 45 unknown")] == [2, 2, 0]


def test_equal_scores_keep_the_order_of_the_corpus():
    index = ChunkIndex(corpus_of(*["The same words."] * 50))
    assert [hit.chunk.id for hit in index.search("words", 9)] == [f"c{n}" for n in range(9)]
    assert ChunkIndex(corpus_of("---", "...")).search("a", 3) == []
