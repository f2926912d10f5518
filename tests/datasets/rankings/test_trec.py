import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.rankings.source import Texts
from ragstone.datasets.rankings.trec import fields_of, numbers

words = st.text("abé#1.\0\x1b", min_size=1, max_size=9)
blanks = st.sampled_from([" ", "\t", "  ", " \t "])
lines = st.lists(words, max_size=7).flatmap(
    lambda parts: st.tuples(st.just(parts), st.lists(blanks, min_size=9, max_size=9))
)


def read(content: bytes, least: int = 3) -> list[tuple[int, list[str]]]:
    fields = fields_of(content, (0, 2), least=least)
    columns = [texts.strings() for texts in fields.texts]
    return list(zip(fields.lines.tolist(), map(list, zip(*columns, strict=True)), strict=True))


@given(st.lists(lines, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_fields_are_those_that_python_splits(
    given_lines: list[tuple[list[str], list[str]]], end: str, ended: bool
) -> None:
    texts = ["".join(map("".join, zip(gaps, parts, strict=False))) for parts, gaps in given_lines]
    content = end.join(texts) + (end if ended else "")
    split = [(number, text.split()) for number, text in enumerate(texts)]
    kept = [(n, parts) for n, parts in split if parts]
    assert read(content.encode()) == [(n, [p[0], p[2]]) for n, p in kept if len(p) >= 3]
    fields = fields_of(content.encode(), (0, 2), least=3, most=4)
    assert fields.odd.tolist() == [n for n, parts in kept if not 3 <= len(parts) <= 4]
    assert fields.lines.tolist() == [n for n, parts in kept if 3 <= len(parts) <= 4]


def test_a_control_character_is_part_of_its_field() -> None:
    fields = fields_of(b"q1 Q0 a\0b 1 722\x173 x\nq1 Q0 c\x1b 2 5\x0b x\n", (2, 4), least=6)
    documents, scores = fields.texts
    assert documents.strings() == ["a\0b", "c\x1b"]
    values, wrong = numbers(scores)
    assert (values[1], wrong.tolist()) == (5, [0])


def test_lines_of_other_lengths_are_never_read_as_one() -> None:
    found = read(b"a b c d e f\na b c\nd e f\n")
    assert found == [(0, ["a", "c"]), (1, ["a", "c"]), (2, ["d", "f"])]
    assert read(b"a b c\nd\ne f g h i\n") == [(0, ["a", "c"]), (2, ["e", "g"])]
    assert fields_of(b"", (0,), least=1).total == 0


def test_begins_are_where_lines_can_be_read_again_from() -> None:
    content = b"x\n\na b c\n  d e f\n"
    begins = fields_of(content, (0,), least=3).begins.tolist()
    assert [content[begin : begin + 1] for begin in begins] == [b"a", b"d"]


finite = st.floats(allow_nan=False, allow_infinity=False)
SPECIAL = "1.00000000000000001590e+100 inf -Infinity .5 5. -0 00012.5000 1111111111111111111111111"
written = st.one_of(
    finite.map(repr),
    st.integers(-(10**12), 10**20).map(str),
    st.builds("{:.{}f}".format, st.floats(-1e9, 1e9), st.integers(0, 20)),
    st.builds("{:.{}e}".format, finite, st.integers(0, 20)),
    st.from_regex(r"\A[+-]?[0-9]{0,12}\.?[0-9]{0,20}\Z"),
    st.sampled_from(SPECIAL.split()),
)
odd = st.text("0123456789.eE+-_ nainf", max_size=12)


def expected(text: str) -> float | None:
    """What Python reads, but for what only Python takes for a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in text or text != text.strip() else value


@pytest.mark.filterwarnings("ignore:overflow")
@given(st.lists(written | odd, max_size=20))
def test_each_number_is_the_one_that_python_reads(texts: list[str]) -> None:
    values, wrong = numbers(Texts.of(texts))
    singles, _ = numbers(Texts.of(texts), single=True)
    for place, text in enumerate(texts):
        value = expected(text)
        assert (value is None) == (place in wrong.tolist()), text
        if value is not None:
            assert values[place] == value, text
            assert math.copysign(1, values[place]) == math.copysign(1, value)
            assert np.float32(singles[place]) == np.float32(value), text


def test_a_number_half_way_between_two_singles_is_rounded_as_its_double() -> None:
    """Seventeen digits are read in two roundings, which could tip what stands in the middle."""
    value = 1.0 + 2.0**-24 - 6 * 2.0**-52
    for _ in range(13):
        value = math.nextafter(value, 2)
        texts = Texts.of([repr(value), f"{value:.17f}", f"{value:.18f}"])
        assert numbers(texts, single=True)[0].astype(np.float32).tolist() == [np.float32(value)] * 3


def test_what_is_not_a_number_is_reported() -> None:
    for text in ("nan", "", "-", ".", "1_0", "1,5", "0x10", "٣", "1e", "--1", "e5"):
        assert numbers(Texts.of(["1.5", text, "2"]))[1].tolist() == [1]
