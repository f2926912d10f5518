"""Archive: one run as one file, to store it elsewhere or to share it.

The file has a line of JSON for the run with its labels, one for each row, and one with the number
of rows and a checksum, which detect truncation and damage. In the file of a ranking run, a line has
the scores of some thousand queries. Files that end in `.gz` are compressed.
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
from itertools import chain, islice
from pathlib import Path
from zlib import crc32

import numpy as np
from pydantic import FiniteFloat, TypeAdapter, ValidationError
from sqlalchemy import select

from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import check_file, unpacked_limit, write_file
from ragstone._internal.text import quoted
from ragstone.errors import UsageError
from ragstone.results.ranking_run import REASONS, RankingScores
from ragstone.store.codec import Texts, decode_row, from_text
from ragstone.store.errors import RunNotFoundError, StoreError
from ragstone.store.labels import write_labels
from ragstone.store.ranking_values import write_blocks
from ragstone.store.reader import StoredRows
from ragstone.store.run_info import RunInfo, RunLine, format_time
from ragstone.store.runs import LAST, atomic_import
from ragstone.store.schema import RUNS, UNDER_WAY
from ragstone.store.store import Store
from ragstone.store.writer import Record, write
from ragstone.types.label import HumanLabel

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
    """The first line: the run without its tag, which belongs to the store, and its labels."""

    ragstone_run: int
    labels: tuple[HumanLabel, ...] = ()


class _End(FrozenModel):
    """The last line: the number of lines with rows, and the CRC-32 of all lines before."""

    rows: int
    checksum: int | None = None


def ranking_to_line(values: RankingScores) -> str:
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
    with store.connect() as connection:
        query = select(RUNS).where(RUNS.c.id == run_id)
        line = connection.execute(query).mappings().first()
    if line is None:
        raise RunNotFoundError(
            f"there is no run {run_id} in {store.name}; it may have been deleted"
        )
    run = store.load(run_id)
    if run.columns is not None:
        kind, lines = RANKED, map(ranking_to_line, run.columns.blocks())
    else:
        assert isinstance(run.rows, StoredRows)
        kind, lines = FORMAT, (_TEXTS.dump_json(each).decode() for each in run.rows.texts())
    labels = store.labels(run_id)
    head = _Head.model_validate({**line, "tag": None, "ragstone_run": kind, "labels": labels})

    def fill(part: Path) -> None:
        zipped = partial(gzip.open, part, "wt", compresslevel=6)
        opened = zipped if path.suffix == ".gz" else partial(part.open, "w")
        with opened(encoding="utf-8", newline="\n") as file:
            count, crc = -1, 0
            for text in chain([head.model_dump_json()], lines):
                file.write(text + "\n")
                count, crc = count + 1, crc32(text.encode(), crc)
            file.write(_End(rows=count, checksum=crc).model_dump_json() + "\n")

    try:
        write_file(path, fill)
    except StoreError:
        raise
    except UsageError as error:
        raise StoreError(str(error)) from error


def check_archive(path: Path) -> None:
    with _read(path) as lines:
        for _ in _read_run(lines, path)[1]:
            pass


def import_(store: Store, path: Path) -> str:
    with _read(path) as texts:
        head, rows = _read_run(texts, path)
        lines = enumerate(rows, start=2)
        info = RunInfo.of(head, rows=0)
        metrics, due = set(info.metrics), info.manifest.source.rows
        count, last = 0, -1
        with atomic_import(store, head) as (connection, run):
            if head.ragstone_run == RANKED:
                for number, line in lines:
                    try:
                        scores = ranking_from_line(line, tuple(info.metrics))
                    except ValueError as error:
                        raise StoreError(
                            f"{path}: line {number} has no valid scores of a ranking run"
                        ) from error
                    count = write_blocks(connection, run, scores, place=count)
            while batch := list(islice(lines, AT_ONCE)):
                records: list[Record] = []
                for number, line in batch:
                    try:
                        row = decode_row(_TEXTS.validate_json(line))
                    except ValidationError as error:
                        raise StoreError(f"{path}: line {number} is not a row of a run") from error
                    wrong = ""
                    if not last < row.index < max(due, count + 1):
                        wrong = f"index {row.index} is repeated, out of order, or too large"
                    elif set(row.scores) != metrics:
                        wrong = "scores are not those of the run's metrics"
                    if wrong:
                        raise StoreError(
                            f"{path}: line {number}: the row's {wrong}; export the run again"
                        )
                    count, last = count + 1, row.index
                    records.append(Record.of(row, transcript=head.transcript))
                with connection.begin():
                    write(connection, run, records)
            with connection.begin():
                write_labels(connection, run, head.labels)
            if head.rows not in (None, count):
                raise StoreError(
                    f"{path}: contains {count:,} of the {head.rows:,} rows that its first line "
                    "states; export the run again"
                )
    return head.id


def _read_run(lines: Iterator[str], path: Path) -> tuple[_Head, Iterator[str]]:
    first = next(lines, "")
    try:
        head = _Head.model_validate_json(first)
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
    return head, _row_lines(lines, path, crc32(first.rstrip("\n").encode()))


def _is_time(text: str) -> bool:
    try:
        return format_time(datetime.fromisoformat(text)) == text
    except ValueError:
        return False


def _row_lines(lines: Iterator[str], path: Path, crc: int) -> Iterator[str]:
    """Yield the lines of rows; the last line must have their number, and the checksum of all."""
    count = 0
    for line in lines:
        if line.startswith('{"rows":'):
            with suppress(ValidationError):  # truncated in its last line
                end = _End.model_validate_json(line)
                if end.checksum not in (None, crc) or next(lines, ""):
                    raise StoreError(f"{path}: damaged or changed; export the run again")
                if end.rows == count:
                    return
            break
        yield line
        count, crc = count + 1, crc32(line.rstrip("\n").encode(), crc)
    raise StoreError(f"{path}: truncated after {count} rows; export the run again")


@contextmanager
def _read(path: Path) -> Generator[Iterator[str], None, None]:
    try:
        check_file(path)
        with path.open("rb") as raw:
            unpacked = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            yield _lines(unpacked, path, unpacked_limit(os.fstat(raw.fileno()).st_size))
    except StoreError:
        raise
    except UsageError as error:
        raise StoreError(str(error)) from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"{path}: cannot be read: {reason}") from error


def _lines(file: BufferedIOBase, path: Path, limit: int) -> Iterator[str]:
    left = limit
    while line := file.readline(limit // 20 + 1):
        left -= len(line)
        if left < 0 or len(line) > limit // 20:
            what = "unpacks to more than" if left < 0 else "has a line of more than"
            most = limit if left < 0 else limit // 20
            raise StoreError(f"{path}: {what} {most:,} bytes; if you trust it, unpack it")
        yield line.decode("utf-8")
