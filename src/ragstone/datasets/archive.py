"""Archive: the parts of an .xlsx, opened only after its true size is known (ECMA-376, part 2)."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from io import BytesIO
from posixpath import dirname, join, normpath
from sys import maxsize
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ragstone.datasets.file import File

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
            raise BadZipFile("two of its parts have the same name")
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
            raise BadZipFile("it does not say which of its parts is the workbook")
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
            raise BadZipFile(f"{info.filename} is packed in a way that no workbook is")
        honest = copy(info)
        honest.file_size = maxsize  # else zipfile stops where the archive says that the part ends
        size = 0
        with self._zip.open(honest) as part:
            while chunk := part.read(_CHUNK):
                size += len(chunk)
                if size > room or (size > _BIG and size > _RATIO * info.compress_size):
                    raise self._file.refused(
                        f"unpacked, its part {info.filename} has more than {(size - 1) >> 20} MiB, "
                        f"packed {info.compress_size:,} bytes",
                        "a workbook that large is refused; use .csv or .jsonl",
                    )
        if size != info.file_size:
            raise BadZipFile(f"{info.filename} has not the size that the archive says")
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
    raise ExpatError("a document type declaration stands in a workbook's part")
