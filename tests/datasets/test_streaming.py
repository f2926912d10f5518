"""Rows of large files, which are read when they are needed; and rows that are drawn at random."""

import csv
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import polars
import pytest
from tests.datasets.reading import lines

from ragstone.datasets import Shard, load, samples_of, shards, table
from ragstone.datasets.dataset import FileSamples
from ragstone.datasets.export import WRITERS, write_samples
from ragstone.errors import InputError, UsageError

FILES = Path(__file__).parent / "files"
ROWS = [
    {"id": f"r{n}", "query": f'a "{n}",\nü', "contexts": ["one", "two\r\n"], "tag": n % 3 or None}
    for n in range(60)
]


def columns(path: Path) -> None:
    frame = polars.DataFrame(ROWS)
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=25)
    elif path.suffix == ".feather":
        frame.write_ipc(path, record_batch_size=25)
    elif path.suffix == ".arrow":
        parts = [frame[:25], frame[25:50], frame[50:]]
        polars.concat(parts, rechunk=False).write_ipc_stream(path)
    else:
        path.mkdir()
        names = [f"[{n}]*.arrow" for n in range(3)]
        for n, name in enumerate(names):
            frame[25 * n : 25 * n + 25].write_ipc_stream(path / name)
        state = {"_data_files": [{"filename": name} for name in names]}
        (path / "state.json").write_text(json.dumps(state), encoding="utf-8")


def text(path: Path) -> None:
    if path.suffix == ".jsonl":
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
        path.write_text(content, encoding="utf-8-sig", newline="\n")
        return
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(ROWS[0])
        for row in ROWS:
            writer.writerow({**row, "contexts": json.dumps(row["contexts"])}.values())


FORMATS: dict[str, Callable[[Path], None]] = {
    "a.jsonl": text,
    "a.csv": text,
    "a.parquet": columns,
    "a[1].feather": columns,
    "a.arrow": columns,
    "folder": columns,
}
"""Name of a file that can be read in blocks -> the function that writes it."""


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "IN_MEMORY", -1)
    monkeypatch.setattr(table.FileRows, "size", 100)
    monkeypatch.setattr("ragstone.datasets.arrow.IN_MEMORY", -1)


@pytest.fixture(params=FORMATS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    FORMATS[request.param](path)
    return path


def test_a_large_file_and_its_shards_have_the_rows_of_a_small_one(
    file: Path, request: pytest.FixtureRequest
) -> None:
    small = load(file)
    assert isinstance(small.samples, tuple)
    request.getfixturevalue("small_blocks")
    large = load(file)
    assert isinstance(large.samples, FileSamples)
    assert large.samples == small.samples
    assert (large.contents, large.source) == (small.contents, small.source)
    found = list(shards(large, rows=7))
    assert [(each.number, each.first, each.rows) for each in found[-2:]] == [(7, 49, 7), (8, 56, 4)]
    rows = [row for shard in found for row in sent(shard).read()]
    assert [row.index for row in rows] == list(range(60))
    assert [row.sample for row in rows] == list(small.samples)
    assert rows[1].sample.query == ROWS[1]["query"]
    assert {len(pickle.dumps(shard)) < 10_000 for shard in found} == {True}


def sent(shard: Shard) -> Shard:
    return pickle.loads(pickle.dumps(shard))


def test_files_of_other_tools_in_blocks(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    failed = tmp_path / "failed.jsonl"
    record = {"run_type": "chain", "inputs": {"query": "q"}, "outputs": {"response": "r"}}
    failing, nested = {**record, "error": "429"}, {**record, "parent_run_id": "p"}
    assert sorted(lines(failed, record, nested, failing, record, failing).failures) == [1, 3]
    own = FILES / "langsmith-runs.jsonl", FILES / "ragas.jsonl"
    paths = [*tmp_path.glob("*.jsonl"), *own, *FILES.glob("*.csv")]
    small = [load(path) for path in paths]
    request.getfixturevalue("small_blocks")
    for path, known in zip(paths, small, strict=True):
        large = load(path)
        assert isinstance(large.samples, FileSamples), path
        assert large.samples == known.samples, path
        assert (large.source, large.failures) == (known.source, known.failures), path
        parts = [row for shard in shards(large, rows=2) for row in sent(shard).read()]
        assert [row.sample for row in parts] == list(known.samples), path
        assert {row.index: row.failures for row in parts if row.failures} == known.failures


def changed(path: Path) -> Path:
    return path / "[2]*.arrow" if path.is_dir() else path


def test_a_file_that_changes_after_it_was_checked(file: Path, small_blocks: None) -> None:
    content = changed(file).read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 3] ^= 1
    for other in (flipped, content[: len(content) // 2], None):
        dataset = load(file)
        if other is None:
            changed(file).unlink()
        else:
            changed(file).write_bytes(other)
        with pytest.raises(UsageError, match=r"changed while it was read; |cannot be read: "):
            list(dataset.samples)
        changed(file).write_bytes(content)
        assert len(list(dataset.samples)) == 60


def test_problems_of_distant_rows_are_reported_together(tmp_path: Path, small_blocks: None) -> None:
    rows = [{"query": f"q{n}"} for n in range(300)]
    rows[1], rows[290] = {"query": ""}, {"id": "1"}
    frame = polars.DataFrame(rows, schema={"id": polars.String, "query": polars.String})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=50)
    frame.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.jsonl", "a.parquet"):
        with pytest.raises(InputError) as caught:
            load(tmp_path / name)
        assert [problem.row for problem in caught.value.problems] == [2, 291, 291]
        assert "the id '1' is already used in" in str(caught.value)


def test_spans_beyond_the_limit_are_part_of_their_trace(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = (FILES / "phoenix.jsonl").read_text(encoding="utf-8").splitlines()
    spans = [{name: json.dumps(v) for name, v in json.loads(line).items()} for line in lines]
    polars.DataFrame(spans).write_parquet(tmp_path / "spans.parquet", row_group_size=1)
    paths = FILES / "phoenix.jsonl", tmp_path / "spans.parquet"
    small = [load(path, limit=1).samples for path in paths]
    request.getfixturevalue("small_blocks")
    assert [load(path, limit=1).samples for path in paths] == small


def test_a_sample_is_the_same_for_the_same_seed_in_every_format(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for name, write in FORMATS.items():
        write(tmp_path / name)
    rows = samples_of(ROWS).samples
    for suffix in WRITERS:
        write_samples(rows, tmp_path / f"b{suffix}", suffix=suffix)
    expected = [sample.id for sample in samples_of(ROWS, sample=20, seed=7).samples]
    assert expected[:5] == ["r0", "r1", "r3", "r6", "r8"]
    paths = [*(tmp_path / name for name in FORMATS), *tmp_path.glob("b.*")]
    for mode in ("memory", "blocks"):
        if mode == "blocks":
            request.getfixturevalue("small_blocks")
        for path in paths:
            found = load(path, sample=20, seed=7)
            assert [sample.id for sample in found.samples] == expected, path
            assert found.source.rows == 20
            assert found.source.notes[-1] == "20 of 60 rows, drawn at random with seed 7"
            assert found.source.fingerprint == load(path).source.fingerprint
            assert [sample.id for sample in load(path, sample=20).samples] != expected
    first = [sample.id for shard in shards(found, rows=7) for sample in sent(shard).samples]
    assert first == expected
    (tmp_path / "c.csv").write_text("query\n" + "\n".join(f"q{n}" for n in range(1, 101)), "utf-8")
    for sample in load(tmp_path / "c.csv", sample=10).samples:
        assert sample.query == f"q{sample.id}", "numbered as in the whole file"


def test_samples_that_cannot_be_drawn() -> None:
    rows = [{"query": "q"}, {"query": "r"}]
    found = samples_of(rows, sample=2)
    assert len(found.samples) == 2
    assert found.source.notes == ("all 2 rows are used, because there are no more than sample=2",)
    with pytest.raises(UsageError, match="limit 1 reads the first rows, and sample 1 draws"):
        samples_of(rows, limit=1, sample=1)
    with pytest.raises(UsageError, match="must be 1 or more, got 0"):
        samples_of(rows, sample=0)
