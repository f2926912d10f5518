"""Rows and claims as flat tables, by the file's ending: JSON lines, CSV or Parquet."""

import csv
import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TextIO

from ragstone._internal.files import write_file
from ragstone._internal.text import MARK, strip_controls
from ragstone.errors import UsageError
from ragstone.reports.table_rows import (
    STDOUT,
    Cell,
    Column,
    Destination,
    Table,
    claims_table,
    finite,
    rows_table,
    write_rows,
)
from ragstone.results.run import Run

if TYPE_CHECKING:
    import polars as pl


# A table as Parquet, through polars, a batch at a time.

_INT64 = range(-(2**63), 2**63)
_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which UTF-8 does not have."""


def check_parquet() -> None:
    """Tell before the work whether Parquet can be written.

    Raises:
        UsageError: polars is not installed.
    """
    if find_spec("polars") is None:
        raise UsageError(
            "Parquet is written by polars, which is not installed; pip install 'ragstone[parquet]'"
        )


def fill_parquet(path: Path, table: Table) -> None:
    """Write the table with typed columns; texts stay as they are, but for halves of characters.

    A column whose type only its cells tell is text, unless they are all numbers or all booleans.

    Raises:
        UsageError: polars is not installed.
        OSError: the file cannot be written.
    """
    check_parquet()
    import polars as pl

    types = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean, None: pl.String}
    columns = [_Written(column) for column in table.columns]
    # called by their numbers: polars reads some names as patterns
    schema = {f"{number}": types[each.column.type] for number, each in enumerate(columns)}
    with TemporaryDirectory(dir=path.parent, prefix=".ragstone-") as folder:
        parts: list[Path] = []
        most = 1
        for batch in table.batches:
            written = [each.written(cells) for each, cells in zip(columns, batch, strict=True)]
            frame = pl.DataFrame(dict(zip(schema, written, strict=True)), schema=schema)
            parts.append(Path(folder, f"{len(parts)}.parquet"))
            frame.write_parquet(parts[-1])
            most = max(most, frame.height)
        whole_file = pl.scan_parquet(parts) if parts else pl.LazyFrame(schema=schema)
        typed = [each.typed(pl.col(number)) for number, each in zip(schema, columns, strict=True)]
        whole_file.select(typed).sink_parquet(path, row_group_size=most)


def whole(text: str) -> str:
    """Return a text with a mark in the place of each half of a character."""
    return _HALVES.sub(MARK, text)


class _Written:
    """A column on its way; where its type is open, its cells are text and their kinds are kept."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._kinds: set[type] = set()

    def written(self, cells: Sequence[Cell]) -> Sequence[Cell]:
        """Return cells as a part of the file has them."""
        if self.column.type is None:
            return [self._open(cell) for cell in cells]
        if self.column.type is str:
            return [whole(cell) if isinstance(cell, str) else cell for cell in cells]
        return cells

    def _open(self, cell: Cell) -> str | None:
        """Return a cell as text, and note its type."""
        if cell is None:
            return None
        is_long = isinstance(cell, int) and cell not in _INT64
        self._kinds.add(str if is_long or isinstance(cell, str) else type(cell))
        if isinstance(cell, str):
            return whole(cell)
        return f"{cell}".lower() if isinstance(cell, bool) else repr(cell)

    def typed(self, given: "pl.Expr") -> "pl.Expr":
        """Return the column as the file has it, under its own name."""
        import polars as pl

        if self.column.type is None and self._kinds == {bool}:
            given = given == "true"
        elif self.column.type is None and self._kinds and self._kinds <= {int, float}:
            given = given.cast(pl.Float64 if float in self._kinds else pl.Int64)
        return given.alias(whole(self.column.name))


# A table as CSV for people with a spreadsheet, in which no cell is a formula.

_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
"""What a text begins with that a spreadsheet would reckon with; a CR is a newline by then."""


def fill_csv(path: Path, table: Table) -> None:
    """Write UTF-8 with a byte order mark, without which Excel takes it for another encoding.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(guarded(column.name) for column in table.columns)
        writer.writerows(map(_written, line) for line in table.lines)


def guarded(text: str) -> str:
    """Return the clean text, with a quote before what would be a formula."""
    safe = strip_controls(text)
    return f"'{safe}" if safe.startswith(_FORMULA) else safe


def _written(cell: Cell) -> Cell:
    """Return a cell as CSV has it; numbers stay numbers, also those below 0."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return guarded(cell) if isinstance(cell, str) else cell


# Files of tables: which endings there are, and a flat table as CSV or Parquet.

_CSV = ".csv"
PARQUET = ".parquet"
FOREIGN = frozenset({".html", ".md", ".ods", ".pdf", ".tsv", ".xls", ".xlsm", ".xlsx", ".xml"})
"""Endings of what a table here is not."""


def check_table(path: Path) -> None:
    """Tell before the work whether a table of that ending can be written.

    Raises:
        UsageError: it is Parquet, and polars is not installed; or the ending is that of a file
            of another kind.
    """
    if path.suffix.lower() in FOREIGN:
        raise UsageError(
            f"{path}: rows are written as .jsonl, .csv or .parquet; name a file with such an ending"
        )
    if path.suffix.lower() == PARQUET:
        check_parquet()


def is_flat(path: Path) -> bool:
    """Tell whether a file of that ending has columns; any other has lines of JSON."""
    return path.suffix.lower() in (_CSV, PARQUET)


def write_flat(path: Path, table: Table) -> None:
    """Write a table as CSV or Parquet, by the file's ending.

    Raises:
        UsageError: the file cannot be written, or is Parquet and polars is not installed.
    """
    fill = fill_csv if path.suffix.lower() == _CSV else fill_parquet
    write_file(path, partial(fill, table=table))


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
