"""Table: a file's rows as found, each with its place, before anything is made of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isnan
from typing import cast

from ragstone.errors import Problem
from ragstone.samples import Sample

Cells = tuple[int, Sequence[object]]
"""A row's number, as the user sees it, and its cells from left to right; None is a blank cell."""


@dataclass(frozen=True)
class Unreadable:
    """A value that stands in a file but of which nothing can be made; `seen` says why."""

    seen: str


@dataclass(frozen=True)
class Record:
    """One row: its number as the user sees it, and its values by the file's own names.

    None is *missing*, in every shape of file.

    Attributes:
        errors: Sample field -> what went wrong with the call that was to give it.
    """

    row: int
    values: Mapping[str, object]
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, row: int, item: object) -> "Record | Problem":
        """Return an object of a JSON or YAML file as a record, or what is wrong with it."""
        if not isinstance(item, Mapping):
            kind = type(item).__name__
            return Problem(f"this is of type {kind}, not an object with names and values", row=row)
        values = cast("Mapping[object, object]", item)
        if odd := [key for key in values if not isinstance(key, str)]:
            return Problem(f"the name {odd[0]!r} is no text", "put it in quotes", row=row)
        return cls(row, cast("Mapping[str, object]", values))


@dataclass(frozen=True)
class Table:
    """Rows in the order of the file; a Problem stands for a row that cannot be read.

    A Sample stands for itself: data in Python may hold some.

    Attributes:
        columns: the header's names; None where each record names its own values.
        sheet: the workbook's sheet.
        notes: what a reader of the numbers should know.
        beside: what the file says of itself.
    """

    records: Iterable[Record | Sample | Problem]
    columns: tuple[str, ...] | None = None
    sheet: str | None = None
    notes: tuple[str, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def of(cls, rows: Iterable[Sample | Mapping[str, object]]) -> "Table":
        """Make a table of rows in Python, numbered from 1; a Sample stands for itself.

        NumPy's values become Python's own; a NaN, which pandas writes for missing, becomes None.
        """
        return cls([_in_python(number, row) for number, row in enumerate(rows, 1)])

    @classmethod
    def headed(cls, rows: Sequence[Cells | Problem], *, sheet: str | None = None) -> "Table":
        """Make a table of cells; the first row that is not blank is the header.

        Below the header, a Problem stands for a row that cannot be read.

        Raises:
            ValueError: the header's names cannot be used, or there is no header.
        """
        remaining = (row for row in rows if isinstance(row, Problem) or not _is_blank(row[1]))
        first = next(remaining, (0, ()))
        if isinstance(first, Problem):
            return cls([first], sheet=sheet)
        names = _names(first[1])
        columns = tuple(name for name in names if name)
        notes = _unnamed(rows, names)
        quotes = ", or put a cell that holds the delimiter in quotes"
        fix = "name the column" + (quotes if sheet is None else ", or clear the cell")
        return cls(_records(remaining, names, fix), columns, sheet=sheet, notes=notes)


def _in_python(number: int, row: Sample | Mapping[str, object]) -> Sample | Record | Problem:
    if isinstance(row, Sample):
        return row
    record = Record.of(number, row)
    if isinstance(record, Problem):
        return record
    return Record(number, {name: _native(value) for name, value in record.values.items()})


def _native(value: object) -> object:
    native = getattr(value, "tolist", None)
    value = native() if callable(native) else value
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    return None if isinstance(value, float) and isnan(value) else value


def _is_blank(cells: Sequence[object]) -> bool:
    return all(cell is None for cell in cells)


def _names(header: Sequence[object]) -> list[str]:
    """Return the header's names without blanks around them; `""` for an unnamed column."""
    faults = [cell.seen for cell in header if isinstance(cell, Unreadable)]
    if faults:
        raise ValueError(f"the header holds {faults[0]}")
    names = ["" if cell is None else str(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ValueError(f"two columns have the same name: {', '.join(map(repr, twice))}")
    if not names:
        raise ValueError("the file is empty; it needs a header and at least one row")
    return names


def _unnamed(rows: Iterable[Cells | Problem], names: Sequence[str]) -> tuple[str, ...]:
    """Note the columns without a name that hold something, such as the index of a pandas frame."""
    blank = [place for place, name in enumerate(names) if not name]
    cells = [row[1] for row in rows if not isinstance(row, Problem)] if blank else []
    held = [
        str(place + 1)
        for place in blank
        if any(row[place] is not None for row in cells if place < len(row))
    ]
    return (f"left out for want of a name: column {', '.join(held)}",) if held else ()


def _records(
    rows: Iterator[Cells | Problem], names: Sequence[str], fix: str
) -> Iterator[Record | Problem]:
    for found in rows:
        if isinstance(found, Problem):
            yield found
            continue
        row, cells = found
        if _is_blank(cells[len(names) :]):
            # A row may be shorter than the header; what it leaves out is missing.
            values = {name: cell for name, cell in zip(names, cells, strict=False) if name}
            yield Record(row, values)
        else:
            last = max(place for place, cell in enumerate(cells, 1) if cell is not None)
            seen = f"there is a cell in column {last}, but the header ends at column {len(names)}"
            yield Problem(seen, fix, row=row)
