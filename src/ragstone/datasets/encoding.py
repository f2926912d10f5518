"""Encoding: which one the bytes of a text seem to be of, where they are not UTF-8."""

from collections.abc import Mapping
from types import MappingProxyType

from ragstone.errors import Problem

MARKS: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xff\xfe\0\0": "UTF-32",
        b"\0\0\xfe\xff": "UTF-32",
        b"\xff\xfe": "UTF-16",
        b"\xfe\xff": "UTF-16",
    }
)
"""How a text begins that says which encoding it is of; the longer marks first."""
WESTERN = "Windows-1252 (Latin-1), if its language is a Western one"
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
    seems = _narrow(content) or "an encoding of another alphabet than the Latin one"
    seen = (
        f"{said}, nor is any other letter beyond ASCII ({number:,} lines): it seems to be {seems}"
    )
    return Problem(seen, advice(content), row=row)
