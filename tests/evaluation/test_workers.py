import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import Event, Lock

import pytest

from ragstone._internal.rate_limit import Budget
from ragstone.errors import UsageError
from ragstone.evaluation import workers
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.workers import portable
from ragstone.judges.offline.judge import OfflineJudge
from ragstone.metrics import select
from ragstone.results.run import Run, RunInterruptedError
from ragstone.store import Store
from ragstone.types.config import Plan
from ragstone.types.row import Row
from ragstone.types.sample import Sample

JUDGE = """
import os, signal
from pathlib import Path
from ragstone.errors import Cause, JudgeError
from ragstone.judges.offline.judge import OfflineJudge

if Path("killed").exists() and not Path("killed again").exists():  # while it is started
    Path("killed again").touch()
    os.kill(os.getpid(), signal.SIGKILL)

class Worded(OfflineJudge):
    name = "worded"

    async def answer(self, question):
        text = repr(question)
        if "model 57 " in text and not Path("killed").exists():
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "poison" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "outage" in text:
            raise JudgeError(Cause.UNREACHABLE, "no connection")
        if "bug" in text:
            raise RuntimeError("in the judge")
        if "model 5 " in text:
            print("a word on standard output")
        return await super().answer(question)
"""
METRICS = ["faithfulness", "context_precision", "hit", "abstention"]


def samples(count: int = 200, **changed: str) -> list[Mapping[str, object]]:
    """Return rows; `r7="text"` replaces the response of row 7."""
    rows: list[Mapping[str, object]] = []
    for number in range(count):
        response = f"The battery of model {number} lasts {number % 9} hours. It is light."
        contexts = [{"id": str(n), "text": f"Model {number} lasts {n} hours."} for n in range(3)]
        rows.append(
            {
                "id": f"r{number}",
                "query": f"How long does model {number // 2} last?",
                "response": changed.get(f"r{number}", response),
                "contexts": contexts,
                "relevance": [str(number % 4)],
                "reference": None if number % 7 else "It lasts 3 hours.",
                "kind": ("short", "long")[number % 2],
            }
        )
    return rows


def bare(run: Run) -> str:
    """Return rows and summary as text, without times, ids and the number of workers."""
    summary = run.to_dict()
    for name in ("run_id", "started_at", "latency"):
        del summary[name]
    text = json.dumps([summary, [row.to_dict() for row in run.rows]])
    varying = r'"(latency_ms|p\d\d_ms)": [^,}]+|"workers": \d+, '
    return re.sub(varying, "", text)


@pytest.fixture
def judge(module_file: Callable[..., str]) -> OfflineJudge:
    module_file("worded_judge.py", JUDGE)
    sys.path.insert(0, str(Path.cwd()))
    sys.modules.pop("worded_judge", None)
    from worded_judge import Worded

    return Worded()


def test_a_killed_worker_is_replaced_and_its_rows_are_scored_again(judge, caplog, capfd) -> None:
    alone = evaluate(samples(), metrics=METRICS, judge=OfflineJudge())
    with caplog.at_level(logging.WARNING):
        run = evaluate(samples(), metrics=METRICS, judge=judge, workers=2, store="runs.db")
    assert Path("killed again").exists()
    assert bare(run).replace("worded", "offline") == bare(alone)
    assert "a worker process died (exit code -9, which often" in caplog.text
    assert capfd.readouterr().out == ""


def test_a_row_that_kills_each_worker_fails_alone(judge) -> None:
    Path("killed").touch()
    Path("killed again").touch()
    rows = samples(60, r31="The poison lasts.")
    options = {"metrics": "faithfulness", "store": "runs.db"}
    seen: list[int] = []
    run = evaluate(
        rows, judge=judge, workers=2, on_row=lambda row, _: seen.append(row.index), **options
    )
    assert sorted(seen) == list(range(60))
    failed = [row for row in run.rows if row.has_failed]
    assert [row.sample.id for row in failed] == ["r31"]
    score = failed[0].scores["faithfulness"]
    assert score.cause == "judge_error"
    assert "a worker process died (exit code -9, which often" in str(score.reason)
    assert not run.partial
    assert run.summary()["faithfulness"].scored == 59


def test_workers_that_die_one_after_another_stop_the_run_which_can_be_resumed(
    judge, monkeypatch
) -> None:
    Path("killed").touch()
    Path("killed again").touch()
    monkeypatch.setattr(workers, "MAX_DEATHS", 3)
    rows = samples(200, **{f"r{number}": "The poison lasts." for number in range(100, 200)})
    options = {"metrics": "faithfulness", "workers": 2, "store": "runs.db"}
    with pytest.raises(UsageError, match="3 workers died one after another") as died:
        evaluate(rows, judge=judge, **options)
    assert "a worker process died" in str(died.value)
    with Store.open("runs.db") as store:
        (info,) = store.runs()
        assert not info.finished
        stored = len(store.done(info.id))
    assert 0 < stored < 200
    again: list[int] = []
    judge_of_all = OfflineJudge()
    judge_of_all.name = "worded"
    run = evaluate(
        rows, judge=judge_of_all, on_row=lambda row, _: again.append(row.index), **options
    )
    assert run.manifest.run_id == info.id
    assert len(again) == 200 - stored
    assert len(run.rows) == 200


def test_an_outage_or_fail_fast_stops_all_workers(judge, caplog) -> None:
    down = {f"r{number}": "An outage." for number in range(40, 200)}
    run = evaluate(samples(**down), metrics="faithfulness", judge=judge, workers=2)
    assert run.partial
    assert "consecutive rows failed (unreachable)" in str(run.stopped)
    failing = samples(20, r3="A bug.")
    run = evaluate(failing, metrics="faithfulness", judge=judge, workers=2, fail_fast=True)
    assert run.partial
    assert "sample r3" in str(run.stopped)
    (third,) = [row for row in run.rows if row.sample.id == "r3"]
    assert third.scores["faithfulness"].cause == "judge_error"
    assert "the judge raised an exception" in caplog.text  # in the worker, logged here


def test_ctrl_c_stores_the_rows_of_running_shards(judge) -> None:
    def interrupt(row: object, total: int) -> None:
        if not interrupted:
            interrupted.append(row)
            os.kill(os.getpid(), signal.SIGINT)

    interrupted: list[object] = []
    options = {"metrics": "faithfulness", "workers": 2, "store": "runs.db"}
    with pytest.raises(RunInterruptedError) as stop:
        evaluate(samples(1000), on_row=interrupt, **options)
    run = stop.value.run
    assert run.partial
    assert 0 < len(run.rows) < 1000
    assert active_children() == []


ENDLESS = """
import os
from multiprocessing import active_children
from ragstone import evaluate

def interrupt(row, total):
    print(*(child.pid for child in active_children()), flush=True)
    os.kill(os.getpid(), 9)

if __name__ == "__main__":
    row = {"query": "Why?", "response": "It lasts 3 hours.", "contexts": ["It lasts 9 hours."]}
    evaluate([row] * 9999, metrics="faithfulness", workers=2, on_row=interrupt)
"""


def test_workers_end_with_a_main_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert said.returncode == -signal.SIGKILL
    left = [Path("/proc", pid) for pid in said.stdout.split()]
    assert len(left) == 2
    end = time.monotonic() + 20
    while any(process.exists() for process in left):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_any_executor_finds_what_one_process_finds() -> None:
    alone = evaluate(samples(), metrics=METRICS, k=2)
    threads = ThreadPoolExecutor(3)
    for executor in (threads, ProcessPoolExecutor(2, get_context("spawn"))):
        with executor:
            run = evaluate(samples(), metrics=METRICS, k=2, workers=3, executor=executor)
        assert bare(run) == bare(alone)
    with pytest.raises(UsageError, match="set workers for an executor: how many parts it scores"):
        evaluate(samples(2), metrics="faithfulness", executor=threads)
    with pytest.raises(UsageError, match=r"executor must be a concurrent\.futures\.Executor"):
        evaluate(samples(2), metrics="faithfulness", executor="dask", workers=2)


def test_workers_that_cannot_be_started_are_reported(caplog, monkeypatch) -> None:
    executor = ProcessPoolExecutor(1, get_context("spawn"), initializer=os._exit, initargs=(1,))
    with executor, pytest.raises(UsageError, match="a worker ended before it was ready"):
        evaluate(samples(2), metrics="faithfulness", workers=1, executor=executor)
    monkeypatch.setattr(workers, "PATIENCE", 0.001)
    with caplog.at_level(logging.WARNING):
        evaluate(samples(2), metrics="faithfulness", workers=2)
    assert "2 of 2 workers have not started" in caplog.text


async def test_shards_that_finish_late_do_not_disturb_those_that_are_stored(monkeypatch) -> None:
    monkeypatch.setattr(workers, "GRACE", 0.2)
    monkeypatch.setattr(workers, "FIRST", 1)
    ends = [Event() for _ in range(3)]  # until then, these workers score their rows

    class Slow(ThreadPoolExecutor):
        def submit(self, function, *given):
            if function is not workers.score_shard or not given[1]:
                return super().submit(function, *given)
            setup = given[0]
            return super().submit(lambda: ends[setup.number].wait(5) and function(*given))

    rows = [Row(n, Sample(id=str(n), query="Why?", response="It is light.")) for n in range(3)]
    setup = workers.WorkerSetup.of(Plan(workers=3), select(["faithfulness"]), judge=None)
    with Slow(3) as executor:
        async with workers.WorkerPool(setup, executor, "worker", budget=Budget()) as pool:
            shards = pool.results(rows)
            ends[0].set()
            await anext(shards)
            await shards.aclose()
            ends[1].set()
            drained = await pool.drain()
            finished = len(drained)  # 1, but 2 where a slow machine gave the last row to the first
            ends[2].set()
            stored = [await asyncio.sleep(0.2, result=shard) for shard in drained]
            assert len(stored) == finished > 0


class Local(OfflineJudge):
    """A judge that no other process can import."""


def test_what_workers_cannot_have_is_refused() -> None:
    judge = OfflineJudge()
    judge.client = lambda: None
    with pytest.raises(UsageError, match="the judge offline cannot be passed to worker processes"):
        evaluate(samples(2), metrics="faithfulness", judge=judge, workers=2)
    Local.__module__ = "no_such_module"
    sys.modules["no_such_module"] = sys.modules[__name__]
    with pytest.raises(UsageError, match="a worker process cannot be set up: the judge cannot be"):
        evaluate(samples(2), metrics="faithfulness", judge=Local(), workers=2)


class OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")
        self.lock = Lock()  # else libraries of engines can pickle it


def test_exceptions_that_cannot_be_pickled_are_passed_on_as_text() -> None:
    passed = portable(OddError(1, 2))
    assert type(passed) is RuntimeError
    assert str(passed).endswith("OddError: 1 and 2")
    assert isinstance(portable(UsageError("no")), UsageError)
