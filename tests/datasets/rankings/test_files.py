"""What plain lines are read as is what Python's own JSON reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

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
separators = st.sampled_from([(", ", ": "), (",", ":")])
MANGLED = [b"", b'"', b", ", b'", "', b"}}", b'"]}', b"\n", b"1", b" ", b"\\", b"\t", b'": 1, "']


def ranking_line(query: str, ranking: Sequence[str], separators: tuple[str, str]) -> str:
    line = {"query_id": query, "ranking": ranking}
    return json.dumps(line, ensure_ascii=False, separators=separators)


def qrels_line(query: str, known: Mapping[str, int], separators: tuple[str, str]) -> str:
    line = {"query_id": query, "relevance": known}
    return json.dumps(line, ensure_ascii=False, separators=separators)


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


@given(st.lists(st.tuples(ids, st.lists(ids, max_size=4)), min_size=1, max_size=4), separators)
def test_rankings_are_read_as_json_reads_them(
    queries: list[tuple[str, list[str]]], separators: tuple[str, str]
) -> None:
    content = "\n".join(ranking_line(*each, separators) for each in queries).encode()
    found = read(content, graded=False)
    if found is not None:
        assert pairs(found) == held(content, graded=False)


@given(
    st.lists(
        st.tuples(ids, st.dictionaries(ids, st.integers(-1, 11), max_size=4)),
        min_size=1,
        max_size=4,
    ),
    separators,
)
def test_grades_are_read_as_json_reads_them(
    queries: list[tuple[str, dict[str, int]]], separators: tuple[str, str]
) -> None:
    content = "\n".join(qrels_line(*each, separators) for each in queries).encode()
    found = read(content, graded=True)
    if found is not None:
        assert pairs(found) == held(content, graded=True)


@pytest.mark.parametrize("graded", [False, True])
@given(
    places=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 6)), min_size=1, max_size=3),
    put=st.sampled_from(MANGLED),
    separators=separators,
)
def test_what_is_not_json_is_never_read(
    graded: bool, places: list[tuple[int, int]], put: bytes, separators: tuple[str, str]
) -> None:
    """Bytes put in, or cut out, at any place: what is read still, Python's JSON reads too."""
    if graded:
        lines = [qrels_line(q, {"a": 1, "b": 0, "c": 2}, separators) for q in ("q1", "q2")]
    else:
        lines = [ranking_line(q, ["a", "b", "c"], separators) for q in ("q1", "q2")]
    content = "\n".join(lines).encode()
    for place, cut in places:
        content = content[:place] + put + content[place + cut :]
    found = read(content, graded=graded)
    if found is not None:
        assert pairs(found) == held(content, graded=graded)


def test_lines_of_the_usual_shape_are_read() -> None:
    for separators in ((", ", ": "), (",", ":")):
        content = ranking_line("q", ["a", "é"], separators).encode() + b"\n"
        found = read(content * 2, graded=False)
        assert found
        assert pairs(found) == [("q", [("a", 0.0), ("é", 0.0)])] * 2
        found = read(qrels_line("q", {"a": 3, "b": 0}, separators).encode(), graded=True)
        assert found
        assert pairs(found) == [("q", [("a", 3.0), ("b", 0.0)])]


@each_case("ranking", ['["]', "[]", '["a" "b"]', '["a",, "b"]', '["a", "b", ]'])
def test_lists_that_are_none_of_texts_are_left_to_json(ranking: str) -> None:
    first = ranking_line("q", ["a"], (", ", ": "))
    content = f'{first}\n{{"query_id": "r", "ranking": {ranking}}}\n'.encode()
    assert read(content, graded=False) is None


@each_case(
    "line",
    [
        '{"query_id": "q", "relevance": {"a": 1, "b}}\n{"query_id": "r", "relevance": {": 1}}',
        '{"query_id": "q", "relevance": {}}',
        '{"query_id": ", "relevance": {"a": 1}}',
        '{"query_id": "q", "relevance": {"}}',
        '{"query_id": "q", "relevance": {"a"; 1}}',
        '{"query_id": "q", "relevance": {"a": 10}}',
        '{"query_id": "q", "relevance": {"a": -1}}',
        '{"query_id": "q", "relevance": {"a": 1.0}}',
        '{"query_id": "q", "relevance": {"a": 1}, "more": {"b": 1}}',
        '{"query_id": "q", "x": "y", "relevance": {"a": 1}}',
        '{"query_id": 1, "relevance": {"a": 1}}',
        '{"query_id": "q", "relevance": {"a\\u0020": 1}}',
        '{"query_id": "q", "relevance": {"a\tb": 1}}',
        '{"query_id": "q", "relevance": {"a": 1}}\r\n',
    ],
)
def test_lines_of_another_shape_are_left_to_json(line: str) -> None:
    assert read(line.encode(), graded=True) is None


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_name_with_brackets_is_no_pattern(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run[1]{suffix}"
    frame = polars.DataFrame({"query_id": ["a", "a"], "document_id": ["1", "2"]})
    (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(path)
    (batch,) = files.read(path, Problems(path), {})
    assert (batch.queries, batch.documents.strings()) == (("a",), ["1", "2"])
