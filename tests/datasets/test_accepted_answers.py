import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load, samples_of, table
from ragstone.datasets.export import WRITERS, losses, write_samples
from ragstone.datasets.values import accepted_answers
from ragstone.errors import InputError
from ragstone.types.sample import Sample

Write = Callable[..., Path]


@each_case(
    ("value", "expected"),
    [
        ("one", "one"),
        ("", ""),
        (1890, "1890"),
        (["one", "two"], ("one", "two")),
        ([1890, "in 1890", "1890"], ("1890", "in 1890")),
        ([], None),
        ('["one", "two"]', ("one", "two")),
        (" ['one', 'two'] ", ("one", "two")),
        ("('one', 'two')", ("one", "two")),
        ("[1890, 1891]", ("1890", "1891")),
        ("[]", None),
        ({"text": ["one", "two"], "answer_start": [3, 9]}, ("one", "two")),
        ("{'text': ['one'], 'answer_start': [3]}", ("one",)),
        ({"text": [], "answer_start": []}, None),
        ("[1] the text", "[1] the text"),
        ("[see page 3]", "[see page 3]"),
        ("(1, 2)", "(1, 2)"),
        ("{'city': 'Bergen'}", "{'city': 'Bergen'}"),
    ],
)
def test_a_list_is_accepted_answers(value: object, expected: object) -> None:
    assert accepted_answers(value) == expected  # type: ignore[arg-type]


@each_case(
    ("value", "seen"),
    [
        (["one", " "], "item 2 is blank, not text"),
        (["one", None], "item 2 is null, not text"),
        ([["one"], "two"], "item 1 is a list, not text"),
        ('["one", {}]', "item 2 is an object, not text"),
        ({"city": "Bergen"}, "this is an object, not text"),
        ("['one' two']", "looks like a list but cannot be parsed"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(value: object, seen: str) -> None:
    with pytest.raises(ValueError, match=seen):
        accepted_answers(value)  # type: ignore[arg-type]


def test_a_refusal_names_the_cell(write: Write) -> None:
    lines = [{"query": "a", "reference": ["x", ""]}, {"query": "b", "reference": ["y", None]}]
    path = write("a.jsonl", "\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError) as caught:
        load(path)
    assert "line 1, column reference: item 2 is blank, not text" in str(caught.value)
    assert "line 2, column reference: item 2 is null, not text" in str(caught.value)


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
    write: Write, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    if not in_memory:
        monkeypatch.setattr(table, "IN_MEMORY", -1)
    lines = [{"query": "a", "answer": "x"}, {"query": "b", "answer": ["y", "z"]}]
    dataset = load(write("a.jsonl", "\n".join(map(json.dumps, lines))))
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


def test_a_mapped_column_is_nothing_else() -> None:
    (sample,) = samples_of([{"query": "a", "answer": "x"}], columns={"reference": "answer"}).samples
    assert (sample.reference, sample.response) == ("x", None)


@pytest.mark.parametrize("suffix", WRITERS)
def test_an_exported_reference_comes_back(tmp_path: Path, suffix: str) -> None:
    references = (
        ("one", 'two, "three"'),
        "four",
        '["a text", "like a list"]',
        "[1] the text",
        None,
    )
    samples = [
        Sample(id=f"q{number}", query="q", reference=reference)
        for number, reference in enumerate(references)
    ]
    path = tmp_path / f"a{suffix}"
    write_samples(samples, path, suffix=suffix)
    found = load(path).samples
    assert tuple(sample.reference for sample in found) == references
    assert losses(samples, found) == ()
