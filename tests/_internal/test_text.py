import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from tests.cases import each_case

from ragstone._internal.text import (
    MARK,
    format_validation_errors,
    one_line,
    public_url,
    quoted,
    strip_controls,
)


@each_case("safe", ["a\tb\nc", "日本語", "👩‍🔬", "עברית\u200f", "[bold]x[/bold]"])
def test_letters_of_every_script_stay_and_controls_become_marks(safe: str) -> None:
    assert strip_controls(safe) == safe
    assert strip_controls(f"{safe}\x00\x1b\x7f\x9b\u202e\u2066\ud800") == safe + MARK * 7


def test_one_line_collapses_white_space_and_cuts() -> None:
    assert strip_controls("a\r\nb\rc") == "a\nb\nc"
    assert one_line(" a\n\n b\u2028c ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
    assert quoted(" a\r\n\tb\x1b[2J ") == f"a b{MARK}[2J"
    assert len(quoted("x" * 5000)) == 200


@each_case(
    ("url", "shown"),
    [
        ("http://h:8000/a/b?key=abc", "http://h:8000/a/b"),
        ("https://user:p@ss@h/a", "https://h/a"),
        ("http://user:pa/ss@h/a", "http://..."),
        ("http://h/@me/a", "http://h/@me/a"),
        ("rag.yaml", "rag.yaml"),
        ("http:/u:secret@h/x", "...@h/x"),
        ("u:secret@h", "...@h"),
        ("notes@home.csv", "notes@home.csv"),
    ],
)
def test_public_url(url: str, shown: str) -> None:
    assert public_url(url) == shown


class Point(BaseModel):
    x: int
    y: tuple[int, ...] = ()


def test_faults_are_one_line_with_place_reason_and_what_was_seen() -> None:
    with pytest.raises(ValidationError) as raised:
        Point.model_validate({"x": "a", "y": [1, "b" * 500]})
    told = format_validation_errors(raised.value)
    first, second = told.split("; ")
    assert first == "x: must be a whole number, got 'a'"
    assert second.startswith("y.1: ")
    assert len(second) < 200
    assert "\n" not in told
    assert "http" not in told


@given(st.text(st.characters()))  # lone surrogates too
def test_any_text_is_safe_afterwards(text: str) -> None:
    assert strip_controls(strip_controls(text)) == strip_controls(text)
    assert "\x1b" not in strip_controls(text)
    strip_controls(text).encode("utf-8")
    assert "\n" not in one_line(text)
    assert len(one_line(text, 10)) <= 10
