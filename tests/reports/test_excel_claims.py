from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import openpyxl
import python_calamine

from ragstone.reports.excel import write_workbook
from ragstone.reports.excel.book import Book
from ragstone.reports.excel.samples import add_claims
from ragstone.results.run import Run
from ragstone.types.claim import Evidence

MakeRun = Callable[..., Run]
HEADS = [
    "id", "metric", "against", "number", "claim", "label",
    "reason", "confidence", "quotes", "quote", "context", "verified", "judge",
]  # fmt: skip


def with_evidence(run: Run) -> Run:
    """The run with a quote under the first claim of its first sample."""
    first, *others = run.rows
    score = first.scores["faithfulness"]
    quote = Evidence(context=0, quote="Up to 20 hours.", verified=False)
    claim = score.claims[0].model_copy(update={"evidence": (quote,), "confidence": 0.5})
    scores = {
        **first.scores,
        "faithfulness": score.model_copy(update={"claims": (claim, *score.claims[1:])}),
    }
    return replace(run, rows=[replace(first, scores=scores), *others])


def test_a_line_a_claim(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    write_workbook(path, with_evidence(make_run()), names=["faithfulness"], combined=True)
    sheet = openpyxl.load_workbook(path)["Claims"]
    heads, first, second, third = sheet.iter_rows(values_only=True)
    assert list(heads) == HEADS
    assert first == (
        *("q1", "faithfulness", "contexts", 1, "It lasts 20 hours.", "SUPPORTED"),
        *(None, 0.5, 1, "Up to 20 hours.", 1, False, None),
    )
    assert second == (
        *("q1", "faithfulness", "contexts", 2, "It charges in 60 minutes.", "CONTRADICTED"),
        *("The context says 75 minutes.", None, 0, None, None, None, None),
    )
    assert third[:4] == ("q2", "faithfulness", "contexts", 1)
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("C2", "A1:M4")
    again = python_calamine.load_workbook(str(path)).get_sheet_by_name("Claims").to_python()
    assert again[1][4:6] == ["It lasts 20 hours.", "SUPPORTED"]
    assert len(again) == 4


def test_without_claims_there_is_no_sheet(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    write_workbook(path, make_run(), names=["hit@5"], combined=False)
    assert openpyxl.load_workbook(path).sheetnames == ["Summary", "Per-Query Results"]


def test_what_does_not_fit_is_counted(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    for most, expected in (
        (4, ["id", "q1", "q1", "q2"]),
        (3, ["id", "q1", "2 more claims do not fit in a sheet; --claim-rows FILE has all"]),
    ):
        with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
            add_claims(book, run, names=["faithfulness"], most=most)
        sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Claims"]
        assert [cell.value for cell in sheet["A"]] == expected
