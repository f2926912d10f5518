import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from tests.cases import each_case
from tests.reports.conftest import MakeRun
from tests.results.conftest import Runs

from ragstone import evaluate
from ragstone.reports.terminal import MAX_LINES, print_rows, print_run, print_runs
from ragstone.results.run import Run
from ragstone.store import RunInfo
from ragstone.types.gate import Gate

Print = Callable[[Run, Console], None]

AT_80 = """\
✗ the run stopped early; 4 of 4 rows evaluated
2 of 2 answers make a claim that the contexts do not support (100%, 16% to
100%). 2 answers were not judged, for example because the judge gave no answer
(timeout). Measure answer_correctness to see whether they are right.
Judge: offline (word overlap); this judge is untested

                not supported
found      1 (50%, 1% to 99%)
not found  1 (50%, 1% to 99%)

hit@5         0.67  0.09 to 0.99  3 of 4 rows
f1@5          0.19  0.03 to 0.76  3 of 4 rows
faithfulness  0.25  0.01 to 0.89  2 of 4 rows, 1 failed
faithfulness failed: timed out (1, first q4: no answer within 30 s)

Worst by faithfulness
q2 0.00 (not supported, not found) How long does battery 2 last?
    contradicted: It charges in 60 minutes. (The context says 75 minutes.)
q1 0.50 (not supported, found) How long does battery 1 last?
    contradicted: It charges in 60 minutes. (The context says 75 minutes.)
q4 – How long does battery 4 last?
    failed, timed out: no answer within 30 s
"""

DETAILS = """\
hit@5, f1@5: undefined: relevance is not known (1)
faithfulness: undefined: the response makes no claims (1)
faithfulness: failed: timed out (1, first q4: no answer within 30 s)
faithfulness: mean between 0.1667 and 0.5000, depending on 1 failed row
Gate      INCONCLUSIVE: hit@5 0.6667 is >= 0.5 (3 of 4 scored)
Gate      FAILED: faithfulness 0.2500 is not >= 0.8 (2 of 4 scored)
Data set  qr.xlsx (4 rows evaluated)
Target    http://localhost:8000: 4 calls, 1 failed (25.0%), latency p50 110 ms, p95 119 ms
Judge     offline: word overlap; no language model
Policy    strict
Not run   response_relevancy: needs a model
Note      2 blank rows were left out
Note      the ranking holds a document twice (2 rows)
"""

ROWS = """\
q1  How long does battery 1 last?
    hit@5 1.0000 | f1@5 0.2857 | faithfulness 0.5000
    faithfulness: contradicted: It charges in 60 minutes. (The context says 75 minutes.)
q2  How long does battery 2 last?
    hit@5 0.0000 | f1@5 0.0000 | faithfulness 0.0000
    faithfulness: contradicted: It charges in 60 minutes. (The context says 75 minutes.)
q3  How long does battery 3 last?
    hit@5 – | f1@5 – | faithfulness –
    hit@5, f1@5: undefined: relevance is not known
    faithfulness: undefined: the response makes no claims
q4  How long does battery 4 last?
    hit@5 1.0000 | f1@5 0.2857 | faithfulness –
    faithfulness: failed, timed out: no answer within 30 s
"""


def shown(show: Print, run: Run, width: int = 100, **options: object) -> str:
    console = Console(file=io.StringIO(), width=width, **options)  # type: ignore[arg-type]
    show(run, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines()), default=0) <= width or not text.isascii()
    return re.sub(" +$", "", text, flags=re.MULTILINE)


def gated(make_run: MakeRun) -> Run:
    gates = [
        Gate(metric="hit@5", op=">=", threshold=0.5),
        Gate(metric="faithfulness", op=">=", threshold=0.8),
    ]
    return make_run(gates=gates, partial=True)


def test_a_run_begins_with_its_verdict(make_run: MakeRun) -> None:
    assert shown(print_run, gated(make_run), 80) == AT_80


def test_verbose_adds_what_the_numbers_were_made_from(make_run: MakeRun) -> None:
    def verbose(run: Run, console: Console) -> None:
        print_run(run, console, verbose=True)

    text = shown(verbose, gated(make_run))
    assert text.endswith(DETAILS)
    assert re.search(r"faithfulness +0.2500 +0.0059 – 0.8873 +4 +2 +1 +1", text)


def test_many_metrics_fit_in_the_lines_of_a_terminal() -> None:
    names = [f"{name}@{k}" for name in ("hit", "recall", "mrr", "ndcg") for k in (1, 3, 5, 10)]
    gates = (Gate(metric="ndcg@10", op=">=", threshold=0.5),)
    scores = {name: [1.0, 0.0, 0.5] for name in [*names, "faithfulness"]}
    lines = shown(print_run, Runs.of(scores, plan={"gates": gates}), 80).splitlines()
    assert len(lines) <= MAX_LINES
    assert any(line.startswith("ndcg@10 ") for line in lines)  # it has a gate
    assert any(line.startswith("faithfulness ") for line in lines)
    assert any(re.fullmatch(r"and \d+ more metrics; -v shows all", line) for line in lines)


def test_a_command_to_run_next_is_one_line_that_can_be_copied(tmp_path: Path) -> None:
    answer = {"query": "q", "response": "It weighs 9 grams.", "contexts": ["It weighs 8 grams."]}
    run = evaluate(
        [answer], metrics=["faithfulness"], fail_under={"faithfulness": 1}, store=tmp_path / "x.db"
    )
    *_, last = shown(print_run, run, 40).splitlines()
    assert last.startswith("Next: `ragstone runs show 2")


def test_the_next_step_stands_last() -> None:
    run = Runs.of({"hit@5": [place % 2 for place in range(40)]})
    *_, last = shown(print_run, run, 120).splitlines()
    assert last.startswith("Next: hit@5 is only accurate to ±0.15 (40 rows)")
    for perfect in (Runs.of({"hit@5": [1]}), Runs.of({"hit@5": []}), Runs.of({})):
        assert "Worst" not in shown(print_run, perfect)


def test_the_rows(make_run: MakeRun) -> None:
    assert shown(print_rows, make_run()) == ROWS


def test_flagged_scores_are_counted_only_if_there_are_any(make_run: MakeRun) -> None:
    assert "imputed" not in shown(print_run, make_run())
    row = make_run().rows[0]
    made_up = row.scores["faithfulness"].model_copy(update={"fallback": True})
    run = make_run([replace(row, scores={"faithfulness": made_up})], names=("faithfulness",))
    assert "1 imputed" in shown(print_run, run)
    assert "faithfulness 0.5000 (imputed)" in shown(print_rows, run)


def test_no_color_is_obeyed_by_all(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    colour = re.compile(r"\x1b\[(\d+;)*3\d")
    terminal = {"force_terminal": True, "color_system": "standard"}
    assert colour.search(shown(print_run, make_run(), **terminal))
    assert "\x1b" not in shown(print_run, make_run()) + shown(print_rows, make_run())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(shown(print_run, make_run(), **terminal))


@each_case(("encoding", "dash"), [("ascii", "-"), ("cp1252", "–")])
def test_a_terminal_gets_what_it_can_show(make_run: MakeRun, encoding: str, dash: str) -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding)
    given_ = make_run().rows[2].sample.model_copy(update={"query": "日本語?"})
    run = make_run([replace(make_run().rows[2], sample=given_)])
    print_run(gated(make_run), Console(file=stream, width=110))
    print_run(run, Console(file=stream, width=100))
    print_rows(run, Console(file=stream, width=40))
    stream.flush()
    output = buffer.getvalue().decode(encoding)
    assert f"q4 {dash} How long" in output
    assert "q3  ????" in output
    assert re.search(rf"faithfulness +{dash} +0 of 1 rows", output)


@example("[red]x[/red][/]", 100)
@example("[link=file:///etc/passwd]x[/link]", 40)
@example(":smile:", 40)
@example("\x1b[2J\x1b]0;title\x07", 100)
@example("\u202egnp.exe", 40)
@example("x" * 5000, 40)
@given(st.text(st.characters(), min_size=1), st.sampled_from([20, 40, 100]))
def test_any_text_is_shown_and_never_obeyed(
    hostile_run: Callable[[str], Run], text: str, width: int
) -> None:
    run = hostile_run(text)
    for show in (print_run, print_rows):
        output = shown(show, run, width)
        output.encode("utf-8")
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output)


@each_case("text", ["[red]x[/red]", "[/]", ":smile:", "[link=x]y[/link]"])
def test_markup_is_shown_as_written(hostile_run: Callable[[str], Run], text: str) -> None:
    assert shown(print_rows, hostile_run(text)).startswith(f"{text}  {text}\n")


def test_a_list_of_runs_has_their_gates_and_sentences_in_two_lines_each(make_run: MakeRun) -> None:
    def info(passed: bool | None, sentence: str = "3 of 9 answers are wrong.") -> RunInfo:
        run = make_run(manifest={"run_id": f"gates-{passed}"})
        summary = {**run.to_dict(), "gates": [{"passed": passed}], "troubles": []}
        summary["verdict"] = {"sentence": sentence}
        about = run.manifest
        times = (about.started_at, about.started_at, None, "")
        return RunInfo(about.run_id, *times, about, run.metrics, {}, summary, None, True, 4)

    lines = shown(print_runs, [info(True), info(False), info(None, "")]).splitlines()
    states = [line.split("  ")[3] for line in lines[::2]]
    assert states == ["gates passed", "gates failed", "gates undecided"]
    about = "qr.xlsx, localhost:8000, offline, 1 score failed"
    assert lines[3] == f"  {about}: 3 of 9 answers are wrong."
    assert lines[5].endswith("hit@5 0.6667, f1@5 0.1905, faithfulness 0.2500")
