"""What a store holds after the worst: nothing finished is lost, nothing is there twice."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.store.conftest import query

from ragstone.store import Store, StoreError, delete
from ragstone.store.errors import RunLockedError, RunNotFoundError

WRITING = """
import asyncio, sys
from datetime import UTC, datetime
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score
from ragstone.store import Store, StoreError

async def main(place, run_id, first, count):
    manifest = Manifest(
        run_id=run_id, version="0", started_at=datetime.now(UTC), plan=Plan(),
        source=Source(name="x", rows=int(count)), judge=None, judge_note=None, target=None,
        not_run={},
    )
    with Store.open(place) as store:
        known = run_id in [info.id for info in store.runs()]
        done = store.done(run_id) if known else []
        begin = store.begin_writing(manifest, {}, fingerprint="f")
        async with store.open_writer(run_id) if known else begin as writer:
            print("begun", flush=True)
            for n in range(int(first), int(count)):
                if n not in done:
                    sample = Sample(id=f"q{n}", query="q", response="x" * 2000)
                    await writer.put(Row(n, sample, scores={"hit@5": Score.scored(n % 2)}))
        store.finish(run_id, extras={})

try:
    asyncio.run(main(*sys.argv[1:]))
except StoreError as error:
    print(error)
    sys.exit(2)
"""


def writing(place: str, run_id: str, count: int, *, before: str = "") -> "subprocess.Popen[str]":
    """Start a process that writes the rows of a run that are not stored yet."""
    return subprocess.Popen(
        [sys.executable, "-c", before + WRITING, place, run_id, "0", str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def whole(store: Store, run_id: str, count: int) -> bool:
    """Whether each row and each score is there once."""
    places = [row.index for row in store.load(run_id).rows]
    scores = "SELECT place FROM scores JOIN runs ON runs.number = run WHERE metric = 'hit@5'"
    values = [line[0] for line in query(store, f"{scores} AND id = '{run_id}' ORDER BY place")]
    return places == values == list(store.done(run_id)) == list(range(count))


def until_stored(store: Store, run_id: str, rows: int) -> None:
    for _ in range(600):
        if run_id in [info.id for info in store.runs()] and len(store.done(run_id)) >= rows:
            return
        time.sleep(0.05)
    raise AssertionError("nothing is written")


def test_four_processes_write_four_runs_at_once(place: str) -> None:
    processes = [writing(place, f"r{n}", 1500) for n in range(4)]
    for process in processes:
        said, errors = process.communicate(timeout=240)
        assert (process.returncode, said, errors) == (0, "begun\n", "")
    with Store.open(place) as store:
        assert {info.rows for info in store.runs()} == {1500}
        assert all(whole(store, f"r{n}", 1500) for n in range(4))


def test_a_killed_run_goes_on_where_it_was(place: str) -> None:
    with Store.open(place) as store:
        with writing(place, "r1", 1_000_000) as process:
            until_stored(store, "r1", 1000)
            assert store.unfinished("f") is None
            process.send_signal(signal.SIGKILL)
        run_id = None
        for _ in range(100):  # PostgreSQL takes a moment to see that nobody is there
            if run_id := store.unfinished("f"):
                break
            time.sleep(0.1)
        assert run_id == "r1"
        kept = store.done("r1")
        assert [row.index for row in store.load("r1").rows] == list(kept) == list(range(len(kept)))
        again = writing(place, "r1", len(kept) + 500)
        assert again.communicate(timeout=240)[1] == ""
        assert whole(store, "r1", len(kept) + 500)
        assert store.unfinished("f") is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_file_that_cannot_grow_keeps_what_is_in_it(tmp_path: Path) -> None:
    place = str(tmp_path / "runs.db")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000,) * 2)\n"
    process = writing(place, "r1", 20_000, before=limit)
    said, errors = process.communicate(timeout=240)
    assert (process.returncode, errors) == (2, ""), errors
    assert "full" in said
    assert "finished rows are not stored" in said
    with Store.open(place) as store:
        kept = len(store.done("r1"))
        assert kept
        assert whole(store, "r1", kept)
        assert store.unfinished("f") == "r1"
    again = writing(place, "r1", kept + 500)  # where there is room again
    assert again.communicate(timeout=240)[1] == ""
    with Store.open(place) as store:
        assert whole(store, "r1", kept + 500)


async def test_a_server_that_dies_half_way_keeps_what_it_has(
    own_server: SimpleNamespace, make: SimpleNamespace
) -> None:
    pytest.importorskip("psycopg", reason="no psycopg here: pip install 'ragstone[postgres]'")
    with Store.open(own_server.url) as store:
        make.begin(store, "r1")

        async def work() -> None:
            async with store.open_writer("r1") as writer:
                for place in range(1_000_000):
                    await writer.put(make.small_row(place))
                    if place == 1000:
                        await asyncio.to_thread(own_server.control, "-m", "immediate", "stop")

        with pytest.raises(StoreError) as error:
            await asyncio.wait_for(work(), 60)
        assert "connecting failed" in str(error.value)
        assert "not stored" in str(error.value)
        with pytest.raises(StoreError):
            store.done("r1")
        await asyncio.to_thread(own_server.control, "start")
        kept = list(store.done("r1"))
        told = re.search(r"not stored; (\d+) are", str(error.value))
        assert told
        assert kept == list(range(len(kept)))
        assert len(kept) >= int(told[1]) > 0  # it may have died between a commit and its word of it
        assert store.unfinished("f") == "r1"
        async with store.open_writer("r1") as writer:
            for place in range(len(kept), len(kept) + 300):
                await writer.put(make.small_row(place))
        assert whole(store, "r1", len(kept) + 300)


SAME = """
import sys, time
from pathlib import Path
from ragstone import evaluate
from ragstone.errors import UsageError

place, folder = sys.argv[1], Path(sys.argv[2])

def answer(query):
    with (folder / "asked.txt").open("a") as file:
        file.write(query + "\\n")
    time.sleep(0.4)
    return {"contexts": [{"id": "a", "text": "t"}]}

print("ready", flush=True)
while not (folder / "go").exists():
    time.sleep(0.001)
rows = [{"query": f"q{n}", "relevance": ["a"]} for n in range(5)]
try:
    evaluate(rows, metrics="hit", target=answer, concurrency=1, store=place)
except UsageError as error:
    print(error)
    sys.exit(2)
"""


def test_the_same_evaluation_started_three_times_at_once_is_paid_once(place, tmp_path) -> None:
    with Store.open(place):  # the tables exist
        pass
    command = [sys.executable, "-c", SAME, place, str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    said = sorted(
        (process.communicate(timeout=240)[0], process.returncode) for process in processes
    )
    assert [code for _, code in said] == [0, 2, 2], said
    busy = "another process is running the same evaluation"
    assert all(busy in text and "wait for it, or use" in text for text, _ in said[1:]), said
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 5
    with Store.open(place) as store:
        assert [info.rows for info in store.runs()] == [5]


async def test_a_run_cannot_be_deleted_from_its_first_moment(place: str, make) -> None:
    with Store.open(place) as store:

        def attack(run_id: str) -> str:
            for _ in range(10_000):
                try:
                    delete(store, run_id)
                except RunNotFoundError:
                    continue
                except RunLockedError:
                    return "refused"
                return "deleted"
            return "not found"

        for number in range(2):
            run_id = f"r{number}"
            attacker = asyncio.create_task(asyncio.to_thread(attack, run_id))
            await asyncio.sleep(0.05)
            async with store.begin_writing(make.manifest(run_id), {}, fingerprint="f") as writer:
                await writer.put(make.full_row(0))
                assert await attacker == "refused"
            assert store.info(run_id).rows == 1
