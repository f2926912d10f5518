import re
from pathlib import Path

import pytest

from ragstone.demo.questions import Flaw, Line, Passage, corpus, write_manuals
from ragstone.testsets.documents import read_documents

SPELLED = {
    word: str(number)
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), start=2
    )
} | {"threefold": "3", "twice": "2"}


def numbers(text: str) -> set[str]:
    """The numbers of a text, however they are written, without those of the phones' names."""
    plain = re.sub(r"Tarn \d", "", text).replace("half an hour", "30").replace("half a year", "6")
    found = set(re.findall(r"\d+(?:[.,]\d+)*", plain))
    return found | {SPELLED[word] for word in re.findall(r"\w+", plain.lower()) if word in SPELLED}


def lines() -> list[tuple[Passage, Line]]:
    return [(passage, line) for passage in corpus() for line in passage.lines]


def test_there_are_enough_passages_with_ids_and_source_files():
    passages = corpus()
    assert len(passages) >= 48
    assert len({passage.id for passage in passages}) == len(passages)
    assert 8 <= len({passage.source for passage in passages}) <= 12
    assert all(passage.source.endswith(".pdf") for passage in passages)
    assert all(3 <= len(passage.lines) <= 5 for passage in passages)


def test_the_manuals_have_a_section_for_each_passage(tmp_path: Path):
    write_manuals(tmp_path / "manuals")
    chunks = read_documents(tmp_path / "manuals").chunks
    assert len(chunks) == len(corpus())
    assert all(any(passage.text in chunk.text for chunk in chunks) for passage in corpus())


def test_passages_are_in_the_order_of_their_ids():
    ids = [passage.id for passage in corpus()]
    assert ids == sorted(ids)


def test_every_line_is_one_sentence():
    for _, line in lines():
        for sentence in (line.text, line.spoken):
            assert re.fullmatch(r"[A-Z0-9].*[^.]\.", sentence), sentence
            assert not re.search(r"[.!?]\s", sentence), sentence


def test_no_sentence_is_said_twice():
    spoken = [line.spoken for _, line in lines()]
    assert len(set(spoken)) == len(spoken)


def test_a_paraphrase_is_not_a_copy():
    assert not [line for _, line in lines() if line.paraphrase == line.text]


def test_a_correct_paraphrase_brings_no_number_that_its_passage_lacks():
    for passage, line in lines():
        if line.error is None:
            strange = numbers(line.spoken) - numbers(passage.text)
            assert not strange, (passage.id, line.paraphrase, strange)


def test_a_wrong_number_is_one_that_its_passage_lacks():
    wrong = [(passage, line) for passage, line in lines() if line.error is Flaw.WRONG_NUMBER]
    for passage, line in wrong:
        assert numbers(line.spoken) - numbers(passage.text), (passage.id, line.paraphrase)


@pytest.mark.parametrize("flaw", list(Flaw))
def test_every_kind_of_error_is_injected_several_times(flaw: Flaw):
    assert sum(line.error is flaw for _, line in lines()) >= 4


def test_an_injected_line_says_something_else_than_the_manual():
    assert all(line.paraphrase for _, line in lines() if line.error)
