import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.reports.ranked import ranked_run

from ragstone import evaluate
from ragstone.errors import Cause
from ragstone.evaluation.rescore import ORIGIN
from ragstone.reports.insights import next_step
from ragstone.results.run import Run
from ragstone.store import Store, save_ranking
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.score import Score

MakeRun = Callable[..., Run]
STEADY = [Score.scored(0.9), Score.scored(0.8)] * 50
ANSWER = {
    "query": "How heavy is it?",
    "response": "The phone weighs 180 grams.",
    "contexts": ["The phone weighs 180 grams."],
}


def of(make_run: MakeRun, scores: Sequence[Score], **asked: object) -> Run:
    row = make_run().rows[0]
    rows = [
        replace(row, index=place, scores={"faithfulness": score})
        for place, score in enumerate(scores)
    ]
    return make_run(rows, names=("faithfulness",), **asked)


def stored(tmp_path: Path, answers: Sequence[dict[str, object]], **options: object) -> Run:
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    return evaluate(
        path, metrics=["faithfulness"], judge="offline", store=tmp_path / "runs.db", **options
    )  # type: ignore[arg-type]


def test_nothing_is_said_where_nothing_is_to_be_done(make_run: MakeRun) -> None:
    assert next_step(of(make_run, STEADY)) is None
    assert next_step(of(make_run, STEADY), first=True) is None  # it is in no store
    assert next_step(make_run(names=())) is None
    assert next_step(make_run([])) is None


def test_of_a_run_that_was_stopped_the_command_says_how_it_goes_on(make_run: MakeRun) -> None:
    run = of(make_run, [Score.failed(Cause.TIMEOUT, "late")] * 3)
    assert next_step(run)
    assert next_step(replace(run, partial=True)) is None
    assert next_step(replace(run, stopped="max_calls")) is None


@each_case(
    ("cause", "said", "cure"),
    [
        (
            Cause.TIMEOUT,
            "timed out",
            "run again; if it times out again, set --timeout 120",
        ),
        (
            Cause.RATE_LIMITED,
            "rate limited",
            "set --rpm, or a --concurrency below",
        ),
        (Cause.UNREACHABLE, "unreachable", "check that the service is running, then run again"),
        (Cause.REFUSAL, "refused", "try another --model, which may answer"),
        (
            Cause.MALFORMED,
            "unreadable reply",
            "try another --model, or --verify each for shorter replies",
        ),
        (
            Cause.COUNT_MISMATCH,
            "wrong number of answers",
            "try another --model, or --verify each",
        ),
        (Cause.METRIC_ERROR, "error in the metric", "fix the metric, then run again"),
    ],
)
def test_each_cause_of_failures_has_its_cure(
    make_run: MakeRun, cause: Cause, said: str, cure: str
) -> None:
    words = next_step(of(make_run, [*STEADY, *[Score.failed(cause, "why")] * 4])) or ""
    assert words.startswith(f"4 scores failed ({said}): ")
    assert cure in words


@pytest.mark.parametrize(
    ("judge", "cure"),
    [
        ("openai:m", "allow longer replies with --max-tokens 8192"),
        ("cascade:local:nli+openai:m", "allow longer replies with --max-tokens 8192"),
        ("local:nli", "set a larger length= for the local judge"),
    ],
)
def test_what_was_cut_off_is_cured_by_what_the_judge_has(
    make_run: MakeRun, judge: str, cure: str
) -> None:
    cut = [*STEADY, Score.failed(Cause.TRUNCATED, "cut")]
    words = next_step(of(make_run, cut, judge=judge)) or ""
    assert words.startswith("1 score failed (truncated): ")
    assert cure in words


def test_a_spent_budget_has_no_cure_but_more_of_it(make_run: MakeRun) -> None:
    assert next_step(of(make_run, [*STEADY, Score.failed(Cause.BUDGET, "spent")])) is None


def test_the_commonest_cause_is_told(make_run: MakeRun) -> None:
    late, cut = Score.failed(Cause.TIMEOUT, "late"), Score.failed(Cause.TRUNCATED, "cut")
    assert "truncated" in (next_step(of(make_run, [*STEADY, late, cut, cut])) or "")


def test_one_verdict_a_call_is_not_advised_where_it_was_asked_for(make_run: MakeRun) -> None:
    run = of(make_run, [*STEADY, Score.failed(Cause.COUNT_MISMATCH, "two")], verify="each")
    assert (next_step(run) or "").endswith("try another --model")


def test_whose_reply_was_not_readable_is_not_guessed(make_run: MakeRun) -> None:
    run = of(make_run, [*STEADY, Score.failed(Cause.MALFORMED, "no JSON")])
    broken = TargetCall("chat", 1.0, Failure(Cause.MALFORMED, "no JSON"))
    rows = [replace(row, calls=(broken,)) for row in run.rows]
    assert next_step(replace(run, rows=rows)) is None


def test_few_samples_are_told_how_many_it_would_take(make_run: MakeRun) -> None:
    scores = [Score.scored(place % 2) for place in range(40)]
    assert next_step(of(make_run, scores)) == (
        "faithfulness is only accurate to ±0.15 (40 rows); about 380 rows would give ±0.05"
    )
    narrower = [Score.scored(0.6 + place % 5 / 10) for place in range(12)]
    assert next_step(of(make_run, narrower)) is None


def test_what_a_wide_range_needs_is_told_in_its_own_measure(make_run: MakeRun) -> None:
    run = of(make_run, [Score.scored(1 + place % 2 * 4) for place in range(40)])
    grade = run.metrics["faithfulness"].model_copy(update={"low": 1.0, "high": 5.0})
    assert (next_step(replace(run, metrics={"faithfulness": grade})) or "").endswith(
        "would give ±0.2"
    )


def test_a_failed_gate_goes_before_few_samples(make_run: MakeRun, tmp_path: Path) -> None:
    wrong = ANSWER | {"response": "The phone weighs 300 grams."}
    run = stored(tmp_path, [ANSWER, wrong], fail_under={"faithfulness": 0.9})
    name = run.manifest.run_id
    assert next_step(run, first=True) == (
        "inspect the samples behind the gate: "
        f"`ragstone report {name} --html report.html`, or `ragstone view {name}`"
    )
    in_memory = replace(run, rows=list(run.rows))
    assert next_step(in_memory) == (
        "inspect the samples behind the gate: run again with --html report.html"
    )


def test_too_many_failures_go_before_a_failed_gate(tmp_path: Path) -> None:
    wrong = ANSWER | {"response": "The phone weighs 300 grams."}
    run = stored(tmp_path, [ANSWER, wrong], fail_under={"faithfulness": 0.9})
    late = Score.failed(Cause.TIMEOUT, "late")
    rows = [*run.rows, replace(run.rows[0], index=2, scores={"faithfulness": late})]
    assert "timed out" in (next_step(replace(run, rows=rows, counted=None)) or "")


def test_the_first_run_of_a_store_may_become_the_baseline(tmp_path: Path) -> None:
    run = stored(tmp_path, [ANSWER] * 60)
    assert next_step(run) is None
    assert next_step(run, first=True) == (
        f"`ragstone runs tag {run.manifest.run_id} baseline` saves this run as your baseline; "
        "after a change, run `ragstone compare baseline last`"
    )


def test_a_stored_run_does_its_failed_rows_again(make_run: MakeRun, tmp_path: Path) -> None:
    run = stored(tmp_path, [ANSWER] * 20)
    failed = of(make_run, [*STEADY, Score.failed(Cause.UNREACHABLE, "gone")])
    said = next_step(replace(run, counted=failed.tally))
    assert said == (
        "1 score failed (unreachable): check that the service is running, then "
        f"`ragstone resume {run.manifest.run_id} --retry-failed`"
    )
    again = run.manifest.model_copy(update={"identity": {ORIGIN: "20260301-123005-abc123"}})
    rescored = replace(run, manifest=again, counted=failed.tally)
    assert (next_step(rescored) or "").endswith("then run again")  # resume takes none such


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (0, "2 scores failed because answers.jsonl records failed calls: collect"),
        (1, "2 scores failed because answers.jsonl records failed calls: collect"),
        (3, "3 scores failed (timed out): `ragstone resume"),
    ],
)
def test_rows_whose_calls_had_failed_before_are_not_done_again(
    make_run: MakeRun, tmp_path: Path, later: int, said: str
) -> None:
    """Nobody would be asked; what failed in the run itself is told if it is as much."""
    before = Failure(Cause.UNREACHABLE, "the call failed, says the file: 500")
    late = Score.failed(Cause.TIMEOUT, "late")
    broken = Score.failed(before.cause, before.message)
    rows = list(of(make_run, [*STEADY, broken, broken, *[late] * later]).rows)
    rows = [replace(row, calls=(), lacking={"response": before}) for row in rows]
    failed = make_run(rows, names=("faithfulness",))
    run = replace(stored(tmp_path, [ANSWER] * 20), counted=failed.tally)
    assert (next_step(run) or "").startswith(said)


def test_what_a_target_failed_to_give_just_now_is_done_again(make_run: MakeRun) -> None:
    now = Failure(Cause.UNREACHABLE, "500")
    [row, *_] = of(make_run, [Score.failed(now.cause, now.message)]).rows
    asked = replace(row, calls=(TargetCall("chat", 1.0, now),), lacking={"response": now})
    run = make_run([asked], names=("faithfulness",))
    assert (next_step(run) or "").startswith("1 score failed (unreachable): check that the service")


def test_a_stored_ranking_is_evaluated_again_from_its_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        run = ranked_run(10)
        source = run.manifest.source.model_copy(update={"path": "bm25.run"})
        manifest = run.manifest.model_copy(update={"source": source})
        save_ranking(store, replace(run, manifest=manifest))
        assert next_step(store.load("r1")) == (
            "1 score failed (error in the metric): fix the metric, then evaluate the file "
            "again with `ragstone rank`"
        )
