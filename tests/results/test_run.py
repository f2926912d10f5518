import json
from typing import Any

import pytest
from tests.cases import each_case
from tests.results.conftest import Runs, manifest_of

from ragstone.errors import Cause
from ragstone.evaluation.runner import evaluate
from ragstone.metrics import get
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder, TargetHealth
from ragstone.types.claim import Claim, JudgedClaim, Label, Verdict
from ragstone.types.config import Plan, Source
from ragstone.types.gate import Gate
from ragstone.types.reply import Exchange, Failure, Reply, Usage
from ragstone.types.row import Row, TargetCall
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

LATE = Failure(Cause.TIMEOUT, "chat: no reply within 30 s")
JUDGED = JudgedClaim.of(Claim(text="20 hours", span=(0, 8)), Verdict(label=Label.SUPPORTED))


def row(index: int, hit: Score, *calls: TargetCall) -> Row:
    sample = Sample(id=f"q{index}", query="How long?", contexts=(Context(id="1", text="20 h"),))
    faithful = Score.scored(1, claims=[JUDGED]) if hit.value else Score.undefined("no claims")
    scores = {"hit@5": hit, "faithfulness": faithful}
    usage = Usage(calls=2, prompt_tokens=10)
    asked = Exchange("key", "extract_claims", Reply((), usage), latency_ms=40.0)
    return Row(index, sample, calls=calls, scores=scores, exchanges=(asked,))


def run_of(*rows: Row, gates: tuple[Gate, ...] = ()) -> Run:
    source = Source(name="data.xlsx", fingerprint="ab", rows=len(rows))
    metrics = {name: get(name).info() for name in ("hit@5", "faithfulness")}
    plan, not_run = Plan(k=3, gates=gates), {"context_precision": "needs a model"}
    manifest = manifest_of(run_id="r1", plan=plan, source=source, not_run=not_run)
    return Run(manifest, metrics, rows, extras={"hit@5": {"Hits": 1}})


HIT = row(0, Score.scored(1), TargetCall("search", 10.0), TargetCall("chat", 30.0))
MISS = row(1, Score.scored(0), TargetCall("search", 20.0), TargetCall("chat", 5000.0, LATE))
FAILED = row(2, Score.failed(Cause.TIMEOUT, "late"))


def test_a_summary_is_of_each_metrics_scores() -> None:
    summary = run_of(HIT, MISS, FAILED).summary()
    assert list(summary) == ["hit@5", "faithfulness"]
    hit, faithful = summary["hit@5"], summary["faithfulness"]
    assert (hit.mean, hit.n, hit.scored, hit.failed, hit.extra) == (0.5, 3, 2, 1, {"Hits": 1})
    assert (faithful.mean, faithful.scored, faithful.undefined, faithful.extra) == (1, 1, 2, {})


def test_health_counts_calls_by_name_and_times_those_that_worked() -> None:
    def health(*rows: Row) -> TargetHealth | None:
        return RunSummaryBuilder.of(rows, ["hit@5"]).health()

    found = health(HIT, MISS, FAILED)
    assert found is not None
    assert (found.asked, found.failed) == ({"search": 2, "chat": 2}, {"chat": 1})
    assert found.error_rate == 0.25
    # of 10, 20 and 30 ms: the middle, and 9/10 of the way from the middle to the top
    assert (found.p50_ms, found.p95_ms) == (20, pytest.approx(29))
    always = health(row(0, Score.scored(1), TargetCall("chat", 1.0, LATE)))
    assert always is not None
    assert (always.error_rate, always.p50_ms, always.p95_ms) == (1, None, None)
    assert health(FAILED) is None
    assert (HIT.latency_ms, FAILED.latency_ms) == (40, None)


def test_the_summary_for_machines_has_the_stable_shape() -> None:
    gates = (Gate(metric="hit@5", op=">=", threshold=0.5),)
    said: Any = run_of(HIT, MISS, gates=gates).to_dict()
    assert json.loads(json.dumps(said, allow_nan=False)) == said | {"gates": said["gates"]}
    assert {"run_id", "version", "dataset", "target", "judge", "policy", "metrics", "not_run"} | {
        "gates", "usage"
    } <= said.keys()  # fmt: skip
    assert {
        "mean", "interval", "n", "scored", "undefined", "failed", "flagged", "causes", "pass_rate"
    } <= said["metrics"]["hit@5"].keys()  # fmt: skip
    gate = {"metric": "hit@5", "op": ">=", "threshold": 0.5, "of": "mean"}
    assert said["gates"] == [gate | {"value": 0.5, "passed": True}]
    assert said["usage"] == {
        "calls": 4, "cached": 0, "retries": 0, "prompt_tokens": 20, "completion_tokens": 0,
        "cached_tokens": 0, "reasoning_tokens": 0, "cost_usd": 0.0, "p50_ms": 40.0, "p95_ms": 40.0,
        "calls_saved": 0, "local_calls": 0, "local_tokens": 0, "reused_tokens": 0,
        "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
    }  # fmt: skip
    assert said["target_health"] == {
        "asked": {"search": 2, "chat": 2}, "failed": {"chat": 1}, "error_rate": 0.25,
        "p50_ms": 20.0, "p95_ms": pytest.approx(29),
    }  # fmt: skip


def test_a_row_for_machines_has_the_stable_shape() -> None:
    said = HIT.to_dict()
    json.dumps(said, allow_nan=False)
    assert {
        "id", "query", "response", "contexts", "ranking", "reference", "tags", "usage",
        "latency_ms", "scores",
    } <= said.keys()  # fmt: skip
    scores = said["scores"]
    assert isinstance(scores, dict)
    assert {
        "state", "value", "threshold", "passed", "reason", "cause", "fallback", "latency_ms",
        "truths", "detail", "claims",
    } == scores["faithfulness"].keys()  # fmt: skip
    assert scores["faithfulness"]["claims"] == [
        {"text": "20 hours", "span": [0, 8], "label": "SUPPORTED", "reason": None,
         "confidence": None, "evidence": [], "against": "contexts", "judge": None}
    ]  # fmt: skip
    assert said["contexts"] == [{"text": "20 h", "id": "1", "score": None}]
    failed: Any = FAILED.to_dict()["scores"]
    told = [failed["hit@5"][name] for name in ("state", "value", "cause")]
    assert told == ["failed", None, "timeout"]


def test_metrics_that_failed_too_often_are_in_one_message() -> None:
    late = Score.failed(Cause.TIMEOUT, "late")
    both = {"faithfulness": [late] * 2, "context_recall": [late] * 2, "hit@5": [1, late]}
    (message,) = Runs.of(both).too_much_failed
    shares = "2 of 2 scores of faithfulness, context_recall and 1 of 2 scores of hit@5"
    assert message == f"{shares} failed, more than 10% (max_failure_rate)"


@each_case(("found", "sources"), [("aaaa", "aaaa"), ("azaz", "aabb"), ("azaz", "aaaa")])
def test_a_gate_on_the_interval_of_equal_scores_or_groups_says_so(found: str, sources: str) -> None:
    rows = [
        {"query": f"q{i}", "ranking": ["a"], "relevance": [found[i]], "from": sources[i]}
        for i in range(4)
    ]
    options: Any = {
        "config": {"cluster": "from"},
        "gates_on": "interval",
        "fail_under": {"hit@5": 0.1},
    }
    run = evaluate(rows, metrics="hit", **options)
    why = "no interval: all 4 scores, or the means of their groups, are equal"
    assert run.troubles == (f"hit@5: {why}, so >= 0.1 cannot be checked",)
    assert "why" not in run.gates()[0].model_dump()
