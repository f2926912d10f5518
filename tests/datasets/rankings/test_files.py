"""What plain lines are read as is what Python's own JSON reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.datasets.rankings import files
from ragstone.datasets.rankings.files import LineReader, QueryLines
from ragstone.datasets.rankings.source import Problems

ids = st.text(max_size=12) | st.sampled_from(
    ['a", "b', "a", "doc-1", "é", "文書", '"]}', "}}", "\\"]
)
MANGLED = ["", '"', ", ", '", "', "}}", '"]}', "\n", "1", " ", "\\", "\t", '": 1, "']
separators = st.sampled_from([(", ", ": "), (",", ":")])


def line(query: str, known: Sequence[str] | Mapping[str, int], separators: tuple[str, str]) -> str:
    field = "relevance" if isinstance(known, Mapping) else "ranking"
    made = {"query_id": query, field: known}
    return json.dumps(made, ensure_ascii=False, separators=separators)


def read(content: bytes, *, graded: bool) -> QueryLines | None:
    field = "relevance" if graded else "ranking"
    return LineReader(field, {}, Problems(Path("x.jsonl"))).read_plain(content, 1)


def pairs(found: QueryLines) -> list[tuple[str, list[tuple[str, float]]]]:
    """Each query with its documents and their grades, 0 where there are none."""
    strings = iter(found.documents.strings())
    known = [0.0] * len(found.documents) if found.values is None else found.values.tolist()
    grades = iter(known)
    return [
        (query, [(next(strings), next(grades)) for _ in range(size)])
        for query, size in zip(found.queries, found.sizes.tolist(), strict=True)
    ]


def held(content: bytes, *, graded: bool) -> list[tuple[str, list[tuple[str, float]]]]:
    """The same, as Python's JSON reads it."""
    found: list[tuple[str, list[tuple[str, float]]]] = []
    for line in content.removesuffix(b"\n").split(b"\n"):
        value = json.loads(line, object_pairs_hook=list)
        (_, query), (_, held) = value
        found.append((query, held if graded else [(each, 0.0) for each in held]))
    return found


def same_as_json(content: bytes, *, graded: bool) -> None:
    found = read(content, graded=graded)
    if found is not None:
        assert pairs(found) == held(content, graded=graded)


rankings = st.lists(ids, max_size=4)
grades = st.dictionaries(ids, st.integers(-1, 11), max_size=4)


@pytest.mark.parametrize("known", [rankings, grades], ids=["rankings", "grades"])
@given(data=st.data(), separators=separators)
def test_lines_are_read_as_json_reads_them(
    known: st.SearchStrategy[Any], data: st.DataObject, separators: tuple[str, str]
) -> None:
    queries = data.draw(st.lists(st.tuples(ids, known), min_size=1, max_size=4))
    content = "\n".join(line(*each, separators) for each in queries).encode()
    same_as_json(content, graded=known is grades)


@pytest.mark.parametrize("known", [["a", "b", "c"], {"a": 1, "b": 0, "c": 2}])
@given(
    places=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 6)), min_size=1, max_size=3),
    put=st.sampled_from(MANGLED),
    separators=separators,
)
def test_what_is_not_json_is_never_read(
    known: list[str] | dict[str, int],
    places: list[tuple[int, int]],
    put: str,
    separators: tuple[str, str],
) -> None:
    """Bytes put in, or cut out, at any place: what is read still, Python's JSON reads too."""
    content = "\n".join(line(query, known, separators) for query in ("q1", "q2"))
    for place, cut in places:
        content = content[:place] + put + content[place + cut :]
    same_as_json(content.encode(), graded=isinstance(known, dict))


def test_lines_of_the_usual_shape_are_read() -> None:
    for separators in ((", ", ": "), (",", ":")):
        for known in (["a", "é"], {"a": 3, "b": 0}):
            content, graded = line("q", known, separators).encode() + b"\n", type(known) is dict
            found = read(content * 2, graded=graded)
            assert found
            grades = known if isinstance(known, dict) else dict.fromkeys(known, 0)
            assert pairs(found) == [("q", list(grades.items()))] * 2


@each_case(
    "text",
    [
        '"q", "relevance": {"a": 1, "b}}\n{"query_id": "r", "relevance": {": 1}}',
        '"q", "relevance": {}}',
        '", "relevance": {"a": 1}}',
        '"q", "relevance": {"}}',
        '"q", "relevance": {"a": 1}, "more": {"b": 1}}',
        '"q", "x": "y", "relevance": {"a": 1}}',
        '"q", "relevance": {"a\\u0020": 1}}',
        '"q", "relevance": {"a": 1}}\r\n',
    ],
)
def test_lines_of_another_shape_are_left_to_json(text: str) -> None:
    assert read(f'{{"query_id": {text}'.encode(), graded=True) is None
    first = line("q", ["a"], (", ", ": "))
    for ranking in ('["]', "[]", '["a" "b"]', '["a",, "b"]', '["a", "b", ]'):
        content = f'{first}\n{{"query_id": "r", "ranking": {ranking}}}\n'.encode()
        assert read(content, graded=False) is None


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_name_with_brackets_is_no_pattern(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run[1]{suffix}"
    frame = polars.DataFrame({"query_id": ["a", "a"], "document_id": ["1", "2"]})
    (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(path)
    (batch,) = files.read(path, Problems(path), {})
    assert (batch.queries, batch.documents.strings()) == (("a",), ["1", "2"])
