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
WHY = "The only claim contradicts the contexts."
TRUTHS = ["It lasts 20 hours.", "It weighs 180 g."]


@pytest.fixture
def run() -> Run:
    judge = ScriptedJudge(
        {
            "extract_claims": (Claim(text="It lasts a day."),),
            "extract_truths": lambda question: (question.context,),
            "verify_claims": (Verdict(label=Label.CONTRADICTED, reason="20 hours, not a day"),),
            "explain": WHY,
        }
    )
    sample = {"id": "q", "query": "Why?", "response": "It lasts a day.", "contexts": TRUTHS}
    return evaluate([sample], metrics="faithfulness", preset="deepeval", judge=judge)


def written(run: Run, folder: Path) -> dict[str, object]:
    write_json(run, folder / "summary.json")
    return json.loads((folder / "summary.json").read_text())


def test_rows_have_truths_latency_and_explanation(run: Run, tmp_path: Path) -> None:
    write_rows(run, tmp_path / "rows.jsonl")
    score = json.loads((tmp_path / "rows.jsonl").read_text())["scores"][NAME]
    assert (score["truths"], score["latency_ms"] > 0) == (TRUTHS, True)
    assert score["detail"]["explanation"] == WHY
    write_rows(run, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as stream:
        (flat,) = csv.DictReader(stream)
    assert flat[f"scores.{NAME}.truths"] == "\n".join(TRUTHS)
    assert flat[f"scores.{NAME}.explanation"] == WHY
    assert float(flat[f"scores.{NAME}.latency_ms"]) == score["latency_ms"]
    (path,) = write_workbooks(run, folder=tmp_path)
    head, row = openpyxl.load_workbook(path)["Per-Query Results"].iter_rows(values_only=True)
    assert dict(zip(head, row, strict=True))["explanation"] == WHY
    page = json.dumps(sample_document(run.rows[0]))
    assert page.count("It weighs 180 g.") == 2  # the context and the transcript


def test_json_has_them_for_the_worst_samples(run: Run, tmp_path: Path) -> None:
    found = written(run, tmp_path)
    latency = run.rows[0].scores[NAME].latency_ms
    worst = {
        "id": "q",
        "value": 0.0,
        "passed": False,
        "reason": "Faithfulness 0.00 is < 0.5",
        "latency_ms": latency,
        "truths": TRUTHS,
        "explanation": WHY,
    }
    assert found["worst"] == {NAME: [worst]}
    assert found["latency"] == {NAME: {"p50_ms": latency, "p95_ms": latency}}
    sample = {"query": "Why?", "contexts": [{"id": "1", "text": "So."}], "relevance": {"1": 1}}
    hit = evaluate([sample], metrics="hit")
    assert hit.rows[0].scores["hit@5"].latency_ms is None
    found = written(hit, tmp_path)
    assert found["worst"] == found["latency"] == {}  # it asks nothing


def test_a_rescored_run_has_the_recorded_latency_and_truths(run: Run) -> None:
    before, after = run.rows[0].scores[NAME], rescore(run).rows[0].scores[NAME]
    assert (after.latency_ms, after.truths) == (before.latency_ms, before.truths)
