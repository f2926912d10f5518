import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from ragstone.store import Store, StoreError
from ragstone.store.limits import AHEAD, LEFT_BEHIND, LeaseRequest, StoredLimits, shared_limits
from ragstone.store.run_info import format_time
from ragstone.store.schema import LIMITS

ONE = LeaseRequest("p", "openai", ((0.0, 0.0),))
RUNS, BUDGET, PROCESSES, STEP = 40, 40, 3, 0.002
DOLLARS, MOST = 2.0, 0.2
"""The budget of every second run, and the highest cost of a call."""
KILLING = f"""
import os, random, signal, sys, time
from ragstone.store.limits import LeaseRequest
from ragstone.store.limits import StoredLimits, shared_limits

def work(place, run, name, pipe, chance, most):
    limits = StoredLimits(place, run, *((None, {DOLLARS}) if most else ({BUDGET}, None)))
    released, cost = (0, 0.0), 0.0
    while True:
        calls = [({STEP}, most * chance.uniform(0.1, 1)) for _ in range(chance.randint(1, 4))]
        request = LeaseRequest(name, "openai", calls, released=released, cost=cost)
        lease = limits.lease(request)
        leased = time.monotonic()
        released, cost = (0, 0.0), 0.0
        if lease.spent and not lease.waits:
            break
        os.write(pipe, b"%d leased\\n" % len(lease.waits))
        for wait, (_, dollars) in zip(lease.waits, calls):
            time.sleep(max(0, leased + wait - time.monotonic()))
            paid = dollars * chance.random()
            os.write(pipe, b"%r call %r\\n" % (time.monotonic(), paid))
            if most:
                released, cost = (released[0] + 1, released[1] + dollars), cost + paid
        if not lease.waits:
            time.sleep(0.005)
    os._exit(0)

def main(place, seed):
    chance = random.Random(seed)
    for number in range({RUNS}):
        most = {MOST} * (number % 2)
        with shared_limits(place, f"run {{number}}") as where:
            (reading, writing), begin = os.pipe(), time.monotonic()
            children = []
            for name in range({PROCESSES}):
                seed = chance.random()
                if not (child := os.fork()):
                    work(where, f"run {{number}}", str(name), writing, random.Random(seed), most)
                children.append(child)
            os.close(writing)
            killed = chance.sample(children, chance.randint(0, {PROCESSES} - 1))
            limits, ended = StoredLimits(where, f"run {{number}}"), []
            for child in killed:
                time.sleep(chance.random() * {BUDGET * STEP} * 2 / len(killed))
                os.kill(child, signal.SIGKILL)
                ended.append(os.waitpid(child, 0)[1])
                limits.charge_dead(str(children.index(child)))
            limits.close()
            text = os.fdopen(reading).read()
            ended += [os.waitpid(child, 0)[1] for child in children if child not in killed]
        print(begin, ended.count(signal.SIGKILL), *text.split("\\n"), sep=";", flush=True)

main(sys.argv[1] if len(sys.argv) > 2 else None, int(sys.argv[-1]))
"""
"""Runs of processes that lease and make calls; prints the begin, the number killed, and calls."""


def lines(store: Store) -> list[str]:
    with store.connect() as connection:
        return [line.run_id for line in connection.execute(LIMITS.select())]


def test_processes_share_a_line_until_the_run_ends(place: str) -> None:
    with Store.open(place) as store:
        assert Path(store.place).is_absolute() or store.place.startswith("postgresql+psycopg://")
        with shared_limits(store.place, "r1") as where, shared_limits(store.place, "r2"):
            first, second = (StoredLimits(where, "r1", 3, 1.0) for _ in range(2))
            assert sorted(lines(store)) == ["r1", "r2"]
            found = [each.lease(ONE) for each in (first, second, first, second)]
            assert [(each.calls, len(each.waits)) for each in found] == [
                (1, 1), (2, 1), (3, 1), (3, 0)
            ]  # fmt: skip
            assert first.lease(LeaseRequest(cost=0.25)).cost == 0.25
        assert lines(store) == []
        with pytest.raises(StoreError, match="the run r1 has ended"):
            second.lease(ONE)
        first.close()
        second.close()


def test_a_rate_and_a_pause_are_shared(place: str) -> None:
    Store.open(place).close()
    with shared_limits(place, "r1"):
        first, second = (StoredLimits(place, "r1", None, None) for _ in range(2))
        five = LeaseRequest("p", "openai", ((1000.0, 0.0),) * 5)
        waits = [each.lease(five).waits for each in (first, second, first)]
        assert [len(each) for each in waits] == [1, 1, 1]  # no more start within a second
        assert all(900 < later - sooner <= 1000 for (sooner,), (later,) in pairwise(waits))
        assert first.lease(LeaseRequest("p", "other", ((1000.0, 0.0),))).waits == [0.0]
        first.lease(LeaseRequest("p", "other", pause=5000.0))
        many = ((0.01, 0.0),) * 500
        assert 4000 < second.lease(LeaseRequest("p", "other", many)).waits[0] <= 5000
        assert 0 < first.lease(LeaseRequest("p", "third", many)).waits[-1] <= AHEAD
        first.close()
        second.close()


def test_a_line_of_the_same_run_or_of_a_killed_process_is_replaced(place: str) -> None:
    old = format_time(datetime.now(UTC) - LEFT_BEHIND - timedelta(days=1))
    line = {"calls": 9, "cost_usd": 9.0, "reserved": "{}", "starts": "{}"}
    with Store.open(place) as store:
        with store.transaction() as connection:
            new = format_time(datetime.now(UTC))
            for run_id, began_at in (("r1", new), ("r2", new), ("r3", old)):
                connection.execute(LIMITS.insert().values(run_id=run_id, began_at=began_at, **line))
        with shared_limits(store.place, "r1"):
            limits = StoredLimits(place, "r1", None, None)
            assert limits.lease(ONE).calls == 1
            limits.close()
        assert lines(store) == ["r2"]


def test_without_a_store_a_temporary_file_has_the_limits() -> None:
    with shared_limits(None, "r1") as place:
        limits = StoredLimits(place, "r1", 1, None)
        assert limits.lease(ONE).calls == 1
        limits.close()
    assert not Path(place).parent.exists()
    with pytest.raises(StoreError, match="on several machines, they need a store in PostgreSQL"):
        StoredLimits(place, "r1", 1, None)


def test_killed_processes_exceed_neither_the_budget_nor_the_rate(place: str) -> None:
    Store.open(place).close()
    command = [sys.executable, "-c", KILLING, place, "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    runs = done.stdout.splitlines()
    assert len(runs) == RUNS
    killed = 0
    for number, run in enumerate(runs):
        begin, deaths, *events = run.split(";")
        words = [event.split() for event in events if event]
        times = [float(when) for when, what, *_ in words if what == "call"]
        leased = sum(int(calls) for calls, what, *_ in words if what == "leased")
        # a killed process may have leased calls that it could not report
        lost = 4 * int(deaths)
        if number % 2:
            paid = sum(float(cost) for _, what, *costs in words for cost in costs)
            assert DOLLARS - (lost + 1) * MOST <= paid <= DOLLARS + 1e-6, run
        else:
            assert BUDGET - lost <= len(times) <= leased <= BUDGET, run
        late = [
            time for n, time in enumerate(sorted(times)) if n > (time - float(begin)) / STEP + 1
        ]
        assert not late, run
        killed += int(deaths)
    assert killed > RUNS / 2
