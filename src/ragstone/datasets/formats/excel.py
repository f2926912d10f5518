"""Excel workbooks: .xlsx and .xlsm, read by calamine."""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from io import BytesIO
from posixpath import dirname, join, normpath
from sys import maxsize
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from ragstone.datasets.table import OLE, ZIP, Cells, File, Table, Unreadable
from ragstone.datasets.values import EXACT
from ragstone.errors import UsageError, nearest

# Archive: the parts of an .xlsx, opened only after its true size is known (ECMA-376, part 2).

LARGEST = 2**30
"""How many bytes a workbook's parts may have together when unpacked: 1 GiB."""
_BIG = 100 * 2**20
_RATIO = 200
"""How many times its packed size a part of over 100 MiB may have; real sheets have 10 to 50."""
_CHUNK = 2**20

BROKEN = (
    BadZipFile,
    EOFError,
    ExpatError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What Python's zip and XML readers raise for a damaged, encrypted or exotic archive."""


class Archive:
    """The parts of a workbook. Making one unpacks them all, without keeping them, to measure."""

    def __init__(self, file: File) -> None:
        """Open the archive that a file is.

        Raises:
            InputError: unpacked, it would be too large.
            BROKEN: it is damaged.
        """
        self._file = file
        self._zip = ZipFile(BytesIO(file.content))
        self._parts = {info.filename.lower(): info for info in self._zip.infolist()}
        if len(self._parts) < len(self._zip.infolist()):
            raise BadZipFile("two parts have the same name")
        total = 0
        for info in self._zip.infolist():
            total += self._measured(info, LARGEST - total)

    def sheet_parts(self) -> Mapping[str, str]:
        """Return sheet name -> the name of its part.

        Raises:
            BROKEN: the archive is no workbook.
        """
        book = self._book()
        targets = {key: target for _, key, target in self._relations(book)}
        sheets: dict[str, str] = {}
        for tag, attributes in elements(self.read(book)):
            key = next((v for k, v in attributes.items() if k.rpartition(":")[2] == "id"), None)
            if tag == "sheet" and key in targets:
                sheets[attributes["name"]] = targets[key]
        return sheets

    def text_parts(self) -> list[str]:
        """Return the parts that may hold the texts that the sheets share: there is one, or none."""
        related = {
            target.lower()
            for kind, _, target in self._relations(self._book())
            if kind.endswith("/sharedStrings")
        }
        return sorted((related | {"xl/sharedstrings.xml"}) & self._parts.keys())

    def read(self, part: str) -> bytes:
        """Return a part's bytes; names match without case, as the standard has it."""
        return self._zip.read(self._parts[part.lower()])

    def _book(self) -> str:
        books = [part for kind, _, part in self._relations("") if kind.endswith("/officeDocument")]
        if len(books) != 1:
            raise BadZipFile("it does not name its workbook part")
        return books[0]

    def _relations(self, part: str) -> Iterator[tuple[str, str, str]]:
        """Yield type, id and target part of each relationship of a part (`""`: the package)."""
        folder, name = dirname(part), part.rpartition("/")[2]
        for tag, attributes in elements(self.read(join(folder, "_rels", f"{name}.rels"))):
            if tag == "Relationship":
                target = normpath(join("/", folder, attributes["Target"])).lstrip("/")
                yield attributes["Type"], attributes["Id"], target

    def _measured(self, info: ZipInfo, room: int) -> int:
        """Return a part's true size: what the archive says of it may be a lie."""
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise BadZipFile(f"{info.filename} uses an unsupported compression method")
        honest = copy(info)
        honest.file_size = maxsize  # else zipfile stops where the archive says that the part ends
        size = 0
        with self._zip.open(honest) as part:
            while chunk := part.read(_CHUNK):
                size += len(chunk)
                if size > room or (size > _BIG and size > _RATIO * info.compress_size):
                    raise self._file.refused(
                        f"its part {info.filename} unpacks to over {(size - 1) >> 20} MiB from "
                        f"{info.compress_size:,} bytes",
                        "use .csv or .jsonl for data that large",
                    )
        if size != info.file_size:
            raise BadZipFile(f"{info.filename} does not have the size that the archive declares")
        return size


def elements(xml: bytes) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the name, without its prefix, and the attributes of each element of a small part."""
    found: list[tuple[str, Mapping[str, str]]] = []
    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = lambda tag, attributes: found.append(
        (tag.rpartition(":")[2], attributes)
    )
    parser.Parse(xml, True)
    yield from found


def refuse_doctype(*_: object) -> None:
    """Stop at a document type: entities live there, and no workbook has one."""
    raise ExpatError("a part contains a document type declaration")


# SheetScan: what a sheet's XML says and calamine does not: its cells' errors, and its size.

_PLACE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_LOOKED_AT = 100
"""How many characters of a value are kept: enough for a number, an error or a shared text's."""
UNCALCULATED = "a formula without a value; open the file in Excel and save it"


@dataclass
class SheetScan:
    """A pass over a sheet's cells (ECMA-376 part 1, section 18.3.1.4).

    Attributes:
        rows, columns: the size of the area, from A1, that holds all values.
        errors: (row, column), both from 0 -> the error there, such as `#REF!`, or `UNCALCULATED`.
        shared: number of a shared text, as written -> how many cells hold it.
    """

    rows: int = 0
    columns: int = 0
    errors: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    shared: Counter[str] = field(default_factory=Counter[str])
    _row: int = -1
    _column: int = -1
    _type: str = "n"
    _formula: bool = False
    _valued: bool = False
    _text: str = ""

    @classmethod
    def of(cls, xml: bytes) -> "SheetScan":
        """Scan a sheet.

        Raises:
            ExpatError: this is no XML that a workbook has.
        """
        scan = cls()
        parser = ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler = scan._start
        parser.EndElementHandler = scan._end
        parser.CharacterDataHandler = scan._characters
        parser.Parse(xml, True)
        return scan

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._type, self._formula, self._text = attributes.get("t", "n"), False, ""
            self._valued = False
            if not (address := attributes.get("r")):
                self._column += 1
            elif place := _PLACE.fullmatch(address):
                self._column, self._row = _number(place[1]), int(place[2]) - 1
            else:
                raise ExpatError(f"{address[:20]!r} is not a cell address")
        elif name == "row":
            self._row = int(attributes.get("r", self._row + 2)) - 1
            self._column = -1
        elif name == "f":
            self._formula = self._valued = True
        elif name in ("v", "is"):
            self._valued = True
            self._text = ""

    def _characters(self, text: str) -> None:
        if len(self._text) < _LOOKED_AT:
            self._text += text

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "f":
            self._text = ""
        elif name == "c" and self._valued:
            if self._type == "e":
                self.errors[self._row, self._column] = f"the error {self._text.strip()}"
            elif self._formula and self._type == "n" and not self._text.strip():
                self.errors[self._row, self._column] = UNCALCULATED
            elif self._type == "s":
                self.shared[self._text.strip()] += 1
            self.rows = max(self.rows, self._row + 1)
            self.columns = max(self.columns, self._column + 1)


def text_lengths(xml: bytes) -> list[int]:
    """Return how long each of the texts is that sheets share, at most; phonetic marks count too.

    Raises:
        ExpatError: this is no XML that a workbook has.
    """
    lengths: list[int] = []

    def start(tag: str, _: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def characters(text: str) -> None:
        if lengths:
            lengths[-1] += len(text)

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.CharacterDataHandler = characters
    parser.Parse(xml, True)
    return lengths


def _number(letters: str) -> int:
    """Return a column's number, from 0: A is 0, Z 25, AA 26."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


_AREA = 20_000_000
"""How many cells the area around a sheet's values may have; calamine makes all of them at once."""


def read(file: File, *, sheet: str | None = None) -> Table:
    """Return the rows of a sheet, the first visible one by default, numbered as Excel does.

    A blank cell is missing; a whole number of at most 15 digits is an int; an error such as
    `#REF!` is Unreadable.

    Raises:
        InputError: the file is no workbook that can be read, or its header cannot be used.
        UsageError: there is no such sheet.
    """
    _refuse_others(file)
    try:
        archive = Archive(file)
        with CalamineWorkbook.from_filelike(BytesIO(file.content)) as workbook:
            name, notes = _chosen(workbook, sheet, file)
            scan = SheetScan.of(archive.read(archive.sheet_parts()[name]))
            _refuse_size(scan, archive, file, name)
            rows = _rows(workbook.get_sheet_by_name(name), scan)
    except (CalamineError, *BROKEN) as error:
        fix = "open it in Excel and save it again as .xlsx"
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise file.refused(f"the workbook cannot be read: {why}", fix) from error
    try:
        table = Table.headed(rows, sheet=name)
    except ValueError as error:
        raise file.refused(f"sheet {name!r}: {error}") from error
    return Table(table.records, table.columns, sheet=name, notes=(*notes, *table.notes))


def _refuse_others(file: File) -> None:
    if file.content.startswith(ZIP):
        return
    if not file.content.strip():
        raise file.refused("the file is empty", "add a sheet with a header and rows")
    if file.content.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in file.content:
            raise file.refused("the workbook has a password", "save it without one")
        raise file.refused("this is an old .xls", "save it as .xlsx")
    raise file.refused("this is not a workbook", "if it is text, name it .csv")


def _refuse_size(scan: SheetScan, archive: Archive, file: File, sheet: str) -> None:
    """Stop before calamine makes every cell of the area, and a copy of a text for every cell."""
    if scan.rows * scan.columns > _AREA:
        raise file.refused(
            f"sheet {sheet!r} spans {scan.rows:,} rows and {scan.columns:,} columns",
            "delete the cells far below or right of the table",
        )
    for part in archive.text_parts():
        lengths = text_lengths(archive.read(part))
        if sum(lengths[int(text)] * times for text, times in scan.shared.items()) > LARGEST:
            raise file.refused(
                f"the cells of sheet {sheet!r} contain more than {LARGEST:,} characters",
                "use .csv or .jsonl for texts that large",
            )


def _chosen(
    workbook: CalamineWorkbook, sheet: str | None, file: File
) -> tuple[str, tuple[str, ...]]:
    """Return the name of the sheet to read, and a note if there were others to choose from."""
    sheets = [data for data in workbook.sheets_metadata if data.typ == SheetTypeEnum.WorkSheet]
    names = [data.name for data in sheets]
    if not names:
        raise file.refused("the workbook has no worksheet")
    if sheet is None:
        visible = [data.name for data in sheets if data.visible == SheetVisibleEnum.Visible]
        chosen = (visible or names)[0]
    else:
        alike = [name for name in names if name.strip().casefold() == sheet.strip().casefold()]
        if sheet not in names and len(alike) != 1:
            near = nearest(sheet, names)
            offer = f"; did you mean {near!r}?" if near else ""
            there = ", ".join(map(repr, names))
            raise UsageError(f"{file.name} has no sheet {sheet!r}{offer} (the sheets are {there})")
        chosen = sheet if sheet in names else alike[0]
    others = [repr(name) for name in names if name != chosen]
    return chosen, (f"sheet {chosen!r}; ignored: {', '.join(others)}",) if others else ()


def _rows(sheet: CalamineSheet, scan: SheetScan) -> list[Cells]:
    """Return all rows from A1 on; calamine gives errors as blanks, so the scan puts them in."""
    rows = [[_value(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    for (row, column), error in scan.errors.items():
        rows += [[] for _ in range(len(rows), row + 1)]
        rows[row] += [None] * (column + 1 - len(rows[row]))
        rows[row][column] = Unreadable(error)
    return list(enumerate(rows, 1))


def _value(cell: object) -> object:
    if isinstance(cell, str):
        return cell if cell.strip() else None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT:
        return int(cell)
    return cell
