import asyncio
import json
import math
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each_case

from ragstone.errors import Cause, UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.claims import Faithfulness
from ragstone.results.run import RunInterruptedError
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample

ANSWERED = {
    "query": "How fast does it charge?",
    "response": "It charges to half in 22 minutes.",
    "contexts": [{"id": "a", "text": "It charges to half in 22 minutes."}],
    "relevance": ["a"],
}


def scripted(label: str = "SUPPORTED") -> ScriptedJudge:
    return ScriptedJudge({"extract_claims": [{"text": "c"}], "verify_claims": [{"label": label}]})


def test_samples_in_memory() -> None:
    run = evaluate([ANSWERED], metrics=["hit", "faithfulness"], judge=scripted())
    assert list(run.metrics) == ["hit@5", "faithfulness"]
    assert run.summary()["hit@5"].mean == 1.0
    assert run.summary()["faithfulness"].mean == 1.0
    assert (run.manifest.judge, run.manifest.plan.judge) == ("scripted", "scripted")
    assert run.manifest.target is None
    json.dumps(run.to_dict(), allow_nan=False)
    run = evaluate([Sample(id="7", query="q", contexts=(), relevance={"a": 1})], metrics="recall")
    assert run.rows[0].sample.id == "7"
    assert repr(run).endswith("1 rows, recall@5=0.0000>")


def test_a_failing_target_fails_scores_and_loses_no_row() -> None:
    def answer(query: str) -> str:
        raise ConnectionError("down")

    run = evaluate([ANSWERED, {"query": "two"}], metrics="faithfulness", target=answer)
    assert [row.scores["faithfulness"].cause for row in run.rows] == [Cause.UNREACHABLE] * 2
    assert run.summary()["faithfulness"].mean is None
    assert all(row.sample.response is None for row in run.rows), "the old response is not judged"


def test_the_deepest_metric_decides_what_the_target_is_asked_for() -> None:
    seen: list[int] = []

    def answer(query: str, k: int) -> Mapping[str, object]:
        seen.append(k)
        return {"ranking": ["x", "a"]}

    data = [{"query": "q", "relevance": ["a"]}]
    evaluate(data, metrics=["hit@2", "mrr@9"], target=answer, k=5)
    run = evaluate(data, metrics="mrr", target=answer, k=[2, 7])
    assert seen == [9, 7]
    assert json.loads(json.dumps(run.to_dict()))["options"]["k"] == [2, 7]


@each_case(
    ("options", "message"),
    [
        ({"metrics": "faithfulness"}, "no row has response or contexts, and no target provides it"),
        ({"metrics": []}, "cannot run without metrics"),
        ({"metrics": "response_relevancy"}, "does not support generate_queries"),
        ({"metrics": "hit", "k": 0}, "k: "),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate([{"query": "q"}], **options)


@each_case(
    ("options", "message"),
    [
        ({"judge": ScriptedJudge({"extract_claims": []})}, "scripted does not support verify_cla"),
        ({"treshold": 0.5}, "treshold"),
        ({"api_url": "x"}, "named 'api_url'; in Python, use 'target'"),
        ({"metrics": "recal"}, "did you mean 'recall'"),
        ({"fail_under": {"hit": 80}}, "ranges from 0 to 1; write 80 percent as"),
        ({"fail_over": {"hit": 0.5}}, "higher is better for hit@5; use fail_under"),
        ({"fail_under": {"hit": math.nan}}, "'nan' is not a number; use 0.8 or 80%"),
        ({"plan": Plan(), "preset": "ragas"}, "plan= contains all settings; remove preset"),
        ({"judge": ["openai:a", "openai:b"]}, "must be a name or a Judge, got .*; separate sev"),
        ({"cluster": "topc"}, r"'topc'; did you mean 'topic'\?"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    if "cluster" in options:
        options = {"config": options}
    with pytest.raises(UsageError, match=message):
        evaluate([{**ANSWERED, "topic": "a"}], **{"metrics": ["hit", "faithfulness"], **options})


def test_options_go_before_the_plan_and_may_be_of_numpys_types() -> None:
    run = evaluate([ANSWERED] * 3, metrics="hit", k=np.int64(2), limit=np.int64(2))
    assert (list(run.metrics), len(run.rows)) == (["hit@2"], 2)
    plan = Plan(metrics=("hit",), k=3, fallback_target="http://127.0.0.1:9")
    run = evaluate([ANSWERED], plan=plan)
    assert list(run.metrics) == ["hit@3"]
    assert run.manifest.target is None  # it is not asked for what the rows hold
    assert list(evaluate([ANSWERED], plan=plan, k=1).metrics) == ["hit@1"]


def test_a_metric_object_is_as_it_is_whatever_the_plan_fills_in() -> None:
    rows = [{"query": "q", "response": "It is so.", "contexts": []}]
    metrics = [Faithfulness(), get("faithfulness:ragas,verify=each"), "faithfulness"]
    run = evaluate(rows, metrics=metrics, policy="deepeval", verify="each")
    assert list(run.metrics) == [
        "faithfulness",
        "faithfulness:ragas,verify=each",
        "faithfulness:deepeval,verify=each",
    ]


def test_ctrl_c_keeps_what_is_done() -> None:
    started = threading.Event()

    async def answer(query: str) -> str:
        if query == "slow":
            started.set()
            await asyncio.sleep(60)
        return "Fine words."

    def interrupt() -> None:
        started.wait()
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    rows = [{"query": "quick", "contexts": ["Fine words."]}] * 3 + [{"query": "slow"}]
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(RunInterruptedError) as stop:
        evaluate(rows, metrics="faithfulness", target=answer, concurrency=1, judge=scripted())
    thread.join()
    assert "ragstone" not in [thread.name for thread in threading.enumerate()]
    run = stop.value.run
    assert run.partial
    assert [row.sample.query for row in run.rows] == ["quick"] * 3
    assert run.to_dict()["partial"] is True


def test_marks_are_added_to_those_of_the_plan_or_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("metrics: [hit, mrr]\nfail_under: {hit: 0.5}\n", encoding="utf-8")
    plan = Plan(
        metrics=("hit", "mrr"),
        gates=({"metric": "hit", "op": ">=", "threshold": 0.5},),  # type: ignore[arg-type]
    )
    for options in ({"config": file}, {"plan": plan}):
        run = evaluate([ANSWERED], fail_under={"mrr": 0.5}, **options)  # type: ignore[arg-type]
        assert [gate.metric for gate in run.gates()] == ["hit@5", "mrr@5"]


def test_the_record_names_the_policies_that_made_the_numbers() -> None:
    names = ["faithfulness", "faithfulness:ragas", "faithfulness,verify=each", "hit"]
    run = evaluate([ANSWERED], metrics=names, judge=scripted(), policy="deepeval")
    assert run.policies == ("deepeval", "ragas")
    assert run.to_dict()["policy"] == "deepeval, ragas"
    ranked = evaluate([ANSWERED], metrics="hit")
    assert (ranked.policies, ranked.to_dict()["policy"]) == ((), None)


@each_case(
    ("option", "value", "message"),
    [
        ("data", {"query": "q"}, "data is a single row; pass a list of rows: eval"),
        ("data", Sample(id="1", query="q"), "data is a single row; pass a list of rows: eval"),
        ("data", 5, "data must be a file, a data frame or rows, got"),
        ("fail_under", 0.8, "fail_under must be a mapping such as {'faithfulness': 0.8}, got 0.8"),
        ("metrics", 5, "metrics must be a name, a Metric, or several of them, got 5"),
        ("metrics", {"hit": 0.8}, "pass those as fail_under={'hit': 0.8} (fail_over= if lower"),
        ("columns", "x", "columns must be a mapping"),
        ("on_row", 5, "on_row must be a function"),
        ("store", 5.5, "store must be a Store, a path, a URL or True, got 5.5"),
        ("retries", "x", "retries: must be a whole number"),
    ],
)
def test_a_wrong_type_of_an_option_names_the_right_one(option, value, message) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        evaluate(**{"data": [{"query": "q", "response": "Yes."}], "metrics": "bleu", option: value})


DOWN = Failure(Cause.UNREACHABLE, "POST http://judge answered 500")


def rows_of(number: int) -> list[dict[str, object]]:
    return [{**ANSWERED, "response": f"It charges in {place} minutes."} for place in range(number)]


def failing(when: Callable[[int], object], failure: Failure = DOWN) -> ScriptedJudge:
    """A judge that fails to give claims at the questions with these numbers."""
    numbers = count(1)

    def claims(question: ExtractClaims) -> object:
        return failure if when(next(numbers)) else [{"text": "c"}]

    return ScriptedJudge({**scripted().answers, "extract_claims": claims})


def test_rows_that_fail_in_a_row_stop_the_run(tmp_path: Path) -> None:
    options = {"metrics": ["hit", "faithfulness"], "store": tmp_path / "runs.db", "concurrency": 2}
    run = evaluate(rows_of(60), judge=failing(bool), **options)
    assert run.partial
    assert run.stopped == f"20 consecutive rows failed (unreachable): {DOWN.message}"
    assert 20 <= len(run.rows) < 30, "what was done is stored"
    resumed = evaluate(rows_of(60), judge=scripted(), retry_failed=True, **options)
    assert resumed.manifest.run_id == run.manifest.run_id
    assert resumed.summary()["faithfulness"].scored == 60
    assert resumed.stopped is None


def test_only_failures_without_end_stop_the_run() -> None:
    options = {"metrics": "faithfulness", "concurrency": 1}
    assert not evaluate(rows_of(100), judge=failing(lambda n: n % 20), **options).partial
    accepted = evaluate(rows_of(100), judge=failing(bool), max_failure_rate=1.0, **options)
    assert not accepted.partial, "a failure rate of 100% accepts them"
    assert accepted.summary()["faithfulness"].failed == 100
    more = evaluate(rows_of(100), judge=failing(bool), metrics="faithfulness", concurrency=30)
    assert "60 consecutive rows failed" in (more.stopped or "")


def test_fail_fast_stops_at_the_first_failed_score(tmp_path: Path) -> None:
    options = {"metrics": "faithfulness", "fail_fast": True}
    stored = {**options, "concurrency": 1, "store": tmp_path / "runs.db"}
    judge = failing(lambda n: n == 3)
    run = evaluate(rows_of(50), judge=judge, max_failure_rate=1.0, **stored)
    third = run.rows[2].sample.id
    assert (run.stopped or "").startswith(f"faithfulness failed for sample {third} (unreachable)")
    assert len(run.rows) == 3, "what was done is stored"
    resumed = evaluate(rows_of(50), judge=judge, **stored)
    assert resumed.manifest.run_id == run.manifest.run_id
    assert (len(resumed.rows), resumed.stopped) == (50, None)
    stored["concurrency"] = 8
    run = evaluate(rows_of(100), judge=failing(lambda n: n == 1), **stored)
    assert len(run.rows) >= 8, "the seven that finished meanwhile are not lost"
    rows = [{**ANSWERED, "response": ""} for _ in range(30)]  # without a score
    assert not evaluate(rows, judge=scripted(), **options).partial
    path = collected(tmp_path, "oxo")  # the data records a failure
    run = evaluate(path, judge="offline", **options)
    assert (run.stopped, len(run.rows)) == (None, 3)


def test_a_target_whose_answers_cannot_be_used_stops_the_run() -> None:
    def some(query: str) -> object:
        return {"ranking": ["a"]} if query == "q0" else (query, ["a"], 3)

    def none(query: str) -> object:
        return (query, ["a"], 3)

    questions = [{"query": f"q{place}", "relevance": ["a"]} for place in range(100)]
    for answer, accepted in ((some, 0.1), (none, 1.0)):
        run = evaluate(questions, metrics="hit", target=answer, max_failure_rate=accepted)
        assert (len(run.rows), run.stopped) == (100, None)
    run = evaluate(questions, metrics="hit", target=none)
    assert len(run.rows) < 40
    assert "none of the first 5 answers of the target can be used" in (run.stopped or "")
    assert "returned tuple, not text or a mapping" in (run.stopped or "")


def collected(folder: Path, pattern: str) -> Path:
    """Write a file of collect with a failed call for each `x`, and an answer for each `o`."""
    bad = {"response": None, "retrieved_contexts": None, "error": "out of order"}
    good = {"response": "It is red.", "retrieved_contexts": [{"text": "It is red."}]}
    responses = [
        {"query_index": place, "query": "q", **(bad if letter == "x" else good)}
        for place, letter in enumerate(pattern)
    ]
    path = folder / "collected.json"
    path.write_text(json.dumps({"metadata": {"mode": "chat"}, "responses": responses}))
    return path


def test_failures_that_the_data_records_do_not_stop_the_run(tmp_path: Path) -> None:
    path = collected(tmp_path, "x" * 25 + "o" * 25)
    run = evaluate(path, metrics="faithfulness", judge="offline", max_failure_rate=0.6)
    assert (run.stopped, run.partial) == (None, False)
    summary = run.summary()["faithfulness"]
    assert (summary.scored, summary.failed) == (25, 25)
    path = collected(tmp_path, "xo" * 50)  # nor do they hide a judge that is down
    run = evaluate(path, metrics="faithfulness", judge=failing(bool), concurrency=1)
    assert (run.stopped or "").startswith("20 consecutive rows failed (unreachable): POST")
    assert run.summary()["faithfulness"].failed == len(run.rows) == 40


SERVICE = ("unreachable", "timeout", "rate_limited", "judge_error", "target_error")


@each_case("cause", [each for each in Cause if each is not Cause.BUDGET])
def test_only_causes_of_a_service_stop_the_run(cause: Cause) -> None:
    judge = failing(lambda n: 5 < n <= 30, Failure(cause, "no claims"))
    run = evaluate(rows_of(60), judge=judge, metrics="faithfulness", concurrency=1)
    stopped = f"20 consecutive rows failed ({cause}): no claims" if cause in SERVICE else None
    assert run.stopped == stopped
    assert len(run.rows) == (25 if stopped else 60)


def test_rows_that_fail_again_do_not_keep_a_resumed_run_from_the_others(tmp_path: Path) -> None:
    judge = failing(lambda n: n <= 30 or n > 100)  # the first 30 rows, and the first 20 again
    options = {"metrics": "faithfulness", "store": tmp_path / "runs.db", "concurrency": 1}
    assert len(evaluate(rows_of(100), judge=judge, **options).rows) == 20
    run = evaluate(rows_of(100), judge=judge, retry_failed=True, **options)
    assert [row.index for row in run.rows] == list(range(100)), "rows without a result come first"
    assert run.summary()["faithfulness"].scored == 70
