import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from ragstone import evaluate, evaluate_async
from ragstone.errors import Cause, TargetError, UsageError
from ragstone.evaluation.resume import RunChangedError
from ragstone.judges.base import ScriptedJudge
from ragstone.results.run import Run
from ragstone.store import RunLockedError, Store, StoreError
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure
from ragstone.types.row import Row

SAMPLES = [
    {"id": f"s{n}", "query": f"q{n}", "response": f"claim {n}", "contexts": ["c"],
     "ranking": ["a", "b"], "relevance": ["b"] if n % 2 else ["a"]}
    for n in range(12)
]  # fmt: skip
METRICS = ["hit@1", "faithfulness"]


class StopError(Exception):
    """Ends a run in the middle, as a crash would."""


def judge(broken: bool = False) -> ScriptedJudge:
    def claims(question: ExtractClaims) -> list[dict[str, str]]:
        return [{"text": question.response}]

    def verdicts(question: VerifyClaims) -> object:
        number = int(question.claims[0].split()[-1])
        if broken and number % 3 == 0:
            return Failure(Cause.TIMEOUT, "late")
        return [{"label": "SUPPORTED" if number % 4 else "CONTRADICTED"}]

    return ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


def ran(store: Store | None, **options: object) -> Run:
    return evaluate(SAMPLES, **{"metrics": METRICS, "judge": judge(), "store": store, **options})


def stop_after(rows: int) -> Callable[[Row, int], None]:
    """Stop a run when so many rows are finished."""
    finished = count(1)

    def stop(row: Row, total: int) -> None:
        if next(finished) == rows:
            raise StopError

    return stop


def open_recorder(store: Store) -> ScriptedJudge:
    """Begin a run and stop it when five rows are finished."""
    asked = judge()
    with pytest.raises(StopError):
        ran(store, judge=asked, on_row=stop_after(5), concurrency=1)
    return asked


def summaries(run: Run) -> dict[str, object]:
    return {name: summary.model_dump() for name, summary in run.summary().items()}


def untimed(row: Row) -> dict[str, object]:
    return {
        name: score.model_copy(update={"latency_ms": None}).model_dump(mode="json")
        for name, score in row.scores.items()
    }


def test_a_stored_run_is_the_run_in_memory(store: Store) -> None:
    kept, plain = ran(store), ran(None)
    assert summaries(kept) == summaries(plain)
    assert [untimed(row) for row in kept.rows] == [untimed(row) for row in plain.rows]
    (info,) = store.runs()
    assert (info.finished, info.rows) == (True, 12)
    assert info.summary is not None
    assert info.summary["run_id"] == kept.manifest.run_id
    ranked = ran(store, metrics=["hit@1", "mrr@2"])  # after a finished run, the next is new
    assert len(store.runs()) == 2
    assert (ranked.summary()["hit@1"].mean, ranked.extras["hit@1"]["Hits"]) == (0.5, 6)
    assert store.load(ranked.manifest.run_id).summary()["hit@1"] == ranked.summary()["hit@1"]


def test_what_was_finished_is_not_asked_again_and_counts_once(store: Store) -> None:
    first = open_recorder(store)
    told: list[str] = []
    again = judge()
    run = ran(store, judge=again, on_notice=told.append, concurrency=1)
    assert len(first.asked) + len(again.asked) <= 2 * 12 + 2, "at most the row under way"
    assert len(again.asked) <= 2 * (12 - 5)
    assert summaries(run) == summaries(ran(None))
    assert "Resuming run" in told[1]
    assert "of 12 rows are finished (use fresh to start a new run)" in told[1]
    assert [info.finished for info in store.runs()] == [True]


def test_a_stored_and_a_resumed_run_group_rows_as_a_fresh_one(store: Store) -> None:
    """Two responses to each of 12 queries."""
    samples = [
        {**SAMPLES[n * n % 12], "id": f"s{n}", "query": f"q{n // 2}", "contexts": [f"c{n}"]}
        for n in range(24)
    ]

    def run(**options: object) -> Run:
        return evaluate(samples, metrics=METRICS, judge=judge(), concurrency=1, **options)

    fresh = run()
    assert fresh.counts.grouping.groups == 12
    assert summaries(fresh) != summaries(run(config={"cluster": "id"}))
    with pytest.raises(StopError):
        run(store=store, on_row=stop_after(9))
    resumed = run(store=store)
    assert [info.id for info in store.runs()] == [resumed.manifest.run_id]
    stored = store.load(resumed.manifest.run_id)
    assert summaries(resumed) == summaries(stored) == summaries(fresh)


def test_pace_and_gates_make_no_other_run_but_fresh_does(store: Store) -> None:
    open_recorder(store)
    run = ran(store, concurrency=3, timeout=5, fail_under={"faithfulness": 0.1}, on_notice=print)
    assert len(store.runs()) == 1
    assert [gate.passed for gate in run.gates()] == [True]
    open_recorder(store)
    assert len(ran(store, fresh=True).rows) == 12
    assert [info.finished for info in store.runs()] == [True, False, True]


OTHERS = [{**sample, "response": "claim 1"} for sample in SAMPLES]


@pytest.mark.parametrize(
    ("data", "changed", "told"),
    [
        (SAMPLES, {"metrics": ["faithfulness"]}, "metrics was hit@1, faithfulness, is faithfuln"),
        (OTHERS, {}, "has other settings: samples changed since the run was started"),
        (SAMPLES, {"transcript": False}, "was started with the judge's texts"),
    ],
)
def test_what_differs_is_told_and_begins_a_new_run(
    store: Store, data: object, changed: dict[str, object], told: str
) -> None:
    open_recorder(store)
    notices: list[str] = []
    options = {"metrics": METRICS, "judge": judge(), "on_notice": notices.append, **changed}
    run = evaluate(data, store=store, **options)  # type: ignore[arg-type]
    assert told in notices[1]
    assert [info.finished for info in store.runs()] == [True, False]
    assert store.info(run.manifest.run_id).transcript is changed.get("transcript", True)
    assert run.rows[0].scores["faithfulness"].claims


def test_rows_that_the_budget_cut_short_are_done_again(store: Store) -> None:
    def claims(question: ExtractClaims) -> object:
        over = int(question.response.split()[-1]) >= 6
        return Failure(Cause.BUDGET, "over") if over else [{"text": question.response}]

    spent = ScriptedJudge({**judge().answers, "extract_claims": claims})
    short = ran(store, judge=spent)
    assert [info.finished for info in store.runs()] == [False]
    assert short.summary()["faithfulness"].failed == 6
    again = judge()
    run = ran(store, judge=again)
    assert len(again.asked) == 2 * 12 - 12, "six samples were finished, and are not asked again"
    assert summaries(run) == summaries(ran(None))
    assert [info.finished for info in store.runs()] == [True]


def test_a_run_that_goes_on_is_unfinished_until_it_ends(store: Store) -> None:
    run_id = ran(store, judge=judge(broken=True)).manifest.run_id
    options = {"resume": run_id, "retry_failed": True}
    verdicts = Failure(Cause.BUDGET, "over")
    spent = ScriptedJudge({**judge().answers, "verify_claims": verdicts}, name=judge().name)
    assert ran(store, judge=spent, **options).summary()["faithfulness"].n == 12
    assert store.load(run_id).extras["hit@1"]["Hits"] == 6
    marks = {"faithfulness": 0.2}
    with pytest.raises(StopError):
        ran(store, concurrency=1, on_row=stop_after(1), fail_under=marks, **options)
    (info,) = store.runs()
    assert (info.finished, info.summary) == (False, None)
    assert [gate.threshold for gate in info.manifest.plan.gates] == [0.2]
    assert store.load(run_id).summary()["faithfulness"].n == 12
    run = ran(store, retry_failed=True)
    assert run.manifest.run_id == run_id
    assert run.summary()["faithfulness"].scored == 12


def test_failed_rows_are_done_again_where_that_is_asked(store: Store) -> None:
    run = ran(store, judge=judge(broken=True))
    run_id, failed = run.manifest.run_id, run.summary()["faithfulness"].failed
    assert failed == 4
    again = judge()
    mended = ran(store, judge=again, resume=run_id, retry_failed=True)
    assert len(again.asked) == 2 * failed
    assert mended.summary()["faithfulness"].scored == 12
    assert len(store.runs()) == 1
    with pytest.raises(RunChangedError, match="because its settings differ: metrics") as error:
        ran(store, metrics="faithfulness", resume=run_id)
    assert f"`ragstone runs delete {run_id}`" in str(error.value)
    with pytest.raises(UsageError, match="needs the store that contains the run"):
        ran(None, resume="x")


async def test_retries_that_cannot_start_leave_the_run_finished(store, faulty, behave) -> None:
    faulty.script("/api/v1/search", behave.reply(status=400))
    samples = [{"query": "q", "relevance": ["a"]}]
    options = {"metrics": "hit@1", "target": faulty.url, "store": store}
    run = await evaluate_async(samples, **options)
    faulty.script("/api/v1/health", behave.reply(status=500))
    with pytest.raises(TargetError, match="is not ready"):
        await evaluate_async(samples, resume=run.manifest.run_id, retry_failed=True, **options)
    (info,) = store.runs()
    assert (info.finished, info.rows) == (True, 1)


async def test_what_another_is_doing_just_now_is_refused_but_afresh(store: Store) -> None:
    options = {"metrics": METRICS, "store": store, "concurrency": 1}
    slow = ScriptedJudge(judge().answers, seconds=0.02)
    under_way = asyncio.Event()
    running = evaluate_async(SAMPLES, judge=slow, on_row=lambda *_: under_way.set(), **options)
    first = asyncio.create_task(running)
    await under_way.wait()
    with pytest.raises(RunLockedError) as error:
        await evaluate_async(SAMPLES, judge=judge(), **options)
    (info,) = store.runs()
    assert str(error.value) == (
        f"another process is running the same evaluation (run {info.id}); wait for it, "
        "or use fresh to start another run"
    )
    other = await evaluate_async(SAMPLES, judge=judge(), fresh=True, **options)
    few = await evaluate_async(SAMPLES, metrics="hit@1", store=store)
    assert len(few.rows) == 12, "what differs is no matter"
    one = await first
    assert one.manifest.run_id != other.manifest.run_id
    assert len(one.rows) == len(other.rows) == 12


def test_a_store_that_was_opened_for_a_run_is_closed_with_it(tmp_path: Path) -> None:
    run = ran(tmp_path / "runs.db")  # type: ignore[arg-type]
    for _ in range(2):
        assert [each.name for each in tmp_path.iterdir()] == ["runs.db"], "no log of an open file"
        assert len(list(run.rows)) == 12
    with pytest.raises(StoreError, match="Use another store, or run without one"):
        ran(tmp_path)  # type: ignore[arg-type]


async def test_a_target_with_a_secret_goes_on_only_where_that_is_said_again(store, faulty) -> None:
    samples = [{"query": f"q{n}", "relevance": ["5"]} for n in range(6)]
    options = {"metrics": "hit@1", "store": store, "concurrency": 1}
    secret = f"{faulty.url}?key=hush"
    with pytest.raises(StopError):
        await evaluate_async(samples, target=secret, on_row=stop_after(1), **options)
    (info,) = store.runs()
    with pytest.raises(UsageError) as error:
        await evaluate_async(samples, target=faulty.url, resume=info.id, **options)
    assert f"its target URL {faulty.url} had parts that are not stored" in str(error.value)
    assert "the original `ragstone run` command" in str(error.value)
    with pytest.raises(UsageError, match="because its settings differ: target was"):
        await evaluate_async(samples, target=f"{faulty.url}/x", resume=info.id, **options)
    run = await evaluate_async(samples, target=secret, **options)
    assert (run.manifest.run_id, len(run.rows)) == (info.id, 6)
