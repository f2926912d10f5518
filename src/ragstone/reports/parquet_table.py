"""A table as Parquet, through polars, a batch at a time."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ragstone.errors import UsageError
from ragstone.messages import MARK
from ragstone.reports.table_columns import Cell, Column, Table

if TYPE_CHECKING:
    import polars as pl

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
