"""A table as CSV for people with a spreadsheet, in which no cell is a formula."""

import csv
from pathlib import Path

from ragstone.messages import strip_controls
from ragstone.reports.table_columns import Cell, Table

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
