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
from tests.reports.ranked import METRICS, ranked_run

from ragstone.errors import UsageError
from ragstone.reports.excel import (
    FOLDER,
    Book,
    Value,
    add_claims,
    add_samples,
    add_values,
    check_output,
    count_lines,
    join_ids,
    sheet_names,
    write_workbook,
    write_workbooks,
)
from ragstone.reports.format import cell
from ragstone.reports.tables import describe_claim
from ragstone.results.run import Run
from ragstone.types.claim import Evidence
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
    run = make_run(names=("hit@5",), asked=("hit",), min_similarity=0.25)
    book = written(run, ["hit@5"], tmp_path, combined=False)
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    found = pairs(book["Summary"])
    date = f"{run.manifest.started_at.astimezone():%Y-%m-%d %H:%M:%S %Z}"
    assert found == {
        "Metric": "Value",
        "Evaluation Date": date,
        "Metric Name": "Hit@K",
        "K Value": 5,
        "Minimum Similarity": 0.25,
        "Total Queries": 4,
        "Score": pytest.approx(2 / 3),
        "Score (%)": pytest.approx(2 / 3),
        "95% interval, low": pytest.approx(0.0943, abs=1e-4),
        "95% interval, high": pytest.approx(0.9916, abs=1e-4),
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
        "Not run": "response_relevancy: needs a model",
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
        *("Metric", "Score", "Score (%)", "95% low", "95% high"),
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
        *(None, None, None, "failed", "timed out", "no answer within 30 s", None),
    ]
    assert [row["score"] for row in found] == [0.5, 0, None, None]


def test_a_mean_over_nothing_is_a_dash_with_the_reason(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([make_run().rows[2]])
    found = pairs(written(run, GENERATION, tmp_path, combined=False)["Summary"])
    assert found["Score"] == "– (1 undefined, 0 failed)"
    shown = ("Score (%)", "95% interval, low", "Min Score", "Valid Queries")
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


def test_rows_that_do_not_fit_are_counted(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run([make_run().rows[0]] * 10)
    for most, shown in ((11, 10), (10, 8)):
        monkeypatch.setattr("ragstone.reports.excel.MAX_ROWS", most)
        with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
            add_samples(book, run, name="hit@5", sheet="One")
        values = [row[0] for row in openpyxl.load_workbook(tmp_path / "x.xlsx")["One"].values]
        assert len(values) == most
        assert values.count(0) == shown
    assert values[-1] == "2 more rows do not fit in this sheet; use --rows FILE for all of them"


def test_a_workbook_has_a_limited_number_of_cells_and_characters(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run([make_run().rows[0]] * 30)
    for limit, value in (("MAX_CELLS", 300), ("MAX_CHARACTERS", 1200)):
        with monkeypatch.context() as patched:
            patched.setattr(f"ragstone.reports.excel.{limit}", value)
            shown: list[int] = []
            for sheets in (1, 2):
                with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
                    add_samples(book, run, name="hit@5", sheet="One", sheets=sheets)
                lines = list(openpyxl.load_workbook(tmp_path / "x.xlsx")["One"].values)
                shown.append(len(lines) - 2)
                assert str(lines[-1][0]).startswith(f"{30 - shown[-1]} more rows do not fit")
            assert 0 < shown[1] < shown[0] < 30


def test_columns_that_do_not_fit_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    tags = dict.fromkeys((f"t{number}" for number in range(16_384)), 1)
    sample = Sample(id="a", query="q", contexts=(Context(id="1"),), relevance={"1": 1}, tags=tags)
    run = make_run([replace(row, sample=sample)])
    sheet = written(run, ["hit@5"], tmp_path, combined=False)["Per-Query Results"]
    assert sheet.max_column == 16_384
    notice = sheet.cell(1, 16_384).value
    assert notice == "16 more columns do not fit in this sheet; use --rows FILE for all of them"


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


WHEN = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


def written_of_excel_book(path: Path, *values: Value) -> Worksheet:
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
    cell = written_of_excel_book(tmp_path / "x.xlsx", text)["A1"]
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_text_that_looks_like_the_writers_xml_stays_text(tmp_path: Path) -> None:
    sheet = written_of_excel_book(tmp_path / "x.xlsx", "<r><t>a</t></r>", "<r>& broken </r>")
    assert [cell.value for cell in sheet["A"]] == ["<r><t>a</t></r> ", "<r>& broken </r> "]


def test_numbers_are_numbers_as_far_as_excel_has_them(tmp_path: Path) -> None:
    values = (1, 0.25, True, None, 10**15, 2**1100, float("nan"), float("-inf"))
    sheet = written_of_excel_book(tmp_path / "x.xlsx", *values)
    found = [cell.value for cell in sheet["A"]]
    assert found == [1, 0.25, True, None, str(10**15), str(2**1100), "nan", "-inf"]


def test_the_book_is_as_old_as_the_run_and_always_the_same(tmp_path: Path) -> None:
    written_of_excel_book(tmp_path / "x.xlsx", "a")
    written_of_excel_book(tmp_path / "y.xlsx", "a")
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


def test_what_does_not_fit_is_counted(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    for most, expected in (
        (4, ["id", "q1", "q1", "q2"]),
        (
            3,
            [
                "id",
                "q1",
                "2 more claims do not fit in this sheet; use --claim-rows FILE for all of them",
            ],
        ),
    ):
        monkeypatch.setattr("ragstone.reports.excel.MAX_ROWS", most)
        with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
            add_claims(book, run, names=["faithfulness"])
        sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Claims"]
        assert [cell.value for cell in sheet["A"]] == expected


def test_one_sheet_has_all_metrics_of_each_query(tmp_path: Path) -> None:
    run = ranked_run(5)
    (path,) = write_workbooks(run, output=tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Summary", "Per-Query Results"]
    head, *lines = book["Per-Query Results"].iter_rows(values_only=True)
    assert head == ("query_index", "id", "query", *METRICS, "reason")
    unknown = "the relevant documents for this query are unknown"
    assert lines == [
        (0, "q0", "q0", None, None, unknown),
        (1, "q1", "q1", 0, None, "it raised"),
        (2, "q2", "what?", 0, 0.4, None),
        (3, "q3", "q3", 1, 0.6, None),
        (4, "q4", "q4", 0, 0.8, None),
    ]


def test_what_does_not_fit_is_told_in_the_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ranked_run(50)
    monkeypatch.setattr("ragstone.reports.excel.MAX_CELLS", 60)
    with Book(tmp_path / "x.xlsx", run.manifest.started_at) as book:
        add_values(book, run, names=METRICS)
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Per-Query Results"]
    _, *lines, last = sheet.iter_rows(values_only=True)
    assert len(lines) == 10
    assert last[0] == (
        "These are the 10 of 50 queries that failed or scored worst on a metric; use --rows "
        "FILE for all of them"
    )


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


@pytest.mark.parametrize(
    ("asked", "ran", "expected"),
    [
        (["all_retrieval"], ["hit@3", "f1@3"], ["retrieval_combined_k3"]),
        (["all_generation"], ["faithfulness"], ["generation_combined_k3"]),
        (["hit", "f1"], ["hit@3", "f1@3"], ["retrieval_combined_k3"]),
        (
            ["faithfulness", "hit"],
            ["faithfulness", "hit@3"],
            ["retrieval_combined_k3", "generation_combined_k3"],
        ),
        (["hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit", "hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit@10"], ["hit@10"], ["Hit@K_k10"]),
        (["faithfulness"], ["faithfulness"], ["Faithfulness_k3"]),
        (["all"], [], []),
    ],
)
def test_which_workbooks_are_due(
    make_run: MakeRun,
    tmp_path: Path,
    time: str,
    asked: list[str],
    ran: list[str],
    expected: list[str],
) -> None:
    run = make_run([], names=ran, asked=asked, k=3)
    assert names(run, tmp_path) == [f"{name}_{time}.xlsx" for name in expected]


def test_made_up_names_replace_nothing(make_run: MakeRun, tmp_path: Path, time: str) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    assert [names(run, tmp_path) for _ in range(3)] == [
        [f"Hit@K_k5_{time}.xlsx"],
        [f"Hit@K_k5_{time}-2.xlsx"],
        [f"Hit@K_k5_{time}-3.xlsx"],
    ]


def test_the_default_folder_is_here(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (path,) = write_workbooks(make_run(names=("hit@5",), asked=("hit",)))
    assert path.parent == FOLDER
    assert (tmp_path / "results" / path.name).is_file()


def test_one_workbook_goes_where_it_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "sub.dir" / "X.xlsx"
    run = make_run(names=("hit@5",), asked=("all_retrieval",))
    assert write_workbooks(run, output=path) == (path,)
    assert write_workbooks(run, output=path) == (path,)
    assert [found.name for found in path.parent.iterdir()] == ["X.xlsx"]


def test_two_workbooks_never_share_a_path(make_run: MakeRun, tmp_path: Path) -> None:
    paths = write_workbooks(make_run(), output=tmp_path / "X.xlsx")
    assert [path.name for path in paths] == ["X_retrieval.xlsx", "X_generation.xlsx"]
    first, second = (openpyxl.load_workbook(path).sheetnames for path in paths)
    assert first == ["Summary", "Per-Query (Hit@K)", "Per-Query (F1@K)"]
    assert second == ["Summary", "Per-Query (Faithfulness)", "Claims"]


def test_labels_that_file_systems_refuse(make_run: MakeRun, tmp_path: Path, time: str) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    info = run.metrics["hit@5"].model_copy(update={"label": "../a:b"})
    paths = write_workbooks(
        Run(run.manifest, {"hit@5": info}, run.rows, run.extras), folder=tmp_path
    )
    assert [path.name for path in paths] == [f"_a_b_k5_{time}.xlsx"]


def test_a_place_that_cannot_be_is_refused_before_the_run(
    make_run: MakeRun, tmp_path: Path
) -> None:
    check_output(tmp_path / "new" / "x.XLSX")
    with pytest.raises(UsageError, match=r"x\.csv does not end in \.xlsx; use a name such as"):
        check_output(tmp_path / "x.csv")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path / "folder.xlsx")
    with pytest.raises(UsageError, match="is a folder"):
        write_workbooks(make_run(), output=tmp_path / "folder.xlsx")


def test_a_place_that_turns_out_impossible_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "X_retrieval.xlsx").mkdir()
    with pytest.raises(UsageError, match=r"X_retrieval\.xlsx cannot be written: .*directory"):
        write_workbooks(make_run(), output=tmp_path / "X.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["X_retrieval.xlsx"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_workbooks(make_run(), folder=tmp_path / "file")


def test_a_workbook_states_that_a_run_is_inconclusive_and_why(
    make_run: MakeRun, tmp_path: Path
) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8, of="scored")
    options = {"gates": [gate], "max_failure_rate": 0.1}
    run = make_run([make_run().rows[3]], names=GENERATION, **options)
    why = f"exit code 3: {'; '.join(run.troubles)}"
    assert "1 of 1 score of faithfulness failed, more than 10% (max_failure_rate)" in why
    for combined in (False, True):
        book = written(run, GENERATION, tmp_path, combined=combined)
        assert pairs(book["Summary"])["Inconclusive"] == why
    sound = written(make_run(names=GENERATION), GENERATION, tmp_path, combined=True)
    assert "Inconclusive" not in pairs(sound["Summary"])


def test_settings_of_the_target_are_shown_only_if_it_was_called(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(names=GENERATION, manifest={"target": None})
    found = pairs(written(run, GENERATION, tmp_path, combined=False)["Summary"])
    assert not {"Top K", "Minimum Similarity", "Score Threshold"} & found.keys()
