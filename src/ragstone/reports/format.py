"""Text from outside, made safe to show: on a terminal, in a workbook's cell, as a file's name.

What is not safe is replaced by a visible mark, never dropped: a reader sees that something stood
there. Letters of every script, emoji and their joiners stay as they are.
"""

import re

from rich.console import Console
from rich.text import Text

from ragstone._internal.text import one_line, strip_controls

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


# Figures in words: how a number is written for people, alike in every report.

NOTHING = "–"
"""What stands for a number that there is not."""


def decimal(value: float | None) -> str:
    """Write a score with four decimals."""
    return NOTHING if value is None else f"{value + 0.0:.4f}"


def interval(bounds: tuple[float, float] | None) -> str:
    """Write an interval by its ends."""
    return NOTHING if bounds is None else f"{decimal(bounds[0])} – {decimal(bounds[1])}"


def percent(share: float) -> str:
    """Write a share (0 to 1) as a percentage."""
    return f"{share:.1%}"


def milliseconds(value: float | None) -> str:
    """Write a duration, given in milliseconds."""
    return NOTHING if value is None else f"{value:,.0f} ms"


def dollars(value: float) -> str:
    """Write an amount of US dollars; small ones with more decimals."""
    return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"


# Text from outside as a console can show it, and never obeys it.

LONGEST = 400
"""Characters shown of one text; servers answer with whole pages."""

_PLAIN = str.maketrans({"–": "-", "…": "..."})
"""What stands for our own marks on a terminal that lacks some character."""


def shown(words: str, console: Console, style: str = "", limit: int = LONGEST) -> Text:
    """Return words that rich reads no markup from, in characters that the console can write."""
    line = one_line(words, limit)
    try:
        line.encode(console.encoding)
    except UnicodeEncodeError:
        plain = line.translate(_PLAIN).encode(console.encoding, "replace")
        line = plain.decode(console.encoding)
    return Text(line, style, overflow="fold")
