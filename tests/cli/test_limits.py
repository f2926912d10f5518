"""No small file fills the memory: each bomb is read in a process of its own, and refused."""

import gzip
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
import zstandard
from tests.conftest import Fork
from tests.store.test_runs import ranked

from ragstone.store import Store, export, save_ranking

Refused = Callable[..., str]

MOST = 500
"""MiB that the process may have had, with Python and all libraries; a bomb had 1,600 to 10,000."""
SIZE = 400 * 2**20
"""Bytes of an unpacked bomb."""


@pytest.fixture
def refused(fork: Fork, tmp_path: Path) -> Callable[..., str]:
    """Run `ragstone ARGUMENTS`, which must exit with 2 and in little memory; return its message."""
    (tmp_path / "qrels").write_text("q1 0 d1 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("q1 Q0 d1 1 1.0 r\n", encoding="utf-8")

    def run(arguments: str) -> str:
        ended = fork(*arguments.split(), folder=tmp_path)
        assert ended["code"] == 2, ended["err"][-2000:]
        assert "Traceback" not in ended["err"]
        assert ended["peak"] < MOST, f"{ended['peak']} MiB; {ended['err']}"
        return ended["err"]

    return run


def chunks(unit: bytes) -> Iterator[bytes]:
    chunk = unit * (2**20 // len(unit))
    for _ in range(SIZE // len(chunk)):
        yield chunk


def zst(path: Path, unit: bytes) -> Path:
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        for chunk in chunks(unit):
            packed.write(chunk)
    return path


def gz(path: Path, unit: bytes, before: bytes = b"") -> Path:
    """Write a gzip file; equal parts are packed once, and repeated."""
    packer = zlib.compressobj(5, zlib.DEFLATED, -zlib.MAX_WBITS)
    whole = [before, *chunks(unit)]
    parts = [packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH) for part in whole[:2]]
    size, check = 0, 0
    for part in whole:
        size, check = size + len(part), zlib.crc32(part, check)
    head, end = gzip.compress(b"")[:10], packer.flush() + struct.pack("<II", check, size)
    path.write_bytes(head + parts[0] + parts[1] * (len(whole) - 1) + end)
    return path


QUERIES = b"".join(b"q%d Q0 d1 1 1.0 r\n" % number for number in range(50_000))
LINES = {
    "one query": b"q1 Q0 d1 1 1.0 r\n",
    "queries in several places": b"q1 Q0 a 1 1.0 r\n" * 400 + b"q2 Q0 a 1 1.0 r\n" * 400,
    "an endless line": b"x",
    "empty lines": b"\n",
}


@pytest.mark.parametrize("kind", LINES)
def test_a_packed_ranking(tmp_path: Path, refused: Refused, kind: str) -> None:
    zst(tmp_path / "bomb.zst", LINES[kind])
    assert "bomb.zst" in refused("rank --qrels qrels --ranking bomb.zst")
    if kind == "one query":
        gz(tmp_path / "bomb.gz", LINES[kind])
        assert "bomb.gz" in refused("rank --qrels qrels --ranking bomb.gz")


QRELS = {
    "one query": b"q1 0 d1 1\n",
    "many queries": QUERIES.replace(b" 1 1.0 r", b" 1"),
}


@pytest.mark.parametrize("kind", QRELS)
def test_packed_judgments(tmp_path: Path, refused: Refused, kind: str) -> None:
    zst(tmp_path / "bomb.zst", QRELS[kind])
    assert "bomb.zst" in refused("rank --qrels bomb.zst --ranking run")


JSON = {
    "one ranking": b'"a", ',
    "lists in a ranking": b"[],",
    "nested lists": b"[",
    "one query": b'{"query_id": "q", "ranking": ["a"], "relevance": ["a"]}\n',
    "empty lines": b"\n",
}


@pytest.mark.parametrize("kind", JSON)
def test_packed_json_lines(tmp_path: Path, refused: Refused, kind: str) -> None:
    unit = JSON[kind]
    opening = b'{"query_id": "q", "ranking": [' if b"\n" not in unit else b""
    gz(tmp_path / "bomb.jsonl.gz", unit, opening)
    refused("rank --qrels qrels --ranking bomb.jsonl.gz")
    refused("rank --qrels bomb.jsonl.gz --ranking run")


LONG = "x" * 2**19
ROWS = 20_000_000


def constant(rows: int, **values: object) -> pl.DataFrame:
    return pl.DataFrame({name: pl.repeat(each, rows, eager=True) for name, each in values.items()})


def categories(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def contexts(rows: int, text: str | None) -> pl.DataFrame:
    """Return one row with a long list."""
    return constant(rows, query="q", contexts=text).group_by("query").all()


def texts(rows: int, query: str, response: str) -> pl.DataFrame:
    ids = {"query_id": query, "document_id": response, "score": 1.0, "grade": 1}
    return constant(rows, **ids, query=query, response=response)


FRAMES: dict[str, Callable[[], pl.DataFrame]] = {
    "many rows": lambda: texts(ROWS, "q", "d"),
    "a long text in many rows": lambda: texts(3000, "q", LONG),
    "a long category in many rows": lambda: categories(texts(3000, LONG, LONG)),
    "a long list": lambda: contexts(ROWS, "c"),
    "a long text in a list": lambda: contexts(2000, LONG),
    "categories in a list": lambda: categories(contexts(2000, LONG)),
}


def pack(frame: pl.DataFrame, path: Path) -> str:
    if path.suffix == ".parquet":
        frame.write_parquet(path, compression="zstd", row_group_size=frame.height)
    else:
        frame.write_ipc(path, compression="zstd", record_batch_size=frame.height)
    assert path.stat().st_size < 2**20
    return path.name


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", FRAMES)
def test_columns(tmp_path: Path, refused: Refused, kind: str, suffix: str) -> None:
    frame = FRAMES[kind]()
    name = pack(frame, tmp_path / f"bomb{suffix}")
    assert name in refused(f"run {name} -m exact_match --no-store --no-export")
    if "query_id" in frame.columns:
        assert name in refused(f"rank --qrels qrels --ranking {name}")
        assert name in refused(f"rank --qrels {name} --ranking run")


@pytest.mark.parametrize("column", ["names", "why"])
def test_an_exported_run(tmp_path: Path, refused: Refused, column: str) -> None:
    with Store.open(tmp_path / "made.db") as store:
        save_ranking(store, ranked())
        export(store, "r1", tmp_path / "bomb.db")
    with closing(sqlite3.connect(tmp_path / "bomb.db")) as file, file:
        bomb = zlib.compress(bytes(SIZE))
        file.execute(f"UPDATE query_blocks SET {column} = ?", (bomb,))
    refused("runs import bomb.db --store runs.db")
    assert not (tmp_path / "runs.db").exists()
