"""Table: a file's rows as found, each with its place, before anything is made of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import cast

from ragstone.errors import InputError, Problem, UsageError, nearest
from ragstone.types.sample import Sample

Cells = tuple[int, Sequence[object]]
"""A row's number, as the user sees it, and its cells from left to right; None is a blank cell."""


@dataclass(frozen=True)
class Unreadable:
    """A value that stands in a file but of which nothing can be made; `seen` says why."""

    seen: str


@dataclass(frozen=True)
class Record:
    """One row: its number as the user sees it, and its values by the file's own names.

    None is *missing*, in every shape of file.

    Attributes:
        errors: Sample field -> what went wrong with the call that was to give it.
    """

    row: int
    values: Mapping[str, object]
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, row: int, item: object) -> "Record | Problem":
        """Return an object of a JSON or YAML file as a record, or what is wrong with it."""
        if not isinstance(item, Mapping):
            kind = type(item).__name__
            return Problem(f"expected a mapping of field names to values, got {kind}", row=row)
        values = cast("Mapping[object, object]", item)
        if odd := [key for key in values if not isinstance(key, str)]:
            return Problem(f"the field name {odd[0]!r} is not text", "put it in quotes", row=row)
        return cls(row, cast("Mapping[str, object]", values))


@dataclass(frozen=True)
class Table:
    """Rows in the order of the file; a Problem stands for a row that cannot be read.

    A Sample stands for itself: data in Python may hold some.

    Attributes:
        columns: the header's names; None where each record names its own values.
        sheet: the workbook's sheet.
        notes: what a reader of the numbers should know.
        beside: what the file says of itself.
    """

    records: Iterable[Record | Sample | Problem]
    columns: tuple[str, ...] | None = None
    sheet: str | None = None
    notes: tuple[str, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def of(cls, rows: Iterable[Sample | Mapping[str, object]]) -> "Table":
        """Make a table of rows in Python, numbered from 1; a Sample stands for itself.

        NumPy's values become Python's own; a NaN, which pandas writes for missing, becomes None.
        """
        return cls([_in_python(number, row) for number, row in enumerate(rows, 1)])

    @classmethod
    def headed(cls, rows: Sequence[Cells | Problem], *, sheet: str | None = None) -> "Table":
        """Make a table of cells; the first row that is not blank is the header.

        Below the header, a Problem stands for a row that cannot be read.

        Raises:
            ValueError: the header's names cannot be used, or there is no header.
        """
        remaining = (row for row in rows if isinstance(row, Problem) or not _is_blank(row[1]))
        first = next(remaining, (0, ()))
        if isinstance(first, Problem):
            return cls([first], sheet=sheet)
        names = _names(first[1])
        columns = tuple(name for name in names if name)
        notes = _unnamed(rows, names)
        quotes = ", or put a cell that holds the delimiter in quotes"
        fix = "name the column" + (quotes if sheet is None else ", or clear the cell")
        return cls(_records(remaining, names, fix), columns, sheet=sheet, notes=notes)


def _in_python(number: int, row: Sample | Mapping[str, object]) -> Sample | Record | Problem:
    if isinstance(row, Sample):
        return row
    record = Record.of(number, row)
    if isinstance(record, Problem):
        return record
    return Record(number, {name: _native(value) for name, value in record.values.items()})


def _native(value: object) -> object:
    native = getattr(value, "tolist", None)
    value = native() if callable(native) else value
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    return None if isinstance(value, float) and isnan(value) else value


def _is_blank(cells: Sequence[object]) -> bool:
    return all(cell is None for cell in cells)


def _names(header: Sequence[object]) -> list[str]:
    """Return the header's names without blanks around them; `""` for an unnamed column."""
    faults = [cell.seen for cell in header if isinstance(cell, Unreadable)]
    if faults:
        raise ValueError(f"the header contains {faults[0]}")
    names = ["" if cell is None else str(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ValueError(f"two columns have the same name: {', '.join(map(repr, twice))}")
    if not names:
        raise ValueError("the file is empty; add a header and at least one row")
    return names


def _unnamed(rows: Iterable[Cells | Problem], names: Sequence[str]) -> tuple[str, ...]:
    """Note the columns without a name that hold something, such as the index of a pandas frame."""
    blank = [place for place, name in enumerate(names) if not name]
    cells = [row[1] for row in rows if not isinstance(row, Problem)] if blank else []
    held = [
        str(place + 1)
        for place in blank
        if any(row[place] is not None for row in cells if place < len(row))
    ]
    return (f"ignored, because it has no name: column {', '.join(held)}",) if held else ()


def _records(
    rows: Iterator[Cells | Problem], names: Sequence[str], fix: str
) -> Iterator[Record | Problem]:
    for found in rows:
        if isinstance(found, Problem):
            yield found
            continue
        row, cells = found
        if _is_blank(cells[len(names) :]):
            # A row may be shorter than the header; what it leaves out is missing.
            values = {name: cell for name, cell in zip(names, cells, strict=False) if name}
            yield Record(row, values)
        else:
            last = max(place for place, cell in enumerate(cells, 1) if cell is not None)
            seen = f"there is a cell in column {last}, but the header ends at column {len(names)}"
            yield Problem(seen, fix, row=row)


# Encoding: which one the bytes of a text seem to be of, where they are not UTF-8.

MARKS: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xff\xfe\0\0": "UTF-32",
        b"\0\0\xfe\xff": "UTF-32",
        b"\xff\xfe": "UTF-16",
        b"\xfe\xff": "UTF-16",
    }
)
"""How a text begins that says which encoding it is of; the longer marks first."""
WESTERN = "Windows-1252 (Latin-1)"
_PLAIN = 0.25
"""The least share of ASCII in text with column names; of bytes in the wrong order it is none."""
_FEW, _TOGETHER = 4, 0.7
"""Western texts have their accents among ASCII letters; in others bytes beyond ASCII stand in
pairs: at least so many, and so great a share of these bytes."""
_IS_HIGH = bytes(128) + b"\x01" * 128
"""For each byte, whether it is beyond ASCII."""


def wide(begins: bytes) -> str | None:
    """Return the encoding of a text that has two or four bytes a letter; None if it is no such.

    UTF-16 is told without its mark, too, by the NULs that it has in ASCII letters.
    """
    for mark, name in MARKS.items():
        if begins.startswith(mark):
            return name
    if b"\0" in begins and any(_reads(begins, codec) for codec in ("utf-16-le", "utf-16-be")):
        return "UTF-16"
    return None


def _reads(begins: bytes, codec: str) -> bool:
    text = begins.decode(codec, "ignore")  # a letter may be cut where the beginning ends
    plain = sum(letter.isascii() and (letter.isprintable() or letter.isspace()) for letter in text)
    return plain > _PLAIN * len(text) and "\0" not in text


def _narrow(content: bytes) -> str | None:
    """Return WESTERN where bytes that are not UTF-8 seem to be of that; None for any other."""
    marked = content.translate(_IS_HIGH)
    together = marked.count(b"\x01\x01")
    others = together >= _FEW and 2 * together > _TOGETHER * marked.count(b"\x01")
    return None if others else WESTERN


def advice(content: bytes) -> str:
    """Say what to do about a text that is not UTF-8."""
    known = "windows-1252" if _narrow(content) else "ENCODING"
    return f"save the file as UTF-8 (Excel: 'CSV UTF-8'; else: iconv -f {known} -t utf-8)"


def broken_byte(part: bytes, error: UnicodeDecodeError) -> str:
    """Say which byte of a part, such as a line, is not UTF-8."""
    return f"byte {error.start + 1} (0x{part[error.start]:02x}) is not UTF-8"


def of_another(content: bytes) -> Problem | None:
    """Return the problem that all lines are of another encoding.

    None where one line alone is, or where others are UTF-8 beyond ASCII: these are told by line.
    """
    first: tuple[int, str] | None = None
    number = 0
    for row, line in enumerate(content.split(b"\n"), 1):
        if line.isascii():
            continue
        try:
            line.decode()
        except UnicodeDecodeError as error:
            first = first or (row, broken_byte(line, error))
            number += 1
        else:
            return None
    if first is None or number == 1:
        return None
    row, said = first
    seems = _narrow(content) or "one for a non-Latin alphabet"
    seen = f"{said}, like all {number:,} lines that are not ASCII; the encoding is probably {seems}"
    return Problem(seen, advice(content), row=row)


# File: a data file's name and bytes, read once; everything else is made from these.

ZIP = b"PK\x03\x04"
"""How a zip archive begins, and so every .xlsx."""
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How an old .xls begins, and an .xlsx with a password."""
_LOOKED_AT = 4096
_CONTROLS = bytes({*range(1, 32)} - set(b"\t\n\r\f\x1b"))
"""Bytes that no encoding of text has but by chance; a NUL is told apart, as UTF-16 has it."""


@dataclass(frozen=True)
class File:
    """A data file: its name without folders, and its bytes."""

    name: str
    content: bytes

    @classmethod
    def read(cls, path: Path) -> "File":
        """Read a file whole.

        Raises:
            UsageError: there is none, or it cannot be read.
        """
        try:
            if path.is_dir():
                raise UsageError(f"{path} is a folder; name a file in it")
            if not path.is_file():
                raise UsageError(f"there is no file {path}{_offer(path)}")
            return cls(path.name, path.read_bytes())
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error

    @property
    def suffix(self) -> str:
        """What the file's name says it is, in lower case, with the dot."""
        return Path(self.name).suffix.lower()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the bytes, in hex."""
        return sha256(self.content).hexdigest()

    def refused(self, seen: str, fix: str = "", *, row: int | None = None) -> InputError:
        """Return the error that says why nothing of this file can be used."""
        return InputError(self.name, [Problem(seen, fix, row=row)])

    def checked(self) -> bytes:
        """Return the bytes of a text file, without a byte order mark.

        Raises:
            InputError: the file is empty, is no text, is a workbook, or is UTF-16 or UTF-32.
        """
        if self.content.startswith((ZIP, OLE)):
            raise self.refused("this is a workbook, not text", "change its extension to .xlsx")
        if seen := wide(self.content[:_LOOKED_AT]):
            raise self.refused(f"this is {seen} text", "save it as UTF-8 (Excel: 'CSV UTF-8')")
        if _is_binary(self.content[:_LOOKED_AT]):
            raise self.refused("this is not text", "use a text file")
        content = self.content.removeprefix(b"\xef\xbb\xbf")
        if not content.strip():
            raise self.refused("the file is empty", "add at least one row with a query")
        return content

    def text(self) -> str:
        """Return the text of a UTF-8 file, without a byte order mark.

        Raises:
            InputError: as `checked` does, or for bytes that are not UTF-8, or for a NUL.
        """
        content = self.checked()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self.refused(broken_byte(content, error), advice(content), row=line) from error
        if (nul := text.find("\0")) >= 0:
            line = text.count("\n", 0, nul) + 1
            raise self.refused(
                "the text contains a NUL character", "it may be damaged or UTF-16", row=line
            )
        return text


def _is_binary(begins: bytes) -> bool:
    """Tell whether bytes are no text in any encoding: no UTF-8, and with control characters."""
    try:
        begins.decode()
        return False
    except UnicodeDecodeError:
        return len(begins) - len(begins.translate(None, _CONTROLS)) > len(begins) / 50


def _offer(path: Path) -> str:
    """Offer the file of the same folder whose name is most like the one that is not there."""
    try:
        near = nearest(path.name, [entry.name for entry in path.parent.iterdir()])
    except (OSError, ValueError):
        return ""
    return f"; did you mean {near!r}?" if near else ""
