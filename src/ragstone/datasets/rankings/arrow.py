"""Rankings and qrels in Parquet and Arrow files, one document per row, read by polars."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.files import check_file, unpacked_limit
from ragstone._internal.text import listing
from ragstone.datasets.formats.packed import column_errors, text_size, unpacked_size
from ragstone.datasets.rankings.byte_arrays import Integers, Spans, Texts, padded
from ragstone.datasets.rankings.join import Batch
from ragstone.datasets.rankings.qrels import Judgments, JudgmentsBuilder
from ragstone.datasets.rankings.source import (
    EXTRA,
    OnRead,
    Problems,
    cuts,
    resolve_column,
    too_large,
)
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame, Series

AT_ONCE = 1 << 18
"""Rows that are read at once; more if one query has more."""
VALUE = 2
"""How many bytes a value of an unpacked column counts, at least."""
SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc")


def read_qrels(path: Path, problems: Problems, columns: Mapping[str, str]) -> Judgments:
    frame = _frame(path, ("query_id", "document_id", "grade"), columns)
    judgments = JudgmentsBuilder(problems)
    start = 0
    while len(part := _rows(path, frame, start, AT_ONCE)):
        rows = np.arange(start + 1, start + len(part) + 1)
        grades = _numbers(part["grade"], rows, problems, finite=True)
        names, spans = _runs(part["query_id"])
        judgments.add(names, spans.sizes, _texts(part["document_id"]), grades, rows)
        start += len(part)
    return judgments.build("write one row per judgment")


def parts(path: Path, columns: Mapping[str, str], size: int) -> list[range]:
    frame = _frame(path, ("query_id",), columns)

    def first(at: int, window: int) -> int | None:
        starts = _runs(_rows(path, frame, at, window)["query_id"])[1].starts
        return at + int(starts[1]) if len(starts) > 1 else None

    count = _count(path, frame)
    return cuts(count, max(size * count // path.stat().st_size, 1), first)


def read_ranking(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
    part: range | None = None,
) -> Iterator[Batch]:
    """Read one document per row, some whole queries at a time: query, document and score.

    Without a score the order of the rows is the ranking. `part` limits the rows that are read.
    """
    frame = _frame(path, ("query_id", "document_id"), columns, maybe="score")
    part = part or range(_count(path, frame))
    if "score" not in frame.collect_schema().names():
        problems.notes.append(
            f"{problems.name}: no score column found, so the order of the rows is the "
            "ranking; if there is one, map it with --map score=COLUMN"
        )
    size = path.stat().st_size
    start, at_once = part.start, AT_ONCE
    if not part:
        problems.add("there is no ranking", "write one row per document")
    while start < part.stop:
        expected = min(at_once, part.stop - start)
        some = _rows(path, frame, start, expected)
        end = start + len(some)
        if len(some) < expected:
            problems.add(f"the file is damaged: it has {end:,} rows instead of {part.stop:,}")
            problems.raise_found()
        names, spans = _runs(some["query_id"])
        if end < part.stop:  # the last query may continue after what was read
            if len(names) < 2:
                if at_once > problems.most:
                    raise too_large(path, f"a query has more than {at_once:,} documents")
                at_once *= 2
                continue
            some = some.head(int(spans.starts[-1]))
            names, spans = names[:-1], Spans(spans.sizes[:-1])
        rows = np.arange(start + 1, start + len(some) + 1)
        scores = None
        if "score" in some.columns:
            with np.errstate(over="ignore"):
                scores = _numbers(some["score"], rows, problems).astype(np.float32)
        documents = _texts(some["document_id"])
        yield Batch(tuple(names), spans, documents, documents.hashes(), scores, rows)
        start += len(some)
        if on_read:
            on_read(size * start // part.stop)


def _count(path: Path, frame: "LazyFrame") -> int:
    import polars as pl  # an extra; `_frame` has checked that it is installed

    with column_errors(path.name):
        return int(frame.select(pl.len()).collect().item())


def _frame(
    path: Path, fields: tuple[str, ...], mapped: Mapping[str, str], *, maybe: str | None = None
) -> "LazyFrame":
    check_file(path)
    if find_spec("polars") is None:
        raise UsageError(f"{path.name}: reading it needs an extra: pip install '{EXTRA}'")
    import polars as pl  # an extra, and slow to import

    is_parquet, limit = path.suffix.lower() == ".parquet", unpacked_limit(path.stat().st_size)
    with column_errors(path.name):
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            if unpacked_size(content, parquet=is_parquet, value=VALUE) > limit:
                raise too_large(path, f"its columns unpack to more than {limit:,} bytes")
        scanned = pl.scan_parquet(path) if is_parquet else pl.scan_ipc(path)
        schema = scanned.collect_schema()
    present = schema.names()
    selected: list[pl.Expr] = []
    for field in (*fields, *((maybe,) if maybe else ())):
        try:
            name = resolve_column(field, mapped, present)
        except UsageError as error:
            raise UsageError(f"{path.name}: {error}") from error
        if name is None and field != maybe:
            raise UsageError(
                f"{path.name}: no column found for {field} among {listing(present)}; "
                f"map it with --map {field}=COLUMN"
            )
        if name is not None and schema[name].is_nested():
            raise UsageError(f"{path.name}: column {name} of {field} has lists or objects")
        if name is not None:
            selected.append(pl.col(name).alias(field))
    return scanned.select(selected)


def _rows(path: Path, frame: "LazyFrame", start: int, count: int) -> "DataFrame":
    import polars as pl

    limit = unpacked_limit(path.stat().st_size) // 2
    with column_errors(path.name):
        part = frame.slice(start, count).collect()
        if text_size(part) > limit:  # a text in many rows is in the file once
            raise too_large(path, f"{len(part):,} of its rows have more than {limit:,} bytes")
        kinds = {"score": pl.Float64, "grade": pl.Float64}
        columns: list[pl.Expr] = []
        for name, kind in part.schema.items():
            column = pl.col(name)
            if kind.is_float() and name not in kinds:  # an id such as 6.0, as pandas writes it
                whole = column.cast(pl.Int64, strict=False)
                column = pl.when(whole == column).then(whole.cast(pl.String)).otherwise(column)
            columns.append(column.cast(kinds.get(name, pl.String), strict=False).alias(name))
        return part.with_columns(columns)


def _runs(queries: "Series") -> tuple[list[str], Spans]:
    new = queries.ne_missing(queries.shift()).to_numpy()
    starts = np.flatnonzero(new) if len(new) else np.zeros(0, np.int64)
    starts = np.union1d(starts, [0] if len(new) else [])
    names = ["" if name is None else str(name) for name in queries.gather(starts).to_list()]
    return names, Spans(np.diff(starts, append=len(queries)).astype(np.int64))


def _texts(ids: "Series") -> Texts:
    lengths: Integers = ids.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
    joined = ids.str.join("").item()
    return Texts.joint(padded(joined.encode()), lengths)


def _numbers(
    numbers: "Series", rows: Integers, problems: Problems, *, finite: bool = False
) -> NDArray[np.float64]:
    values = numbers.to_numpy()
    wrong = ~np.isfinite(values) if finite else np.isnan(values)
    for place in np.flatnonzero(wrong).tolist():
        seen = f"the {numbers.name} {values[place]} is not a number"
        problems.add(seen, line=int(rows[place]))
    return values
