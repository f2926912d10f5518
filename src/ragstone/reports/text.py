"""Text from outside, made safe to show: on a terminal, in a workbook's cell, as a file's name.

What is not safe is replaced by a visible mark, never dropped: a reader sees that something stood
there. Letters of every script, emoji and their joiners stay as they are.
"""

import re

MARK = "\N{REPLACEMENT CHARACTER}"
CELL_UNITS = 32_767
"""What an Excel cell holds, in UTF-16 code units."""

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline; ESC among them
    r"\u202a-\u202e\u2066-\u2069"  # show text in another order than it is written in
    r"\ud800-\udfff\ufffe\uffff]"  # halves of characters, and what XML forbids
)
_NOT_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def clean(text: str) -> str:
    """Return the text without control characters, bidi overrides and lone surrogates."""
    return _UNSAFE.sub(MARK, text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    """Return the clean text with its white space collapsed, cut to `limit` characters."""
    line = clean(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cell(text: str) -> str:
    """Return the clean text as a cell can hold it; a mark says where and of how much it was cut."""
    safe = clean(text)
    if safe.startswith("<r>") and safe.endswith("</r>"):
        safe += " "  # XlsxWriter would take it for XML of its own and write it unescaped
    if utf16_units(safe) <= CELL_UNITS:
        return safe
    mark = f"… (cut, {len(text):,} characters)"
    return utf16_cut(safe, CELL_UNITS - utf16_units(mark)) + mark


def file_name(text: str) -> str:
    """Return the text as part of a file's name that every common file system takes."""
    safe = _NOT_IN_FILE_NAMES.sub("_", one_line(text)).strip(" .")
    return utf16_cut(safe, 50).rstrip() or "_"


def utf16_units(text: str) -> int:
    """Return the length as Excel counts it."""
    return len(text.encode("utf-16-le")) // 2


def utf16_cut(text: str, units: int) -> str:
    """Return the beginning of a clean text that fits, without half a character at its end."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
