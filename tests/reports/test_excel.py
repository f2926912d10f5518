import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from ragstone.reports.excel import write_workbook
from ragstone.reports.excel.book import Book
from ragstone.reports.excel.samples import add_samples, join_ids
from ragstone.reports.format import cell
from ragstone.reports.table_rows import describe_claim
from ragstone.results.run import Run
from ragstone.types.gate import Gate
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

MakeRun = Callable[..., Run]
RETRIEVAL, GENERATION = ("hit@5", "f1@5"), ("faithfulness",)


def written(run: Run, names: Sequence[str], folder: Path, *, combined: bool) -> Workbook:
    path = folder / "x.xlsx"
    write_workbook(path, run, names=names, combined=combined)
    with ZipFile(path) as archive:
        for name in archive.namelist():
            root = ElementTree.fromstring(archive.read(name))
            assert not [el for el in root.iter() if el.tag.endswith(("}f", "}hyperlink"))]
    return openpyxl.load_workbook(path)


def pairs(sheet: Worksheet) -> dict[object, object]:
    return {row[0].value: row[1].value for row in sheet.iter_rows() if row[0].value}


def records(sheet: Worksheet) -> list[dict[object, object]]:
    head, *rest = sheet.iter_rows(values_only=True)
    return [dict(zip(head, row, strict=True)) for row in rest]


INTERVAL = (pytest.approx(0.0943, abs=1e-4), pytest.approx(0.9916, abs=1e-4))
"""Of two hits and a miss."""


def test_a_single_retrieval_metric(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(names=("hit@5",), asked=("hit",), threshold=0.25)
    book = written(run, ["hit@5"], tmp_path, combined=False)
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    found = pairs(book["Summary"])
    date = f"{run.manifest.started_at.astimezone():%Y-%m-%d %H:%M:%S %Z}"
    assert found == {
        "Metric": "Value",
        "Evaluation Date": date,
        "Metric Name": "Hit@K",
        "K Value": 5,
        "Score Threshold": 0.25,
        "Total Queries": 4,
        "Score": pytest.approx(2 / 3),
        "Score (%)": pytest.approx(2 / 3),
        "95 % interval, low": pytest.approx(0.0943, abs=1e-4),
        "95 % interval, high": pytest.approx(0.9916, abs=1e-4),
        "Range": "0 to 1, higher is better",
        "Min Score": 0,
        "Max Score": 1,
        "Scored": 3,
        "Undefined": 1,
        "Undefined because": "relevance is not known (1)",
        "Failed": 0,
        "Hits": 2,
        "Misses": 1,
        "Perfect Queries": 2,
        "Zero Queries": 1,
        "Nothing Relevant": 0,
        "Data set": "qr.xlsx (4 rows evaluated)",
        "Target": "http://localhost:8000: 4 calls, 1 failed (25.0%), "
        "latency p50 110 ms, p95 119 ms",
        "Note": "the ranking holds a document twice (2 rows)",
    }
    formats = {row[0].value: row[1].number_format for row in book["Summary"].iter_rows()}
    assert (formats["Score"], formats["Score (%)"]) == ("0.0000", "0.00%")


def test_a_single_generation_metric(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(names=GENERATION, asked=("faithfulness",), k=3, partial=True)
    found = pairs(written(run, GENERATION, tmp_path, combined=False)["Summary"])
    shown = ("Model", "Top K", "Score", "Min Score", "Max Score", "Valid Queries", "Failed")
    assert [found[name] for name in shown] == ["offline", 3, 0.25, 0, 0.5, 2, 1]
    assert found["Failed because"] == "timed out (1, first q4: no answer within 30 s)"
    assert str(found["Partial"]).startswith("the run stopped early")


def test_a_combined_summary(make_run: MakeRun, tmp_path: Path) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    book = written(make_run(gates=[gate]), RETRIEVAL, tmp_path, combined=True)
    assert book.sheetnames == ["Summary", "Per-Query (Hit@K)", "Per-Query (F1@K)"]
    rows = [[value for value in row if value is not None] for row in book["Summary"].values]
    assert rows[0] == [
        *("Metric", "Score", "Score (%)", "95 % low", "95 % high"),
        *("Total", "Scored", "Undefined", "Failed", "Imputed"),
    ]
    assert rows[1] == ["Hit@K", *[pytest.approx(2 / 3)] * 2, *INTERVAL, 4, 3, 1, 0, 0]
    assert rows[2][0] == "F1@K"
    assert ["Gate", "FAILED: faithfulness 0.2500 is not >= 0.8 (2 of 4 scored)"] in rows
    blocks = [row[0] for row in rows if row and str(row[0]).startswith("---")]
    assert blocks == ["--- Hit@K ---", "--- F1@K ---"]
    assert [row[1] for row in rows if row and row[0] == "Metric Name"] == ["Hit@K", "F1@K"]


def test_retrieval_rows(make_run: MakeRun, tmp_path: Path) -> None:
    sheet = written(make_run(), RETRIEVAL, tmp_path, combined=True)["Per-Query (Hit@K)"]
    found = records(sheet)
    assert found[0] == {
        "query_index": 0,
        "id": "q1",
        "query": "How long does battery 1 last?",
        "ground_truth_ids": "3, 77",
        "retrieved_ids": "9, 3, 4",
        "score": 1,
        "state": "scored",
        "cause": None,
        "reason": None,
        "first_hit_rank": 2,
        "hits": 1,
        "retrieved": 3,
        "relevant": 2,
        "precision": 0.2,
        "recall": 0.5,
        "difficulty": "easy",
        "source_files": "manual.pdf",
    }
    states = [(row["score"], row["state"], row["reason"]) for row in found]
    assert states[1:3] == [(0, "scored", None), (None, "undefined", "relevance is not known")]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("C2", "A1:Q5")


def test_generation_rows(make_run: MakeRun, tmp_path: Path) -> None:
    book = written(make_run(), GENERATION, tmp_path, combined=True)
    found = records(book["Per-Query (Faithfulness)"])
    assert found[0] == {
        "query_index": 0,
        "id": "q1",
        "query": "How long does battery 1 last?",
        "response": "It lasts 20 hours. It charges in 60 minutes.",
        "ground_truth_answer": "20 hours",
        "retrieved_contexts": "Up to 20 hours.\n---\n75 minutes.",
        "num_contexts": 2,
        "score": 0.5,
        "state": "scored",
        "cause": None,
        "reason": None,
        "num_claims": 2,
        "num_supported": 1,
        "claims": "SUPPORTED: It lasts 20 hours.\n"
        "CONTRADICTED: It charges in 60 minutes. (The context says 75 minutes.)",
        "evidence": "none\nnone",
        "difficulty": "easy",
        "source_files": "manual.pdf",
    }
    shown = ("response", "num_contexts", "score", "state", "cause", "reason", "num_claims")
    assert [found[3][name] for name in shown] == [
        *(None, None, None, "failed", "timeout", "no answer within 30 s", None),
    ]
    assert [row["score"] for row in found] == [0.5, 0, None, None]


def test_a_mean_over_nothing_is_a_dash_with_the_reason(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([make_run().rows[2]])
    found = pairs(written(run, GENERATION, tmp_path, combined=False)["Summary"])
    assert found["Score"] == "– nothing was scored: 1 undefined, 0 failed"
    shown = ("Score (%)", "95 % interval, low", "Min Score", "Valid Queries")
    assert [found[name] for name in shown] == ["–", "–", "–", 0]
    table = written(run, GENERATION, tmp_path, combined=True)["Summary"]
    assert [table.cell(2, column).value for column in (2, 3, 4, 5)] == ["–"] * 4


def test_a_run_without_rows(make_run: MakeRun, tmp_path: Path) -> None:
    book = written(make_run([]), GENERATION, tmp_path, combined=True)
    assert book["Per-Query (Faithfulness)"].max_row == 1


def test_flagged_scores_are_told(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    made_up = row.scores["faithfulness"].model_copy(update={"fallback": True, "passed": False})
    run = make_run([replace(row, scores={"faithfulness": made_up})], names=GENERATION)
    book = written(run, GENERATION, tmp_path, combined=False)
    assert pairs(book["Summary"])["Imputed by policy"] == 1
    assert pairs(book["Summary"])["Pass rate"] == 0
    assert records(book["Per-Query Results"])[0]["imputed"] is True


def test_columns_that_are_called_alike_are_told_apart(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    tags = {"Score": 7, "hits": "many"}
    sample = row.sample.model_copy(update={"tags": tags})
    score = Score.scored(1, detail={"state": "x", "hits": 1})
    run = make_run([replace(row, sample=sample, scores={"hit@5": score})], names=("hit@5",))
    found = records(written(run, ["hit@5"], tmp_path, combined=False)["Per-Query Results"])[0]
    assert [found[name] for name in ("score", "state", "hits")] == [1, "scored", 1]
    assert [found[name] for name in ("detail state", "tag Score", "tag hits")] == ["x", 7, "many"]


def test_ids_are_written_as_the_loader_reads_them() -> None:
    assert join_ids(["5", "12"]) == "5, 12"
    assert join_ids(["a,b", "ü"]) == '["a,b", "ü"]'
    assert join_ids([]) == ""


def test_a_claim_is_one_line(make_run: MakeRun) -> None:
    given_ = make_run().rows[0].scores["faithfulness"].claims[1]
    broken = given_.model_copy(update={"text": "a\nb", "reason": " c\n"})
    assert describe_claim(broken) == "CONTRADICTED: a b ( c )"


def test_rows_that_do_not_fit_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([make_run().rows[0]] * 10)
    for most, shown in ((11, 10), (10, 8)):
        with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
            add_samples(book, run, name="hit@5", sheet="One", most=most)
        values = [row[0] for row in openpyxl.load_workbook(tmp_path / "x.xlsx")["One"].values]
        assert len(values) == most
        assert values.count(0) == shown
    assert values[-1] == "2 more rows do not fit in a sheet; --rows FILE has all"


def test_columns_that_do_not_fit_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    tags = dict.fromkeys((f"t{number}" for number in range(16_384)), 1)
    sample = Sample(id="a", query="q", contexts=(Context(id="1"),), relevance={"1": 1}, tags=tags)
    run = make_run([replace(row, sample=sample)])
    sheet = written(run, ["hit@5"], tmp_path, combined=False)["Per-Query Results"]
    assert sheet.max_column == 16_384
    notice = sheet.cell(1, 16_384).value
    assert notice == "16 more columns do not fit in a sheet; --rows FILE has all"


def test_low_scores_are_coloured_and_blanks_are_not(make_run: MakeRun, tmp_path: Path) -> None:
    sheet = written(make_run(), ["hit@5"], tmp_path, combined=False)["Per-Query Results"]
    rules = {str(area.sqref): area.rules for area in sheet.conditional_formatting}
    first, second = sorted(rules["F2:F5"], key=lambda rule: rule.priority)
    assert (first.type, first.stopIfTrue) == ("containsBlanks", True)
    assert (second.operator, second.formula) == ("lessThan", ["0.5"])
    assert rules["G2:G5"][0].formula == ['"failed"']


@example("=cmd|' /C calc'!A0")
@example("<r>&<</r>")
@example("http://example.com/" + "x" * 3000)
@example("x" * 40_000)
@example("😀" * 20_000)
@example("\x00\x1b[31m\ud800\uffff")
@example("'")
@given(st.text(st.characters(), min_size=1))
def test_any_text_goes_in_as_text(hostile_run: Callable[[str], Run], text: str) -> None:
    run = hostile_run(text)
    with tempfile.TemporaryDirectory() as folder:
        for names, combined in ((["hit@5"], True), (["faithfulness"], False)):
            book = written(run, names, Path(folder), combined=combined)
            for sheet in book:
                kinds = {cell.data_type for row in sheet.iter_rows() for cell in row}
                assert kinds <= {"s", "n"}
            sheet = book.worksheets[1]
            if not re.search("_x[0-9a-fA-F]{4}_", text):  # openpyxl reads the escape as it stands
                assert sheet["C2"].value == cell(run.rows[0].sample.query)


@pytest.mark.parametrize(
    ("names", "times"),
    [
        (("faithfulness",), 1),  # among the facts
        (("faithfulness", "faithfulness:ragas"), 3),  # there, and of each metric its own
    ],
)
def test_a_policy_is_told_once_and_of_each_metric_where_they_differ(
    make_run: MakeRun, tmp_path: Path, names: tuple[str, ...], times: int
) -> None:
    score = Score.scored(1.0)
    rows = [replace(row, scores=dict.fromkeys(names, score)) for row in make_run().rows]
    combined = len(names) > 1
    book = written(make_run(rows, names=names), names, tmp_path, combined=combined)
    assert [head.value for head in book["Summary"]["A"]].count("Policy") == times
