from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from ragstone.reports.excel.book import Book, Value, count_lines, sheet_names

WHEN = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


def written(path: Path, *values: Value) -> Worksheet:
    with Book(path, WHEN) as book:
        page = book.page("One", [20])
        for row, value in enumerate(values):
            page.put(row, 0, value)
    return openpyxl.load_workbook(path)["One"]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "{=1}",
        "=HYPERLINK(0)",
        "http://example.com",
        "internal:One!A1",
        "12",
        "1e5",
        "TRUE",
        "#N/A",
        "<b>&amp;</b>",
    ],
)
def test_text_stays_text(tmp_path: Path, text: str) -> None:
    cell = written(tmp_path / "x.xlsx", text)["A1"]
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_text_that_looks_like_the_writers_xml_stays_text(tmp_path: Path) -> None:
    sheet = written(tmp_path / "x.xlsx", "<r><t>a</t></r>", "<r>& broken </r>")
    assert [cell.value for cell in sheet["A"]] == ["<r><t>a</t></r> ", "<r>& broken </r> "]


def test_numbers_are_numbers_as_far_as_excel_has_them(tmp_path: Path) -> None:
    values = (1, 0.25, True, None, 10**15, 2**1100, float("nan"), float("-inf"))
    sheet = written(tmp_path / "x.xlsx", *values)
    found = [cell.value for cell in sheet["A"]]
    assert found == [1, 0.25, True, None, str(10**15), str(2**1100), "nan", "-inf"]


def test_the_book_is_as_old_as_the_run_and_always_the_same(tmp_path: Path) -> None:
    written(tmp_path / "x.xlsx", "a")
    written(tmp_path / "y.xlsx", "a")
    assert openpyxl.load_workbook(tmp_path / "x.xlsx").properties.created == WHEN.replace(
        tzinfo=None
    )
    assert (tmp_path / "x.xlsx").read_bytes() == (tmp_path / "y.xlsx").read_bytes()


def test_what_breaks_off_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Book(tmp_path / "x.xlsx", WHEN) as book:
        book.page("One", [1]).put(0, 0, 1 / 0)
    assert not (tmp_path / "x.xlsx").exists()


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"), Book(tmp_path / "none" / "x.xlsx", WHEN):
        pass


def test_lines_of_a_text() -> None:
    assert count_lines("", 10) == 1
    assert count_lines("a\nb", 10) == 2
    assert count_lines("x" * 19, 10) == 3


def test_sheet_names_are_as_excel_takes_them() -> None:
    names = sheet_names("P", ["Hit@K", "a/b:c*d?e[f]\\g", "hit@k", "x" * 40, "x" * 41, "😀" * 20])
    assert names == [
        "P (Hit@K)",
        "P (a_b_c_d_e_f__g)",
        "P (hit@k 2)",
        f"P ({'x' * 27})",
        f"P ({'x' * 25} 2)",
        f"P ({'😀' * 13})",
    ]
    assert all(len(name.encode("utf-16-le")) <= 62 for name in names)
