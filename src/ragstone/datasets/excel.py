"""Excel workbooks: .xlsx and .xlsm, read by calamine."""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import reduce
from io import BytesIO
from posixpath import dirname, join, normpath
from sys import maxsize
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import BadZipFile, ZipFile

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from ragstone._internal.files import unpacked_limit
from ragstone.datasets import table
from ragstone.datasets.number_formats import BUILT_IN, Shown
from ragstone.datasets.table import OLE, ZIP, File, Merged, Table, Unreadable
from ragstone.datasets.values import EXACT
from ragstone.errors import UsageError, nearest

LARGEST = 2**30  # how many bytes a workbook's parts may have together when unpacked: 1 GiB

BROKEN = (  # what Python's zip and XML readers raise for a damaged, encrypted or exotic archive
    BadZipFile, EOFError, ExpatError, LookupError, OSError, OverflowError, RuntimeError, ValueError,
    struct.error, zlib.error,
)  # fmt: skip


class Archive:
    """The parts of a workbook. Opening it unpacks all parts once, to measure their true size."""

    def __init__(self, file: File) -> None:
        self._zip = ZipFile(BytesIO(file.content))
        parts = self._zip.infolist()
        self._parts = {info.filename.lower(): info for info in parts}
        if len(self._parts) < len(parts):
            raise BadZipFile("two parts have the same name")
        total = 0
        for info in parts:
            unlimited = copy(info)
            unlimited.file_size = maxsize  # else zipfile stops at the declared size
            size = 0
            with self._zip.open(unlimited) as part:
                while chunk := part.read(2**20):
                    size += len(chunk)
                    if total + size > LARGEST or size > unpacked_limit(info.compress_size):
                        raise file.refused(
                            f"its part {info.filename} unpacks to over {(size - 1) >> 20} MiB "
                            f"from {info.compress_size:,} bytes",
                            "use .csv or .jsonl for data that large",
                        )
            if size != info.file_size:
                raise BadZipFile(f"{info.filename} does not have its declared size")
            total += size

    def sheets(self) -> tuple[Mapping[str, str], Sequence[str]]:
        """Return sheet name -> its part, and the parts of shared texts, or raise one of BROKEN."""
        books = [part for kind, _, part in self._relations("") if kind.endswith("/officeDocument")]
        if len(books) != 1:
            raise BadZipFile("it does not name its workbook part")
        relations = self._relations(books[0])
        targets = {key: target for _, key, target in relations}
        sheets: dict[str, str] = {}
        for attributes in _elements(self.read(books[0]), "sheet"):
            key = next((v for k, v in attributes.items() if k.rpartition(":")[2] == "id"), None)
            if key in targets:
                sheets[attributes["name"]] = targets[key]
        texts = [target.lower() for kind, _, target in relations if kind.endswith("/sharedStrings")]
        return sheets, sorted({*texts, "xl/sharedstrings.xml"} & self._parts.keys())

    def formats(self) -> Sequence[str | None]:
        """Return the number format of each style of cells; None if Excel's region decides it."""
        codes, styles = {**BUILT_IN}, list[str]()

        def start(tag: str, attributes: dict[str, str]) -> None:
            match tag.rpartition(":")[2]:
                case "numFmt" if not styles:  # those below are of conditional formats
                    codes[attributes["numFmtId"]] = attributes["formatCode"]
                case "cellXfs":
                    styles.clear()  # those of named styles
                case "xf":
                    styles.append(attributes.get("numFmtId", "0"))
                case _:
                    pass

        if "xl/styles.xml" in self._parts:
            _parse(self.read("xl/styles.xml"), start)
        return [codes.get(style) for style in styles]

    def read(self, part: str) -> bytes:
        return self._zip.read(self._parts[part.lower()])

    def _relations(self, part: str) -> list[tuple[str, str, str]]:
        folder, name = dirname(part), part.rpartition("/")[2]
        return [
            (each["Type"], each["Id"], normpath(join("/", folder, each["Target"])).lstrip("/"))
            for each in _elements(self.read(join(folder, "_rels", f"{name}.rels")), "Relationship")
        ]


def _parse(
    xml: bytes,
    start: Callable[[str, dict[str, str]], None],
    text: Callable[[str], None] | None = None,
    end: Callable[[str], None] | None = None,
) -> None:
    """Call back for each element; document types are refused, because they can define entities."""

    def refuse_doctype(*_: object) -> None:
        raise ExpatError("a part contains a document type declaration")

    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = end
    parser.Parse(xml, True)


def _elements(xml: bytes, name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == name:
            found.append(attributes)

    _parse(xml, start)
    return found


_PLACE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_LOOKED_AT = 100  # characters of a value that are read: enough for a number or an error
UNCALCULATED = "a formula without a value; open the file in Excel and save it"


@dataclass
class SheetScan:
    """What calamine does not report of a sheet (ECMA-376 part 1, section 18.3.1.4)."""

    rows: int = 0
    columns: int = 0
    errors: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    styled: list[tuple[int, int, int, str]] = field(  # row, column, style and number
        default_factory=list[tuple[int, int, int, str]]
    )
    shared: Counter[str] = field(default_factory=Counter[str])  # number of a text -> its cells
    merged: list[str] = field(default_factory=list[str])
    hidden: set[int] = field(default_factory=set[int])
    _rows: set[int] = field(default_factory=set[int])  # with cells so far; the last one's columns
    _columns: set[int] = field(default_factory=set[int])
    _row = _column = _filled = -1
    _type = _text = ""
    _style = 0
    _parts: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, xml: bytes) -> "SheetScan":
        """Scan a sheet, or raise an ExpatError if it is not valid."""
        scan = cls()
        _parse(xml, scan._start, scan._characters, scan._end)
        return scan

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag.rpartition(":")[2]:
            case "row":
                self._row = int(attributes.get("r", self._row + 2)) - 1
                self._column = -1
                if attributes.get("hidden") in ("1", "true"):
                    self.hidden.add(self._row)
            case "c":
                self._type, self._parts = attributes.get("t", "n"), {}
                self._style = int(attributes.get("s", 0))
                if address := attributes.get("r"):
                    self._row, self._column = _place(address)
                else:
                    self._column += 1
                if self._row != self._filled:
                    if self._row in self._rows:
                        raise ExpatError(f"row {self._row + 1} is there twice")
                    self._rows.add(self._row)
                    self._filled, self._columns = self._row, set()
                if self._column in self._columns:
                    raise ExpatError(f"row {self._row + 1} has two cells in one column")
                self._columns.add(self._column)
            case "f" | "v" | "is" as name:
                self._parts[name] = self._text = ""
            case "mergeCell":
                self.merged.append(attributes.get("ref", ""))
            case _:
                pass

    def _characters(self, text: str) -> None:
        if len(self._text) < _LOOKED_AT:
            self._text += text

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name in self._parts:
            self._parts[name] = self._text.strip()
        elif name == "c" and self._parts:
            value = self._parts.get("v", "")
            if self._type == "e":
                self.errors[self._row, self._column] = f"the error {value}"
            elif "f" in self._parts and self._type == "n" and not value:
                self.errors[self._row, self._column] = UNCALCULATED
            elif self._type == "s":
                self.shared[value] += 1
            elif self._type == "n" and self._style:
                self.styled.append((self._row, self._column, self._style, value))
            self.rows = max(self.rows, self._row + 1)
            self.columns = max(self.columns, self._column + 1)


def _place(address: str) -> tuple[int, int]:
    """Return row and column, both from 0, of an address such as `B3`, or raise an ExpatError."""
    if not (place := _PLACE.fullmatch(address)):
        raise ExpatError(f"{address[:20]!r} is not a cell address")
    letters = (ord(letter) - ord("A") + 1 for letter in place[1].upper())
    return int(place[2]) - 1, reduce(lambda number, letter: 26 * number + letter, letters, 0) - 1


_AREA = 20_000_000  # most cells in the area of a sheet's values: calamine creates all of them


def read(file: File, *, sheet: str | None = None) -> Table:
    """Return the rows of a sheet, by default the first visible one, numbered as in Excel."""
    if not file.content.startswith(ZIP):
        if not file.content.strip():
            raise file.refused("the file is empty", "add a sheet with a header and rows")
        if file.content.startswith(OLE):
            if "EncryptedPackage".encode("utf-16-le") in file.content:
                raise file.refused("the workbook is encrypted", "remove its password")
            raise file.refused("this is an old .xls", "save it as .xlsx")
        raise file.refused("this is not a workbook", "if it is a text file, rename it to .csv")
    try:
        archive = Archive(file)
        with CalamineWorkbook.from_filelike(BytesIO(file.content)) as workbook:
            name, others = _choose_sheet(workbook, sheet, file)
            sheets, texts = archive.sheets()
            scan, formats = SheetScan.of(archive.read(sheets[name])), archive.formats()
            _refuse_size(scan, map(archive.read, texts), file, name)
            cells = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except (CalamineError, *BROKEN) as error:
        fix = "open it in Excel and save it again as .xlsx"
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise file.refused(f"the workbook cannot be read: {why}", fix) from error
    rows = [[_value(cell) for cell in row] for row in cells]
    for row, column, style, number in scan.styled:
        code = formats[style] if style < len(formats) else "General"
        if code not in ("General", "@") and re.fullmatch(r"-?\d[\d.eE+-]*", number):
            rows[row][column] = Shown(rows[row][column], code, number)
    for (row, column), error in scan.errors.items():  # which calamine returns as blanks
        rows += [[] for _ in range(len(rows), row + 1)]
        rows[row] += [None] * (column + 1 - len(rows[row]))
        rows[row][column] = Unreadable(error)
    top = (file.header_row or 1) - 1
    filled = [n for n, row in enumerate(rows) if n >= top and not table.is_blank(row)]
    _mark_merged(rows, scan.merged, filled)
    header, *below = [(number + 1, rows[number]) for number in filled] or [(0, [])]
    try:
        names = table.header_names(header[1], () if file.header_row else below)
    except ValueError as error:
        raise file.refused(f"sheet {name!r}: {error}") from error
    notes = [f"sheet {name!r}; ignored: {', '.join(map(repr, others))}"] if others else []
    if hidden := scan.hidden.intersection(filled):
        notes.append(f"hidden or filtered rows are read too: {len(hidden)}")
    notes += table.unnamed_note(
        {place for row in below for place in table.filled_unnamed(names, row[1])}
    )
    fix = "name the column, or clear the cell"
    records = [table.record_under(names, row, fix) for row in below]
    columns = tuple(filter(None, names))
    return Table(records, columns, sheet=name, others=others, notes=tuple(notes))


def _mark_merged(rows: Sequence[list[object]], areas: Iterable[str], filled: Sequence[int]) -> None:
    """Make the blank cells of merged areas Merged, in columns that have a name."""
    names = rows[filled[0]] if filled else []
    below, budget = frozenset(filled[1:]), _AREA
    for area in areas:
        start, _, end = area.partition(":")
        (top, left), (bottom, right) = _place(start), _place(end or start)
        bottom = min(bottom, len(rows) - 1)
        budget -= max(0, bottom - top + 1) * (right - left + 1)  # areas of a hostile file overlap
        if budget < 0:
            break
        if top > bottom or left >= len(rows[top]) or rows[top][left] is None:
            continue
        merged = Merged(f"the merged cells {area} have one value; unmerge and fill in each")
        for number in below.intersection(range(top, bottom + 1)):
            for column in range(left, min(right + 1, len(rows[number]), len(names))):
                if rows[number][column] is None and names[column] is not None:
                    rows[number][column] = merged


def _refuse_size(scan: SheetScan, texts: Iterable[bytes], file: File, sheet: str) -> None:
    if scan.rows * scan.columns > _AREA:
        raise file.refused(
            f"sheet {sheet!r} spans {scan.rows:,} rows and {scan.columns:,} columns",
            "delete the cells far below or right of the table",
        )
    for lengths in map(_text_lengths, texts):
        if sum(lengths[int(text)] * times for text, times in scan.shared.items()) > LARGEST:
            raise file.refused(
                f"the cells of sheet {sheet!r} contain more than {LARGEST:,} characters",
                "use .csv or .jsonl for texts that large",
            )


def _text_lengths(xml: bytes) -> list[int]:
    lengths = [0]  # of what is before the first text

    def start(tag: str, _: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def count(text: str) -> None:
        lengths[-1] += len(text)

    _parse(xml, start, count)
    return lengths[1:]


def _choose_sheet(
    workbook: CalamineWorkbook, sheet: str | None, file: File
) -> tuple[str, tuple[str, ...]]:
    sheets = [data for data in workbook.sheets_metadata if data.typ == SheetTypeEnum.WorkSheet]
    names = [data.name for data in sheets]
    if not names:
        raise file.refused("the workbook has no worksheet")
    if sheet is None:
        visible = [data.name for data in sheets if data.visible == SheetVisibleEnum.Visible]
        chosen = (visible or names)[0]
    else:
        similar = [name for name in names if name.strip().casefold() == sheet.strip().casefold()]
        if sheet not in names and len(similar) != 1:
            near = nearest(sheet, names)
            offer = f"; did you mean {near!r}?" if near else ""
            there = ", ".join(map(repr, names))
            raise UsageError(f"{file.name} has no sheet {sheet!r}{offer} (the sheets are {there})")
        chosen = sheet if sheet in names else similar[0]
    return chosen, tuple(name for name in names if name != chosen)


def _value(cell: object) -> object:
    if isinstance(cell, bool):
        return Shown(cell, "General", "")
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT:
        return int(cell)
    return None if isinstance(cell, str) and not cell.strip() else cell
