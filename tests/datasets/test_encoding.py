import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.errors import InputError

Write = Callable[[str, str | bytes], Path]
GERMAN = ["Wie heißt die Straße?", "Größe fünf", "Was kostet das Café im Süden?", "Plain"]
RUSSIAN = ["Как дела?", "Хорошо, спасибо", "Где музей?"]
JAPANESE = ["元気ですか", "はい、元気です", "博物館はどこですか"]


def lines(queries: Sequence[str]) -> str:
    return "".join(f"{json.dumps({'query': q}, ensure_ascii=False)}\n" for q in queries)


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as refused:
        load(path)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("codec", ["latin-1", "windows-1252"])
def test_lines_of_another_encoding_are_reported(write: Write, codec: str) -> None:
    message, *others = problems(write("a.jsonl", lines(GERMAN).encode(codec)))
    assert message == (
        "line 1: byte 19 (0xdf) is not UTF-8; save the file as UTF-8 (Excel: 'CSV UTF-8'; else: "
        "iconv -f ENCODING -t utf-8)"
    )
    assert len(others) == 2


@each_case("queries", [GERMAN, RUSSIAN, JAPANESE])
@each_case("name", ["a.jsonl", "a.json", "a.csv", "a.yaml"])
@each_case(
    ("codec", "seen"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16 or damaged"),
        ("utf-16-be", "UTF-16 or damaged"),
        ("utf-32", "UTF-32"),
    ],
)
def test_two_and_four_bytes_a_letter_are_reported_with_and_without_a_mark(
    write: Write, queries: list[str], name: str, codec: str, seen: str
) -> None:
    path = write(name, lines(queries * 400).encode(codec))
    assert problems(path) == [f"this is {seen} text; save it as UTF-8 (Excel: 'CSV UTF-8')"]


def test_some_broken_lines_among_good_ones_are_reported_each(write: Write) -> None:
    mixed = lines(GERMAN).encode() + lines(GERMAN).encode("latin-1")
    message = problems(write("a.jsonl", mixed))
    assert [each.partition(":")[0] for each in message] == ["line 5", "line 6", "line 7"]
    assert all(each.endswith("iconv -f ENCODING -t utf-8)") for each in message)


def test_one_broken_line_does_not_hide_other_problems(write: Write) -> None:
    text = b'{"query": "\xe9t\xe9"}\n{"query": }\n'
    message = problems(write("a.jsonl", text))
    assert [each.partition(":")[0] for each in message] == ["line 1", "line 2"]
