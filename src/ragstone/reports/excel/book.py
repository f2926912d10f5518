"""An Excel workbook in which text from outside is always text, never a formula or a link."""

# XlsxWriter has only partial types and no py.typed; it is used in this file only
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from ragstone._internal.text import strip_controls
from ragstone.reports.format import cell, utf16_cut

Value = str | int | float | bool | None

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
"""Limits of an Excel sheet."""

_EXACT = 10**15
"""Excel has 15 digits; longer whole numbers are ids and stay text."""
_LINE_POINTS = 15
_WARN = "#FFE699"
_HEADER = {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF"}
LOOKS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "text": {"text_wrap": True, "align": "left"},
        "name": {"bold": True, "text_wrap": True},
        "count": {"num_format": "#,##0", "align": "left"},
        "number": {"num_format": "General", "align": "left"},
        "score": {"num_format": "0.0000", "align": "left"},
        "percent": {"num_format": "0.00%", "align": "left"},
        "header": _HEADER | {"text_wrap": True, "valign": "vcenter"},
        "block": {"bold": True, "bg_color": "#D9E2F3"},
        "warning": {"bold": True, "text_wrap": True, "bg_color": _WARN},
        "marked": {"bg_color": _WARN},
        "low": {"bg_color": "#F8CBAD"},
    }
)
"""Name -> how a cell looks."""


class Book:
    """A workbook being written; leaving the `with` block writes it."""

    def __init__(self, path: Path, created: datetime) -> None:
        kinds = ("formulas", "urls", "numbers")
        # in memory, because Python's ZipFile prints a traceback if it cannot finish a file
        options = {f"strings_to_{kind}": False for kind in kinds} | {"in_memory": True}
        self._path, self._content = path, BytesIO()
        self._workbook = xlsxwriter.Workbook(self._content, options)
        # XlsxWriter writes the time as UTC without converting it
        self._workbook.set_properties({"created": created.astimezone(UTC), "author": "ragstone"})
        self._formats = {
            look: self._workbook.add_format({"valign": "top"} | dict(properties))
            for look, properties in LOOKS.items()
        }

    def page(self, name: str, widths: Sequence[int]) -> "Page":
        sheet = self._workbook.add_worksheet(name)
        return Page(sheet, widths, self._formats)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._workbook.close()
            self._path.write_bytes(self._content.getvalue())


class Page:
    """One sheet of a book; rows and columns count from 0."""

    def __init__(
        self, sheet: Worksheet, widths: Sequence[int], formats: Mapping[str, Format]
    ) -> None:
        self.widths = tuple(widths)
        self._sheet, self._formats = sheet, formats
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)

    def put(self, row: int, column: int, value: Value, look: str = "text") -> None:
        form = self._formats[look]
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value, form)
        elif isinstance(value, str):
            self._sheet.write_string(row, column, cell(value), form)
        elif math.isfinite(value) if isinstance(value, float) else abs(value) < _EXACT:
            self._sheet.write_number(row, column, value, form)
        else:
            self._sheet.write_string(row, column, str(value), form)

    def spread(self, row: int, column: int, value: str, look: str = "text") -> None:
        last = len(self.widths) - 1
        if last > column:
            self._sheet.merge_range(row, column, row, last, "", self._formats[look])
        self.put(row, column, value, look)

    def set_height(self, row: int, needed: int, most: int) -> None:
        self._sheet.set_row(row, _LINE_POINTS * min(most, needed))

    def head(self, row: int, names: Sequence[str]) -> None:
        for column, name in enumerate(names):
            self.put(row, column, name, "header")

    def make_list(self, last_row: int, last_column: int, fixed: int) -> None:
        self._sheet.freeze_panes(1, fixed)
        self._sheet.autofilter(0, 0, last_row, last_column)
        self._sheet.repeat_rows(0)

    def colour_word(self, first_row: int, last_row: int, column: int, word: str) -> None:
        rule = {
            "type": "cell",
            "criteria": "==",
            "value": f'"{word}"',
            "format": self._formats["marked"],
        }
        self._sheet.conditional_format(first_row, column, last_row, column, rule)

    def colour_low(
        self, first_row: int, last_row: int, column: int, *, middle: float, low_is_bad: bool
    ) -> None:
        place = (first_row, column, last_row, column)
        # Excel compares a blank cell as 0, but a missing score is not a low one
        self._sheet.conditional_format(*place, {"type": "blanks", "stop_if_true": True})
        self._sheet.conditional_format(
            *place,
            {
                "type": "cell",
                "criteria": "<" if low_is_bad else ">",
                "value": middle,
                "format": self._formats["low"],
            },
        )


def count_lines(text: str, width: int) -> int:
    return sum(max(1, -(-len(line) // max(1, width - 1))) for line in text.split("\n"))


def sheet_names(prefix: str, titles: Sequence[str]) -> list[str]:
    names: list[str] = []
    for title in titles:
        safe = "".join(
            "_" if letter in "[]:*?/\\\n\t" else letter for letter in strip_controls(title)
        )
        number = 1
        while True:
            tail = ")" if number == 1 else f" {number})"
            name = utf16_cut(f"{prefix} ({safe}", 31 - len(tail)).rstrip() + tail
            if name.casefold() not in {taken.casefold() for taken in names}:
                break
            number += 1
        names.append(name)
    return names
