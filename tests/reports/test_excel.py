import math
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import openpyxl
import pytest
import python_calamine
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from tests.cases import each_case
from tests.reports.conftest import MakeRun
from tests.reports.ranked import METRICS, ranked_run
from tests.results.conftest import Runs

from ragstone.errors import UsageError
from ragstone.reports.excel import (
    FOLDER,
    Book,
    Form,
    Value,
    add_claims,
    add_list,
    add_values,
    check_output,
    join_ids,
    sample_columns,
    sheet_names,
    write_workbook,
    write_workbooks,
)
from ragstone.reports.format import cell
from ragstone.reports.view import headline, outcome_grid, partial_notice
from ragstone.results.run import Run
from ragstone.types.claim import Evidence
from ragstone.types.config import Plan
from ragstone.types.gate import Gate
from ragstone.types.score import Score

RETRIEVAL, GENERATION = ("hit@5", "f1@5"), ("faithfulness",)


def written(run: Run, names: Sequence[str], folder: Path, form: Form = "questions") -> Workbook:
    path = folder / "x.xlsx"
    write_workbook(path, run, names=names, form=form)
    with ZipFile(path) as archive:
        for name in archive.namelist():
            root = ElementTree.fromstring(archive.read(name))
            cells = "charts" not in name  # the ranges of charts are formulas
            assert not [e for e in root.iter() if cells and e.tag.endswith(("}f", "}hyperlink"))]
    return openpyxl.load_workbook(path)


def pairs(sheet: Worksheet) -> dict[object, object]:
    return {row[0].value: row[1].value for row in sheet.iter_rows() if row[0].value}


def test_a_single_retrieval_metric(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    book = written(run, ["hit@5"], tmp_path, "metric")
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    assert pairs(book["Summary"]) == {
        "Metric": "Value",
        "Verdict": str(run.verdict),
        "Judge": "offline (word overlap); this judge is untested",
        "Evaluation Date": f"{run.manifest.started_at.astimezone():%Y-%m-%d %H:%M:%S %Z}",
        "Metric Name": "Hit@K",
        "K Value": 5,
        "Total Queries": 4,
        "Valid Queries": 3,
        "Score": pytest.approx(2 / 3),
        "Score (%)": pytest.approx(2 / 3),
        "95% interval, low": pytest.approx(0.0943, abs=1e-4),
        "95% interval, high": pytest.approx(0.9916, abs=1e-4),
        "Min Score": 0,
        "Max Score": 1,
        "Hits": 2,
        "Misses": 1,
        "Perfect Queries": 2,
        "Zero Queries": 1,
        "Nothing Relevant": 0,
        "Missing": "hit@5: undefined: relevance is not known (1)",
        "Data set": "qr.xlsx (4 rows evaluated)",
        "Target": "http://localhost:8000: 4 calls, 1 failed (25.0%), "
        "latency p50 110 ms, p95 119 ms",
        "Not run": "response_relevancy: needs a model",
        "Note": "the ranking holds a document twice (2 rows)",
    }
    formats = {row[0].value: row[1].number_format for row in book["Summary"].iter_rows()}
    assert (formats["Score"], formats["Score (%)"]) == ("0.0000", "0.0%")


def test_a_single_generation_metric(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(names=GENERATION, asked=("faithfulness",), k=3, partial=True)
    sheet = written(run, GENERATION, tmp_path, "metric")["Summary"]
    shown, found = ("Model", "Top K", "Score", "Min Score", "Max Score"), pairs(sheet)
    assert [found[name] for name in shown] == ["offline", 3, 0.25, 0, 0.5]
    why = "faithfulness: failed: timed out (1, first q4: no answer within 30 s)"
    assert {f"✗ {partial_notice(run)}", why} <= {row[1] for row in sheet.values}


def test_a_family_has_the_verdict_first_and_a_sheet_per_metric(
    make_run: MakeRun, tmp_path: Path
) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    run = make_run(gates=[gate])
    book = written(run, RETRIEVAL, tmp_path, "family")
    assert book.sheetnames == ["Summary", "Per-Query (Hit@K)", "Per-Query (F1@K)"]
    rows = [[value for value in row if value is not None] for row in book["Summary"].values]
    lines = [line.words for line in headline(run) if not line.label]
    assert [row[0] for row in rows[:2]] == lines
    assert lines[0].startswith("✗ 1 of 1 gate failed")
    metrics = [row for row in rows if row and row[0] in ("hit@5", "f1@5")]
    interval = (pytest.approx(0.0943, abs=1e-4), pytest.approx(0.9916, abs=1e-4))
    assert metrics[0] == ["hit@5", pytest.approx(2 / 3), *interval, "3 of 4 rows"]
    assert [row[0] for row in metrics] == ["hit@5", "f1@5"]
    assert ["Gate", "FAILED: faithfulness 0.2500 is not >= 0.8 (2 of 4 scored)"] in rows


def test_a_question_has_its_outcome_scores_and_failing_claim(
    make_run: MakeRun, tmp_path: Path
) -> None:
    book = written(with_evidence(make_run()), ["hit@5", "f1@5", "faithfulness"], tmp_path)
    assert book.sheetnames == ["Questions", "Summary", "Claims"]
    sheet = book["Questions"]
    head, first, *others = sheet.iter_rows(values_only=True)
    assert head == (
        *("id", "query", "outcome", "found", "hit@5", "f1@5", "faithfulness", "response"),
        *("reference", "failing claim", "evidence", "relevant ids", "retrieved ids", "notes"),
        *("difficulty", "source_files"),
    )
    assert first == (
        *("q1", "How long does battery 1 last?", "not supported", "found", 1),
        *(pytest.approx(2 / 7), 0.5, "It lasts 20 hours. It charges in 60 minutes.", "20 hours"),
        "contradicted: It charges in 60 minutes. (The context says 75 minutes.)",
        *("75 minutes.", "3, 77", "9, 3, 4", None, "easy", "manual.pdf"),
    )
    assert [row[2] for row in others] == ["not supported", "not judged", "not judged"]
    assert [row[13] for row in others[1:]] == [
        "hit@5, f1@5: relevance is not known\nfaithfulness: the response makes no claims",
        "faithfulness: timed out: no answer within 30 s",
    ]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("C2", "A1:P5")
    assert sheet["G2"].number_format == "0.00"
    rules = {str(area.sqref): area.rules for area in sheet.conditional_formatting}
    assert set(rules) == {"C2:C5", "E2:E5", "G2:G5"}  # f1@5 may not be able to reach 1
    assert [rule.formula for rule in rules["C2:C5"]] == [['"not supported"'], ['"declined"']]


def test_scores_have_colours_if_their_range_is_known(tmp_path: Path) -> None:
    def colours(value: float, **info: object) -> list[str]:
        run = Runs.of({"hit@5": [value]})
        metrics = {"hit@5": run.metrics["hit@5"].model_copy(update=info)}
        book = written(replace(run, metrics=metrics), ["hit@5"], tmp_path)
        areas = book["Questions"].conditional_formatting
        scales = [rule.colorScale for area in areas for rule in area.rules if rule.colorScale]
        return [colour.rgb[2:] for scale in scales for colour in scale.color]

    assert colours(0.5) == ["F8CBAD", "FFFFFF"]
    assert colours(0.5, higher_is_better=False) == ["FFFFFF", "F8CBAD"]
    assert colours(0.5, high=math.inf) == colours(11.15) == []


def test_the_summary_has_outcomes_means_by_tag_and_a_chart(
    make_run: MakeRun, tmp_path: Path
) -> None:
    rows = [*make_run().rows[:2]] * 2
    for index, row in enumerate(rows):
        sample = row.sample.model_copy(update={"tags": {"level": index % 2}})
        rows[index] = replace(row, index=index, sample=sample)
    rows[3] = replace(rows[3], scores={**rows[3].scores, "faithfulness": Score.scored(1)})
    run = make_run(rows)
    sheet = written(run, [*run.metrics], tmp_path)["Summary"]
    lines = [[value for value in row if value is not None] for row in sheet.values]
    assert lines[0] == [run.verdict.sentence + " " + run.verdict.advice]
    head = lines.index(["Answers", "supported", "not supported"])
    grid = outcome_grid(run)
    assert grid is not None
    assert lines[head + 1 : head + 3] == [["found", 0, 2], ["not found", 1, 1]]
    shown = [sheet.cell(head + 2, column).number_format.strip('"') for column in (2, 3)]
    assert shown == [*grid.rows[0].cells[1:]]
    tagged = lines.index(["level", "Questions", "not supported or declined", *run.metrics])
    assert [line[:4] for line in lines[tagged + 1 : tagged + 3]] == [
        ["0", 2, 1, 1],
        ["1", 2, 0.5, 0],
    ]
    (chart,) = sheet._charts  # type: ignore[attr-defined]
    assert [series.val.numRef.f for series in chart.series] == [
        f"Summary!${column}${head + 2}:${column}${head + 3}" for column in "BC"
    ]


def test_retrieval_rows(make_run: MakeRun, tmp_path: Path) -> None:
    sheet = written(make_run(), RETRIEVAL, tmp_path, "family")["Per-Query (Hit@K)"]
    head, *found = sheet.iter_rows(values_only=True)
    assert head == (
        *("query_index", "id", "query", "ground_truth_ids", "retrieved_ids", "score", "state"),
        *("reason", "first_hit_rank", "hits", "retrieved", "relevant", "precision", "recall"),
        *("difficulty", "source_files"),
    )
    assert found[0] == (
        *(0, "q1", "How long does battery 1 last?", "3, 77", "9, 3, 4", 1, "scored", None),
        *(2, 1, 3, 2, 0.2, 0.5, "easy", "manual.pdf"),
    )
    assert found[1][5:8] == (0, "scored", None)
    assert found[2][5:8] == (None, "undefined", "relevance is not known")
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("C2", "A1:P5")


def test_generation_rows(make_run: MakeRun, tmp_path: Path) -> None:
    book = written(make_run(), GENERATION, tmp_path, "family")
    head, *found = book["Per-Query (Faithfulness)"].iter_rows(values_only=True)
    assert head == (
        *("query_index", "id", "query", "response", "ground_truth_answer", "retrieved_contexts"),
        *("num_contexts", "score", "state", "reason", "claims", "supported"),
        *("difficulty", "source_files"),
    )
    assert found[0] == (
        *(0, "q1", "How long does battery 1 last?"),
        *("It lasts 20 hours. It charges in 60 minutes.", "20 hours"),
        *("Up to 20 hours.\n---\n75 minutes.", 2, 0.5, "scored", None, 2, 1),
        *("easy", "manual.pdf"),
    )
    why = "timed out: no answer within 30 s"
    assert found[3][3:10] == (None, "20 hours", None, None, None, "failed", why)
    assert [row[7] for row in found] == [0.5, 0, None, None]


def test_a_run_without_scores_has_dashes(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([make_run().rows[2]])
    found = pairs(written(run, GENERATION, tmp_path, "metric")["Summary"])
    shown = ("Score", "Score (%)", "95% interval, low", "Min Score", "Valid Queries")
    assert [found[name] for name in shown] == ["–", "–", "–", "–", 0]
    assert written(make_run([]), GENERATION, tmp_path)["Questions"].max_row == 1


def test_columns_that_are_called_alike_are_told_apart(tmp_path: Path) -> None:
    score = Score.scored(1, detail={"state": "x", "hits": 1})
    run = Runs.of({"hit@5": [score]}, tags=[{"Score": 7, "hits": "many"}])
    head, row = written(run, ["hit@5"], tmp_path, "metric")["Per-Query Results"].values
    found = dict(zip(head, row, strict=True))
    assert [found[name] for name in ("score", "state", "hits")] == [1, "scored", 1]
    assert [found[name] for name in ("detail state", "tag Score", "tag hits")] == ["x", 7, "many"]


def test_ids_are_written_as_the_loader_reads_them() -> None:
    assert join_ids(["5", "12"]) == "5, 12"
    assert join_ids(["a,b", "ü"]) == '["a,b", "ü"]'
    assert join_ids([]) == ""


@each_case(
    ("limit", "value", "shown"),
    [("MAX_ROWS", 11, 10), ("MAX_ROWS", 10, 8), ("MAX_CELLS", 160, 8), ("MAX_CHARACTERS", 400, 6)],
)
def test_rows_that_do_not_fit(
    make_run: MakeRun, tmp_path: Path, limit: str, value: int, shown: int
) -> None:
    run = make_run([make_run().rows[0]] * 10)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(f"ragstone.reports.excel.{limit}", value)
        with Book(tmp_path / "x.xlsx", WHEN) as book:
            add_list(book, run, sample_columns(run, "hit@5"), run.rows, 10, sheet="One")
            add_claims(book, run, names=["faithfulness"])
    found = openpyxl.load_workbook(tmp_path / "x.xlsx")
    values = [row[0] for row in found["One"].values]
    assert values.count(0) == shown
    notice = f"{10 - shown} more rows do not fit in this sheet; use --rows FILE for all of them"
    assert (values[-1] == notice) is (shown < 10)
    assert ("12 more claim rows do not fit" in str(found["Claims"]["A10"].value)) is (value == 10)


def test_columns_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.reports.excel.MAX_COLUMNS", 20)
    run = Runs.of({"hit@5": [1]}, tags=[{f"t{number}": 1 for number in range(20)}])
    sheet = written(run, ["hit@5"], tmp_path, "metric")["Per-Query Results"]
    assert sheet.max_column == 20
    notice = str(sheet.cell(1, 20).value)
    assert notice.endswith(
        " more columns do not fit in this sheet; use --rows FILE for all of them"
    )


@example("=cmd|' /C calc'!A0", "questions")
@example("<r>&<</r>", "metric")
@example("http://example.com/" + "x" * 3000, "family")
@example("😀" * 20_000, "questions")
@example("\x00\x1b[31m\ud800\uffff", "family")
@example("\t=1", "metric")
@given(st.text(st.characters(), min_size=1), st.sampled_from(["questions", "family", "metric"]))
def test_any_text_goes_in_as_text(hostile_run: Callable[[str], Run], text: str, form: Form) -> None:
    run = hostile_run(text)
    with tempfile.TemporaryDirectory() as folder:
        book = written(run, [*run.metrics], Path(folder), form)
        for sheet in book:
            kinds = {cell.data_type for row in sheet.iter_rows() for cell in row}
            assert kinds <= {"s", "n"}
        sheet, column = (
            (book["Questions"], "B") if form == "questions" else (book.worksheets[1], "C")
        )
        if not re.search("_x[0-9a-fA-F]{4}_", text):  # openpyxl reads the escape as it stands
            assert sheet[f"{column}2"].value == cell(run.rows[0].sample.query)
        for sheet in python_calamine.load_workbook(f"{folder}/x.xlsx").sheet_names:
            assert sheet in book.sheetnames


WHEN = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


def written_of_excel_book(path: Path, *values: Value) -> Worksheet:
    with Book(path, WHEN) as book:
        page = book.page("One", [20])
        for row, value in enumerate(values):
            page.put(row, 0, value)
    return openpyxl.load_workbook(path)["One"]


def test_text_stays_text(tmp_path: Path) -> None:
    texts = (
        *("=1+1", "+1", "-1", "@SUM(A1)", "{=1}", "=HYPERLINK(0)", "http://example.com"),
        *("internal:One!A1", "12", "1e5", "TRUE", "#N/A", "<b>&amp;</b>"),
    )
    cells = written_of_excel_book(tmp_path / "x.xlsx", *texts)["A"]
    assert [cell.value for cell in cells] == [*texts]
    assert {(cell.data_type, cell.hyperlink) for cell in cells} == {("s", None)}
    rich = ["<r><t>a</t></r>", "<r>& broken </r>"]  # XML of the writer itself
    sheet = written_of_excel_book(tmp_path / "x.xlsx", *rich)
    assert [cell.value for cell in sheet["A"]] == [f"{text} " for text in rich]
    again = written_of_excel_book(tmp_path / "y.xlsx", *rich)
    assert again.parent.properties.created == WHEN.replace(tzinfo=None)
    assert (tmp_path / "x.xlsx").read_bytes() == (tmp_path / "y.xlsx").read_bytes()


def test_numbers_are_numbers_as_far_as_excel_has_them(tmp_path: Path) -> None:
    values = (1, 0.25, True, None, 10**15, 2**1100, float("nan"), float("-inf"))
    found = written_of_excel_book(tmp_path / "x.xlsx", *values)["A"]
    expected = [1, 0.25, True, None, str(10**15), str(2**1100), "nan", "-inf"]
    assert [cell.value for cell in found] == expected


def test_what_breaks_off_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Book(tmp_path / "x.xlsx", WHEN) as book:
        book.page("One", [1]).put(0, 0, 1 / 0)
    assert not (tmp_path / "x.xlsx").exists()


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


def with_evidence(run: Run) -> Run:
    """The run with a quote under the first claim of its first sample."""
    first, *others = run.rows
    score = first.scores["faithfulness"]
    quote = Evidence(context=0, quote="Up to 20 hours.", verified=False)
    claim = score.claims[0].model_copy(update={"evidence": (quote,), "confidence": 0.5})
    against = Evidence(context=1, quote="75 minutes.", verified=True)
    other = score.claims[1].model_copy(update={"evidence": (against,)})
    scores = {**first.scores, "faithfulness": score.model_copy(update={"claims": (claim, other)})}
    return replace(run, rows=[replace(first, scores=scores), *others])


def test_a_line_a_claim(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    write_workbook(path, with_evidence(make_run()), names=["faithfulness"])
    sheet = openpyxl.load_workbook(path)["Claims"]
    heads, first, second, third = sheet.iter_rows(values_only=True)
    assert heads == (
        *("id", "metric", "against", "number", "claim", "label", "reason", "confidence"),
        *("quotes", "quote", "context", "verified", "judge"),
    )
    assert first == (
        *("q1", "faithfulness", "contexts", 1, "It lasts 20 hours.", "SUPPORTED"),
        *(None, 0.5, 1, "Up to 20 hours.", 1, False, None),
    )
    assert second[4:] == (
        *("It charges in 60 minutes.", "CONTRADICTED", "The context says 75 minutes."),
        *(None, 1, "75 minutes.", 2, True, None),
    )
    assert third[:4] == ("q2", "faithfulness", "contexts", 1)
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("C2", "A1:M4")


def test_one_sheet_has_all_metrics_of_each_query_of_a_ranking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_workbooks(ranked_run(5), output=tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    head, *lines = book["Per-Query Results"].iter_rows(values_only=True)
    assert head == ("query_index", "id", "query", *METRICS, "reason")
    unknown = "hit@5, ndcg@5: the relevant documents for this query are unknown"
    assert lines[:3] == [
        (0, "q0", "q0", None, None, unknown),
        (1, "q1", "q1", 0, None, "ndcg@5: error in the metric: it raised"),
        (2, "q2", "what?", 0, 0.4, None),
    ]
    monkeypatch.setattr("ragstone.reports.excel.MAX_CELLS", 60)
    with Book(tmp_path / "x.xlsx", WHEN) as book:
        add_values(book, ranked_run(50), names=METRICS)
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Per-Query Results"]
    assert sheet.max_row == 10
    notice = "These are the 8 of 50 queries that failed or scored worst on a metric; use --rows "
    assert sheet["A10"].value == f"{notice}FILE for all of them"


@pytest.fixture
def time(make_run: MakeRun) -> str:
    return f"{make_run().manifest.started_at.astimezone():%Y%m%d-%H%M%S}"


def names(run: Run, folder: Path) -> list[str]:
    paths = write_workbooks(run, folder=folder)
    assert all(path.parent == folder and path.is_file() for path in paths)
    return [path.name for path in paths]


def test_a_group_gives_a_combined_workbook_a_family(
    make_run: MakeRun, tmp_path: Path, time: str
) -> None:
    assert names(make_run(), tmp_path / "new") == [
        f"retrieval_combined_k5_{time}.xlsx",
        f"generation_combined_k5_{time}.xlsx",
    ]
    assert len(list((tmp_path / "new").iterdir())) == 2


@each_case(
    ("asked", "ran", "expected"),
    [
        (["all_retrieval"], ["hit@3", "f1@3"], ["retrieval_combined_k3"]),
        (["all_generation"], ["faithfulness"], ["generation_combined_k3"]),
        (["all_judged"], ["faithfulness"], ["evaluation_k3"]),
        (["all", "abstention"], ["hit@3", "faithfulness"], ["evaluation_k3"]),
        (["hit", "f1"], ["hit@3", "f1@3"], ["evaluation_k3"]),
        (["faithfulness", "hit"], ["faithfulness", "hit@3"], ["evaluation_k3"]),
        (["hit"], ["hit@3", "hit@5"], ["evaluation_k3"]),
        (["hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit", "hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit@10"], ["hit@10"], ["Hit@K_k10"]),
        (["faithfulness"], ["faithfulness"], ["Faithfulness_k3"]),
        (["all"], [], []),
        (None, ["hit@3", "faithfulness"], ["evaluation_k3"]),
    ],
)
def test_which_workbooks_are_due(
    make_run: MakeRun, time: str, asked: list[str] | None, ran: list[str], expected: list[str]
) -> None:
    run = make_run([], names=ran, asked=asked or ["all"], k=3)
    run = run if asked else run.with_plan(Plan(k=3))
    with tempfile.TemporaryDirectory() as folder:
        assert names(run, Path(folder)) == [f"{name}_{time}.xlsx" for name in expected]


def test_made_up_names_replace_nothing(make_run: MakeRun, tmp_path: Path, time: str) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    found = [names(run, tmp_path) for _ in range(3)]
    assert found == [[f"Hit@K_k5_{time}{end}.xlsx"] for end in ("", "-2", "-3")]
    info = run.metrics["hit@5"].model_copy(update={"label": "../a:b"})
    assert names(replace(run, metrics={"hit@5": info}), tmp_path) == [f"_a_b_k5_{time}.xlsx"]


def test_the_default_folder_is_here(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (path,) = write_workbooks(make_run(names=("hit@5",), asked=("hit",)))
    assert path.parent == FOLDER
    assert (tmp_path / "results" / path.name).is_file()


def test_one_workbook_goes_where_it_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "sub.dir" / "X.xlsx"
    for asked, ran in (["all"], ["hit@5", "faithfulness"]), (["hit"], ["hit@5"]):
        assert write_workbooks(make_run(names=ran, asked=asked), output=path) == (path,)
        assert openpyxl.load_workbook(path).sheetnames[:2] == ["Questions", "Summary"]
    assert [found.name for found in path.parent.iterdir()] == ["X.xlsx"]


def test_a_place_that_cannot_be_is_refused_at_once(make_run: MakeRun, tmp_path: Path) -> None:
    check_output(tmp_path / "new" / "x.XLSX")
    with pytest.raises(UsageError, match=r"x\.csv does not end in \.xlsx; use a name such as"):
        check_output(tmp_path / "x.csv")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path / "folder.xlsx")
    with pytest.raises(UsageError, match="is a folder"):
        write_workbooks(make_run(), output=tmp_path / "folder.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_workbooks(make_run(), folder=tmp_path / "file")
