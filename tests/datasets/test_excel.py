import struct
import zipfile
import zlib
from collections.abc import Callable
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import openpyxl
import pytest
import xlsxwriter
from tests.datasets.reading import Write, problems

from ragstone.datasets import load
from ragstone.datasets.excel import BROKEN, UNCALCULATED, Archive, SheetScan, _mark_merged
from ragstone.datasets.table import File, Unreadable
from ragstone.errors import InputError, UsageError

Workbook = Callable[..., Path]


def repacked(path: Path, **changes: tuple[str, str]) -> bytes:
    """Return a workbook's bytes with a text replaced in the part whose name ends so."""
    out = BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            for part, (before, after) in changes.items():
                if name.endswith(f"{part}.xml"):
                    assert before.encode() in text
                    text = text.replace(before.encode(), after.encode())
            new.writestr(name, text)
    return out.getvalue()


def test_a_sheet_as_people_write_it(workbook: Workbook):
    path = workbook(
        Fragen=[
            [None, None, None],
            [None, "Query", "Point_ids", "Difficulty", "When", "Ground_truth_answer"],
            [None, "What is it?", 5, "easy", date(2024, 5, 1), "A phone."],
            [None, None, None],
            [None, 5, "1, 2", 2, None, "  "],
            [None, True, None, 1e300, None, None],
        ]
    )
    first, second, third = load(path).samples
    assert (first.id, first.query, first.reference) == ("1", "What is it?", "A phone.")
    assert first.relevance == {"5": 1.0}
    assert first.tags == {"Difficulty": "easy", "When": "2024-05-01"}
    assert (second.id, second.query, second.reference) == ("2", "5", None)
    assert second.relevance == {"1": 1.0, "2": 1.0}
    assert repr(second.tags["Difficulty"]) == "2"
    assert (third.query, third.relevance, dict(third.tags)) == ("TRUE", None, {"Difficulty": 1e300})


def test_what_excel_made_of_an_id_is_reported(workbook: Workbook):
    names = ["id", "Query", "Point_ids", "results", "n"]
    rows = [["a", "q", 12345678901234567, 999999999999999, 12345678901234567]]
    rows += [["b", "q", date(2024, 5, 1), "2024-05-01", None]]
    rows += [[date(2024, 5, 1), "q", "12345678901234567", 1e15, date(2024, 5, 1)]]
    fix = "format the column as text, and enter it again"
    date_seen = f"this is a date or time (2024-05-01), not an id; {fix}"
    number_seen = f"may not be the number that was typed: only 15 digits are stored; {fix}"
    assert problems(workbook(Data=[names, *rows])) == [
        f"sheet Data, row 2, column Point_ids, sample a: 12345678901234570 {number_seen}",
        f"sheet Data, row 3, column Point_ids, sample b: {date_seen}",
        f"sheet Data, row 4, column id: {date_seen}",
        f"sheet Data, row 4, column results: 1000000000000000 {number_seen}",
    ]


def test_errors_in_cells_are_problems_wherever_they_stand(workbook: Workbook):
    rows = [["query", "point_ids", "note"], ["q", "=A9 -> #REF!", "=NA() -> #N/A"]]
    rows += [["r", 1, None], [None, None, None, None], [None, None, "=1/0 -> #DIV/0!"]]
    assert problems(workbook(One=rows)) == [
        "sheet One, row 2, column point_ids: the error #REF!",
        "sheet One, row 2, column note: the error #N/A",
        "sheet One, row 5, column note: the error #DIV/0!",
        "sheet One, row 5, column query: there is no query; fill it in, or delete the row",
    ]
    message = problems(workbook(One=[["query", "=A9 -> #REF!"], ["q", 1]]))
    assert message == ["sheet 'One': the header contains the error #REF!"]
    assert load(workbook(One=[["query"], ["#N/A"]])).samples[0].query == "#N/A"


def test_a_formula_has_its_value_and_is_a_problem_without_one(
    workbook: Workbook, sheet: Callable[..., Path]
):
    path = workbook(One=[["query", "id"], ["q", "=1+1 -> 2"]])
    assert load(path).samples[0].id == "2"
    (message,) = problems(sheet([["query", "id"], ["q", "=1+1"]]))
    assert message.startswith("sheet Sheet, row 2, column id: a formula without a value; open the")


def test_the_first_visible_sheet_is_read_and_the_others_noted(workbook: Workbook, write: Write):
    path = workbook(One=[["query", None], ["a"]], Two=[["query"], ["b"]])
    loaded = load(path)
    assert loaded.samples[0].query == "a"
    assert loaded.source.notes == ("sheet 'One'; ignored: 'Two'",)
    assert load(path, sheet="two ").samples[0].query == "b"
    with pytest.raises(UsageError, match=r"has no sheet 'Tow'; did you mean 'Two'\?"):
        load(path, sheet="Tow")
    change = ('<sheet name="One" ', '<sheet name="One" state="hidden" ')
    hidden = write("hidden.xlsx", repacked(path, workbook=change))
    assert load(hidden).samples[0].query == "b"
    assert problems(workbook(One=[]))[0].startswith("sheet 'One': the file is empty; add a header")


def test_too_large_sheets_are_reported_before_calamine_makes_all_cells(
    workbook: Workbook, sheet: Callable[..., Path], write: Write
):
    far = sheet([["query"], ["q"]], lambda made: made.cell(1_000_003, 101, "x"))
    assert problems(far)[0].startswith("sheet 'Sheet' spans 1,000,003 rows and 101 columns")
    path, long = workbook(One=[["query"], *[["long"]] * 1_200]), "x" * 1_000_000
    (message,) = problems(write("a.xlsx", repacked(path, sharedStrings=(">long<", f">{long}<"))))
    assert message.startswith("the cells of sheet 'One' contain more than 1,073,741,824 characters")


def test_every_cut_of_a_workbook_is_reported(workbook: Workbook, write: Write):
    content = workbook(One=[["query"], ["q"]]).read_bytes()
    for end in range(0, len(content), 397):
        (message,) = problems(write("cut.xlsx", content[:end]))
    assert message == (
        "the workbook cannot be read: File is not a zip file; "
        "open it in Excel and save it again as .xlsx"
    )


def test_a_broken_workbook_is_reported(workbook: Workbook, write: Write):
    path = workbook(One=[["query", "response"], ["q", "r"]])
    changes = ("</row>", ""), ("<worksheet", "<!DOCTYPE a><worksheet"), ('r="A2"', 'r="!"')
    changes += ('r="B2"', 'r="A2"'), ('r="A2"', 'r="A1"')  # twice in one place
    broken = [repacked(path, sheet1=change) for change in changes]
    for content in (*broken, zipped({"a.txt": b"a"})):
        (message,) = problems(write("broken.xlsx", content))
        assert message.startswith("the workbook cannot be read: ")


def test_what_is_not_a_workbook(write: Write):
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    for content, message in (
        (b"", "the file is empty; add a sheet with a header and rows"),
        (b"query,id\na,1\n", "this is not a workbook; if it is a text file, rename it to .csv"),
        (old, "this is an old .xls; save it as .xlsx"),
        (old + "EncryptedPackage".encode("utf-16-le"), "the workbook is encrypted"),
    ):
        assert problems(write("data.xlsx", content))[0].startswith(message)


def zipped(parts: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def opened(path: Path) -> Archive:
    return Archive(File.at(path))


def test_a_bomb_is_refused_even_if_it_lies_about_its_size(
    write: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ragstone.datasets.excel.unpacked_limit", lambda _: 2**20)
    content = b"\0" * (3 * 2**20)
    bomb = zipped({"xl/a.xml": content})
    with pytest.raises(InputError, match=r"its part xl/a\.xml unpacks to over 1 MiB"):
        opened(write("a.xlsx", bomb))
    lie = bomb
    for true, false in ((zlib.crc32(content), zlib.crc32(b"\0" * 10)), (len(content), 10)):
        lie = lie.replace(struct.pack("<L", true), struct.pack("<L", false))
    with zipfile.ZipFile(BytesIO(lie)) as archive:
        assert archive.read("xl/a.xml") == b"\0" * 10
    with pytest.raises(InputError, match="unpacks to over 1 MiB"):
        opened(write("a.xlsx", lie))


def test_a_part_of_another_size_and_a_package_without_a_workbook_are_refused(write: Write):
    content = zipped({"xl/a.xml": b"a" * 1000}, zipfile.ZIP_STORED)
    message, longer = struct.pack("<LL", 1000, 1000), struct.pack("<LL", 1000, 1001)
    with pytest.raises(BROKEN, match="does not have its declared size"):
        opened(write("a.xlsx", content.replace(message, longer)))
    with pytest.raises(BROKEN, match="does not name its workbook part"):
        opened(write("a.xlsx", zipped({"_rels/.rels": b"<Relationships/>"}))).sheets()
    with pytest.raises(BROKEN, match="two parts have the same name"):
        opened(write("a.xlsx", zipped({"xl/a.xml": b"a", "XL/a.xml": b"b"})))


def test_many_small_parts_count_together(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ragstone.datasets.excel.LARGEST", 2_000)
    parts = {f"xl/{number}.xml": b"abcdefgh" * 100 for number in range(2)}
    opened(write("a.xlsx", zipped(parts)))
    with pytest.raises(InputError, match=r"its part xl/2\.xml unpacks to over 0 MiB"):
        opened(write("a.xlsx", zipped({**parts, "xl/2.xml": b"abcdefgh" * 100})))


def scan(rows: str) -> SheetScan:
    return SheetScan.of(f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode())


def test_errors_have_their_place_and_the_sheet_its_size():
    found = scan('<row r="3"><c r="AB3" t="e"><v>#N/A</v></c></row>')
    assert (found.errors, found.rows, found.columns) == ({(2, 27): "the error #N/A"}, 3, 28)
    found = scan("<row><c><v>1</v></c></row><row><c/><c t='e'><f>A1</f><v>#REF!</v></c></row>")
    assert found.errors == {(1, 1): "the error #REF!"}, "cells without an address follow the last"
    found = scan('<x:row xmlns:x="u" r="1"><x:c r="A1" t="e"><x:v>#N/A</x:v></x:c></x:row>')
    assert found.errors == {(0, 0): "the error #N/A"}, "names may have a prefix"
    found = scan('<row r="1"><c r="A1"><v>1</v></c></row><row r="99"><c r="Z99" s="1"/></row>')
    assert (found.rows, found.columns) == (1, 1), "cells that only have a style do not count"
    found = scan('<row r="1"><c r="A1"><f>B1</f></c><c r="B1" t="str"><f>C1</f><v></v></c></row>')
    assert (found.errors, found.columns) == ({(0, 0): UNCALCULATED}, 2), "an empty text is a value"
    for address in ("1A", "A", "ABCD1", "A12345678", "Ä1"):
        with pytest.raises(ExpatError, match="is not a cell address"):
            scan(f'<row><c r="{address}"><v>1</v></c></row>')


@pytest.fixture
def sheet(tmp_path: Path) -> Callable[..., Path]:
    """Write one sheet with openpyxl, after `change`, and return the path."""

    def written(rows: list[list[object]], change: Callable[[Any], object] = id) -> Path:
        book = openpyxl.Workbook()
        assert book.active is not None
        for row in rows:
            book.active.append(row)
        change(book.active)
        book.save(tmp_path / "data.xlsx")
        return tmp_path / "data.xlsx"

    return written


def test_the_blank_part_of_merged_cells_is_a_problem(sheet: Callable[..., Path]):
    rows = [["query", "response"], ["q", "a"], [None, "b"], [None, None]]
    (message,) = problems(sheet(rows, lambda made: made.merge_cells("A2:A4")))
    assert message.startswith("sheet Sheet, row 3, column query: the merged cells A2:A4 have one v")
    rows = [["query", "topic", "response"], ["q", "t", None], ["p", None, None]]
    found = problems(sheet(rows, lambda made: made.merge_cells("B2:C3")))
    for row, message in zip((2, 3), found, strict=True):
        assert message.startswith(f"sheet Sheet, row {row}, column response: the merged cells")


def test_merged_cells_in_columns_that_are_no_field_are_missing(sheet: Callable[..., Path]) -> None:
    rows = [["query", "response", "topic", "note", None, "owner"]]
    rows += [["q", "a", "t", "a note"], ["p", "b", "t"]]

    def change(made: Any) -> None:
        for area in ("D2:E3", "A5:B9"):  # and beside the rows
            made.merge_cells(area)
        made.row_dimensions[3].hidden = True
        made.row_dimensions[9].hidden = True

    loaded = load(sheet(rows, change))
    assert [each.query for each in loaded.samples] == ["q", "p"]
    tags = [dict(each.tags) for each in loaded.samples]
    assert tags == [{"topic": "t", "note": "a note"}, {"topic": "t"}]
    assert loaded.source.notes == ("hidden or filtered rows are read too: 1",)


def test_merged_areas_that_overlap_a_million_times_take_no_time():
    rows: list[list[object]] = [["q", "a"], *(["q", None] for _ in range(999))]
    _mark_merged(rows, (f"A{n}:XFD1048576" for n in range(1, 1_000_000)), range(1000))
    assert rows[0] == ["q", "a"]
    assert isinstance(rows[1][1], Unreadable)


def test_a_title_above_the_header_is_reported_once(workbook: Workbook):
    path = workbook(One=[["My evaluation"], [], ["query", "response"], ["q", "r"], ["p", "s"]])
    (message,) = problems(path)
    assert message == (
        "sheet 'One': the first row has only 'My evaluation', but row 3 may be the header: "
        "'query', 'response'; if so, use --header-row 3"
    )
    assert len(load(path, header_row=3).samples) == 2


def formatted(path: Path, *cells: tuple[str, object, str | None]) -> Path:
    """Write a workbook of one row: names, values and their number formats."""
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("One")
        for column, (name, value, code) in enumerate([("query", "q", None), *cells]):
            style = book.add_format({"num_format": code}) if code is not None else None
            sheet.write(0, column, name)
            sheet.write(1, column, value, style)
    return path


def test_fields_have_what_excel_shows_and_tags_the_value(tmp_path: Path):
    path = formatted(
        tmp_path / "a.xlsx",
        ("id", 7, "000"),
        ("reference", 0.25, "0%"),
        ("response", date(2026, 10, 1), "dd.mm.yyyy"),
        ("share", 0.25, "0%"),
        ("on", date(2026, 10, 1), "dd.mm.yyyy"),
        ("point_ids", 12345, "#,##0"),
        ("results", 123, "00000"),
    )
    loaded = load(path)
    (sample,) = loaded.samples
    assert (sample.id, sample.reference, sample.response) == ("007", "25%", "01.10.2026")
    assert sample.tags == {"share": 0.25, "on": "2026-10-01"}
    assert sample.relevance == {"12345": 1.0}
    assert [each.id for each in sample.ranking or ()] == ["00123"]
    how = "numbers and dates are read as an English Excel displays them, such as 25%"
    assert f"column reference: {how} (1 cell, first in row 2)" in loaded.source.notes


def test_what_excel_may_show_otherwise_is_refused(tmp_path: Path):
    codes = ((0.5, "# ?/?"), (5, "[>3]0;0.0"))
    for value, code in codes:
        (found,) = problems(formatted(tmp_path / "a.xlsx", ("reference", value, code)))
        assert f"Excel may show {value} differently (in the format {code}); format the col" in found
        assert len(load(formatted(tmp_path / "b.xlsx", ("n", value, code))).samples) == 1
