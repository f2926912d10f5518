from pathlib import Path

import pytest
from tests.testsets.question_server import write_documents

from ragstone.testsets.documents import read_documents
from ragstone.testsets.index import ChunkIndex, terms_of
from ragstone.testsets.known_items import known_items


@pytest.fixture
def index(tmp_path: Path) -> ChunkIndex:
    return ChunkIndex(read_documents(write_documents(tmp_path, topics=4, parts=6)))


def test_a_query_has_words_of_its_chunk_and_every_document_its_share(index: ChunkIndex) -> None:
    items = known_items(index, 12, seed=1)
    assert len({item.query for item in items}) == 12
    assert {item.span.document for item in items} == set(index.corpus.documents)
    for item in items:
        terms = set(terms_of(item.query))
        assert 2 <= len(terms) <= 4
        holders = [c for c in index.corpus.chunks if terms <= set(terms_of(c.text))]
        assert {chunk.id for chunk in holders} <= {chunk.id for chunk in item.relevant}
        assert item.span.text(index.corpus).strip()
    assert items == known_items(index, 12, seed=1) != known_items(index, 12, seed=2)


def test_there_may_be_fewer_words_than_queries(index: ChunkIndex) -> None:
    assert 12 < len(known_items(index, 10_000)) < 1000
