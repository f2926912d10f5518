from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone._internal.text import (
    MARK,
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


@given(st.text(st.characters()))  # lone surrogates too
def test_any_text_is_safe_afterwards(text: str) -> None:
    assert strip_controls(strip_controls(text)) == strip_controls(text)
    assert "\x1b" not in strip_controls(text)
    strip_controls(text).encode("utf-8")
    assert "\n" not in one_line(text)
    assert len(one_line(text, 10)) <= 10
