"""Data files as bytes and text, and tables of their rows, before values are interpreted."""

import sys
from abc import abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from hashlib import sha256
from math import isnan
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, Self, cast
from zlib import crc32

from ragstone._internal.documents import answer_of, opened
from ragstone._internal.files import check_file, read_parts
from ragstone._internal.text import plain_name
from ragstone.datasets.columns import FIELD_OF, WEAK_OF, field_of
from ragstone.datasets.frames import Model
from ragstone.errors import InputError, Problem, UsageError, nearest
from ragstone.types.row import LazySequence
from ragstone.types.sample import Sample

Cells = tuple[int, Sequence[object]]  # a row's number as users see it, and its cells; None is blank


@dataclass(frozen=True)
class Unreadable:
    seen: str  # why it cannot be used


class Merged(Unreadable):
    """A blank part of merged cells; in a tag's column it is a missing value."""


def type_in_words(value: object) -> str:
    words = {NoneType: "null", str: "text", int | float: "a number", list: "a list"}
    return next((words[kind] for kind in words if isinstance(value, kind)), type(value).__name__)


@dataclass(frozen=True)
class Record:
    row: int
    values: Mapping[str, object]  # None is missing
    errors: Mapping[str, str] = field(default_factory=dict[str, str])  # why a field's call failed
    nan: tuple[str, ...] = ()  # the names of values that were NaN, which is missing

    @classmethod
    def of(cls, row: int, item: object) -> "Record | Problem":
        if not isinstance(item, Mapping):
            seen = f"expected a mapping of field names to values, got {type_in_words(item)}"
            return Problem(seen, row=row)
        values = cast("Mapping[object, object]", item)
        if odd := [key for key in values if not isinstance(key, str)]:
            return Problem(f"the field name {odd[0]!r} is not text", "put it in quotes", row=row)
        named = dict(cast("Mapping[str, object]", values))
        for name in [name for name in named if field_of(name) == "response"]:
            value = named[name]
            if value is not None and not isinstance(value, str) and (answer := answer_of(value)):
                named[name] = answer["response"]
                if answer.get("contexts") and "contexts" not in map(field_of, named):
                    named["contexts"] = answer["contexts"]
        nan = tuple(name for name, v in named.items() if isinstance(v, float) and isnan(v))
        return cls(row, {**named, **dict.fromkeys(nan)}, nan=nan)


Row = Record | Sample | Problem  # a Problem cannot be read; data in Python may contain Samples


def records_in(rows: Iterable[Row]) -> Iterator[Record]:
    return (row for row in rows if isinstance(row, Record))


@dataclass(frozen=True)
class Table:
    """Rows in the order of the file."""

    rows: Sequence[Row]
    columns: tuple[str, ...] | None = None  # of the header; None if each record has its own names
    sheet: str | None = None
    others: tuple[str, ...] = ()  # the names of its other sheets
    unit: str = "row"
    notes: tuple[str, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict[str, object])  # the file's metadata
    names: tuple[str, ...] | None = None  # all of them, if they are known
    numbers: Sequence[int] | None = None  # of rows in the whole file, from 1, if not all are here
    end: int | None = None  # how many bytes were read; None for all, 0 if that is not known

    @property
    def other_sheets(self) -> str:
        names = " or ".join(map(repr, self.others[:5]))
        return f"read another sheet: {names}" if names else ""

    def renamed(self, names: Mapping[str, str]) -> "Table":
        def of(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return columns and tuple(dict.fromkeys(names.get(name, name) for name in columns))

        rows = mapped(self.rows, partial(_renamed, names=names))
        return replace(self, rows=rows, columns=of(self.columns), names=of(self.names))

    @classmethod
    def of(cls, rows: Iterable[Sample | Model | Mapping[str, object]]) -> "Table":
        """Make a table of rows in Python; NaN, NaT and NA, which pandas has, become None."""

        def native(name: str, value: object) -> object:
            value = opened(value) if field_of(name) not in (None, "tags") else value
            if isinstance(value, Decimal):
                return None if value.is_nan() else value
            is_nan = isinstance(value, float) and isnan(value)
            return None if is_nan or type(value).__name__ in ("NAType", "NaTType") else value

        records: list[Row] = []
        for number, row in enumerate(rows, 1):
            dump = None if isinstance(row, Sample) else getattr(row, "model_dump", None)
            given = dump() if callable(dump) else row
            record = row if isinstance(row, Sample) else Record.of(number, given)
            if isinstance(record, Record):
                values = {name: native(name, value) for name, value in record.values.items()}
                record = Record(number, values)
            records.append(record)
        return cls(records)


def _renamed(record: Record, *, names: Mapping[str, str]) -> Record:
    values = {n: v for n, v in record.values.items() if v is not None and n not in names}
    for name in names.keys() & record.values.keys():
        values[name if names[name] in values else names[name]] = record.values[name]
    return replace(record, values=values)


COMPARED = 10  # how many rows below the header are compared with it


def header_names(header: Sequence[object], below: Sequence[Cells | Problem] = ()) -> list[str]:
    """Return the names in a header, `""` where a column has none, or raise a ValueError.

    One of the rows `below` may be the header, if this one is a title or has names of groups.
    """
    if errors := [cell.seen for cell in header if isinstance(cell, Unreadable)]:
        raise ValueError(f"the header contains {errors[0]}")
    names = ["" if cell is None else str(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise ValueError("the file is empty; add a header and at least one row")

    def fields(texts: Iterable[str]) -> int:
        plain = set(map(plain_name, texts))  # a weak name may be a value, too
        return len(plain & FIELD_OF.keys() - WEAK_OF.keys())

    wide, likely = sum(map(bool, names)), list[tuple[int, int, list[str]]]()
    for row, cells in (each for each in below[:COMPARED] if not isinstance(each, Problem)):
        given = [cell.strip() for cell in cells if isinstance(cell, str)]
        is_wider = len(given) > wide or fields(given) > 1
        is_likely = (is_wider and fields(given) > fields(names)) or (
            wide == 1 and not fields(names)
        )
        is_full = len(given) == sum(cell is not None for cell in cells) >= max(wide, 2)
        if is_likely and is_full and max(map(len, given)) <= 60:
            likely.append((fields(given), -row, given))
    if likely:
        _, row, given = max(likely)
        seen, may_be = (", ".join(map(repr, each)) for each in (filter(None, names), given[:5]))
        raise ValueError(
            f"the first row has only {seen}, but row {-row} may be the header: {may_be}; "
            f"if so, use --header-row {-row}"
        )
    if twice := sorted(name for name, n in Counter(names).items() if name and n > 1):
        same = ", ".join(map(repr, twice))
        raise ValueError(f"two columns have the same name: {same}; rename one of them")
    return names


def filled_unnamed(names: Sequence[str], cells: Sequence[object]) -> list[int]:
    """Such columns are ignored: the index of a pandas frame is one."""
    pairs = zip(names, cells, strict=False)
    return [place for place, (name, cell) in enumerate(pairs) if not name and cell is not None]


def unnamed_note(used: Collection[int]) -> tuple[str, ...]:
    columns = ", ".join(str(place + 1) for place in sorted(used))
    return (f"ignored, because it has no name: column {columns}",) if used else ()


def is_blank(cells: Sequence[object]) -> bool:
    return all(cell is None for cell in cells)


def record_under(names: Sequence[str], found: Cells, fix: str) -> Record | Problem:
    """A row may be shorter than the header; what it leaves out is missing."""
    row, cells = found
    if is_blank(cells[len(names) :]):
        return Record(row, {n: cell for n, cell in zip(names, cells, strict=False) if n})
    last = max(place for place, cell in enumerate(cells, 1) if cell is not None)
    seen = f"there is a cell in column {last}, but the header ends at column {len(names)}"
    return Problem(seen, fix, row=row)


MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8, which may begin a file
MARKS: Mapping[bytes, str] = {  # byte order mark -> encoding; longer marks first
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
AS_UTF8 = "save the file as UTF-8 (Excel: 'CSV UTF-8'; else: iconv -f ENCODING -t utf-8)"


def broken_byte(part: bytes, error: UnicodeDecodeError) -> str:
    return f"byte {error.start + 1} (0x{part[error.start]:02x}) is not UTF-8"


ZIP = b"PK\x03\x04"  # the first bytes of a zip archive, and so of every .xlsx
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # begins an old .xls, and an .xlsx with a password
_LOOKED_AT = 4096
_CONTROLS = bytes({*range(1, 32)} - set(b"\t\n\r\f\x1b"))  # rare in text; UTF-16 has NULs


@dataclass(frozen=True)
class File:
    """A data file, whose bytes are read when they are needed; `parts` are the files of a folder."""

    name: str
    path: Path
    parts: Sequence[Path] = ()
    header_row: int | None = None  # of a workbook or CSV; None if it is the first with cells
    rows: str | None = None  # JMESPath of the list of rows in JSON or YAML

    @classmethod
    def at(cls, path: Path, *, header_row: int | None = None, rows: str | None = None) -> "File":
        """Return the file at a path, or raise a UsageError if there is none that can be read."""
        try:
            if path.exists():
                check_file(path)
                path.open("rb").close()
                return cls(path.name, path.absolute(), header_row=header_row, rows=rows)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        near = None
        with suppress(OSError, ValueError):
            near = nearest(path.name, {each.name for each in path.parent.iterdir()} - {path.name})
        offer = f"; did you mean {near!r}?" if near else ""
        raise UsageError(f"there is no file {path}{offer}")

    @cached_property
    def content(self) -> bytes:
        return self.path.read_bytes()

    @property
    def start(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(_LOOKED_AT)

    def fingerprint(self, end: int | None = None) -> str:
        digest = sha256()
        for path in self.parts or (self.path,):
            for part in read_parts(path, 0, sys.maxsize if end is None else end):
                digest.update(part)
        return digest.hexdigest()

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()

    def refused(self, seen: str, fix: str = "", *, line: int | None = None) -> InputError:
        return InputError(self.name, [Problem(seen, fix, row=line, unit="line")])

    def check_text(self) -> None:
        """Raise an InputError for a workbook, another binary file, UTF-16 and UTF-32."""
        start = self.start
        if start.startswith((ZIP, OLE)):
            raise self.refused("this is a workbook, not text", "change its extension to .xlsx")
        wide = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
        if wide or b"\0" in start:
            raise self.refused(
                f"this is {wide or 'UTF-16 or damaged'} text",
                "save it as UTF-8 (Excel: 'CSV UTF-8')",
            )
        try:
            start.decode()
        except UnicodeDecodeError:  # which a letter cut at the end raises, too
            if len(start) - len(start.translate(None, _CONTROLS)) > len(start) / 50:
                raise self.refused("this is not text", "use a text file") from None

    def checked(self) -> bytes:
        """Return the bytes without a byte order mark; raise an InputError if there are none."""
        self.check_text()
        content = self.content.removeprefix(MARK)
        if not content.strip():
            raise self.refused("the file is empty", "add at least one row with a query")
        return content

    def text(self) -> str:
        """Return the text of a UTF-8 file; invalid UTF-8 and a NUL are refused, too."""
        content = self.checked()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self.refused(broken_byte(content, error), AS_UTF8, line=line) from error
        if (nul := text.find("\0")) >= 0:
            line = text.count("\n", 0, nul) + 1
            seen = "the text contains a NUL character"
            raise self.refused(seen, "it may be damaged or UTF-16", line=line)
        return text


FIRST = 100  # rows whose values show what a file is
IN_MEMORY = 2**22  # bytes of the largest file whose rows are all read at once and kept: 4 MiB


class Block(NamedTuple):
    """Rows of a file, or of one of its files; columns have no bytes, but the `first` row in it."""

    place: int
    rows: int
    line: int
    start: int
    end: int
    checksum: int
    file: int = 0
    first: int = 0


class FileRows(LazySequence[Row]):
    """Rows of a file, with few in memory; also in another process that sees the file."""

    size = 2**18  # how many bytes of text a block has, about; at least one row

    def __init__(self, file: File, *, limit: int | None) -> None:
        self.file, self.path = file, file.path
        self.tail: Problem | None = None  # the last row, if nothing more can be read after it
        self._read: tuple[Block, Any] | None = None
        self.blocks: Sequence[Block] = tuple(self._scan(limit))
        # the places in the file of the rows that this sequence has
        self.places: Sequence[int] = range(sum(block.rows for block in self.blocks))
        self.maps: tuple[Callable[[Record], Record], ...] = ()

    @abstractmethod
    def _scan(self, limit: int | None) -> Iterator[Block]:
        """Yield the blocks of the file, with `limit` rows at most; sets `tail`."""

    @abstractmethod
    def _parts(self, block: Block) -> Any:
        """Read a block; raise `changed` if it has changed."""

    @abstractmethod
    def _row(self, parts: Any, place: int) -> Row:
        """Return the row at a place of a block that was read."""

    @property
    def is_small(self) -> bool:
        return self.end <= IN_MEMORY

    @property
    def end(self) -> int:
        return self.blocks[-1].end if self.blocks else 0

    def in_memory(self) -> list[Row]:
        return list(self)

    def chosen(self, places: Sequence[int]) -> Self:
        made = copy(self)
        made.places = places
        if places:
            first, last = self._block_of(places[0]), self._block_of(places[-1])
            made.blocks = self.blocks[first : last + 1]
        return made

    def unlimited(self) -> Self:
        return type(self)(self.file, limit=None)

    def _block_of(self, place: int) -> int:
        return bisect_right(self.blocks, place, key=lambda block: block.place) - 1

    def __len__(self) -> int:
        return len(self.places) + (self.tail is not None)

    def at(self, place: int) -> Row:
        if self.tail is not None and place == len(self.places):
            return self.tail
        place = self.places[place]
        if self._read is None or not 0 <= place - self._read[0].place < self._read[0].rows:
            block = self.blocks[self._block_of(place)]
            self._read = block, self._parts(block)
        block, parts = self._read
        row = self._row(parts, place - block.place)
        for function in self.maps:
            row = function(row) if isinstance(row, Record) else row
        return row

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_read": None}

    def bytes_of(self, block: Block) -> bytes:
        content = b"".join(read_parts(self.path, block.start, block.end))
        if crc32(content) != block.checksum:
            raise self.changed()
        return content

    def changed(self) -> UsageError:
        return UsageError(
            f"{self.file.name} changed while it was read; run the command again with a file that "
            "no program writes to"
        )


def mapped(rows: Sequence[Row], function: Callable[[Record], Record]) -> Sequence[Row]:
    """Change the records among rows; those of a file are changed when they are read."""
    if not isinstance(rows, FileRows):
        return [function(row) if isinstance(row, Record) else row for row in rows]
    made = copy(rows)
    made.maps = (*rows.maps, function)
    return made
