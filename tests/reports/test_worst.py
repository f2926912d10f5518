import gzip
import json
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from junitparser import JUnitXml
from tests.cases import each_case
from tests.reports.conftest import MakeRun, claim
from tests.reports.ranked import ranked_run
from tests.results.conftest import Runs

from ragstone import evaluate
from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.metrics.claims import Faithfulness
from ragstone.reports.format import CAUSES
from ragstone.reports.html.page import write_html
from ragstone.reports.junit import write_junit
from ragstone.reports.terminal import next_step
from ragstone.reports.worst import (
    RANKING_EXCERPT,
    WORST,
    checked_metrics,
    excerpt,
    failing_claim,
    focus_metric,
    shortfall,
    worst_samples,
)
from ragstone.results.run import Run
from ragstone.store import Store, save_ranking
from ragstone.types.claim import Label
from ragstone.types.config import ORIGIN, Plan
from ragstone.types.gate import Gate, Of, Op
from ragstone.types.policy import get_policy
from ragstone.types.reply import Failure
from ragstone.types.row import Row, TargetCall, find_row
from ragstone.types.score import Score

STEADY = [Score.scored(0.9), Score.scored(0.8)] * 50
WEIGHS = "The phone weighs 180 grams."
ANSWER = {"query": "How heavy is it?", "response": WEIGHS, "contexts": [WEIGHS]}


def of(scores: Sequence[Score], **asked: object) -> Run:
    plan = {"max_failure_rate": 1.0} | asked
    run = Runs.of({"faithfulness": scores}, plan=plan, target="http://localhost")
    return replace(run, rows=[replace(row, calls=(TargetCall("chat", 1.0),)) for row in run.rows])


def stored(tmp_path: Path, answers: Sequence[dict[str, object]], **options: Any) -> Run:
    path, store = tmp_path / "answers.jsonl", tmp_path / "runs.db"
    path.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    return evaluate(path, metrics=["faithfulness"], judge="offline", store=store, **options)


def test_nothing_is_said_where_nothing_is_to_be_done(make_run: MakeRun) -> None:
    assert next_step(of(STEADY)) is None
    assert next_step(of(STEADY), first=True) is None  # it is in no store
    assert next_step(make_run(names=())) is None
    assert next_step(make_run([])) is None
    assert next_step(of([*STEADY, Score.failed(Cause.BUDGET, "spent")])) is None
    run = of([Score.failed(Cause.TIMEOUT, "late")] * 3)
    assert next_step(run)
    assert next_step(replace(run, partial=True)) is None  # the command says how it goes on
    assert next_step(replace(run, stopped="max_calls")) is None


LLM = {"judge": "openai:m"}


@each_case(
    ("cause", "words", "asked", "cure"),
    [
        (Cause.TIMEOUT, "", {}, "run again; if it times out again, use --timeout 120"),
        (Cause.RATE_LIMITED, "", {}, "use --set rpm=N, or a --concurrency below"),
        (Cause.UNREACHABLE, "", {}, "check that the service is running, then run again"),
        (Cause.REFUSAL, "", {}, "try another --model, which may answer"),
        (Cause.MALFORMED, "(verify_claims)", {}, "or --verify each for shorter replies"),
        (Cause.MALFORMED, "(extract_claims)", LLM, "or --set claim_source=sentences, which"),
        (Cause.MALFORMED, "(grade_contexts)", LLM, "try another --model"),
        (Cause.MALFORMED, "the target sent no response", LLM, "fix what the target returns"),
        (Cause.COUNT_MISMATCH, "(verify_claims)", {}, "try another --model, or --verify each"),
        (Cause.COUNT_MISMATCH, "(verify_claims)", {"verify": "each"}, ": try another --model"),
        (Cause.NO_CLAIMS, "", {}, "try another --model, or use --set claim_source=hybrid"),
        (Cause.METRIC_ERROR, "", {}, "fix the metric, then run again"),
        # the first limit, and the one of the retry
        (Cause.TRUNCATED, "the limit of 640 tokens (a)", LLM, "does not end its replies"),
        (Cause.TRUNCATED, "the limit of 16,384 tokens (a)", LLM, "--set max_tokens=32768"),
        (Cause.TRUNCATED, "..., or set context_window to 4096, so that", LLM, "on context_window"),
        (Cause.TRUNCATED, "", LLM, "allow longer replies with --set max_tokens=8192"),
        (Cause.TRUNCATED, "", {"judge": "local:nli,openai:m"}, "with --set max_tokens=8192"),
        (Cause.TRUNCATED, "", {"judge": "local:nli"}, "a larger length= for the local judge"),
    ],
)
def test_each_cause_of_failures_has_its_cure(
    cause: Cause, words: str, asked: dict[str, str], cure: str
) -> None:
    said = next_step(of([*STEADY, *[Score.failed(cause, words)] * 4], **asked)) or ""
    assert said.startswith(f"4 scores failed ({CAUSES[cause]}): ")
    assert cure in said
    assert "--verify" not in said or "verify" not in asked


def test_failures_of_several_causes_are_all_named() -> None:
    late, spent = Score.failed(Cause.TIMEOUT, "late"), Score.failed(Cause.BUDGET, "spent")
    refused = Score.failed(Cause.REFUSAL, "no")
    words = next_step(of([*STEADY, spent, spent, late, refused, late])) or ""
    assert words.startswith("2 scores failed (timed out): run again")
    assert words.endswith(". Others failed for other reasons: 2 over budget, 1 refused")


@each_case(
    ("cause", "cure"),
    [
        (Cause.RATE_LIMITED, "use --delay SECONDS, or a --concurrency below"),
        (Cause.TRUNCATED, "check the target's server, then run again"),
        (Cause.MALFORMED, "fix what the target returns, then run again"),
    ],
)
def test_a_failed_target_has_its_own_cure(cause: Cause, cure: str) -> None:
    words = "POST /chat: the connection was lost during the reply"
    run = of([*STEADY, Score.failed(cause, words)], judge="openai:m")
    calls = (TargetCall("chat", 1.0, Failure(cause, words)),)
    rows = [replace(row, calls=calls) for row in run.rows]
    assert cure in (next_step(replace(run, rows=rows)) or "")


def test_few_samples_are_told_how_many_it_would_take() -> None:
    scores = [Score.scored(place % 2) for place in range(40)]
    assert next_step(of(scores)) == (
        "faithfulness is only accurate to ±0.15 (40 rows); about 380 rows would give ±0.05"
    )
    two = next_step(of([Score.scored(0.0), Score.scored(1.0)]))
    assert two == "faithfulness is only accurate to ±0.49 (2 rows); about 390 rows would give ±0.05"
    narrower = [Score.scored(0.6 + place % 5 / 10) for place in range(40)]
    assert next_step(of(narrower)) is None
    run = of([Score.scored(1 + place % 2 * 4) for place in range(40)])
    grade = run.metrics["faithfulness"].model_copy(update={"low": 1.0, "high": 5.0})
    words = next_step(replace(run, metrics={"faithfulness": grade}))
    assert (words or "").endswith("would give ±0.2")


def test_a_failed_gate_goes_before_few_samples_and_failures_before_it(tmp_path: Path) -> None:
    wrong = ANSWER | {"response": "The phone weighs 300 grams."}
    run = stored(tmp_path, [ANSWER, wrong], fail_under={"faithfulness": 0.9})
    name = run.manifest.run_id
    shows = "shows the samples behind the gate"
    assert next_step(run, first=True) == f"`ragstone runs show {name} --html report.html` {shows}"
    assert next_step(replace(run, rows=list(run.rows))) == f"--html FILE {shows}"
    late = Score.failed(Cause.TIMEOUT, "late")
    rows = [*run.rows, replace(run.rows[0], index=2, scores={"faithfulness": late})]
    assert "timed out" in (next_step(replace(run, rows=rows, known_counts=None)) or "")


def test_a_stored_run_may_do_its_failed_rows_again(tmp_path: Path) -> None:
    run = stored(tmp_path, [ANSWER] * 60)
    assert next_step(run) is None
    assert next_step(run, first=True) == (
        "`ragstone runs tag last baseline`; after a change, `ragstone compare baseline`"
    )
    failed = of([*STEADY, Score.failed(Cause.UNREACHABLE, "gone")])
    said = next_step(replace(run, known_counts=failed.counts))
    assert said == (
        "1 score failed (unreachable): check that the service is running, then "
        f"`ragstone resume {run.manifest.run_id} --retry-failed`"
    )
    again = run.manifest.model_copy(update={"identity": {ORIGIN: "20260301-123005-abc123"}})
    rescored = replace(run, manifest=again, known_counts=failed.counts)
    assert (next_step(rescored) or "").endswith("then run again")  # resume takes none such
    for cause, cure in (
        (Cause.TIMEOUT, "if it times out again, start a new run with --timeout 120"),
        (Cause.RATE_LIMITED, "if it is limited again, start a new run with --set rpm=N, or a"),
    ):
        failed = of([*STEADY, Score.failed(cause, "late")])
        said = next_step(replace(run, known_counts=failed.counts))
        assert f"--retry-failed`; {cure}" in (said or "")


def test_rows_that_failed_before_are_not_done_again(make_run: MakeRun, tmp_path: Path) -> None:
    """Nobody would be asked; what failed in the run itself is told if it is as much."""
    before = Failure(Cause.UNREACHABLE, "the call failed, says the file: 500")
    late = Score.failed(Cause.TIMEOUT, "late")
    broken = Score.failed(before.cause, before.message)
    kept = stored(tmp_path, [ANSWER] * 20)
    for later, said in (
        (0, "2 scores failed because answers.jsonl records failed calls: collect"),
        (1, "2 scores failed because answers.jsonl records failed calls: collect"),
        (3, "3 scores failed (timed out): `ragstone resume"),
    ):
        rows = list(of([*STEADY, broken, broken, *[late] * later]).rows)
        rows = [replace(row, calls=(), failures={"response": before}) for row in rows]
        failed = make_run(rows, names=("faithfulness",))
        assert (next_step(replace(kept, known_counts=failed.counts)) or "").startswith(said)
    now = replace(before, message="500")
    [row, *_] = of([Score.failed(now.cause, now.message)]).rows
    asked = replace(row, calls=(TargetCall("chat", 1.0, now),), failures={"response": now})
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


class Counted(list[Row]):
    """Rows that count how many of them were looked at."""

    read = 0

    def __getitem__(self, index: Any) -> Any:
        self.read += 1
        return super().__getitem__(index)


def test_the_metric_to_look_at_is_that_of_a_failed_gate(make_run: MakeRun) -> None:
    hit, f1 = (Gate(metric=f"{name}@5", op=">=", threshold=0.5) for name in ("hit", "f1"))
    for gates, names, expected in (
        ([hit, f1], ("hit@5", "f1@5", "faithfulness"), "f1@5"),
        ([hit], ("f1@5", "hit@5", "faithfulness"), "hit@5"),
        ([], ("hit@5", "f1@5", "faithfulness"), "faithfulness"),
        ([], ("hit@5", "f1@5"), "hit@5"),
        ([], (), None),
    ):
        assert focus_metric(make_run(names=names, gates=gates)) == expected


def test_what_could_not_be_better_is_no_worst() -> None:
    def worst(*values: float, **info: object) -> list[str]:
        run = Runs.of({"faithfulness": values})
        metric = run.metrics["faithfulness"].model_copy(update=info)
        found = worst_samples(replace(run, metrics={"faithfulness": metric}), "faithfulness")
        return [each.id for each in found]

    assert worst(1.0, 0.75, 1.0) == ["q1"]
    assert worst(1.0) == worst() == []
    assert worst(0.0, 0.75, 0.5, 1.0, higher_is_better=False) == ["q3", "q1", "q2"]


def test_a_claim_that_was_checked_against_the_reference_is_reported_as_such() -> None:
    given, said = "The Tarn lasts 30 hours.", "The Tarn lasts 20 hours."
    texts = {"response": f"{given} It can fly.", "contexts": [given], "reference": said}
    run = evaluate([{"query": "How long?", **texts}], metrics="claim_precision")
    score = run.rows[0].scores["claim_precision"]
    assert failing_claim(score).startswith("not stated, checked against the reference: The Tarn")
    assert [claim.reason for claim in score.claims] == [
        "possible conflict: the claim says 30 hours, but the text says 20 hours",
        "no sentence covers: fly",
    ]


def test_the_first_failing_claim_is_told_and_how_many_more_there_are() -> None:
    good, bad = claim(Label.SUPPORTED, "a"), claim(Label.NOT_ENOUGH_INFO, "b", "nowhere")
    half = claim(Label.PARTIALLY_SUPPORTED, "c")
    assert failing_claim(Score.scored(1, claims=(good,))) == ""
    assert failing_claim(Score.scored(0, claims=(good, bad))) == "not stated: b (nowhere)"
    assert (
        failing_claim(Score.scored(0, claims=(half, bad))) == "partially supported: c; and 1 more"
    )


def test_few_rows_are_read_of_many() -> None:
    scores = [Score.scored(1 - place / 500) for place in range(500)]
    scores[7] = Score.failed(Cause.TIMEOUT, "late")
    run = Runs.of({"faithfulness": scores})
    whole = Counted(run.rows)
    found = worst_samples(replace(run, rows=whole, known_counts=run.counts), "faithfulness")
    assert [each.id for each in found] == ["q499", "q498", "q497"]
    assert whole.read == WORST


def test_a_row_is_found_by_its_place_where_others_are_missing() -> None:
    rows = Runs.of({"faithfulness": [0.5] * 1000}).rows
    for kept in (range(1000), range(500, 1000), range(0, 1000, 3), [999], []):
        left = Counted([rows[place] for place in kept])
        for place in (0, 1, 500, 501, 998, 999, 1000):
            left.read = 0
            row = find_row(left, place)
            assert (None if row is None else row.index) == (place if place in kept else None)
            assert left.read <= 13  # the guess, the last, 10 halvings and the look


FAITHFULNESS = get("faithfulness").described


def test_with_gates_or_pass_marks_only_their_metrics_are_held(make_run: MakeRun) -> None:
    assert checked_metrics(make_run()) == ("hit@5", "f1@5", "faithfulness")
    gate = Gate(metric="f1@5", op=">=", threshold=0.5)
    assert checked_metrics(make_run(gates=[gate])) == ("f1@5",)
    row = make_run().rows[0]
    marked = row.scores["hit@5"].model_copy(update={"threshold": 0.5, "passed": True})
    run = make_run([replace(row, scores={**row.scores, "hit@5": marked})], gates=[gate])
    assert checked_metrics(run) == ("hit@5", "f1@5")


@each_case(
    ("value", "op", "of", "expected"),
    [
        (0.5, ">=", "mean", "0.5000 is not >= 0.8, the threshold of the gate on the mean"),
        (0.5, ">=", "interval", "0.5000 is not >= 0.8, the threshold of the gate on the interval"),
        (0.5, ">=", "scored", None),
        (0.8, ">=", "mean", None),
        (0.9, "<=", "mean", "0.9000 is not <= 0.8, the threshold of the gate on the mean"),
        (0.1 + 0.7, "<=", "mean", None),
    ],
)
def test_scores_are_held_against_gates(value: float, op: Op, of: Of, expected: str | None) -> None:
    gate = Gate(metric="faithfulness", op=op, threshold=0.8, of=of)
    assert shortfall(Score.scored(value), FAITHFULNESS, [gate]) == expected


def test_its_own_pass_mark_goes_before_the_gates() -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    passing = Score.scored(0.6).model_copy(update={"threshold": 0.5, "passed": True})
    assert shortfall(passing, FAITHFULNESS, [gate]) is None
    failing = passing.model_copy(update={"passed": False})
    assert shortfall(failing, FAITHFULNESS, []) == "threshold missed: 0.6000 is not >= 0.5"
    for unscored in (Score.undefined("x"), Score.failed(Cause.TIMEOUT, "x")):
        assert shortfall(unscored, FAITHFULNESS, [gate]) is None


def test_a_score_that_was_not_measured_does_not_read_as_measured() -> None:
    metric, why = Faithfulness(policy="promptfoo-plan", threshold=0.0), "it makes no claims"
    score = metric.score_outcome(get_policy("promptfoo-plan").no_claims, why)
    assert shortfall(score, FAITHFULNESS, []) == (
        f"Faithfulness 0.00 is >= 0, but does not pass: no statements ({why})"
    )


LIST = re.compile(r'<script type="application/gzip" id="rows"[^>]*>(.*?)</script>', re.DOTALL)


def test_of_many_rows_those_are_shown_that_did_worst() -> None:
    scores = [Score.scored(n % 10 / 10) for n in range(40)]
    scores[7], scores[9] = Score.failed(Cause.TIMEOUT, "late"), Score.undefined("no claims")
    run = of(scores[::-1])
    some, said = excerpt(replace(run, rows=sorted(run.rows, key=lambda row: row.index)), 4)
    assert [row.index for row in some.rows] == [9, 19, 29, 32]
    assert said == (
        "4 of 40 rows that failed or scored worst on a metric; use --rows FILE for all of them"
    )
    few = ranked_run(RANKING_EXCERPT)
    assert excerpt(few) == (few, None)
    run = ranked_run(100)  # by hit@5 these are 1, 2, 4, 6 ..., by ndcg@5 1 (failed), 2, 3, 4 ...
    some, said = excerpt(run, 6)
    assert [row.index for row in some.rows] == [1, 2, 3, 4, 5, 6]
    assert some.counts is run.counts
    assert (said or "").startswith("6 of 100 queries that failed or scored worst on a metric")


@each_case(("queries", "told"), [(20, False), (30_000, True)])
def test_a_page_says_what_it_leaves_out(tmp_path: Path, queries: int, told: bool) -> None:
    write_html(ranked_run(queries), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (f"Below are the 1,000 of {queries:,} queries" in page) is told
    assert f"{queries:,} rows" in page
    (packed,) = LIST.findall(page)
    rows = json.loads(gzip.decompress(b64decode(packed)))
    assert len(rows) == min(queries, RANKING_EXCERPT)
    assert len(page) < 500_000
    states = [row["scores"]["ndcg@5"]["state"] for row in rows[:3]]
    assert told or states == ["undefined", "failed", "scored"]


@each_case(("queries", "tests", "said"), [(20, 20, None), (3000, 1000, "1,000 of 3,000 queries")])
def test_tests_are_of_the_gated_metric_and_say_of_which_queries(
    tmp_path: Path, queries: int, tests: int, said: str | None
) -> None:
    gates = (Gate(metric="ndcg@5", op=">=", threshold=0.25),)
    write_junit(ranked_run(queries, Plan(gates=gates)), tmp_path / "junit.xml")
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(tmp_path / "junit.xml"))}
    told = {each.name: each.value for each in suites["ndcg@5"].properties()}
    assert suites["ndcg@5"].tests == tests + 1  # and the gate
    assert said or (suites["ndcg@5"].failures, suites["ndcg@5"].errors) == (3, 1)
    assert told.get("excerpt", "").startswith(said or "")


def test_data_that_the_offline_judge_does_not_read_needs_a_model(tmp_path: Path) -> None:
    data = [ANSWER | {"contexts": ['{"weight": 172}']}] * 30
    run = stored(tmp_path, data)
    assert (len(run.rows), run.stopped) == (30, None)  # no service is down
    advice = "start a new run with --model: LLMs read JSON and tables"
    assert (next_step(run) or "").endswith(advice)
