import os
from hashlib import sha256
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.datasets.reading import Write

from ragstone.datasets import LOADERS, WORKBOOKS, load
from ragstone.demo.questions import DATASET, entries
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Sample


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(UsageError) as caught:
        load(path, **options)
    return str(caught.value)


def test_the_demo_is_read_as_it_was_written():
    loaded = load(DATASET)
    assert loaded.source.name == DATASET.name
    assert loaded.source.fingerprint == sha256(DATASET.read_bytes()).hexdigest()
    assert loaded.source.rows == len(loaded.samples)
    for sample, entry in zip(loaded.samples, entries(), strict=True):
        ids = {str(point): 1.0 for point in entry.point_ids}
        assert (sample.query, sample.reference) == (entry.query, entry.ground_truth_answer)
        assert sample.relevance == (ids or None)
        assert sample.tags["difficulty"] == entry.difficulty


@each_case(
    ("name", "text"),
    [
        ("a.csv", 'query\na\n,b,c\n"'),
        ("a.jsonl", '{"query": "a"}\nnothing'),
        ("a.json", '[{"query": "a"}, 5]'),
        ("a.yaml", "- query: a\n- 5"),
    ],
)
def test_the_limit_keeps_later_rows_from_being_looked_at(write: Write, name: str, text: str):
    assert load(write(name, text), limit=1).samples == (Sample(id="1", query="a"),)
    with pytest.raises(InputError):
        load(write(name, text), limit=2)


def test_a_file_that_cannot_be_read_so_is_reported(write: Write):
    there = write("QUESTIONS.CSV", "query\nq")
    assert load(str(there)).source.name == "QUESTIONS.CSV"
    assert refusal(there, limit=0) == "the limit must be 1 or more, got 0"
    assert refusal(there, sheet="One") == "QUESTIONS.CSV has no sheets; remove sheet One"
    assert refusal(there, columns={"x": "query"}).startswith("there is no field named 'x'; known: ")
    path = there.with_name("QUESTION.CSV")
    assert refusal(path) == f"there is no file {path}; did you mean 'QUESTIONS.CSV'?"
    far = path.parent / "nowhere" / "a.csv"
    assert refusal(far) == f"there is no file {far}"
    assert refusal(Path("a\0.csv")).startswith("there is no file a")
    assert "Errno" not in refusal(path.with_name(f"{'a' * 999}.csv"))
    path.mkdir()
    assert refusal(path).startswith(f"{path} is a folder; name a file in it")
    message = refusal(write("a.xls", ""))
    assert message.startswith("a.xls: unsupported file type; save it as one of .xlsx, ")
    assert all(suffix in message for suffix in (*WORKBOOKS, *LOADERS))


def test_a_pipe_and_a_link_to_itself_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    assert "pipe is not a regular file and can be read only once" in refusal(tmp_path / "pipe")
    assert refusal(tmp_path / "loop") == f"there is no file {tmp_path / 'loop'}"


def test_a_file_without_permission_is_reported(write: Write, monkeypatch: pytest.MonkeyPatch):
    path = write("a.csv", "query\nq")
    if os.name != "posix" or os.geteuid() == 0:  # root may read every file

        def refused(_: Path, *__: object) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refused)
    path.chmod(0)
    assert refusal(path) == f"{path} cannot be read: Permission denied"


def test_all_problems_of_a_file_come_at_once_in_the_order_of_its_rows(write: Write):
    path = write("a.csv", "id,query,point_ids,score\n1,,[1,x\n2,b,1 2,y\n2,c,,z\n")
    with pytest.raises(InputError) as caught:
        load(path)
    places = [f"{each.row} {each.column} {each.sample_id}" for each in caught.value.problems]
    assert places == ["2 point_ids 1", "2 query 1", "3 point_ids 2", "4 None 2"]


def test_a_row_without_ids_stays(write: Write):
    first, second = load(write("a.csv", "query,point_ids\na,\nb,1\n")).samples
    assert (first.relevance, second.relevance) == (None, {"1": 1.0})
    clash = refusal(write("a.csv", "id,query\n2,a\n,b\n"))  # a row without an id has its number
    assert "line 3, sample 2: the id '2' is already used in line 2" in clash


@each_case(
    ("column", "note"),
    [
        ("point_id", "did you mean relevance? Use map relevance=point_id"),
        ("ground_thruth", "did you mean reference? Use map reference=ground_thruth"),
        *((name, "") for name in ("rating", "result", "content", "prompt_id", "response_length")),
        *((name, "") for name in ("uid", "tag", "difficulty", "topic", "answer_relevance")),
    ],
)
def test_a_column_with_almost_the_name_of_a_field_is_noted(column: str, note: str, write: Write):
    notes = load(write("a.csv", f"query,{column}\na,b\n")).source.notes
    assert [found.endswith(note) for found in notes] == [True] * bool(note)
    assert all(found.startswith(f"column {column!r} is not used; ") for found in notes)
    assert load(write("a.csv", "query,response,respons\na,b,c\n")).source.notes == ()
