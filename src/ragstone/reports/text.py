"""Text from outside, made safe to show: on a terminal, in a workbook's cell, as a file's name.

What is not safe is replaced by a visible mark, never dropped: a reader sees that something stood
there. Letters of every script, emoji and their joiners stay as they are.
"""

import re

from ragstone.messages import one_line, strip_controls

CELL_UNITS = 32_767
"""What an Excel cell holds, in UTF-16 code units."""

_NOT_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def cell(text: str) -> str:
    """Return the clean text as a cell can hold it; a mark says where and of how much it was cut."""
    safe = strip_controls(text)
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
