"""Make the demo's workbook from its questions: `python scripts/make_demo_dataset.py [FILE]`.

The same questions give the same bytes. The point ids are written in the forms that people's files
have (a number, `101, 102`, `[101, 102]`), so that the demo also shows that all of them are read.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import xlsxwriter

from ragstone.demo.questions import DATASET, Entry, entries

COLUMNS = {
    "Query": 60,
    "Point_ids": 16,
    "Ground_truth_answer": 70,
    "difficulty": 11,
    "Source_files": 36,
}
"""Each column's name and its width in characters."""
CREATED = datetime(2025, 3, 3, tzinfo=UTC)


def point_ids_cell(row: int, entry: Entry) -> int | str | None:
    """Return an entry's point ids in the form that its row number decides."""
    ids = list(entry.point_ids)
    if not ids:
        return None
    if len(ids) == 1 and row % 3:
        return ids[0]
    return str(ids) if row % 2 else ", ".join(map(str, ids))


def make(file: Path) -> None:
    """Write the workbook."""
    with xlsxwriter.Workbook(str(file), {"strings_to_numbers": False}) as workbook:
        workbook.set_properties({"title": "Smartphone support questions", "created": CREATED})
        header = workbook.add_format({"bold": True, "bottom": 1})
        wrapped = workbook.add_format({"text_wrap": True, "valign": "top"})
        sheet = workbook.add_worksheet("Questions")
        sheet.freeze_panes(1, 0)
        for column, (name, width) in enumerate(COLUMNS.items()):
            sheet.set_column(column, column, width, wrapped)
            sheet.write_string(0, column, name, header)
        for row, entry in enumerate(entries(), start=1):
            sheet.write_string(row, 0, entry.query)
            sheet.write(row, 1, point_ids_cell(row, entry))
            sheet.write_string(row, 2, entry.ground_truth_answer)
            sheet.write_string(row, 3, entry.difficulty)
            sheet.write_string(row, 4, ", ".join(entry.source_files))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DATASET
    make(target)
    print(f"wrote {target}")
