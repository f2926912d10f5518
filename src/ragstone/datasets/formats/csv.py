"""Text with a header and a delimiter: .csv and .tsv."""

import csv
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from zlib import crc32

from ragstone.datasets.blocks import Block, FileRows
from ragstone.datasets.columns import FIELD_OF, plain_name
from ragstone.datasets.table import (
    MARK,
    Cells,
    File,
    Record,
    Table,
    filled_unnamed,
    header_names,
    is_blank,
    record_under,
    unnamed_note,
)
from ragstone.errors import Problem

_SEPARATOR = re.compile(r"sep=(.)\r?\n")
"""A line before the header with which Excel sets the delimiter."""
_LARGEST = 2**31 - 1
"""The longest cell in characters; the csv module's own limit, 131072, is short for contexts."""
_HEADER = 100_000
"""How many characters are read to find the delimiter."""


def read(file: File, limit: int | None = None) -> Table:
    """Return the rows of a CSV or TSV file (RFC 4180), numbered by the line each begins on.

    The delimiter of a CSV file is the one of `,` `;` `|` and tab with which most names in the
    header are known. A blank cell is missing.
    """
    file.check_text()
    try:
        at = len(MARK) if file.start.startswith(MARK) else 0
        with closing(_Lines(file.path, at)) as lines, _long_cells():
            begin = "".join(islice(lines, 1))
            if separator := _SEPARATOR.fullmatch(begin):
                delimiter, line, start = separator[1], 2, lines.at
            else:
                line, start = 1, lines.at - len(begin.encode())
                while len(begin) < _HEADER and (more := next(lines, "")):
                    begin += more
                delimiter = "\t"
                if file.suffix != ".tsv":
                    delimiter = max(",;\t|", key=lambda each: _known_names(begin[:_HEADER], each))
        with closing(_Lines(file.path, start)) as lines, _long_cells():
            found = _rows(lines, delimiter, line)
            header: Cells | Problem = next(found, (0, ()))
            start, line = lines.at, line + lines.count
            below = next(found, None)
        if isinstance(header, Problem):
            return Table([header], unit="line")
        if not header[1]:
            file.checked()
        names = header_names(header[1], None if isinstance(below, Problem) else below)
        rows = CsvRows(file.path, names, delimiter, start=start, line=line, limit=limit)
    except UnicodeError:
        file.text()  # raises an error with the line
        raise
    except ValueError as error:
        raise file.refused(str(error)) from error
    columns, notes = tuple(filter(None, names)), unnamed_note(rows.unnamed)
    return Table(rows, columns, unit="line", notes=notes, end=limit and rows.end, names=columns)


class CsvRows(FileRows):
    """The rows of a CSV file below its header, which are not blank.

    Attributes:
        unnamed: the places of columns that have values, but no name.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        delimiter: str,
        *,
        start: int,
        line: int,
        limit: int | None,
    ) -> None:
        self._names, self._delimiter, self._start, self._line = names, delimiter, start, line
        self.unnamed = set[int]()
        super().__init__(path, limit=limit)

    def _scan(self, limit: int | None) -> Iterator[Block]:
        with closing(_Lines(self.path, self._start)) as lines, _long_cells():
            place = rows = 0
            start, line = self._start, self._line
            end = checksum = 0
            for found in _rows(lines, self._delimiter, line):
                if isinstance(found, Problem):
                    self.tail = found
                    break
                rows += 1
                self.unnamed.update(filled_unnamed(self._names, found[1]))
                end, below, checksum = lines.at, self._line + lines.count, lines.checksum
                full = limit is not None and place + rows == limit
                if full or end - start >= self.size:
                    yield Block(place, rows, line, start, end, checksum)
                    place, rows, start, line, lines.checksum = place + rows, 0, end, below, 0
                if full:
                    return
            if rows:
                yield Block(place, rows, line, start, end, checksum)

    def _parts(self, block: Block) -> Sequence[Cells]:
        text = StringIO(self.bytes_of(block).decode(), newline="")
        with _long_cells():
            found = list(_rows(text, self._delimiter, block.line))
        return [row for row in found if not isinstance(row, Problem)]

    def _row(self, part: Cells) -> Record | Problem:
        fix = "name the column, or put a cell that contains the delimiter in quotes"
        return record_under(self._names, part, fix)


class _Lines(Iterator[str]):
    """The lines of a text file from a byte on.

    Attributes:
        at: the byte after the last line.
        checksum: CRC-32 of their bytes.
    """

    def __init__(self, path: Path, at: int) -> None:
        file = path.open("rb")
        file.seek(at)
        self._text = TextIOWrapper(file, "utf-8", newline="")
        self.at, self.count, self.checksum = at, 0, 0

    def __next__(self) -> str:
        line = next(self._text)
        if "\0" in line:
            raise UnicodeError("the text contains a NUL character")
        content = line.encode()
        self.at += len(content)
        self.count += 1
        self.checksum = crc32(content, self.checksum)
        return line

    def close(self) -> None:
        self._text.close()


@contextmanager
def _long_cells() -> Generator[None, None, None]:
    usual = csv.field_size_limit(_LARGEST)  # the csv module has one limit for the whole process
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _rows(lines: Iterable[str], delimiter: str, line: int) -> Iterator[Cells | Problem]:
    # Strict, because otherwise a quote that is never closed silently takes the rest of the file.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begins = line
    try:
        for texts in reader:
            cells = [cell if cell.strip() else None for cell in texts]
            if not is_blank(cells):
                yield begins, cells
            begins = reader.line_num + line
    except csv.Error as error:
        yield Problem(
            f"cannot parse the row that starts here: {error}",
            'quote cells that contain quotes, and double the quotes inside: "say ""yes"""',
            row=begins,
        )


def _known_names(text: str, delimiter: str) -> tuple[int, int]:
    row = next(_rows(StringIO(text, newline=""), delimiter, 1), None)
    if row is None or isinstance(row, Problem):
        return 0, 0
    names = [plain_name(str(cell)) for cell in row[1] if cell is not None]
    return sum(name in FIELD_OF for name in names), len(names)
