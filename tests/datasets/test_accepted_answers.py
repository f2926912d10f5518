import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each_case
from tests.datasets.reading import Write, each_of, expect, lines

from ragstone.datasets import load, samples_of, table
from ragstone.datasets.export import WRITERS, losses, write_samples
from ragstone.datasets.values import accepted_answers
from ragstone.errors import InputError
from ragstone.types.sample import Sample


@each_case(
    ("value", "expected"),
    each_of(
        ("one", ["one"]),
        ("", [""]),
        ("1890", [1890]),
        (("one", "two"), [["one", "two"], '["one", "two"]', " ['one', 'two'] ", "('one', 'two')"]),
        (("one", "two"), [{"text": ["one", "two"], "answer_start": [3, 9]}]),
        (("1890", "in 1890"), [[1890, "in 1890", "1890"]]),
        (("1890", "1891"), ["[1890, 1891]"]),
        (("one",), ["{'text': ['one'], 'answer_start': [3]}"]),
        (None, [[], "[]", {"text": [], "answer_start": []}]),
    ),
)
def test_a_list_is_accepted_answers(value: Any, expected: object) -> None:
    assert accepted_answers(value) == expected
    for same in ("[1] the text", "[see page 3]", "(1, 2)", "{'city': 'Bergen'}"):
        assert accepted_answers(same) == same


def test_the_reading_says_how_many_have_several(write: Write) -> None:
    rows = [("a", '["x", "y"]'), ("b", "z"), ("c", "['x', 'y', 'z']"), ("d", '["x"]')]
    text = StringIO()
    csv.writer(text).writerows([("query", "reference"), *rows])
    dataset = load(write("a.csv", text.getvalue()))
    assert [sample.reference for sample in dataset.samples] == [
        ("x", "y"), "z", ("x", "y", "z"), "x",
    ]  # fmt: skip
    assert dataset.source.notes == ("2 references have several accepted answers",)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_column_answer_with_lists_is_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    if not in_memory:
        monkeypatch.setattr(table, "IN_MEMORY", -1)
    rows = [{"query": "a", "answer": "x"}, {"query": "b", "answer": ["y", "z"]}]
    dataset = lines(tmp_path / "a.jsonl", *rows)
    assert [(s.response, s.reference) for s in dataset.samples] == [(None, "x"), (None, ("y", "z"))]
    assert dataset.source.notes == (
        "column 'answer' is read as the reference, because its values are lists",
        "1 reference has several accepted answers",
    )


@each_case("columns", [{"response": "answer"}, {}])
def test_it_is_not_if_there_is_a_reference(columns: dict[str, str]) -> None:
    row = {"query": "a", "answer": ["x", "z"]} | ({} if columns else {"ground_truth": "y"})
    with pytest.raises(InputError, match="column answer: this is a list, not text"):
        samples_of([row], columns=columns)


@each_case("suffix", WRITERS)
def test_an_exported_reference_comes_back(tmp_path: Path, suffix: str) -> None:
    references = (("one", 'two, "three"'), "four", '["a text", "like a list"]', "[1] a text", None)
    samples = [Sample(id=f"q{n}", query="q", reference=each) for n, each in enumerate(references)]
    path = tmp_path / f"a{suffix}"
    write_samples(samples, path, suffix=suffix)
    found = load(path).samples
    assert tuple(sample.reference for sample in found) == references
    assert losses(samples, found) == ()


def test_what_is_no_list_of_texts_is_refused(tmp_path: Path) -> None:
    for value, seen in (
        (["one", " "], "item 2 is blank, not text"),
        (["one", None], "item 2 is null, not text"),
        ([["one"], "two"], "item 1 is a list, not text"),
        ('["one", {}]', "item 2 is an object, not text"),
        ({"city": "Bergen"}, "this is an object, not text"),
        ("['one' two']", "looks like a list but cannot be parsed"),
    ):
        expect(accepted_answers, value, seen)
    with pytest.raises(InputError, match="line 1, column reference: item 2 is blank, not text"):
        lines(tmp_path / "a.jsonl", {"query": "a", "reference": ["x", ""]})
