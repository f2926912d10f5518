"""Files of tables: which endings there are, and a flat table as CSV or Parquet."""

from functools import partial
from pathlib import Path

from ragstone.errors import UsageError
from ragstone.reports.csv_table import fill_csv
from ragstone.reports.files import write_file
from ragstone.reports.parquet_table import check_parquet, fill_parquet
from ragstone.reports.table_columns import Table

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
