from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.rankings.trec import fields_of

words = st.text("abé#1.", min_size=1, max_size=9)
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
    kept = [(n, parts) for n, parts in split if parts and not parts[0].startswith("#")]
    assert read(content.encode()) == [(n, [p[0], p[2]]) for n, p in kept if len(p) >= 3]
    short = fields_of(content.encode(), (0, 2), least=3).short.tolist()
    assert short == [n for n, parts in kept if len(parts) < 3]


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=9), st.sampled_from(" \t"))
def test_regular_lines_are_read_as_any_others(
    given_lines: list[tuple[str, str, str]], blank: str
) -> None:
    content = "".join(f"{blank.join(parts)}\n" for parts in given_lines).encode()
    assert read(content) == read(content.replace(b"\n", b" \n"))


def test_lines_of_other_lengths_are_never_read_as_one() -> None:
    assert read(b"a b c d e f\na b c\nd e f\n") == [
        (0, ["a", "c"]),
        (1, ["a", "c"]),
        (2, ["d", "f"]),
    ]
    assert read(b"a b c\nd\ne f g h i\n") == [(0, ["a", "c"]), (2, ["e", "g"])]


def test_begins_are_where_lines_can_be_read_again_from() -> None:
    content = b"# x\n\na b c\n  d e f\n"
    begins = fields_of(content, (0,), least=3).begins.tolist()
    assert [content[begin : begin + 1] for begin in begins] == [b"a", b"d"]


def test_nothing_is_no_line() -> None:
    assert fields_of(b"", (0,), least=1).count == 0
