"""Text with a header and a delimiter: .csv and .tsv."""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

from ragstone.datasets.columns import FIELD_OF, plain_name
from ragstone.datasets.table import Cells, File, Table
from ragstone.errors import Problem

_SEPARATOR = re.compile(r"sep=(.)\r?\n")
"""A line before the header with which Excel sets the delimiter."""
_LARGEST = 2**31 - 1
"""The longest cell in characters; the csv module's own limit, 131072, is short for contexts."""
_HEADER = 100_000
"""How many characters are read to find the delimiter."""


def read(file: File) -> Table:
    """Return the rows of a CSV or TSV file (RFC 4180), numbered by the line each begins on.

    The delimiter of a CSV file is the one of `,` `;` `|` and tab with which most names in the
    header are known. A blank cell is missing.
    """
    text, line = file.text(), 1
    if separator := _SEPARATOR.match(text):
        text, line = text[separator.end() :], 2
    usual = csv.field_size_limit(_LARGEST)  # the csv module has one limit for the whole process
    try:
        if separator:
            delimiter = separator[1]
        elif file.suffix == ".tsv":
            delimiter = "\t"
        else:
            delimiter = max(",;\t|", key=lambda each: _known_names(text[:_HEADER], each))
        rows = list(_rows(text, delimiter, line))
    finally:
        csv.field_size_limit(usual)
    try:
        return replace(Table.headed(rows), unit="line")
    except ValueError as error:
        raise file.refused(str(error)) from error


def _rows(text: str, delimiter: str, line: int) -> Iterator[Cells | Problem]:
    # Strict, because otherwise a quote that is never closed silently takes the rest of the file.
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


def _known_names(text: str, delimiter: str) -> tuple[int, int]:
    """Count the known names, and all names, in the first line that is not blank."""
    for row in _rows(text, delimiter, 1):
        if isinstance(row, Problem):
            break
        if names := [plain_name(str(cell)) for cell in row[1] if cell is not None]:
            return sum(name in FIELD_OF for name in names), len(names)
    return 0, 0
