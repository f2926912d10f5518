import re
from pathlib import Path

from ragstone.demo.questions import Flaw, Line, Passage, corpus, write_manuals
from ragstone.testsets.documents import read_documents


def lines() -> list[tuple[Passage, Line]]:
    return [(passage, line) for passage in corpus() for line in passage.lines]


def test_there_are_enough_passages_with_ids_and_source_files():
    passages = corpus()
    assert len(passages) >= 48
    assert len({passage.id for passage in passages}) == len(passages)
    assert 8 <= len({passage.source for passage in passages}) <= 12
    assert all(3 <= len(passage.lines) <= 5 for passage in passages)


def test_the_manuals_have_a_section_for_each_passage(tmp_path: Path):
    write_manuals(tmp_path / "manuals")
    chunks = read_documents(tmp_path / "manuals").chunks
    assert len(chunks) == len(corpus())
    assert all(any(passage.text in chunk.text for chunk in chunks) for passage in corpus())


def test_every_line_is_one_sentence_that_is_said_once():
    for _, line in lines():
        for sentence in (line.text, line.spoken):
            assert re.fullmatch(r"[A-Z0-9].*[^.]\.", sentence), sentence
            assert not re.search(r"[.!?]\s", sentence), sentence
    spoken = [line.spoken for _, line in lines()]
    assert len(set(spoken)) == len(spoken)


def test_every_kind_of_error_is_injected_several_times():
    assert not [line for _, line in lines() if line.paraphrase == line.text]
    for flaw in Flaw:
        assert sum(line.error is flaw for _, line in lines()) >= 4
