"""Every report shows the texts that a metric read, which may not be those of the response."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.cases import each_case

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.excel import Form, write_workbook
from ragstone.reports.html.page import sample_document
from ragstone.reports.junit import write_junit
from ragstone.results.run import Run
from ragstone.types.claim import Claim, Grade, Label, Verdict
from ragstone.types.questions import GradeContexts

SEARCHED = [{"id": "1", "text": "Searched one."}, {"id": "2", "text": "Searched two."}]
CHATTED = [{"id": "3", "text": "Chatted."}]
SAMPLE = {"id": "q", "query": "Why?", "response": "So.", "reference": "Because."}


def evaluated(
    *metrics: str, contexts: object = CHATTED, ranking: object = SEARCHED, **options: object
) -> Run:
    def grade(question: GradeContexts) -> tuple[Grade, ...]:
        return tuple(Grade(relevant="two" in text) for text in question.contexts)

    answers = {
        "extract_claims": (Claim(text="So."),),
        "verify_claims": (Verdict(label=Label.NOT_ENOUGH_INFO),),
        "grade_contexts": grade,
    }
    sample = {**SAMPLE, "contexts": contexts, "ranking": ranking}
    return evaluate([sample], metrics=metrics, judge=ScriptedJudge(answers), **options)


def records(run: Run, folder: Path, sheet: str, form: Form = "family") -> dict[object, object]:
    write_workbook(folder / "x.xlsx", run, names=[*run.metrics], form=form)
    head, row = openpyxl.load_workbook(folder / "x.xlsx")[sheet].iter_rows(values_only=True)
    return dict(zip(head, row, strict=True))


@each_case(
    ("contexts", "ranking", "shown", "number"),
    [
        (CHATTED, SEARCHED, "Searched one.\n---\nSearched two.", 2),
        (None, SEARCHED, "Searched one.\n---\nSearched two.", 2),
        (CHATTED, None, "Chatted.", 1),
        (CHATTED, [{"id": "1"}], "Chatted.", 1),
        (CHATTED, [], None, 0),
    ],
)
def test_the_context_precision_sheet_shows_the_graded_texts(
    tmp_path: Path, contexts: object, ranking: object, shown: str | None, number: int
) -> None:
    run = evaluated("context_precision", contexts=contexts, ranking=ranking)
    found = records(run, tmp_path, "Per-Query Results", "metric")
    assert (found["retrieved_contexts"] or None, found["num_contexts"]) == (shown, number)


def test_workbooks_pages_and_the_viewer_have_the_graded_texts(tmp_path: Path) -> None:
    run = evaluated("context_precision", "faithfulness")
    assert records(run, tmp_path, "Per-Query (Faithfulness)")["retrieved_contexts"] == "Chatted."
    found = records(run, tmp_path, "Per-Query (Context Precision)")
    assert found["retrieved_contexts"] == "Searched one.\n---\nSearched two."
    sample: Any = sample_document(run.rows[0])
    reads = {name: score["reads"] for name, score in sample["scores"].items()}
    assert reads == {"context_precision": "ranking", "faithfulness": "contexts"}
    assert [each["text"] for each in sample["ranking_texts"]] == ["Searched one.", "Searched two."]
    bare = sample_document(evaluated("faithfulness").rows[0])
    assert bare["ranking_texts"] == []  # no metric read them


@pytest.mark.parametrize(
    ("metric", "texts"),
    [
        ("context_precision", "reference: Because.\nranking: Searched one.\n---\nSearched two."),
        ("context_utilization", "response: So.\nranking: Searched one.\n---\nSearched two."),
    ],
)
def test_junit_shows_the_graded_texts(tmp_path: Path, metric: str, texts: str) -> None:
    write_junit(evaluated(metric, fail_under={metric: 0.9}), tmp_path / "junit.xml")
    assert f"query: Why?\n{texts}" in (tmp_path / "junit.xml").read_text(encoding="utf-8")
