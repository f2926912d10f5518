from hypothesis import given
from hypothesis import strategies as st

from ragstone._internal.text import count
from ragstone.reports.format import (
    CELL_UNITS,
    cell,
    decimal,
    ends,
    file_name,
    interval,
    milliseconds,
    percent,
    utf16_units,
)

ANY_TEXT = st.text(st.characters())  # lone surrogates too


def test_a_long_cell_is_cut_with_a_mark_that_says_so() -> None:
    assert cell("x" * CELL_UNITS) == "x" * CELL_UNITS
    cut = cell("😀" * 20_000)
    assert utf16_units(cut) <= CELL_UNITS
    assert cut.endswith("😀… (cut, 20,000 characters)")
    assert cell("<r>&</r>") == "<r>&</r> ", "it is no XML of the writer's own"
    assert not cell("<r>" + "x" * (CELL_UNITS - 7) + "</r>").endswith("</r>")


def test_file_names_lose_what_file_systems_refuse() -> None:
    assert file_name("Hit@K") == "Hit@K"
    assert file_name('a/b\\c:d*e?"f<g>h|i') == "a_b_c_d_e__f_g_h_i"
    assert file_name("../../etc/passwd") == "_.._etc_passwd"
    assert file_name(" .. ") == "_"
    assert len(file_name("x" * 500)) == 50


@given(ANY_TEXT)
def test_any_text_is_safe_afterwards(text: str) -> None:
    assert "\x1b" not in cell(text)
    assert utf16_units(cell(text)) <= CELL_UNITS
    assert "/" not in file_name(text)
    assert file_name(text).strip()


def test_numbers_that_there_are() -> None:
    assert decimal(0.87654) == "0.8765"
    assert decimal(-0.0) == "0.0000"
    assert interval((0.5, 1)) == "0.5000 – 1.0000"
    assert ends((0.6649, 0.9982)) == "0.66 to 1.00"
    assert percent(0.0171) == "1.7%"
    assert milliseconds(1234.5) == "1,234 ms"
    assert [decimal(None), interval(None), milliseconds(None)] == ["–"] * 3
    assert count(1, "row") == "1 row"
    assert count(1200, "row") == "1,200 rows"
