"""Rows and claims as flat tables, by the file's ending: JSON lines, CSV or Parquet."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import TextIO

from ragstone.reports.files import write_file
from ragstone.reports.rows import STDOUT, Destination, finite, write_rows
from ragstone.reports.table_columns import Table, claims_table, rows_table
from ragstone.reports.table_files import is_flat, write_flat
from ragstone.run import Run


def write_rows_table(run: Run, destination: Destination) -> None:
    """Write one line per sample: flat in CSV and Parquet, else the whole row as a line of JSON.

    Raises:
        UsageError: the file cannot be written, or is Parquet and polars is not installed.
    """
    if isinstance(destination, Path) and is_flat(destination):
        write_flat(destination, rows_table(run))
    else:
        write_rows(run, destination)


def write_claims(run: Run, destination: Destination) -> None:
    """Write a line a judged claim: CSV, Parquet, or else JSON, by the file's ending.

    Raises:
        UsageError: the file cannot be written, or is Parquet and polars is not installed.
    """
    table = claims_table(run)
    if not isinstance(destination, Path):
        _write_json(destination, table)
    elif destination == STDOUT:
        _write_json(sys.stdout, table)
    elif is_flat(destination):
        write_flat(destination, table)
    else:
        write_file(destination, partial(_fill_json, table=table))


def _fill_json(path: Path, table: Table) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        _write_json(stream, table)


def _write_json(stream: TextIO, table: Table) -> None:
    names = [column.name for column in table.columns]
    for line in table.lines:
        # ASCII with escapes, because a lone surrogate in the data has no UTF-8
        cells = finite(dict(zip(names, line, strict=True)))
        stream.write(json.dumps(cells, ensure_ascii=True, allow_nan=False) + "\n")
