"""Archive: one run as one file, to store it elsewhere or to share it.

The file has a line of JSON for the run, one for each row, and one with the number of rows, which
detects truncation. In the file of a ranking run, a line has the scores of some thousand queries.
Files that end in `.gz` are compressed.
"""

import gzip
import json
import os
import re
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import TextIO
from uuid import uuid4

import numpy as np
from pydantic import FiniteFloat, TypeAdapter, ValidationError
from sqlalchemy import select

from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import unpacked_limit
from ragstone._internal.text import quoted
from ragstone.results.ranking_run import REASONS, RankingScores
from ragstone.store.codec import Texts, decode_row, from_text
from ragstone.store.errors import RunNotFoundError, StoreError
from ragstone.store.ranking_values import write_blocks
from ragstone.store.reader import StoredRows
from ragstone.store.run_info import RunInfo, RunLine, format_time
from ragstone.store.runs import LAST, atomic_import
from ragstone.store.schema import RUNS, UNDER_WAY
from ragstone.store.store import Store
from ragstone.store.writer import Record, write

FORMAT, RANKED = 1, 2
"""Kinds of files: each line is a row, or the scores of many queries of a ranking."""
AT_ONCE = 200
"""Rows that are written in one transaction, so that other processes can write in between."""


class _Queries(FrozenModel):
    """The scores of some thousand queries of a ranking's run.

    Attributes:
        why: for each query 0 if it is scored, or the number of the reason why it is not.
        values: metric -> the score of each query.
        failed: metric -> place in the line -> why the metric failed.
    """

    ids: Sequence[str]
    texts: Mapping[str, str]
    why: Sequence[int]
    values: Mapping[str, Sequence[FiniteFloat]]
    failed: Mapping[str, Mapping[int, str]]


_QUERIES: TypeAdapter[_Queries] = TypeAdapter(_Queries)
_TEXTS: TypeAdapter[Texts] = TypeAdapter(Texts)


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class _Head(RunLine):
    """The first line: the run without its tag, which belongs to the store."""

    ragstone_run: int


class _End(FrozenModel):
    rows: int


def ranking_to_line(values: RankingScores) -> str:
    """Return the scores as a line of JSON, in ASCII."""
    return json.dumps(
        {
            "ids": list(values.ids),
            "texts": {name: values.texts[name] for name in values.ids if name in values.texts},
            "why": values.why.tolist(),
            "values": {name: values.numbers(name).tolist() for name in values.metrics},
            "failed": {name: dict(each) for name, each in values.failed.items() if each},
        },
        separators=(",", ":"),
        allow_nan=False,
    )


def ranking_from_line(text: str, metrics: Sequence[str]) -> RankingScores:
    """Return the scores by those metrics from a line.

    Raises:
        ValueError: the line does not have such scores.
    """
    line = from_text(_QUERIES, text)
    columns = [line.values.get(name, ()) for name in metrics]
    lengths = {len(line.ids), len(line.why), *map(len, columns)}
    if len(lengths) > 1 or set(line.values) != set(metrics):
        raise ValueError("the columns are not those of the run's metrics and queries")
    if not all(0 <= why <= len(REASONS) for why in line.why):
        raise ValueError("a query has no scores for an unknown reason")
    for name, places in line.failed.items():
        if name not in metrics:
            raise ValueError(f"{name} failed, but the run has no such metric")
        if not all(0 <= place < len(line.why) and line.why[place] == 0 for place in places):
            raise ValueError(f"{name} failed for a query without scores")
    values = np.empty((len(line.ids), len(metrics)))
    for place, column in enumerate(columns):
        values[:, place] = column
    why = np.array(line.why, dtype=np.uint8)
    return RankingScores(line.ids, line.texts, metrics, values, why=why, failed=line.failed)


def export(store: Store, run_id: str, path: Path) -> None:
    """Write a run to a file, completely or not at all; missing folders are created.

    Raises:
        StoreError: there is no such run, or the file cannot be written.
    """
    with store.connect() as connection:
        query = select(RUNS).where(RUNS.c.id == run_id)
        line = connection.execute(query).mappings().first()
    if line is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store.name}")
    run = store.load(run_id)
    if run.columns is not None:
        kind, lines = RANKED, map(ranking_to_line, run.columns.blocks())
    else:
        assert isinstance(run.rows, StoredRows)
        kind, lines = FORMAT, (_TEXTS.dump_json(each).decode() for each in run.rows.texts())
    head = _Head.model_validate({**line, "tag": None, "ragstone_run": kind})
    try:
        with _write_atomically(path) as file:
            file.write(head.model_dump_json() + "\n")
            count = 0
            for text in lines:
                file.write(text + "\n")
                count += 1
            file.write(_End(rows=count).model_dump_json() + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def check_archive(path: Path) -> None:
    """Check a file before there is a store to add it to; its rows are not parsed.

    Raises:
        StoreError: the file is not an exported run, or is truncated.
    """
    with _read(path) as lines:
        _read_head(lines, path)
        for _ in _row_lines(lines, path):
            pass


def import_(store: Store, path: Path) -> str:
    """Add the run of a file to the store, and return its id.

    Raises:
        StoreError: the file is not an exported run, or the store has a run of that id.
    """
    with _read(path) as texts:
        head = _read_head(texts, path)
        lines = enumerate(_row_lines(texts, path), start=2)
        with atomic_import(store, head) as (connection, run):
            if head.ragstone_run == RANKED:
                metrics = tuple(RunInfo.of(head, rows=0).metrics)
                place = 0
                for number, line in lines:
                    try:
                        scores = ranking_from_line(line, metrics)
                    except ValueError as error:
                        raise StoreError(
                            f"{path}: line {number} has no valid scores of a ranking run"
                        ) from error
                    place = write_blocks(connection, run, scores, place=place)
            while batch := list(islice(lines, AT_ONCE)):
                records: list[Record] = []
                for number, line in batch:
                    try:
                        row = decode_row(_TEXTS.validate_json(line))
                    except ValidationError as error:
                        raise StoreError(f"{path}: line {number} is not a row of a run") from error
                    records.append(Record.of(run, row, transcript=head.transcript))
                with connection.begin():
                    write(connection, records)
    return head.id


def _read_head(lines: Iterator[str], path: Path) -> _Head:
    try:
        head = _Head.model_validate_json(next(lines, ""))
    except ValidationError as error:
        raise StoreError(f"{path}: this file was not written by `ragstone runs export`") from error
    if head.ragstone_run > RANKED:
        raise StoreError(f"{path}: written by a newer version of ragstone; update ragstone")
    if not _ID.fullmatch(head.id) or head.id == LAST or head.id.endswith(UNDER_WAY):
        raise StoreError(f"{path}: {quoted(head.id)!r} is not a run id; export the run again")
    for text in (head.started_at, head.finished_at):
        if text is not None and not _is_time(text):
            raise StoreError(f"{path}: {quoted(text)!r} is not a time in UTC; export the run again")
    RunInfo.of(head, rows=0)  # raises if the run could not be read from the store later
    return head


def _is_time(text: str) -> bool:
    try:
        return format_time(datetime.fromisoformat(text)) == text
    except ValueError:
        return False


def _row_lines(lines: Iterator[str], path: Path) -> Iterator[str]:
    """Yield the lines of rows; the last line must have their number."""
    count = 0
    for line in lines:
        if line.startswith('{"rows":'):
            with suppress(ValidationError):  # truncated in its last line
                if _End.model_validate_json(line).rows == count:
                    return
            break
        yield line
        count += 1
    raise StoreError(f"{path}: truncated after {count} rows; export the run again")


@contextmanager
def _read(path: Path) -> Generator[Iterator[str], None, None]:
    """Open a file to read its lines; errors in the block become StoreErrors."""
    try:
        with path.open("rb") as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            yield _lines(unpacked, path, unpacked_limit(os.fstat(raw.fileno()).st_size))
    except FileNotFoundError as error:
        raise StoreError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise StoreError(f"{path} is a folder; name a file in it") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"{path}: cannot be read: {reason}") from error


def _lines(file: BufferedIOBase, path: Path, limit: int) -> Iterator[str]:
    """Yield the lines of a file that may have `limit` bytes, and a twentieth of it in a line."""
    left = limit
    while line := file.readline(limit // 20 + 1):
        left -= len(line)
        if left < 0 or len(line) > limit // 20:
            what = "unpacks to more than" if left < 0 else "has a line of more than"
            most = limit if left < 0 else limit // 20
            raise StoreError(f"{path}: {what} {most:,} bytes; if you trust it, unpack it")
        yield line.decode("utf-8")


@contextmanager
def _write_atomically(path: Path) -> Generator[TextIO, None, None]:
    """Yield a file to write, which is moved to the path once it is complete."""
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    gzipped = path.suffix == ".gz"
    opened = partial(gzip.open, part, "wt", compresslevel=6) if gzipped else partial(part.open, "w")
    try:
        with opened(encoding="utf-8", newline="\n") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
