import json
import re
from collections.abc import Sequence

from tests.cases import each_case
from tests.datasets.reading import Write, problems

GERMAN = ["Wie heißt die Straße?", "Größe fünf", "Was kostet das Café im Süden?", "Plain"]
RUSSIAN = ["Как дела?", "Хорошо, спасибо", "Где музей?"]
JAPANESE = ["元気ですか", "はい、元気です", "博物館はどこですか"]


def lines(queries: Sequence[str]) -> str:
    return "".join(f"{json.dumps({'query': q}, ensure_ascii=False)}\n" for q in queries)


@each_case("codec", ["latin-1", "windows-1252"])
def test_lines_of_another_encoding_are_reported(write: Write, codec: str) -> None:
    message, *others = problems(write("a.jsonl", lines(GERMAN).encode(codec)))
    assert message == (
        "line 1: byte 19 (0xdf) is not UTF-8; save the file as UTF-8 (Excel: 'CSV UTF-8'; else: "
        "iconv -f ENCODING -t utf-8)"
    )
    assert len(others) == 2


@each_case("name", ["a.jsonl", "a.json", "a.csv", "a.yaml"])
def test_what_is_not_text_is_reported_once(write: Write, name: str) -> None:
    message = "this is not text; use a text file"
    assert problems(write(name, bytes(range(1, 256)) * 4)) == [message]
    accented = "\n".join(["höchst größer"] * 9).encode("windows-1252")
    message, *_ = problems(write(name, accented))
    assert re.search("is not UTF-8.*; save the file as UTF-8", message)


@each_case("text", [lines(queries * 40) for queries in (GERMAN, RUSSIAN, JAPANESE)])
@each_case("name", ["a.jsonl", "a.json", "a.csv", "a.yaml"])
@each_case("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_two_and_four_bytes_a_letter_are_reported_with_and_without_a_mark(
    write: Write, text: str, name: str, codec: str
) -> None:
    seen = f"{codec[:6].upper()}{' or damaged' * codec.endswith('e')}"
    path = write(name, text.encode(codec))
    assert problems(path) == [f"this is {seen} text; save it as UTF-8 (Excel: 'CSV UTF-8')"]
