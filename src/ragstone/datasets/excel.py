"""Excel workbooks: .xlsx and .xlsm, read by calamine."""

from io import BytesIO

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from ragstone.datasets.archive import BROKEN, LARGEST, Archive
from ragstone.datasets.cells import EXACT
from ragstone.datasets.file import OLE, ZIP, File
from ragstone.datasets.sheet_scan import SheetScan, text_lengths
from ragstone.datasets.table import Cells, Table, Unreadable
from ragstone.errors import UsageError, nearest

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
        raise file.refused("the file is empty", "it needs a sheet with a header and rows")
    if file.content.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in file.content:
            raise file.refused("the workbook has a password", "save it without one")
        raise file.refused("this is an old .xls", "save it as .xlsx")
    raise file.refused("this is no workbook", "if it is text, name it .csv")


def _refuse_size(scan: SheetScan, archive: Archive, file: File, sheet: str) -> None:
    """Stop before calamine makes every cell of the area, and a copy of a text for every cell."""
    if scan.rows * scan.columns > _AREA:
        raise file.refused(
            f"the values of sheet {sheet!r} spread over {scan.rows:,} rows and "
            f"{scan.columns:,} columns",
            "delete the cells far below or right of the table",
        )
    for part in archive.text_parts():
        lengths = text_lengths(archive.read(part))
        if sum(lengths[int(text)] * times for text, times in scan.shared.items()) > LARGEST:
            raise file.refused(
                f"the cells of sheet {sheet!r} hold more than {LARGEST:,} characters",
                "use .csv or .jsonl for texts that large",
            )


def _chosen(
    workbook: CalamineWorkbook, sheet: str | None, file: File
) -> tuple[str, tuple[str, ...]]:
    """Return the name of the sheet to read, and a note if there were others to choose from."""
    sheets = [data for data in workbook.sheets_metadata if data.typ == SheetTypeEnum.WorkSheet]
    names = [data.name for data in sheets]
    if not names:
        raise file.refused("the workbook has no sheet of cells")
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
    return chosen, (f"sheet {chosen!r}; not read: {', '.join(others)}",) if others else ()


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
