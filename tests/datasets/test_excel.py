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
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.datasets.excel import BROKEN, UNCALCULATED, Archive, SheetScan, _mark_merged
from ragstone.datasets.table import File, Unreadable
from ragstone.errors import InputError, Problem, UsageError

Workbook = Callable[..., Path]
Write = Callable[[str, bytes], Path]


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


def problems(path: Path, **options: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(path, **options)
    assert caught.value.file == path.name
    return [str(problem) for problem in caught.value.problems]


def test_a_sheet_as_people_write_it(workbook: Workbook):
    path = workbook(
        Fragen=[
            [None, None, None],
            [None, "Query", "Point_ids", "Difficulty", "When", "Ground_truth_answer"],
            [None, "What is it?", 5, "easy", date(2024, 5, 1), "A phone."],
            [None, None, None],
            [None, 5, "1, 2", 2, None, "  "],
            [None, True, None, 0.5, None, None],
        ]
    )
    first, second, third = load(path).samples
    assert (first.id, first.query, first.reference) == ("1", "What is it?", "A phone.")
    assert first.relevance == {"5": 1.0}
    assert first.tags == {"Difficulty": "easy", "When": "2024-05-01"}
    assert (second.id, second.query, second.reference) == ("2", "5", None)
    assert second.relevance == {"1": 1.0, "2": 1.0}
    assert repr(second.tags["Difficulty"]) == "2"
    assert (third.query, third.relevance) == ("TRUE", None)


def test_what_excel_made_of_an_id_is_reported(workbook: Workbook):
    path = workbook(
        Data=[
            ["id", "Query", "Point_ids", "results", "n"],
            ["a", "q", 12345678901234567, 999999999999999, 12345678901234567],
            ["b", "q", date(2024, 5, 1), "2024-05-01", None],
            [date(2024, 5, 1), "q", "12345678901234567", 1e15, date(2024, 5, 1)],
        ]
    )
    fix = "format the column as text, and enter it again"
    date_seen = f"this is a date or time (2024-05-01), not an id; {fix}"
    number_seen = f"may not be the number that was typed: only 15 digits are stored; {fix}"
    assert problems(path) == [
        f"sheet Data, row 2, column Point_ids, sample a: 12345678901234570 {number_seen}",
        f"sheet Data, row 3, column Point_ids, sample b: {date_seen}",
        f"sheet Data, row 4, column id: {date_seen}",
        f"sheet Data, row 4, column results: 1000000000000000 {number_seen}",
    ]


def test_words_for_missing_are_missing_ids(workbook: Workbook):
    path = workbook(Data=[["Query", "Point_ids"], ["q", "None"], ["q", "nan"], ["q", "n/a"]])
    assert [sample.relevance for sample in load(path).samples] == [None] * 3


def test_the_place_of_a_problem_is_what_excel_shows(workbook: Workbook):
    path = workbook(Data=[[], ["id", "Query", "Point_ids"], [], ["a", "q", "[1"], ["b", None, 1]])
    with pytest.raises(InputError) as caught:
        load(path)
    assert caught.value.problems == (
        Problem(
            "'[1' starts like a list but cannot be parsed; "
            'write a list such as 1, 2 or ["a", "b"]',
            sheet="Data",
            row=4,
            column="Point_ids",
            sample_id="a",
        ),
        Problem(
            "there is no query; fill it in, or delete the row",
            sheet="Data",
            row=5,
            column="Query",
            sample_id="b",
        ),
    )


def test_errors_in_cells_are_problems_wherever_they_stand(workbook: Workbook):
    rows = [["query", "point_ids", "note"], ["q", "=A9 -> #REF!", "=NA() -> #N/A"]]
    rows += [["r", 1, None], [None, None, None, None], [None, None, "=1/0 -> #DIV/0!"]]
    assert problems(workbook(One=rows)) == [
        "sheet One, row 2, column point_ids: the error #REF!",
        "sheet One, row 2, column note: the error #N/A",
        "sheet One, row 5, column note: the error #DIV/0!",
        "sheet One, row 5, column query: there is no query; fill it in, or delete the row",
    ]


def test_an_error_in_the_header_is_reported(workbook: Workbook):
    message = problems(workbook(One=[["query", "=A9 -> #REF!"], ["q", 1]]))
    assert message == ["sheet 'One': the header contains the error #REF!"]


def test_a_text_that_shows_an_error_is_a_text(workbook: Workbook):
    assert load(workbook(One=[["query"], ["#N/A"]])).samples[0].query == "#N/A"


def test_a_formula_nobody_calculated_is_a_problem(tmp_path: Path):
    path = tmp_path / "new.xlsx"
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "One"
    sheet.append(["query", "id"])
    sheet.append(["q", "=1+1"])
    book.save(path)
    assert problems(path) == [
        "sheet One, row 2, column id: a formula without a value; open the file in Excel and save it"
    ]


def test_a_formulas_value_counts(workbook: Workbook):
    path = workbook(One=[["query", "id"], ["q", "=1+1 -> 2"]])
    assert load(path).samples[0].id == "2"


def test_the_first_visible_sheet_is_read_and_the_others_noted(workbook: Workbook, write: Write):
    path = workbook(One=[["query"], ["a"]], Two=[["query"], ["b"]])
    loaded = load(path)
    assert loaded.samples[0].query == "a"
    assert loaded.source.notes == ("sheet 'One'; ignored: 'Two'",)
    assert load(path, sheet="two ").samples[0].query == "b"
    change = ('<sheet name="One" ', '<sheet name="One" state="hidden" ')
    hidden = write("hidden.xlsx", repacked(path, workbook=change))
    assert load(hidden).samples[0].query == "b"


def test_an_unknown_sheet_is_reported_with_those_there(workbook: Workbook):
    with pytest.raises(UsageError) as caught:
        load(workbook(Questions=[["query"], ["a"]], Two=[[]]), sheet="Question")
    assert str(caught.value) == (
        "data.xlsx has no sheet 'Question'; did you mean 'Questions'? "
        "(the sheets are 'Questions', 'Two')"
    )


@each_case(
    ("rows", "message"),
    [
        ([], "sheet 'One': the file is empty; add a header and at least one row"),
        ([["query"]], "sheet One: there are no rows; add at least one row with a query"),
        (
            [["query", "a", "a "], ["q"]],
            "sheet 'One': two columns have the same name: 'a'; rename one of them",
        ),
        (
            [["Satz"], ["q"]],
            ("sheet One: no query column found; the columns are 'Satz'; map query=COLUMN"),
        ),
        (
            [["query"], ["q", "scribble"]],
            (
                "sheet One, row 2: there is a cell in column 2, but the header ends at column 1; "
                "name the column, or clear the cell"
            ),
        ),
    ],
)
def test_sheets_without_what_they_need(workbook: Workbook, rows: list[list[object]], message: str):
    assert problems(workbook(One=rows)) == [message]


def test_a_column_without_a_name_is_left_out_and_noted(workbook: Workbook):
    loaded = load(workbook(One=[[None, None, "query"], [0, None, "a"], [1, None, "b"]]))
    assert loaded.samples[0].tags == {}
    assert loaded.source.notes == ("ignored, because it has no name: column 1",)


def test_a_cell_far_away_is_reported_before_calamine_makes_all_between(workbook: Workbook):
    rows: list[list[object]] = [["query"], ["q"], *([[]] * 1_000_000), [None] * 100 + ["x"]]
    (message,) = problems(workbook(One=rows))
    assert message.startswith("sheet 'One' spans 1,000,003 rows and 101 columns")


def test_a_long_text_in_many_cells_is_reported_before_calamine_copies_it(
    workbook: Workbook, write: Write
):
    path = workbook(One=[["query"], *[["long"]] * 20_000])
    long = "x" * 100_000
    (message,) = problems(write("a.xlsx", repacked(path, sharedStrings=(">long<", f">{long}<"))))
    assert message == (
        "the cells of sheet 'One' contain more than 1,073,741,824 characters; "
        "use .csv or .jsonl for texts that large"
    )


def test_a_truncated_workbook(workbook: Workbook, write: Write):
    content = workbook(One=[["query"], ["q"]]).read_bytes()
    (message,) = problems(write("cut.xlsx", content[:3000]))
    assert message == (
        "the workbook cannot be read: File is not a zip file; "
        "open it in Excel and save it again as .xlsx"
    )


def test_every_cut_of_a_workbook_is_reported(workbook: Workbook, write: Write):
    content = workbook(One=[["query"], ["q"]]).read_bytes()
    for end in range(0, len(content), 97):
        assert len(problems(write("cut.xlsx", content[:end]))) == 1


def test_broken_xml_and_a_document_type_are_reported(workbook: Workbook, write: Write):
    path = workbook(One=[["query"], ["q"]])
    for change in (("</row>", ""), ("<worksheet", "<!DOCTYPE a><worksheet"), ('r="A2"', 'r="!"')):
        (message,) = problems(write("broken.xlsx", repacked(path, sheet1=change)))
        assert message.startswith("the workbook cannot be read: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; add a sheet with a header and rows"),
        (b"query,id\na,1\n", "this is not a workbook; if it is a text file, rename it to .csv"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "this is an old .xls; save it as .xlsx"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "the workbook is encrypted; remove its password",
        ),
    ],
)
def test_what_is_not_a_workbook(write: Write, content: bytes, message: str):
    assert problems(write("data.xlsx", content)) == [message]


def test_a_zip_that_is_not_a_workbook(write: Write):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "a")
    (message,) = problems(write("data.xlsx", out.getvalue()))
    assert message.startswith("the workbook cannot be read: ")


def test_numbers_too_large_to_be_exact_stay_as_they_are(workbook: Workbook):
    path = workbook(One=[["query", "n"], ["q", 1e300]])
    assert load(path).samples[0].tags["n"] == 1e300


def zipped(parts: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def opened(path: Path) -> Archive:
    return Archive(File.at(path))


def test_parts_are_found_without_case(write: Write):
    assert opened(write("a.xlsx", zipped({"Xl/A.xml": b"<a/>"}))).read("xl/a.XML") == b"<a/>"


def test_a_bomb_is_refused(write: Write):
    bomb = zipped({"xl/a.xml": b"\0" * (110 * 2**20)})
    assert len(bomb) < 200_000
    with pytest.raises(InputError, match=r"its part xl/a\.xml unpacks to over 100 MiB"):
        opened(write("a.xlsx", bomb))


def test_a_bomb_that_lies_about_its_size_is_refused(write: Write):
    size = 110 * 2**20
    bomb = zipped({"xl/a.xml": b"\0" * size})
    crc = zlib.crc32(b"\0" * 10)
    true = struct.pack("<L", zlib.crc32(b"\0" * size)), struct.pack("<L", size)
    lie = bomb.replace(true[0], struct.pack("<L", crc)).replace(true[1], struct.pack("<L", 10))
    with zipfile.ZipFile(BytesIO(lie)) as archive:
        assert archive.read("xl/a.xml") == b"\0" * 10
    with pytest.raises(InputError, match="unpacks to over 100 MiB"):
        opened(write("a.xlsx", lie))


def test_a_part_of_another_size_than_declared_is_refused(write: Write):
    content = zipped({"xl/a.xml": b"a" * 1000}, zipfile.ZIP_STORED)
    message, longer = struct.pack("<LL", 1000, 1000), struct.pack("<LL", 1000, 1001)
    with pytest.raises(BROKEN, match="does not have its declared size"):
        opened(write("a.xlsx", content.replace(message, longer)))


def test_two_parts_of_one_name_are_refused(write: Write):
    with pytest.raises(BROKEN, match="two parts have the same name"):
        opened(write("a.xlsx", zipped({"xl/a.xml": b"a", "XL/a.xml": b"b"})))


def test_many_small_parts_count_together(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ragstone.datasets.excel.LARGEST", 2_000)
    parts = {f"xl/{number}.xml": b"abcdefgh" * 100 for number in range(2)}
    opened(write("a.xlsx", zipped(parts)))
    with pytest.raises(InputError, match=r"its part xl/2\.xml unpacks to over 0 MiB"):
        opened(write("a.xlsx", zipped({**parts, "xl/2.xml": b"abcdefgh" * 100})))


def test_a_package_without_a_workbook_is_refused(write: Write):
    relations = b"<Relationships/>"
    with pytest.raises(BROKEN, match="does not name its workbook part"):
        opened(write("a.xlsx", zipped({"_rels/.rels": relations}))).sheets()


def scan(rows: str) -> SheetScan:
    return SheetScan.of(f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode())


def test_errors_have_their_place_from_0():
    found = scan('<row r="3"><c r="AB3" t="e"><v>#N/A</v></c></row>')
    assert found.errors == {(2, 27): "the error #N/A"}
    assert (found.rows, found.columns) == (3, 28)


def test_cells_without_an_address_follow_the_last():
    found = scan("<row><c><v>1</v></c></row><row><c/><c t='e'><f>A1</f><v>#REF!</v></c></row>")
    assert found.errors == {(1, 1): "the error #REF!"}


def test_names_may_have_a_prefix():
    xml = b'<x:w xmlns:x="u"><x:row r="1"><x:c r="A1" t="e"><x:v>#N/A</x:v></x:c></x:row></x:w>'
    assert SheetScan.of(xml).errors == {(0, 0): "the error #N/A"}


def test_cells_that_only_have_a_style_do_not_count():
    found = scan('<row r="1"><c r="A1"><v>1</v></c></row><row r="99"><c r="Z99" s="1"/></row>')
    assert (found.rows, found.columns) == (1, 1)


def test_a_formula_without_a_value_counts_and_one_with_an_empty_text_does_not():
    found = scan('<row r="1"><c r="A1"><f>B1</f></c><c r="B1" t="str"><f>C1</f><v></v></c></row>')
    assert found.errors == {(0, 0): UNCALCULATED}
    assert found.columns == 2


@each_case("address", ["1A", "A", "ABCD1", "A12345678", "Ä1"])
def test_what_is_not_an_address_is_refused(address: str):
    with pytest.raises(ExpatError, match="is not a cell address"):
        scan(f'<row><c r="{address}"><v>1</v></c></row>')


def test_a_document_type_is_refused():
    with pytest.raises(ExpatError, match="document type"):
        SheetScan.of(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')


@pytest.fixture
def sheet(tmp_path: Path) -> Callable[..., Path]:
    """Write one sheet with openpyxl, after `change`, and return the path."""

    def written(rows: list[list[object]], change: Callable[[Any], None]) -> Path:
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
    path = sheet(rows, lambda made: made.merge_cells("A2:A4"))
    assert problems(path) == [
        (
            "sheet Sheet, row 3, column query: the merged cells A2:A4 have one value; "
            "unmerge and fill in each"
        )
    ]


def test_merged_cells_without_a_value_or_beside_the_rows_are_ignored(sheet: Callable[..., Path]):
    def merge(made: Any) -> None:
        for area in ("B2:B3", "A5:B9", "D1:E3"):
            made.merge_cells(area)

    loaded = load(sheet([["query", "response"], ["q"], ["p"]], merge))
    assert [each.query for each in loaded.samples] == ["q", "p"]


@each_case(
    ("header", "area"),
    [
        (["query", "response", "topic", "note", "owner"], "D2:E2"),
        (["query", "response", "topic", "note"], "D2:E2"),
        (["query", "response", "topic", "note", None, "owner"], "D2:E3"),
    ],
)
def test_merged_cells_in_columns_that_are_no_field_are_missing(
    sheet: Callable[..., Path], header: list[object], area: str
) -> None:
    rows = [["q", "a", "t", "a note"], ["p", "b", "t"]]
    loaded = load(sheet([header, *rows], lambda made: made.merge_cells(area)))
    assert [each.query for each in loaded.samples] == ["q", "p"]
    assert [dict(each.tags) for each in loaded.samples] == [
        {"topic": "t", "note": "a note"},
        {"topic": "t"},
    ]
    assert loaded.source.notes == ()


def test_merged_cells_of_a_tag_and_a_field_are_problems_of_the_field(sheet: Callable[..., Path]):
    rows = [["query", "topic", "response"], ["q", "t", None], ["p", None, None]]
    assert problems(sheet(rows, lambda made: made.merge_cells("B2:C3"))) == [
        (
            f"sheet Sheet, row {row}, column response: the merged cells B2:C3 have one value; "
            "unmerge and fill in each"
        )
        for row in (2, 3)
    ]


def test_merged_areas_that_overlap_a_million_times_take_no_time():
    rows: list[list[object]] = [["q", "a"], *(["q", None] for _ in range(999))]
    _mark_merged(rows, (f"A{n}:XFD1048576" for n in range(1, 1_000_000)), range(1000))
    assert rows[0] == ["q", "a"]
    assert isinstance(rows[1][1], Unreadable)


def test_hidden_rows_are_noted(sheet: Callable[..., Path]):
    def hide(made: Any) -> None:
        made.row_dimensions[3].hidden = True
        made.row_dimensions[9].hidden = True

    loaded = load(sheet([["query"], ["a"], ["b"]], hide))
    assert len(loaded.samples) == 2
    assert loaded.source.notes == ("hidden or filtered rows are read too: 1",)


def test_a_title_above_the_header_is_reported_once(workbook: Workbook):
    path = workbook(One=[["My evaluation"], [], ["query", "response"], ["q", "r"], ["p", "s"]])
    assert problems(path) == [
        (
            "sheet 'One': the first row has only 'My evaluation', but row 3 may be the header: "
            "'query', 'response'; if so, use --header-row 3"
        )
    ]
    assert len(load(path, header_row=3).samples) == 2


def test_names_of_groups_above_the_header_are_reported(workbook: Workbook):
    rows = [["General", None, "Expected"], ["No", "Frage", "Antwort", "On"], [1, "q", "a", 5]]
    path = workbook(One=rows)
    assert problems(path)[0].endswith("'No', 'Frage', 'Antwort', 'On'; if so, use --header-row 2")
    loaded = load(path, header_row=2, columns={"query": "Frage"})
    assert (loaded.samples[0].response, loaded.samples[0].tags) == ("a", {"No": 1, "On": 5})


def test_a_sheet_without_questions_names_the_others(workbook: Workbook):
    path = workbook(Notes=[["About this workbook"]], **{"My data": [["query"], ["q"]]})
    assert problems(path) == [
        (
            "sheet Notes: there are no rows; add at least one row with a query, or read another "
            "sheet: 'My data'"
        )
    ]
    path = workbook(Notes=[["About"], ["text"]], Data=[["query"], ["q"]])
    assert problems(path)[0].endswith("; read another sheet: 'Data'")


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


@each_case(
    ("value", "code", "message"),
    [
        (
            0.5,
            "# ?/?",
            "Excel may show 0.5 differently (in the format # ?/?); format the column as",
        ),
        (5, "[>3]0;0.0", "Excel may show 5 differently"),
        (45000, 14, "(in the format of the region)"),
    ],
)
def test_what_excel_may_show_otherwise_is_refused(
    tmp_path: Path, value: object, code: Any, message: str
):
    found = problems(formatted(tmp_path / "a.xlsx", ("reference", value, code)))
    assert message in found[0]
    tag = formatted(tmp_path / "b.xlsx", ("n", value, code))
    assert len(load(tag).samples) == 1
