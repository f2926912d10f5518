"""File: a data file's name and bytes, read once; everything else is made from these."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ragstone.datasets.encoding import advice, broken_byte, wide
from ragstone.errors import InputError, Problem, UsageError, nearest

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
            raise self.refused("this is a workbook, not text", "give its name the ending .xlsx")
        if seen := wide(self.content[:_LOOKED_AT]):
            raise self.refused(f"this is {seen} text", "save it as UTF-8 (Excel: 'CSV UTF-8')")
        if _is_binary(self.content[:_LOOKED_AT]):
            raise self.refused("this is not text", "name a file that a text editor can open")
        content = self.content.removeprefix(b"\xef\xbb\xbf")
        if not content.strip():
            raise self.refused("the file is empty", "it needs at least one row with a query")
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
            raise self.refused("the text holds a NUL", "it may be damaged or UTF-16", row=line)
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
