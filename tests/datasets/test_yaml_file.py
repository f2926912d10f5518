from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from ragstone.datasets import load
from ragstone.errors import InputError

Write = Callable[[str, str], Path]


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_list_of_objects(write: Write):
    text = """
    - query: What is it?
      point_ids: {5: 2, doc-a: 1}
      since: 2024-05-01
      contexts: [a, {text: b, id: 7}]
    - {query: 5, response: ""}
    """
    first, second = load(write("a.yaml", text)).samples
    assert first.relevance == {"5": 2.0, "doc-a": 1.0}
    assert first.tags == {"since": "2024-05-01"}
    assert [(context.text, context.id) for context in first.contexts or ()] == [
        ("a", None),
        ("b", "7"),
    ]
    assert (second.query, second.response) == ("5", "")


def test_rows_are_numbered_by_the_line_they_begin_on(write: Write):
    text = "about: [1, 2]\nrows:\n  - query: a\n\n  - id: x\n    query:\n"
    assert problems(write("a.yml", text)) == [
        "row 5, column query, sample x: there is no query; fill it in, or delete the row"
    ]


def test_aliases_and_merges_are_read(write: Write):
    text = "- &a {query: a, level: 1}\n- {<<: *a, query: b}\n"
    samples = load(write("a.yaml", text)).samples
    assert [(sample.query, sample.tags["level"]) for sample in samples] == [("a", 1), ("b", 1)]


def test_rows_that_are_merged_in(write: Write):
    text = "base: &a {rows: [{query: a}, {query: b}]}\n<<: *a\nrows: [{query: c}]\n"
    assert [sample.query for sample in load(write("a.yaml", text)).samples] == ["c"]
    merged = text.rpartition("rows:")[0]
    assert [sample.query for sample in load(write("b.yaml", merged)).samples] == ["a", "b"]


def bomb(merge: bool) -> str:
    lines = ["- &a0 {query: lol, x: lol}"]
    for level in range(1, 10):
        repeated = ", ".join([f"*a{level - 1}"] * 10)
        inside = f"<<: [{repeated}]" if merge else f"query: a, x: [{repeated}]"
        lines.append(f"- &a{level} {{{inside}}}")
    return "\n".join(lines)


@pytest.mark.parametrize("merge", [True, False])
def test_a_bomb_of_aliases_is_refused_at_once(write: Write, merge: bool):
    began = perf_counter()
    assert problems(write("a.yaml", bomb(merge))) == [
        "row 1: this is no plain YAML: its aliases repeat more than 10,000,000 characters"
    ]
    assert perf_counter() - began < 2


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_at_once(write: Write, opening: str):
    began = perf_counter()
    assert problems(write("a.yaml", opening * 100_000)) == [
        "row 1: 60 lists or objects lie in one another"
    ]
    assert perf_counter() - began < 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nothing", "the file is empty; it needs at least one row with a query"),
        (
            "- a: b: c",
            "row 1: this is no plain YAML: mapping values are not allowed in this context",
        ),
        (
            "- query: a\n  query: b",
            "row 2: this is no plain YAML: the name 'query' stands twice in one object",
        ),
        ("- &a [*a]", "row 1: this is no plain YAML: an alias stands inside what it repeats"),
        ("- query: *a", "row 1: this is no plain YAML: found undefined alias"),
        ("- query: .nan", "row 1, column query: nan is no finite number"),
        ("- query: a\n  no: b", "row 1: the name False is no text; put it in quotes"),
        (
            "- query: !!binary aGk=",
            "row 1, column query: a value of type bytes is no plain data",
        ),
        (
            "- query: a\n--- \n- query: b",
            "row 2: this is no plain YAML: but found another document",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write: Write, text: str, said: str):
    assert problems(write("a.yaml", text)) == [said]


def test_python_objects_are_never_made(write: Write, tmp_path: Path):
    made = tmp_path / "made"
    (said,) = problems(
        write("a.yaml", f"- query: !!python/object/apply:pathlib.Path.touch ['{made}']")
    )
    assert said.startswith("row 1: this is no plain YAML: could not determine a constructor")
    assert not made.exists()


@pytest.mark.parametrize(
    "value",
    ["!!timestamp soon", "!!int ''", "!!bool perhaps", "2024-13-45", "!!float a", "!!set a"],
)
def test_a_value_that_its_tag_does_not_fit_is_told(write: Write, value: str):
    (said,) = problems(write("a.yaml", f"- query: {value}"))
    assert "YAML" in said
