import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.datasets.formats.json import ENVELOPES
from ragstone.errors import InputError

Write = Callable[[str, str | bytes], Path]


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(path)
    return [str(problem) for problem in caught.value.problems]


def test_missing_is_not_empty(write: Write):
    rows = [
        {"query": "a", "response": "", "contexts": [], "point_ids": [], "key_facts": []},
        {"query": "b", "response": None, "contexts": None, "point_ids": None},
        {"query": "c", "contexts": "", "results": "", "point_ids": "", "x": None, "y": ""},
    ]
    empty, missing, texts = load(write("a.json", json.dumps(rows))).samples
    assert (empty.response, empty.contexts, empty.relevance) == ("", (), {})
    assert empty.reference_claims == ()
    assert (missing.response, missing.contexts, missing.relevance) == (None, None, None)
    assert (texts.contexts, texts.ranking, texts.relevance) == ((), (), {})
    assert texts.tags == {"y": ""}


@each_case("name", ENVELOPES)
def test_the_list_may_lie_in_an_object(write: Write, name: str):
    loaded = load(write("a.json", json.dumps({"version": 1, name: [{"query": "a"}]})))
    assert loaded.samples[0].query == "a"
    assert loaded.source.notes == ("beside the rows, left out: version",)


def test_tags_are_merged(write: Write):
    row = {"query": "a", "level": 1, "nested": {"x": [1]}, "metadata": {"level": 1, "by": "me"}}
    (sample,) = load(write("a.json", json.dumps([row]))).samples
    assert sample.tags == {"level": 1, "nested": '{"x":[1]}', "by": "me"}


EXPECTED = (
    "write a list of objects, or an object with one under samples, data, rows, tests, examples "
    "(other tools' files: test_cases, goldens, responses, results, resourceSpans)"
)


@each_case(
    ("content", "said"),
    [
        ("[]", "there are no rows; it needs at least one with a query"),
        ('"a"', f"the file holds a str, not a list; {EXPECTED}"),
        ('{"a": []}', f"the file's object holds no list of rows but 'a'; {EXPECTED}"),
        (
            '{"data": [], "rows": []}',
            f"the file's object holds lists under data and rows; {EXPECTED}",
        ),
        ('{"rows": [], "rows": []}', f"the name 'rows' comes twice in one object; {EXPECTED}"),
        ("[1,\n2", "row 2: this is no JSON: Expecting ',' delimiter (column 2)"),
        (
            '{"query": "a"}\n{"query": "b"}',
            (
                "row 2: this is no JSON: Extra data (column 1); if it has one object a line, "
                "name it .jsonl"
            ),
        ),
        ("[" * 100_000, "this JSON cannot be read: this is nested too deeply"),
        ('[{"query": NaN}]', "row 1, column query: nan is no finite number"),
        (
            '[{"query": "a", "query": "b"}]',
            "row 1, column query: the name 'query' comes twice in one object",
        ),
        (
            '[{"query": "a", "x": {"y": 1, "y": 2}}]',
            "row 1, column x: the name 'y' comes twice in one object",
        ),
        ('[{"query": "a", "x": -Infinity}]', "row 1, column x: -inf is no finite number"),
        (
            '[{"query": "a\\u0000"}]',
            "row 1, column query: the text holds a NUL (\\u0000); take it out",
        ),
        (
            '[{"query": ""}]',
            "row 1, column query: the query is blank; fill it in, or delete the row",
        ),
        (
            '[{"query": "a", "x\\ud800": 1}]',
            "the column 'x\\ud800': the text holds half a character ('\\ud800'); take it out",
        ),
        (
            '[{"query": "a", "point_ids": {"b": 1' + "0" * 400 + "}}]",
            "row 1, column point_ids: a number of 1329 bits is too large",
        ),
        ("[3]", "row 1: this is of type int, not an object with names and values"),
        ("[{}]", "no column is the query; the columns are none; say which: --map query=COLUMN"),
        (
            '[{"query": "a", "turns": [{}]}]',
            (
                "row 1, column turns: this is a conversation, but one sample is one turn; "
                "write one row a turn"
            ),
        ),
        (
            '[{"query": "a", "level": 1, "tags": {"level": 2}}]',
            "row 1, column tags: the tag 'level' is also a column, with another value",
        ),
        (
            '[{"query": "a", "id": 1}, {"query": "b", "id": "1"}]',
            "row 2, sample 1: the id '1' is that of row 1 too; give every row an id of its own",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write: Write, content: str, said: str):
    assert problems(write("a.json", content)) == [said]


def test_a_number_of_too_many_digits_is_told(write: Write):
    text = f'[{{"query": "q"}},\n{{"query": {"1" * 5000}}}]'
    said = "row 2: this JSON cannot be read: a number of more than 4,300 digits is too large"
    assert problems(write("a.json", text)) == [said]
    assert problems(write("a.jsonl", text[1:-1].replace(",", ""))) == [said]


@pytest.mark.parametrize("rows", [[{"query": "q"}, {"query": "r"}], {"query": "q"}])
def test_json_over_lines_is_told_once(write: Write, rows: object) -> None:
    text = json.dumps(rows, indent=2)
    assert problems(write("a.jsonl", f"\n{text}\n")) == [
        (
            "row 2: this is one JSON value over several lines; "
            "name the file .json, or write one object a line"
        )
    ]
    assert problems(write("a.jsonl", f"{text}\n{text}")) == [
        "row 1: the value that begins here goes over several lines; write one object a line"
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.yaml"])
def test_what_is_no_text_is_told_once(write: Write, name: str) -> None:
    said = "this is not text; name a file that a text editor can open"
    assert problems(write(name, bytes(range(1, 256)) * 4)) == [said]
    accented = "\n".join(["höchst größer"] * 9).encode("windows-1252")
    [said] = problems(write(name, accented))
    assert "is not UTF-8" in said
    assert "; save the file as UTF-8" in said


def test_blank_conversations_are_no_conversations(write: Write):
    rows = [{"query": "a", "messages": []}, {"query": "b", "messages": None}]
    samples = load(write("a.json", json.dumps(rows))).samples
    assert [sample.tags for sample in samples] == [{}, {}]


def test_lines_are_rows_and_every_bad_one_is_told(write: Write):
    lines = [
        b'\xef\xbb\xbf{"query": "a\xe2\x80\xa8b"}\r',
        b"",
        b'{"query": }',
        b"[1]",
        b'{"query": "\xff"}',
        b'{"query": null}',
        b'{"query": "z"} x',
    ]
    assert problems(write("a.jsonl", b"\n".join(lines))) == [
        "row 3: this is no JSON: Expecting value (column 11)",
        "row 4: this is of type list, not an object with names and values",
        (
            "row 5: byte 12 (0xff) is not UTF-8; save the file as UTF-8 "
            "(Excel: 'CSV UTF-8'; else: iconv -f windows-1252 -t utf-8)"
        ),
        "row 6, column query: there is no query; fill it in, or delete the row",
        "row 7: this is no JSON: Extra data (column 16)",
    ]
    assert load(write("b.ndjson", lines[0])).samples[0].query == "a\u2028b"


def test_a_deep_line_does_not_hide_the_others(write: Write):
    assert problems(write("a.jsonl", f'{"[" * 100_000}\n{{"query": 1, "query": 2}}')) == [
        "row 1: this JSON cannot be read: this is nested too deeply",
        "row 2, column query: the name 'query' comes twice in one object",
    ]


def test_an_empty_file_of_lines(write: Write):
    assert problems(write("a.jsonl", "\n\n")) == [
        "the file is empty; it needs at least one row with a query"
    ]


def test_each_row_may_use_a_name_of_its_own(write: Write):
    rows = [{"query": "a"}, {"question": "b", "query": None}, {"user_input": "c", "level": 1}]
    samples = load(write("a.json", json.dumps(rows))).samples
    assert [sample.query for sample in samples] == ["a", "b", "c"]
    assert [dict(sample.tags) for sample in samples] == [{}, {}, {"level": 1}]


def test_doubts_are_told_once_with_the_first_row(write: Write):
    lines = [
        {"query": "a"},
        {"query": "b", "question": "c", "response": 5},
        {"query": "d", "question": "e"},
        {"answer": "f", "output": "g"},
    ]
    path = write("a.jsonl", "\n".join(map(json.dumps, lines)))
    assert problems(path) == [
        "row 2: the columns 'query' and 'question' each mean query; choose: --map query=COLUMN",
        (
            "row 4: the columns 'answer' and 'output' each mean response; "
            "choose: --map response=COLUMN"
        ),
        (
            "row 4, column query: there is no query; the row has 'answer', 'output'; "
            "fill it in, or delete the row"
        ),
    ]
