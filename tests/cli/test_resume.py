"""Runs that are stopped in the middle: the same command, or `ragstone resume`, goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.store import Store

ROWS, CONCURRENCY = 60, 2
PLACE = ".ragstone/ragstone.db"
TARGET = """
from pathlib import Path
from time import sleep


def answer(query):
    with Path("asked.log").open("a") as file:
        file.write(query + "\\n")
    sleep(0.03)
    if Path("broken").exists() and query.endswith("7"):
        raise RuntimeError("out of order")
    return {"ranking": ["a", "b"]}
"""
RUN = ["run", "data.jsonl", "-m", "hit@1", "--target", "target.py:answer", "--no-export"]
RUN += ["--concurrency", str(CONCURRENCY)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_STORE", raising=False)
    numbers = range(ROWS)
    json_lines(
        "data.jsonl",
        [{"id": f"{n}", "query": f"q{n}", "relevance": ["b" if n % 4 else "a"]} for n in numbers],
    )
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


def asked(folder: Path) -> list[str]:
    log = folder / "asked.log"
    return log.read_text().split() if log.exists() else []


def stopped(folder: Path, by: signal.Signals, after: int = 25, data: str = "data.jsonl") -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ragstone", "run", data, *RUN[2:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        end = monotonic() + 200
        while len(asked(folder)) < after and monotonic() < end:
            sleep(0.01)
        process.send_signal(by)
        process.wait(100)


def stored(folder: Path) -> list[tuple[bool, int]]:
    with Store.open(folder / PLACE) as store:
        return [(info.finished, info.rows) for info in store.runs()]


def metric(said) -> dict[str, object]:
    assert said.code == 0, said.err
    return json.loads(said.out)["metrics"]["hit@1"]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_same_command_goes_on(ragstone: Command, folder: Path, by: signal.Signals) -> None:
    killed = by is signal.SIGKILL  # what was not written by then is lost: as a rule 0.25 s of rows
    stopped(folder, by, after=ROWS // 2 if killed else 25)
    ((finished, before),) = stored(folder)
    first = len(asked(folder))
    assert not finished
    assert before >= (1 if killed else first - CONCURRENCY - 2)
    done = ragstone(*RUN, "--json", "-")
    found = metric(done)
    assert f"{before} of {ROWS} rows are finished" in done.err
    assert stored(folder) == [(True, ROWS)]
    assert len(asked(folder)) == first + ROWS - before
    assert (found["n"], found["mean"]) == (ROWS, 0.25)


def test_resume_goes_on_without_the_options_wherever_it_is(ragstone, folder, monkeypatch) -> None:
    stopped(folder, signal.SIGKILL, after=ROWS // 2)  # its first rows are stored by then
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    resume = ("resume", "--store", str(folder / PLACE))
    said = ragstone(*resume, "last")
    assert said.refuses("needs target.py, which the current folder does not contain")
    assert str(folder) in said.err
    shutil.copy(folder / "target.py", "target.py")
    assert metric(ragstone(*resume, "--no-export", "--json", "-"))["n"] == ROWS
    assert stored(folder) == [(True, ROWS)]
    assert ragstone(*resume).refuses("there is no unfinished run")
    assert "is finished; --retry-failed" in ragstone(*resume, "last").err


def test_a_run_whose_data_changed_is_passed_over(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    shutil.copy(folder / "data.jsonl", folder / "other.jsonl")
    with Store.open(folder / PLACE) as store:
        run_id = store.runs()[0].id
    (folder / "asked.log").unlink()
    stopped(folder, signal.SIGKILL, data="other.jsonl")
    with (folder / "other.jsonl").open("a") as file:
        file.write('{"query": "another", "relevance": ["a"]}\n')
    done = ragstone("resume", "--no-export", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["run_id"] == run_id
    assert "Skipped: cannot resume run" in done.err
    assert "other.jsonl changed since the run was started" in done.err
    assert ragstone("resume").refuses("`ragstone runs delete")


def test_resume_continues_the_same_sample(ragstone: Command, folder: Path) -> None:
    (folder / "broken").touch()
    sample = (*RUN, "--sample", "30", "--set", "seed=3", "--max-failure-rate", "1")
    said = ragstone(*sample, "--json", "-", "-v")
    assert "30 of 60 rows, drawn at random with seed 3" in said.err
    first, failed = set(asked(folder)), metric(said)["failed"]
    assert failed == sum(query.endswith("7") for query in first) > 0
    (folder / "broken").unlink()
    said = ragstone("resume", "last", "--retry-failed", "--no-export", "--json", "-")
    assert metric(said)["scored"] == 30
    assert set(asked(folder)) == first
