"""Truths, latency and explanation of a score are in --rows, --json and the workbook."""

import csv
import json
from pathlib import Path

import openpyxl
import pytest

from ragstone.evaluation.rescore import rescore
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.excel import write_workbooks
from ragstone.reports.html.page import sample_document
from ragstone.reports.tables import write_json, write_rows
from ragstone.results.run import Run
from ragstone.types.claim import Claim, Label, Verdict

NAME = "faithfulness:deepeval,verify=truths,include_reason=true"
TRUTHS = ["It lasts 20 hours.", "It weighs 180 g."]


@pytest.fixture
def run() -> Run:
    judge = ScriptedJudge(
        {
            "extract_claims": (Claim(text="It lasts a day."),),
            "extract_truths": lambda question: (question.context,),
            "verify_claims": (Verdict(label=Label.CONTRADICTED, reason="20 hours, not a day"),),
            "explain": "The only claim contradicts the contexts.",
        }
    )
    sample = {"id": "q", "query": "Why?", "response": "It lasts a day.", "contexts": TRUTHS}
    return evaluate([sample], metrics="faithfulness", preset="deepeval", judge=judge)


def test_rows_have_truths_latency_and_explanation(run: Run, tmp_path: Path) -> None:
    write_rows(run, tmp_path / "rows.jsonl")
    score = json.loads((tmp_path / "rows.jsonl").read_text())["scores"][NAME]
    assert (score["truths"], score["latency_ms"] > 0) == (TRUTHS, True)
    assert score["detail"]["explanation"] == "The only claim contradicts the contexts."
    write_rows(run, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as stream:
        (flat,) = csv.DictReader(stream)
    assert flat[f"scores.{NAME}.truths"] == "\n".join(TRUTHS)
    assert flat[f"scores.{NAME}.explanation"] == "The only claim contradicts the contexts."
    assert float(flat[f"scores.{NAME}.latency_ms"]) == score["latency_ms"]


def test_json_has_them_for_the_worst_samples(run: Run, tmp_path: Path) -> None:
    write_json(run, tmp_path / "summary.json")
    found = json.loads((tmp_path / "summary.json").read_text())
    latency = run.rows[0].scores[NAME].latency_ms
    assert found["worst"] == {
        NAME: [
            {
                "id": "q",
                "value": 0.0,
                "passed": False,
                "reason": "Faithfulness 0.00 is < 0.5",
                "latency_ms": latency,
                "truths": TRUTHS,
                "explanation": "The only claim contradicts the contexts.",
            }
        ]
    }
    assert found["latency"] == {NAME: {"p50_ms": latency, "p95_ms": latency}}


def test_the_workbook_has_them_in_columns(run: Run, tmp_path: Path) -> None:
    (path,) = write_workbooks(run, output=tmp_path / "book.xlsx")
    book = openpyxl.load_workbook(path)
    head, row = book["Per-Query Results"].iter_rows(values_only=True)
    found = dict(zip(head, row, strict=True))
    assert found["truths"] == "\n".join(TRUTHS)
    assert found["explanation"] == "The only claim contradicts the contexts."
    assert found["latency_ms"] == run.rows[0].scores[NAME].latency_ms
    names = [line[0] for line in book["Summary"].iter_rows(values_only=True)]
    assert "Judge latency" in names


def test_metrics_that_ask_nothing_have_no_latency(tmp_path: Path) -> None:
    sample = {"query": "Why?", "contexts": [{"id": "1", "text": "So."}], "relevance": {"1": 1}}
    run = evaluate([sample], metrics="hit")
    assert run.rows[0].scores["hit@5"].latency_ms is None
    write_json(run, tmp_path / "summary.json")
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["worst"] == found["latency"] == {}


def test_a_rescored_run_has_the_recorded_latency_and_truths(run: Run) -> None:
    before, after = run.rows[0].scores[NAME], rescore(run).rows[0].scores[NAME]
    assert (after.latency_ms, after.truths) == (before.latency_ms, before.truths)


def test_a_page_has_truths_once(run: Run) -> None:
    found = sample_document(run.rows[0])
    assert json.dumps(found).count("It weighs 180 g.") == 2  # the context and the transcript
