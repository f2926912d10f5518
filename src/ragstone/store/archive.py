"""Archive: one run as one file, to be kept elsewhere or given to somebody.

A line of JSON for the run, one for each row, and one that says how many there were, so that a file
which was cut short is found out. Of a ranking's run a line has the values of some thousand queries.
A name that ends in `.gz` is compressed.
"""

import gzip
import json
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TextIO
from uuid import uuid4

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat, TypeAdapter, ValidationError
from sqlalchemy import Connection, select

from ragstone.results.ranking_run import REASONS, RankingScores
from ragstone.results.run import Run
from ragstone.store.codec import Texts, decode_row, from_text
from ragstone.store.errors import RunNotFoundError, StoreError
from ragstone.store.ranking_values import write_blocks
from ragstone.store.reader import StoredRows
from ragstone.store.run_info import RunInfo, RunLine
from ragstone.store.runs import atomic_import
from ragstone.store.schema import RUNS
from ragstone.store.store import Store
from ragstone.store.writer import Record, write
from ragstone.types.row import Row

# Some thousand queries of a ranking's run as a line of JSON, and back.


class _Line(BaseModel):
    """What one line holds.

    Attributes:
        why: for each query whether it is scored (0), or the number of its reason.
        values: metric -> each query's number.
        failed: metric -> place in the line -> why it failed there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Sequence[str]
    texts: Mapping[str, str]
    why: Sequence[int]
    values: Mapping[str, Sequence[FiniteFloat]]
    failed: Mapping[str, Mapping[int, str]]


_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


def ranking_to_line(values: RankingScores) -> str:
    """Return the values as a line of JSON, in ASCII."""
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
    """Return the values by those metrics that a line was made of.

    Raises:
        ValueError: it was not made of such values.
    """
    line = from_text(_LINE, text)
    columns = [line.values.get(name, ()) for name in metrics]
    lengths = {len(line.ids), len(line.why), *map(len, columns)}
    if len(lengths) > 1 or set(line.values) != set(metrics):
        raise ValueError("the columns are not those of the run's metrics and queries")
    if not all(0 <= why <= len(REASONS) for why in line.why):
        raise ValueError("a query is without its numbers for no known reason")
    for name, places in line.failed.items():
        if name not in metrics:
            raise ValueError(f"{name} failed somewhere, and is no metric of the run")
        if not all(0 <= place < len(line.why) and line.why[place] == 0 for place in places):
            raise ValueError(f"{name} failed where no query is scored")
    values = np.empty((len(line.ids), len(metrics)))
    for place, column in enumerate(columns):
        values[:, place] = column
    why = np.array(line.why, dtype=np.uint8)
    return RankingScores(line.ids, line.texts, metrics, values, why=why, failed=line.failed)


FORMAT, RANKED = 1, 2
"""The first line's number where a line is a row, and where it is many queries' values."""
AT_ONCE = 200
"""Rows that are written in one transaction, so that other processes get their turn."""


class _Head(RunLine):
    """The first line: the run's, but for its tag, which is the store's own."""

    ragstone_run: int


class _End(BaseModel):
    rows: int


_TEXTS: TypeAdapter[Texts] = TypeAdapter(Texts)


def export(store: Store, run_id: str, path: Path) -> None:
    """Write a run to a file; the file is there whole, or not at all. Missing folders are made.

    Raises:
        StoreError: there is no such run, or the file cannot be written.
    """
    with store.connect() as connection:
        query = select(RUNS).where(RUNS.c.id == run_id)
        line = connection.execute(query).mappings().first()
    if line is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store.name}")
    run = store.load(run_id)
    kind = FORMAT if run.columns is None else RANKED
    head = _Head.model_validate({**line, "tag": None, "ragstone_run": kind})
    try:
        with _written(path) as file:
            file.write(head.model_dump_json() + "\n")
            count = 0
            for text in _told(run):
                file.write(text + "\n")
                count += 1
            file.write(_End(rows=count).model_dump_json() + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def check_archive(path: Path) -> None:
    """Look through a file before there is a store to enter it in; its rows are not read.

    Raises:
        StoreError: the file is not that of a run, or was cut short.
    """
    with _readable(path) as file:
        _head(file, path)
        for _ in _lines(file, path):
            pass


def _told(run: Run) -> Iterator[str]:
    """Yield the lines of a stored run's rows."""
    if run.columns is not None:
        return map(ranking_to_line, run.columns.blocks())
    assert isinstance(run.rows, StoredRows)
    return (_TEXTS.dump_json(texts).decode() for texts in run.rows.texts())


def import_(store: Store, path: Path) -> str:
    """Enter the run of a file in the store, and return its id.

    Raises:
        StoreError: the file is not that of a run, or a run of that id is there already.
    """
    with _readable(path) as file:
        head = _head(file, path)
        fill = _fill_values if head.ragstone_run == RANKED else _fill
        with atomic_import(store, head) as (connection, number):
            fill(connection, number, file, head=head, path=path)
    return head.id


@contextmanager
def _readable(path: Path) -> Generator[TextIO, None, None]:
    """Open a file to read; what goes wrong with it in the block is told in our words."""
    try:
        with _opened(path) as file:
            yield file
    except FileNotFoundError as error:
        raise StoreError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise StoreError(f"{path} is a folder; name a file in it") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"{path}: cannot be read: {said}") from error


def _head(file: TextIO, path: Path) -> _Head:
    try:
        head = _Head.model_validate_json(file.readline())
    except ValidationError as error:
        raise StoreError(f"{path}: this is no file of `ragstone runs export`") from error
    if head.ragstone_run > RANKED:
        raise StoreError(f"{path}: a newer ragstone wrote it; update this one")
    RunInfo.of(head, rows=0)  # so that what cannot be read is not entered
    return head


def _fill(connection: Connection, number: int, file: TextIO, *, head: _Head, path: Path) -> None:
    """Write the rows batch by batch."""
    rows = _rows(file, path)
    while batch := list(islice(rows, AT_ONCE)):
        records = [Record.of(number, row, transcript=head.transcript) for row in batch]
        with connection.begin():
            write(connection, records)


def _fill_values(
    connection: Connection, number: int, file: TextIO, *, head: _Head, path: Path
) -> None:
    """Write the values of a ranking's run, a line of the file at a time."""
    metrics = tuple(RunInfo.of(head, rows=0).metrics)
    place = 0
    for line, text in enumerate(_lines(file, path), start=2):
        try:
            values = ranking_from_line(text, metrics)
        except ValueError as error:
            raise StoreError(f"{path}: line {line} holds no values of a ranking's run") from error
        place = write_blocks(connection, number, values, place=place)


def _rows(file: TextIO, path: Path) -> Iterator[Row]:
    """Yield the rows of the lines."""
    for number, line in enumerate(_lines(file, path), start=2):
        try:
            yield decode_row(_TEXTS.validate_json(line))
        except ValidationError as error:
            raise StoreError(f"{path}: line {number} is not a row of a run") from error


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    """Yield the lines of rows; the last line has to say how many there were."""
    count = 0
    for line in file:
        if line.startswith('{"rows":'):
            with suppress(ValidationError):  # cut short in its last line
                if _End.model_validate_json(line).rows == count:
                    return
            break
        yield line
        count += 1
    raise StoreError(f"{path}: the file was cut short after {count} rows; export it again")


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


@contextmanager
def _written(path: Path) -> Generator[TextIO, None, None]:
    """Give a file to write, which takes the place of the one at the path once it is whole."""
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.suffix == ".gz":
            with gzip.open(part, "wt", compresslevel=6, encoding="utf-8", newline="\n") as file:
                yield file
        else:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
