"""Each query's values of a ranking's run: JSON lines, CSV or Parquet, by the file's ending."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

import numpy as np

from ragstone.errors import Cause
from ragstone.ranked_values import REASONS, RankingRows, RankingScores
from ragstone.reports.files import write_file
from ragstone.reports.parquet_table import check_parquet, whole
from ragstone.reports.rows import STDOUT, Destination
from ragstone.reports.table_columns import Cell, Column, Table
from ragstone.reports.table_files import PARQUET, is_flat, write_flat
from ragstone.score_tally import SCORED


def write_values(rows: RankingRows, destination: Destination) -> None:
    """Write a line a query: its id, its text, and its value by each metric.

    In CSV and Parquet a value is a column `scores.METRIC.value`, empty where there is none; a line
    of JSON has the shape of `--rows`, as far as a ranking's run has it.

    Raises:
        UsageError: the file cannot be written, or is Parquet and polars is not installed.
    """
    if not isinstance(destination, Path):
        _write_lines(destination, rows)
    elif destination == STDOUT:
        _write_lines(sys.stdout, rows)
    elif destination.suffix.lower() == PARQUET:
        write_file(destination, partial(_fill_parquet, rows=rows))
    elif is_flat(destination):
        write_flat(destination, _table(rows))
    else:
        write_file(destination, partial(_fill_lines, rows=rows))


def _fill_parquet(path: Path, rows: RankingRows) -> None:
    """Write columns as they are: line by line, a million values take ten times as long."""
    check_parquet()
    import polars as pl  # an extra, and slow to import

    columns: dict[str, object] = {
        "id": list(map(whole, rows.ids)),
        "query": list(map(whole, rows.queries)),
    }
    for name in rows.metrics:
        numbers, states = rows.column(name)
        values = np.where(states == SCORED, numbers, np.nan)
        columns[f"scores.{name}.value"] = pl.Series(values, dtype=pl.Float64).fill_nan(None)
    pl.DataFrame(columns).write_parquet(path)


def _table(rows: RankingRows) -> Table:
    columns = [Column(f"scores.{name}.value", float) for name in rows.metrics]
    return Table([Column("id", str), Column("query", str), *columns], _cells(rows))


def _cells(rows: RankingRows) -> Iterator[Sequence[Cell]]:
    for part in rows.blocks():
        columns = [_shown(part, name) for name in rows.metrics]
        yield from zip(part.ids, part.queries, *columns, strict=True)


def _shown(part: RankingScores, metric: str) -> list[float | None]:
    """Return one metric's values; None where there is none."""
    numbers, states = part.column(metric)
    scored = (states == SCORED).tolist()
    return [value if known else None for value, known in zip(numbers.tolist(), scored, strict=True)]


def _fill_lines(path: Path, rows: RankingRows) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        _write_lines(stream, rows)


def _write_lines(stream: TextIO, rows: RankingRows) -> None:
    stream.writelines(
        f"{json.dumps(document, ensure_ascii=True, allow_nan=False)}\n"
        for part in rows.blocks()
        for document in _documents(part)
    )


def _documents(part: RankingScores) -> Iterator[dict[str, object]]:
    columns = [_shown(part, name) for name in part.metrics]
    failures = [part.failures(name) for name in part.metrics]
    for place, (name, query) in enumerate(zip(part.ids, part.queries, strict=True)):
        why = int(part.why[place])
        told: dict[str, object] = {"state": "scored", "reason": None}
        if why:
            told = {"state": "undefined", "reason": REASONS[why - 1]}
        scores = {
            metric: {"value": column[place], **_failed(failed.get(place), told)}
            for metric, column, failed in zip(part.metrics, columns, failures, strict=True)
        }
        yield {"id": name, "query": query, "scores": scores}


def _failed(words: str | None, told: Mapping[str, object]) -> Mapping[str, object]:
    if words is None:
        return told
    return {"state": "failed", "reason": words, "cause": Cause.METRIC_ERROR.value}
