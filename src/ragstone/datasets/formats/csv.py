"""Text with a header and a delimiter: .csv and .tsv."""

import csv
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import StringIO

from ragstone.datasets.columns import FIELD_OF, plain_name
from ragstone.datasets.table import Cells, File, Table
from ragstone.errors import Problem

_DELIMITERS = (",", ";", "\t")
_SAID = re.compile(r"sep=(.)\r?\n")
"""Excel's own way to set the delimiter, in a line before the header."""
_LARGEST = 2**31 - 1
"""The longest cell in characters; the csv module's own limit, 131072, is short for contexts."""
_HEADER = 100_000
"""How many characters are looked at to find the delimiter out."""


def read(file: File) -> Table:
    """Return the rows of a CSV or TSV file (RFC 4180), numbered by the line each begins on.

    The delimiter is the one of `,` `;` and tab under which most of the header's names are known.
    A blank cell is missing.

    Raises:
        InputError: the file is not valid CSV, or its header is invalid.
    """
    text, line = file.text(), 1
    if said := _SAID.match(text):
        text, line = text[said.end() :], 2
    with _long_cells():
        usual = "\t" if file.suffix == ".tsv" else _delimiter(text[:_HEADER])
        delimiter = said[1] if said else usual
        rows = list(_rows(text, delimiter, line))
    try:
        return Table.headed(rows)
    except ValueError as error:
        raise file.refused(str(error)) from error


def _rows(text: str, delimiter: str, line: int) -> Iterator[Cells | Problem]:
    # Strict, as otherwise a quote that is never closed swallows the rest of the file in silence.
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = line
    try:
        for cells in reader:
            yield begins, [cell if cell.strip() else None for cell in cells]
            begins = reader.line_num + line
    except csv.Error as error:
        yield Problem(
            f"cannot parse the row that starts here: {error}",
            'quote cells that contain quotes, and double the quotes inside: "say ""yes"""',
            row=begins,
        )


def _delimiter(text: str) -> str:
    def sense(delimiter: str) -> tuple[int, int]:
        header = next((row for row in _rows(text, delimiter, 1) if _has_cells(row)), None)
        if header is None or isinstance(header, Problem):
            return 0, 0
        names = [plain_name(str(cell)) for cell in header[1] if cell is not None]
        return sum(name in FIELD_OF for name in names), len(names)

    return max(_DELIMITERS, key=sense)


def _has_cells(row: Cells | Problem) -> bool:
    return isinstance(row, Problem) or any(cell is not None for cell in row[1])


@contextmanager
def _long_cells() -> Generator[None]:
    """Let cells be long; the csv module knows one limit for the whole process."""
    usual = csv.field_size_limit(_LARGEST)
    try:
        yield
    finally:
        csv.field_size_limit(usual)
