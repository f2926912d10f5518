import json

from tests.cases import each_case
from tests.datasets.reading import Write, problems

from ragstone.datasets import load
from ragstone.datasets.text_files import ENVELOPES


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
    row = {"query": "a", "level": 1, "nested": {"x": [1]}, "metadata": {"level": 1, "by": "me"}}
    loaded = load(write("a.json", json.dumps({"version": 1, name: [row]})))
    assert loaded.samples[0].tags == {"level": 1, "nested": '{"x":[1]}', "by": "me"}
    assert loaded.source.notes == ("ignored keys: version",)


@each_case(
    ("content", "message"),
    [
        ("[]", "there are no rows; add at least one row with a query"),
        ('{"rows": [], "rows": []}', "duplicate name 'rows' in an object; write a list of"),
        ("[1,\n2", "line 2: invalid JSON: Expecting ',' delimiter (column 2)"),
        ('{"query": "a"}\n["b"]', "line 2: expected a mapping of field names to values, got a li"),
        ("[" * 100_000, "cannot read this JSON: this is nested too deeply"),
        ('[{"query": NaN}]', "item 1, column query: there is no query; fill it in, or delete the "),
        ('[{"query": "a", "query": "b"}]', "item 1, column query: duplicate name 'query' in an"),
        ('[{"query": "a", "x": -Infinity}]', "item 1, column x: -inf is not a finite number"),
        ('[{"query": "a\\u0000"}]', "item 1, column query: the text contains a NUL character"),
        ('[{"query": "a", "x\\ud800": 1}]', "the column 'x\\ud800': the text contains half"),
        ('[{"query": "a", "x": 1, "tags": {"x": 2}}]', "item 1, column tags: the tag 'x' is al"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(write: Write, content: str, message: str):
    (found,) = problems(write("a.json", content))
    assert found.startswith(message)


def test_a_number_of_too_many_digits_is_reported(write: Write):
    text = f'[{{"query": "q"}},\n{{"query": {"1" * 5000}}}]'
    message = "line 2: cannot read this JSON: a number of more than 4,300 digits is too large"
    assert problems(write("a.json", text)) == [message]
    assert problems(write("a.jsonl", text[1:-1].replace(",", ""))) == [message]


@each_case("name", ["a.jsonl", "a.json"])
def test_objects_over_lines_may_follow_one_another(write: Write, name: str) -> None:
    rows = [json.dumps({"query": query}, indent=4) for query in "ab"]
    loaded = load(write(name, "\n" + "\r\n".join(rows) + "\n"))
    assert [sample.query for sample in loaded.samples] == ["a", "b"]
    assert loaded.source.notes == ("consecutive objects",)
    [cut] = problems(write(name, "\n".join(rows)[:-8]))
    assert cut.startswith("line 5: invalid JSON: ")
    [wrong] = problems(write(name, f'{rows[0]}\n{{\n"query": 5, "query": 6}}'))
    assert wrong.startswith("line 4, ")


def test_lines_are_rows_and_every_bad_one_is_reported(write: Write):
    lines = [b'\xef\xbb\xbf{"query": "a\xe2\x80\xa8b"}\r', b"", b'{"query": }', b"[1]"]
    lines += [b'{"query": "\xff"}', b'{"query": null}', b'{"query": "z"} x', b"[" * 100_000]
    found = problems(write("a.jsonl", b"\n".join(lines)))
    expected = [
        "line 3: invalid JSON: Expecting value (column 11)",
        "line 4: expected a mapping of field names to values, got a list",
        "line 5: byte 12 (0xff) is not UTF-8; save the file as UTF-8 (Excel: 'CSV UTF-8'; else: ",
        "line 6, column query: there is no query; fill it in, or delete the row",
        "line 7: invalid JSON: Extra data (column 16)",
        "line 8: cannot read this JSON: this is nested too deeply",
    ]
    assert [each.startswith(e) for each, e in zip(found, expected, strict=True)] == [True] * 6
    assert load(write("b.ndjson", lines[0])).samples[0].query == "a\u2028b"
    (message,) = problems(write("c.jsonl", "\n\n"))
    assert message == "the file is empty; add at least one row with a query"


def test_doubts_are_reported_once_with_the_first_row(write: Write):
    lines = [
        {"query": "a"},
        {"query": "b", "question": "c", "response": 5},
        {"query": "d", "question": "e"},
        {"answer": "f", "level": "g"},
    ]
    first, second = problems(write("a.jsonl", "\n".join(map(json.dumps, lines))))
    assert first.startswith("line 2: the columns 'query' and 'question' all match query; choose")
    assert second.startswith("line 4, column query: there is no query; the row has 'level', 'resp")


def test_what_is_almost_json_lines_is_reported_so(write: Write):
    comma, other = problems(write("a.jsonl", '{"query": "a"},\n{"query": "b"} x\n'))
    assert comma.endswith("Extra data (column 15); remove the comma after the object")
    assert other == "line 2: invalid JSON: Extra data (column 16)"
    rows = [{"query": "a"}, {"query": "b"}]
    first, *_ = problems(write("a.jsonl", f"\n{json.dumps(rows, indent=2)}\n"))
    assert first.startswith("line 2: invalid JSON: Expecting")
    assert first.endswith("; write one object per line")
