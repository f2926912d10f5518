from dataclasses import replace
from io import StringIO
from pathlib import Path

import openpyxl
import pytest
from rich.console import Console
from tests.cases import each_case
from tests.reports.conftest import STARTED, MakeRun
from tests.results.conftest import Runs

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports import view
from ragstone.reports.comparison import sections
from ragstone.reports.excel import cutoff, write_workbook
from ragstone.reports.html.page import write_html
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
from ragstone.types.score import Score, State


def told(run: Run) -> list[str]:
    return [f"{line.label}: {line.words}" for line in (*decisions(run), *details(run))]


def test_what_the_numbers_were_made_from(make_run: MakeRun) -> None:
    gates = [
        Gate(metric="hit@5", op=">=", threshold=0.5),
        Gate(metric="f1@5", op=">=", threshold=0.9),
    ]
    assert told(make_run(gates=gates, manifest={"judge_test": "errors noticed: 8 of 10"})) == [
        "Gate: passed: hit@5 0.6667 is >= 0.5 (3 of 4 scored)",
        "Gate: FAILED: f1@5 0.1905 is not >= 0.9 (3 of 4 scored)",
        "Data set: qr.xlsx (4 rows evaluated)",
        "Target: http://localhost:8000: 4 calls, 1 failed (25.0%), latency p50 110 ms, p95 119 ms",
        "Judge: offline: word overlap; no language model",
        "Judge test: errors noticed: 8 of 10",
        "Policy: strict",
        "Not run: response_relevancy: needs a model",
        "Note: 2 blank rows were left out",
        "Note: the ranking holds a document twice (2 rows)",
    ]
    asked_nobody = {"target": None, "judge": None, "judge_note": None, "not_run": {}}
    gate = Gate(metric="hit@5", op=">=", threshold=0.5)
    assert told(make_run([], gates=[gate], manifest=asked_nobody))[:3] == [
        "Gate: UNDECIDED: hit@5: nothing was scored, so >= 0.5 cannot be checked (0 of 0 scored)",
        "Data set: qr.xlsx (0 rows evaluated)",
        "Target: none (the data has the answers)",
    ]


def test_every_report_states_how_rows_are_grouped(tmp_path: Path) -> None:
    run = Runs.of({"hit@5": [1.0] * 60}, queries=[f"Why {i // 3}?" for i in range(60)])
    line = "60 rows grouped into 20 by shared queries (`cluster=id` treats rows as independent)"
    assert f"Intervals: {line}" in told(run)
    console = Console(file=StringIO(), width=200)
    print_run(run, console, verbose=True)
    assert line in console.file.getvalue()  # type: ignore[attr-defined]
    assert line.replace("`", "") in run_as_markdown(run).replace("\\`", "")
    write_html(run, tmp_path / "run.html")
    assert "60 rows grouped into 20 by shared queries" in (tmp_path / "run.html").read_text()
    write_workbook(tmp_path / "run.xlsx", run, names=["hit@5"])
    sheet = openpyxl.load_workbook(tmp_path / "run.xlsx")["Summary"]
    assert line in [cell for row in sheet.values for cell in row]
    parts = [part for section in sections(compare(run, run)) for part in section.parts]
    words = [part.words for part in parts if isinstance(part, Line)]
    assert line.replace("60 rows", "60 pairs") in words


def test_the_judges_calls_are_told(make_run: MakeRun) -> None:
    usage = Usage(2, 1, 1, 3000, 400, 100, 50, cost_usd=0.25)

    def fact(usage: Usage) -> str:
        asked = Exchange("key", "extract_claims", Reply((), usage), latency_ms=40.0)
        rows = [replace(row, exchanges=(asked,)) for row in make_run().rows]
        (found,) = [line for line in told(make_run(rows)) if line.startswith("Usage")]
        return found

    assert fact(usage) == (
        "Usage: 8 calls (4 retries), 4 replies from the cache; 12,000 prompt tokens (400 cached), "
        "1,600 completion tokens (200 reasoning); about $1.00 at list prices; p50 40 ms, p95 40 ms "
        "per answer"
    )
    assert "price unknown" in fact(replace(usage, cost_usd=None))


def test_why_scores_are_missing(make_run: MakeRun) -> None:
    run = make_run()
    assert why_undefined(run, "faithfulness") == "the response makes no claims (1)"
    assert why_failed(run, "faithfulness") == "timed out (1, first q4: no answer within 30 s)"
    assert why_undefined(run, "hit@5") == "relevance is not known (1)"
    assert why_failed(run, "hit@5") == ""
    (line,) = missing(replace(run, rows=()))
    assert line.words == f"{', '.join(run.metrics)}: no score: no rows"
    why = why_failed(Runs.of({"hit@5": [Runs.failed("<html>" * 10_000)]}), "hit@5")
    assert why.startswith("timed out (1, first q0: <html>")
    assert len(why) < 400


def test_many_reasons_and_notes_are_counted() -> None:
    run = Runs.of({"hit@5": [Score.undefined(f"reason {number}") for number in range(6)]})
    run = replace(run, rows=[replace(row, notes=(f"n {row.index}",)) for row in run.rows])
    assert why_undefined(run, "hit@5") == (
        "reason 0 (1); reason 1 (1); reason 2 (1); and 3 other reasons"
    )
    assert told(run)[-2:] == ["Note: n 2 (1 row)", "Note: 3 more notes in the rows"]


def test_titles_are_labels_unless_two_are_alike() -> None:
    run = Runs.of({"hit@5": [1], "hit@10": [1], "mrr@5": [1]}, plan={"k": 7})
    assert metric_titles(run.metrics) == {"hit@5": "hit@5", "hit@10": "hit@10", "mrr@5": "MRR@K"}
    assert [cutoff(run, name) for name in ("hit@5", "hit@10", "faithfulness")] == [5, 10, 7]


def test_what_a_policy_made_up_is_told_and_so_are_notes_and_marks() -> None:
    def of(*scores: Score, **plan: object) -> Run:
        return Runs.of({"faithfulness": scores}, plan=plan)

    made_up = Score(state=State.SCORED, value=0.5, fallback=True, reason="flagged: no answer")
    noted = Score.scored(1.0, detail={"note": "no claim was found"})
    gates = (Gate(metric="faithfulness", op=">=", threshold=0.5),)
    lines = told(of(made_up, noted, made_up, noted, gates=gates, max_failure_rate=1.0))
    for line in (
        "Imputed: faithfulness: 2 scores imputed by the policy, first q0: flagged: no answer",
        "Note: faithfulness: 2 scores with a note, first q1: no claim was found",
        "Gate: passed: faithfulness 0.7500 is >= 0.5 (4 of 4 scored, 2 imputed by the policy)",
    ):
        assert line in lines
    score = Score(state=State.SCORED, value=0.8, threshold=0.5, passed=True)
    missed = Score(state=State.SCORED, value=0.2, threshold=0.5, passed=False)
    run = of(score, score, missed, Score.undefined("no claims"))
    assert "Threshold: faithfulness >= 0.5: passed by 2 of 3 scored (66.7%)" in told(run)


def test_what_was_chosen_is_in_words() -> None:
    def chosen(**options: object) -> dict[str, str]:
        plan = Plan.of(options).model_dump(mode="json", exclude_none=True)
        return dict(changed_settings(plan, exclude=("sheet",)))

    assert chosen() == {}
    assert chosen(judge="openai:x", target="http://x", k=3, sheet="One") == {"k": "3"}
    assert chosen(cache=False, batch_size=5) == {"cache": "no", "batch size": "5"}
    assert chosen(columns={"query": "Frage"}) == {"columns": "query=Frage"}
    assert chosen(include_reason=True) == {"include reason": "yes"}
    of_old = changed_settings({"of_old": [1, 2]})  # an option of another version
    assert of_old == (("of old", "1, 2"),)


def test_ids_that_never_match_are_reported() -> None:
    def ids(count: int, relevant: str) -> str:
        row = {"query": "q", "ranking": ["doc-1"], "relevance": ["101"]}
        rows = [{**row, "query": f"q{n}"} for n in range(count)]
        run = evaluate([*rows, row | {"ranking": ["b"], "relevance": [relevant]}], metrics="hit")
        return "".join(line for line in told(run) if line.startswith("Ids"))

    start = "Ids: no retrieved id is among the relevant ids in any of "
    end = "; check that both use the same ids"
    assert ids(3, "a") == f"{start}4 rows (first: retrieved doc-1, relevant 101){end}"
    assert ids(0, "a") == f"{start}1 row (first: retrieved b, relevant a){end}"
    assert ids(3, "b") == "", "one matches"
    assert ids(1, "B#1") == f"{start}2 rows (nearly equal: retrieved b, relevant B#1){end}"


def test_quotes_that_are_in_no_context_are_reported() -> None:
    quote = Evidence(context=0, quote="invented", verified=False)
    found = Evidence(context=0, start=0, end=10, quote="It is red.", verified=True)
    verdict = Verdict(label=Label.SUPPORTED, evidence=(quote, found))
    judge = ScriptedJudge({"extract_claims": [{"text": "It is red."}], "verify_claims": [verdict]})
    rows = [{"query": "q", "response": "It is red.", "contexts": ["It is red."]}] * 2
    lines = told(evaluate(rows, metrics="faithfulness", judge=judge))
    words = "faithfulness: 2 of 4 quotes from the judge were not found in the texts"
    assert f"Quotes: {words}; review these verdicts first" in lines


@each_case(
    ("noticed", "kept", "words", "tone"),
    [
        (97, 38, "it missed 3% of 100 injected errors (2026-03-01)", Tone.PLAIN),
        (100, 4, "it missed 0% of 100 injected errors and rejected 90% of 40 ", Tone.WARNING),
        (43, 40, "it missed 57% of 100 injected errors and rejected 0% of 40 ", Tone.WARNING),
    ],
)
def test_a_judge_that_flags_everything_does_not_look_good(
    make_run: MakeRun, noticed: int, kept: int, words: str, tone: Tone
) -> None:
    kinds = [
        KindResult(kind=kind, expected=expected, right=right, answered=n, applied=n, of=n)
        for kind, expected, right, n in (
            ("number", "rejected", noticed, 100),
            ("copied", "accepted", kept, 40),
        )
    ]
    fields = {"judge": "offline", "data": "d", "at": STARTED, "version": "1", "samples": 1}
    counts = {"claims": 1, "supported": 1, "asked": 1, "failed": 0, "calls": 0, "cost_usd": None}
    test = JudgeTest.model_validate({**fields, **counts, "kinds": kinds})
    run = make_run(manifest={"judge_key": "k"})
    assert trust(run) == trust(make_run()), "it is untested"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(view, "load_test", {"k": test}.get)
        found = trust(run)
    assert found is not None
    assert words in found.words
    assert found.tone is tone
