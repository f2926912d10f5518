import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone._internal.sentences import Sentence, split_sentences

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "sentences.json").read_text("utf-8"))
PROSE: dict[str, list[list[str]]] = GOLDEN["prose"]
LAYOUT: list[dict[str, str]] = GOLDEN["layout"]
UNSEEN: list[dict[str, str]] = GOLDEN["unseen"]
NO_SPACE = {"zh", "ja"}
# What a reader sees and no rule here does: a quotation carried on by its speaker's tag, a unit
# before another number, a year or country before a name, an abbreviation that is not listed.
KNOWN_MISSES = {
    '"Stop. Wait here," he said. She stopped.',
    '"Why not?" Peter asked. Nobody knew.',
    "He is 6 ft. tall. She is 5 ft. 4 in. tall.",
    "Gem. § 5 Abs. 2 S. 1 BGB gilt das. Das ist so.",
    "В 1812 г. Наполеон вошёл в Москву. Город сгорел.",
    "It happened in the U.S. President Lee spoke.",
}


def joined(language: str, sentences: list[str]) -> str:
    return ("" if language in NO_SPACE else " ").join(sentences)


def texts(sentences: tuple[Sentence, ...]) -> list[str]:
    return [sentence.text for sentence in sentences]


def ours(text: str) -> list[str]:
    return texts(split_sentences(text))


@each_case("language", PROSE)
def test_prose_is_split_as_a_reader_would(language: str) -> None:
    cases = {joined(language, case): case for case in PROSE[language]}
    missed = {text for text, case in cases.items() if ours(text) != case}
    assert missed == cases.keys() & KNOWN_MISSES


@pytest.mark.parametrize("cases", [LAYOUT, UNSEEN], ids=["layout", "unseen"])
def test_texts_are_split_as_a_reader_would(cases: list[dict[str, str]]) -> None:
    missed = {case["text"] for case in cases if ours(case["text"]) != case["sentences"]}
    assert missed == {case["text"] for case in cases} & KNOWN_MISSES


PIECES = [
    *".!?…。！？।॥؟۔։;:；「」『』“”«»\"'()（）[]【】*_-—#|>`~\n\r\t \u00a0\u2029\f\u200f\x00😀·،",
    *("Dr", "e.g", "z", "B", "U.S", "a.m", "1", "3.5", "12", "etc", "No", "Mai", "am", "word"),
    *("Word", "iPhone", "[1]", "```", "\n\n", "\r\n", "---", "ไทย", "中", "ა", "\ud800"),
    *(" " * 50, "x" * 70),
]


@given(st.text(st.characters()) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_covered_by_its_spans(text: str) -> None:
    covered, last = 0, 0
    for sentence in split_sentences(text):
        assert last <= sentence.start < sentence.end
        assert text[sentence.start : sentence.end] == sentence.text == sentence.text.strip()
        assert not text[last : sentence.start].strip()
        covered, last = covered + 1, sentence.end
    assert not text[last:].strip()
    assert bool(covered) is bool(text.strip())


@given(st.lists(st.sampled_from([s for c in PROSE["en"] for s in c]), min_size=1, max_size=8))
def test_paragraphs_are_split_independently(paragraphs: list[str]) -> None:
    apart = [text for paragraph in paragraphs for text in ours(paragraph)]
    assert ours("\n\n".join(paragraphs)) == apart


def test_a_sentence_is_a_plain_value() -> None:
    assert split_sentences(" One. Two") == (Sentence("One.", 1, 5), Sentence("Two", 6, 9))


HOSTILE = [
    *(".", '"', "(", "[", "[1,", "«", " ", "\n", "`", "*", "-", "|", "#", "\x00", "\ud800"),
    *("\u200f", ". ", '." ', "? $ ", ". ( ", " » ", "a. ", "1. ", "A.", "U.S. ", "etc. A ", "「"),
    *("「。", "（。）", "“a。", ".【", ".😀", "॥१", " །", "```\n", "~~~\n```\n", "1\n"),
    *("* * * ", "x（。）", "_ ", ".[1]"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str, huge: int) -> None:
    split_sentences(piece * (huge // len(piece)))
