"""Limits of whole runs with worker processes, counted at the server."""

import os
import random
import signal
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path
from threading import Event, Thread

import pytest

from ragstone.evaluation.runner import evaluate
from ragstone.metrics import load_plugin
from ragstone.results.run import Run
from ragstone.store import Store

PRICED = """
from ragstone import Metric, Score, register
from ragstone.judges.llm import model
from ragstone.judges.llm.model import Price
from ragstone.types.questions import ExtractClaims

model.price_of = lambda name, url: Price((1e-4, 1e-4, 0.0, 0.0))  # a cent a call

@register("claims_found")
class Claims(Metric):
    '''The number of claims.'''
    needs, asks, high = ("response",), ("extract_claims",), 99.0

    async def score(self, sample, ask):
        return Score.scored(len(await ask(ExtractClaims(query="", response=sample.response))))
"""


@pytest.fixture
def priced(module_file: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric of one call; its module, which workers load too, sets the price of a call."""
    from ragstone.judges.llm import model

    monkeypatch.setattr(model, "price_of", model.price_of)
    load_plugin(module_file("priced.py", PRICED))


@pytest.fixture
def run(judge_server, kit, priced) -> Callable[..., Run]:
    def run(metric: str = "faithfulness", count: int = 60, **options: object) -> Run:
        return evaluate(
            kit.samples(count),
            metrics=metric,
            judge="openai:gpt-4o-mini",
            base_url=judge_server.url,
            cache=False,
            **{"workers": 2, **options},
        )

    return run


def kill_workers(server, ended: Event, *, seed: int, deaths: int) -> None:
    """Kill workers at random moments while calls are made."""
    chance = random.Random(seed)
    for _ in range(deaths):
        before = len(server.asked)
        while len(server.asked) <= before:
            if ended.wait(0.01):
                return
        ended.wait(chance.random() * 0.3)
        if workers := active_children():
            os.kill(chance.choice(workers).pid or 0, signal.SIGKILL)


def test_a_killed_worker_makes_no_run_exceed_its_limits(run: Callable[..., Run], judge_server):
    judge_server.delay, ended = 0.05, Event()
    killing = Thread(
        target=kill_workers, args=(judge_server, ended), kwargs={"seed": 1, "deaths": 1}
    )
    killing.start()
    found = run(max_calls=70, config={"rpm": 60 * 40}, concurrency=8, store="runs.db")
    ended.set()
    killing.join()
    assert found.stopped == "the budget of 70 calls (max_calls) is spent"
    times = [asked.at for asked in judge_server.asked]
    assert 70 // 2 <= len(times) <= 70  # what the dead one of two workers has left is lost
    starts = 2 + 1  # of the workers, and of the one that replaces the dead one
    assert all(n <= 40 * (time - times[0]) + starts + 1 for n, time in enumerate(times))
    with Store.open("runs.db") as store:
        assert not store.info(found.manifest.run_id).finished
    before = len(judge_server.asked)
    found = run(max_calls=10, concurrency=8, store="runs.db")  # resumed, with a budget of its own
    assert found.stopped
    assert len(judge_server.asked) == before + 10


def test_dollars_of_all_workers_are_counted(run: Callable[..., Run], judge_server) -> None:
    judge_server.delay = 0.02
    found = run("claims_found", max_cost=0.6, concurrency=4)
    assert "$0.6 (max_cost) is too small for another call" in (found.stopped or "")
    most = 0.29  # of a call, by the bytes of its prompt
    assert 0.6 - 2 * most < 0.01 * len(judge_server.asked) <= 0.6 + 1e-9
    assert not Path(".ragstone").exists()


def test_each_worker_has_an_equal_share_and_scores_what_others_cannot_pay_for(run, judge_server):
    """The first shard has all 16 rows, which need 32 calls; a share has only 20."""
    found = run(count=16, max_calls=60, workers=3)
    assert not found.partial
    assert not found.stopped
    assert not any(row.has_failed for row in found.rows)
    assert 32 <= len(judge_server.asked) <= 60
