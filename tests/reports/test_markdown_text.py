import re

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.cases import each_case

from ragstone._internal.text import one_line
from ragstone.reports.markdown import escape, folded, join_blocks, markdown_table, paragraph

MARKUP = {"html_inline", "html_block", "link_open", "image", "code_inline", "em_open", "s_open"}
ZERO = "\N{ZERO WIDTH SPACE}"


def tokens(text: str) -> list[Token]:
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    return [each for token in found for each in [token, *(token.children or [])]]


@given(st.text("ab@w |\\`*_[]()<>~$&;:/!#+-.1\n", min_size=1).filter(lambda text: text.strip()))
@example("a | b")
@example("a\\|b")
def test_a_cell_shows_what_it_was_given(text: str) -> None:
    found = tokens(f"| x |\n| --- |\n| {escape(text)} |\n")
    assert not {each.type for each in found} & MARKUP
    cells = [each for each in found if each.type == "inline"]
    assert len(cells) == 2
    shown = "".join(child.content for child in cells[1].children or [])
    assert " ".join(shown.replace(ZERO, "").split()) == one_line(text)


@each_case(
    ("text", "apart"),
    [
        ("ask @octocat", "@|octocat"),
        ("@org/team!", "@|org"),
        ("(@a)", "(@|a"),
        ("é@a", "@|a"),
        ("_@a", "@|a"),
        ("me@example.com", "me@|example"),
        ("#12", "#|12"),
        ("o/r#12", "r#|12"),
        ("!12", "!|12"),
        ("GH-12", "GH-|12"),
        ("https://github.com/o/r/issues/1", "https:|//"),
        ("www.example.com", "www|."),
    ],
)
def test_nobody_is_called_and_nothing_is_linked(text: str, apart: str) -> None:
    assert apart.replace("|", "&#8203;") in escape(text)
    assert apart.replace("|", "&#8203;") in folded(text, "x")


@each_case("text", ["hit@5", "f1@10, ndcg@10", "a: b", "C# and F#", "wow!"])
def test_what_calls_nobody_is_left_as_it_is(text: str) -> None:
    assert escape(text) == text


@each_case("words", ["# x", "1. x", "- x", "+ x", "1) x", "= x"])
def test_a_sentence_makes_no_heading_and_no_list(words: str) -> None:
    kinds = {each.type for each in tokens(f"a\n\n{paragraph(words)}\n")}
    assert kinds == {"paragraph_open", "paragraph_close", "inline", "text"}


def test_a_table_has_its_figures_to_the_right() -> None:
    assert (
        markdown_table(("a", "b"), [("1", "2")], figures={"b"})
        == "| a | b |\n| --- | ---: |\n| 1 | 2 |"
    )


def test_the_title_of_a_folded_part_is_no_html() -> None:
    text = folded("</summary><script>\n\nx", "**b**")
    assert text.splitlines()[1] == "<summary>&lt;/summary&gt;&lt;script&gt; x</summary>"
    assert [each.type for each in tokens(text)].count("html_block") == 2


def test_what_does_not_fit_is_left_out_from_the_end_and_counted() -> None:
    blocks = ["first", "é" * 100, "third" * 10]
    assert join_blocks(blocks, limit=1000) == "\n\n".join(blocks) + "\n"
    short = join_blocks(blocks, limit=100)
    assert short == "first\n\n**2 parts of this report did not fit**\n"
    assert len(join_blocks(blocks, limit=257).encode()) <= 257
    assert join_blocks(blocks, limit=10) == ""


def test_control_characters_become_marks() -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\ud800]", escape("\x1b[2J\x00\u202e\ud800\n"))
