from pathlib import Path

import openpyxl
from tests.reports.ranked import METRICS, ranked_run

from ragstone.reports.excel import write_workbooks
from ragstone.reports.excel.book import Book
from ragstone.reports.excel.samples import add_values


def test_one_sheet_has_all_metrics_of_each_query(tmp_path: Path) -> None:
    run = ranked_run(5)
    (path,) = write_workbooks(run, output=tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    head, *lines = book["Per-Query Results"].iter_rows(values_only=True)
    assert head == ("query_index", "id", "query", *METRICS, "reason")
    unknown = "nothing is known of what is relevant to this query"
    assert lines == [
        (0, "q0", "q0", None, None, unknown),
        (1, "q1", "q1", 0, None, "it raised"),
        (2, "q2", "what?", 0, 0.4, None),
        (3, "q3", "q3", 1, 0.6, None),
        (4, "q4", "q4", 0, 0.8, None),
    ]


def test_what_does_not_fit_is_told_in_the_last_line(tmp_path: Path) -> None:
    run = ranked_run(50)
    with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
        add_values(book, run, names=METRICS, cells=60)
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Per-Query Results"]
    _, *lines, last = sheet.iter_rows(values_only=True)
    assert len(lines) == 10
    assert last[0] == (
        "These are 10 of 50 queries (failed or worst by a metric); use --rows for all"
    )
