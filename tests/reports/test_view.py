from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import openpyxl
import pytest
from python_calamine import CalamineWorkbook
from rich.console import Console
from tests.cases import each_case
from tests.reports.conftest import STARTED

from ragstone.errors import Cause
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports import view
from ragstone.reports.comparison import sections
from ragstone.reports.excel import cutoff, write_workbook, write_workbooks
from ragstone.reports.format import CAUSES, LABELS
from ragstone.reports.html.page import page_context, render, sample_document, write_html
from ragstone.reports.markdown import run_as_markdown
from ragstone.reports.terminal import print_run
from ragstone.reports.view import (
    Line,
    Tone,
    changed_settings,
    decisions,
    details,
    metric_titles,
    missing,
    trust,
    why_failed,
    why_undefined,
)
from ragstone.results.comparison import compare
from ragstone.results.judge_test import JudgeTest, KindResult
from ragstone.results.run import Run
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.config import Plan
from ragstone.types.gate import Gate
from ragstone.types.reply import Exchange, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.score import Score, State

MakeRun = Callable[..., Run]


def told(run: Run) -> list[str]:
    return [f"{line.label}: {line.words}" for line in (*decisions(run), *details(run))]


def test_every_cause_and_label_has_words() -> None:
    assert set(CAUSES) == set(Cause)
    assert set(LABELS) == set(Label)


def test_what_the_numbers_were_made_from(make_run: MakeRun) -> None:
    gates = [
        Gate(metric="hit@5", op=">=", threshold=0.5),
        Gate(metric="f1@5", op=">=", threshold=0.9),
    ]
    assert told(make_run(gates=gates)) == [
        "Gate: passed: hit@5 0.6667 is >= 0.5 (3 of 4 scored)",
        "Gate: FAILED: f1@5 0.1905 is not >= 0.9 (3 of 4 scored)",
        "Data set: qr.xlsx (4 rows evaluated)",
        "Target: http://localhost:8000: 4 calls, 1 failed (25.0%), latency p50 110 ms, p95 119 ms",
        "Judge: offline: word overlap; no language model",
        "Policy: strict",
        "Not run: response_relevancy: needs a model",
        "Note: 2 blank rows were left out",
        "Note: the ranking holds a document twice (2 rows)",
    ]


def test_every_report_states_how_rows_are_grouped(make_run: MakeRun, tmp_path: Path) -> None:
    first = make_run().rows[0]
    rows = [
        replace(first, index=i, sample=first.sample.model_copy(
            update={"id": f"q{i}", "query": f"Why {i // 3}?", "contexts": None, "tags": {}}))
        for i in range(60)
    ]  # fmt: skip
    run = make_run(rows, names=("hit@5",), asked=("hit",))
    line = "60 rows grouped into 20 by shared queries (`cluster=id` treats rows as independent)"
    assert f"Intervals: {line}" in told(run)
    console = Console(file=StringIO(), width=200)
    print_run(run, console, verbose=True)
    assert line in console.file.getvalue()  # type: ignore[attr-defined]
    assert line.replace("`", "") in run_as_markdown(run).replace("\\`", "")
    write_html(run, tmp_path / "run.html")
    assert "60 rows grouped into 20 by shared queries" in (tmp_path / "run.html").read_text()
    (book,) = write_workbooks(run, output=tmp_path / "run.xlsx")
    cells = CalamineWorkbook.from_path(book)
    found = [cell for name in cells.sheet_names for row in cells.get_sheet_by_name(name).to_python()
             for cell in row]  # fmt: skip
    assert line in found
    grouping = run.to_dict()["grouping"]
    assert grouping == {"rows": 60, "groups": 20, "by": ["query"], "not_grouped": {}}
    words = [
        part.words
        for section in sections(compare(run, run))
        for part in section.parts
        if isinstance(part, Line)
    ]
    pairs = line.replace("60 rows", "60 pairs")
    assert pairs in words


def test_a_gate_without_a_score_is_not_told(make_run: MakeRun) -> None:
    run = make_run(rows=[], gates=[Gate(metric="hit@5", op=">=", threshold=0.5)])
    assert (
        "Gate: UNDECIDED: hit@5: nothing was scored, so >= 0.5 cannot be checked (0 of 0 scored)"
        in told(run)
    )


def test_without_target_and_judge(make_run: MakeRun) -> None:
    rows = [replace(row, calls=(), notes=()) for row in make_run().rows]
    run = make_run(
        rows,
        names=("hit@5",),
        manifest={"target": None, "judge": None, "judge_note": None, "not_run": {}},
    )
    assert told(run)[1] == "Target: none (the data has the answers)"
    assert not [line for line in told(run) if line.startswith(("Judge", "Policy"))]


def test_a_judges_test_is_told_beside_it(make_run: MakeRun) -> None:
    run = make_run(manifest={"judge_test": "errors noticed: 8 of 10"})
    assert "Judge test: errors noticed: 8 of 10" in told(run)


def test_the_judges_calls_are_told(make_run: MakeRun) -> None:
    usage = Usage(2, 1, 1, 3000, 400, 100, 50, cost_usd=0.25)
    asked = Exchange("key", "extract_claims", Reply((), usage), latency_ms=40.0)
    rows = [replace(row, exchanges=(asked,)) for row in make_run().rows]
    (fact,) = [line for line in told(make_run(rows)) if line.startswith("Usage")]
    assert fact == (
        "Usage: 8 calls (4 retries), 4 replies from the cache; 12,000 prompt tokens (400 cached), "
        "1,600 completion tokens (200 reasoning); about $1.00 at list prices; p50 40 ms, p95 40 ms "
        "per answer"
    )


def test_a_cost_that_is_not_known_is_said_to_be(make_run: MakeRun) -> None:
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=1, cost_usd=None)
    asked = Exchange("key", "extract_claims", Reply((), usage), latency_ms=40.0)
    rows = [replace(row, exchanges=(asked,)) for row in make_run().rows]
    (fact,) = [line for line in told(make_run(rows)) if line.startswith("Usage")]
    assert "price unknown" in fact


def test_who_reached_the_mark_is_told(make_run: MakeRun) -> None:
    score = Score(state=State.SCORED, value=0.8, threshold=0.5, passed=True)
    missed = Score(state=State.SCORED, value=0.2, threshold=0.5, passed=False)
    scores = [score, score, missed, Score.undefined("no claims")]
    rows = [
        replace(row, scores={"faithfulness": each})
        for row, each in zip(make_run().rows, scores, strict=True)
    ]
    run = make_run(rows, names=("faithfulness",))
    assert "Threshold: faithfulness >= 0.5: passed by 2 of 3 scored (66.7%)" in told(run)


def test_why_scores_are_missing(make_run: MakeRun) -> None:
    run = make_run()
    assert why_undefined(run, "faithfulness") == "the response makes no claims (1)"
    assert why_failed(run, "faithfulness") == "timed out (1, first q4: no answer within 30 s)"
    assert why_undefined(run, "hit@5") == "relevance is not known (1)"
    assert why_failed(run, "hit@5") == ""
    (line,) = missing(replace(run, rows=()))
    assert line.words == f"{', '.join(run.metrics)}: no score: no rows"


def test_many_reasons_and_notes_are_counted(make_run: MakeRun) -> None:
    rows = [
        replace(
            row,
            index=number,
            scores={"hit@5": Score.undefined(f"reason {number}")},
            notes=(f"n {number}",),
        )
        for number, row in enumerate([make_run().rows[0]] * 6)
    ]
    run = make_run(rows, names=("hit@5",))
    assert why_undefined(run, "hit@5") == (
        "reason 0 (1); reason 1 (1); reason 2 (1); and 3 other reasons"
    )
    assert told(run)[-2:] == ["Note: n 2 (1 row)", "Note: 3 more notes in the rows"]


def test_a_page_as_a_reason_is_cut(make_run: MakeRun) -> None:
    row: Row = make_run().rows[0]
    failed = Score.failed(Cause.UNREACHABLE, "<html>" * 10_000)
    why = why_failed(make_run([replace(row, scores={"hit@5": failed})], names=("hit@5",)), "hit@5")
    assert why.startswith("unreachable (1, first q1: <html>")
    assert len(why) < 400


def test_titles_are_labels_unless_two_are_alike(make_run: MakeRun) -> None:
    rows = [
        replace(
            make_run().rows[0], scores={n: Score.scored(1) for n in ("hit@5", "hit@10", "mrr@5")}
        )
    ]
    run = make_run(rows, names=("hit@5", "hit@10", "mrr@5"), k=7)
    assert metric_titles(run.metrics) == {"hit@5": "hit@5", "hit@10": "hit@10", "mrr@5": "MRR@K"}
    assert [cutoff(run, name) for name in ("hit@5", "hit@10", "faithfulness")] == [5, 10, 7]


def test_what_a_policy_made_up_is_told_and_so_are_notes(make_run: MakeRun) -> None:
    made_up = Score(state=State.SCORED, value=0.5, fallback=True, reason="flagged: no answer")
    noted = Score.scored(1.0, detail={"note": "no claim was found in: It is so. (asked twice)"})
    scores = [made_up, noted, made_up, noted]
    rows = [
        replace(row, scores={"faithfulness": each})
        for row, each in zip(make_run().rows, scores, strict=True)
    ]
    gates = (Gate(metric="faithfulness", op=">=", threshold=0.5),)
    run = make_run(rows, names=("faithfulness",), gates=gates)
    assert (
        "Imputed: faithfulness: 2 scores imputed by the policy, first q1: flagged: no answer"
        in told(run)
    )
    assert (
        "Note: faithfulness: 2 scores with a note, first q2: no claim was found in: It is so. "
        "(asked twice)"
    ) in told(run)
    gate = "Gate: passed: faithfulness 0.7500 is >= 0.5 (4 of 4 scored, 2 imputed by"
    assert f"{gate} the policy)" in told(run)


def told_of_settings(*but: str, **said: object) -> dict[str, str]:
    options = Plan.of(said).model_dump(mode="json", exclude_none=True)
    return dict(changed_settings(options, exclude=but))


def test_what_is_at_its_default_is_not_told() -> None:
    assert told_of_settings() == {}


def test_what_stands_elsewhere_is_not_told_again() -> None:
    assert told_of_settings("sheet", judge="openai:x", target="http://x", k=3, sheet="One") == {
        "k": "3"
    }


def test_what_was_chosen_is_told_in_words() -> None:
    said = told_of_settings(
        cache=False, batch_size=5, columns={"query": "Frage"}, include_reason=True
    )
    assert said == {
        "cache": "no", "batch size": "5", "columns": "query=Frage", "include reason": "yes"
    }  # fmt: skip


def test_options_of_another_version_are_told() -> None:
    assert changed_settings({"of_old": [1, 2]}) == (("of old", "1, 2"),)


def test_all_reports_name_a_cause_the_same(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[3]
    for cause, name in CAUSES.items():
        scores = {**row.scores, "faithfulness": Score.failed(cause, "why")}
        run = make_run([replace(row, scores=scores)], names=("faithfulness",))
        console = Console(file=StringIO(), width=200)
        print_run(run, console, verbose=True)
        write_workbook(tmp_path / "x.xlsx", run, names=["faithfulness"])
        sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")["Questions"]
        head, cells = sheet.iter_rows(values_only=True)
        texts = {
            "terminal": console.file.getvalue(),  # type: ignore[attr-defined]
            "Markdown": run_as_markdown(run),
            "HTML": render("run.html", **page_context(run)),
            "sample": sample_document(run.rows[0])["scores"]["faithfulness"]["cause"],  # type: ignore[index]
            "workbook": dict(zip(head, cells, strict=True))["notes"],
        }
        assert [report for report, text in texts.items() if name not in text] == []  # type: ignore[operator]


def test_ids_that_never_match_are_reported() -> None:
    def ids(count: int, **last: object) -> list[str]:
        rows = [
            {"query": f"q{n}", "ranking": ["doc-1"], "relevance": ["101"]} for n in range(count)
        ]
        run = evaluate([*rows, {"query": "q", "ranking": ["b"], **last}], metrics="hit")
        return [line for line in told(run) if line.startswith("Ids")]

    line = (
        "Ids: no retrieved id is among the relevant ids in any of 4 rows (first: retrieved doc-1, "
        "relevant 101); check that both use the same ids"
    )
    assert ids(3, relevance=["a"]) == [line]
    assert "any of 1 row (first: retrieved b, relevant a)" in ids(0, relevance=["a"])[0]
    assert ids(3, relevance=["b"]) == [], "one matches"
    assert ids(1, relevance=["B#1"]) == [
        line.replace(
            "4 rows (first: retrieved doc-1, relevant 101",
            "2 rows (nearly equal: retrieved b, relevant B#1",
        )
    ]


def test_quotes_that_are_in_no_context_are_reported(make_run: MakeRun) -> None:
    claims = [{"text": "It is red."}]
    quote = Evidence(context=0, quote="invented", verified=False)
    found = Evidence(context=0, start=0, end=10, quote="It is red.", verified=True)
    verdict = Verdict(label=Label.SUPPORTED, evidence=(quote, found))
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": [verdict]})
    rows = [{"query": "q", "response": "It is red.", "contexts": ["It is red."]}] * 2
    lines = told(evaluate(rows, metrics="faithfulness", judge=judge))
    words = "faithfulness: 2 of 4 quotes from the judge were not found in the texts"
    assert f"Quotes: {words}; review these verdicts first" in lines


def test_a_test_of_the_judge_that_came_later_is_in_its_line(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(manifest={"judge_key": "k"})
    untested = trust(run)
    assert untested is not None
    assert untested.words == "offline (word overlap); this judge is untested"
    kind = KindResult(kind="number", expected="rejected", right=43, answered=100, applied=1, of=1)
    fields = {"judge": "offline", "data": "d", "at": STARTED, "version": "1", "samples": 1}
    counts = {"claims": 1, "supported": 1, "asked": 1, "failed": 0, "calls": 0, "cost_usd": None}
    test = JudgeTest.model_validate({**fields, **counts, "kinds": (kind,)})
    monkeypatch.setattr(view, "load_test", {"k": test}.get)
    found = trust(run)
    assert found is not None
    assert "it missed 57% of 100 injected errors (2026-03-01)" in found.words
    assert found.tone is Tone.WARNING


@each_case(
    ("noticed", "kept", "words", "tone"),
    [
        (97, 38, "it missed 3% of 100 injected errors (", Tone.PLAIN),
        (100, 4, "it missed 0% of 100 injected errors and rejected 90% of 40 true claims (",
         Tone.WARNING),
        (100, 0, "it missed 0% of 100 injected errors and rejected 100% of 40 true claims (",
         Tone.WARNING),
        (43, 40, "it missed 57% of 100 injected errors and rejected 0% of 40 true claims (",
         Tone.WARNING),
    ],
)  # fmt: skip
def test_a_judge_that_flags_everything_does_not_look_good(
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
    noticed: int,
    kept: int,
    words: str,
    tone: Tone,
) -> None:
    parts = (("number", "rejected", noticed, 100), ("copied", "accepted", kept, 40))
    kinds = [
        KindResult(kind=kind, expected=expected, right=right, answered=n, applied=n, of=n)
        for kind, expected, right, n in parts
    ]
    fields = {"judge": "offline", "data": "d", "at": STARTED, "version": "1", "samples": 1}
    counts = {"claims": 1, "supported": 1, "asked": 1, "failed": 0, "calls": 0, "cost_usd": None}
    test = JudgeTest.model_validate({**fields, **counts, "kinds": kinds})
    monkeypatch.setattr(view, "load_test", {"k": test}.get)
    found = trust(make_run(manifest={"judge_key": "k"}))
    assert found is not None
    assert words in found.words
    assert found.tone is tone
