"""Runs that are stopped in the middle: the same command, or `ragstone resume`, goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from ragstone.store import Store

ROWS, CONCURRENCY = 60, 2
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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_STORE", raising=False)
    rows = [{"id": str(n), "query": f"q{n}", "relevance": ["b" if n % 4 else "a"]} for n in
            range(ROWS)]  # fmt: skip
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


def asked(folder: Path) -> list[str]:
    log = folder / "asked.log"
    return log.read_text().split() if log.exists() else []


def ragstone(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ragstone", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def stopped(folder: Path, by: signal.Signals, after: int = 25) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ragstone", *RUN],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        end = monotonic() + 30
        while len(asked(folder)) < after and monotonic() < end:
            sleep(0.01)
        process.send_signal(by)
        process.wait(20)


def stored(folder: Path) -> list[tuple[bool, int]]:
    with Store.open(folder / ".ragstone/ragstone.db") as store:
        return [(info.finished, info.rows) for info in store.runs()]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_same_command_goes_on(folder: Path, by: signal.Signals) -> None:
    stopped(folder, by)
    ((finished, before),) = stored(folder)
    assert not finished
    lost = 0.25 / 0.03 * CONCURRENCY if by is signal.SIGKILL else 0
    assert before >= 25 - CONCURRENCY - lost - 2
    done = ragstone(*RUN, "--json", "summary.json")
    assert done.returncode == 0, done.stderr
    assert f"{before} of {ROWS} rows were finished" in done.stderr
    assert stored(folder) == [(True, ROWS)]
    assert len(asked(folder)) <= ROWS + 25 - before + CONCURRENCY + 2
    summary = json.loads((folder / "summary.json").read_text())["metrics"]["hit@1"]
    assert (summary["n"], summary["mean"]) == (ROWS, 0.25)


def test_resume_goes_on_without_the_options(folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    done = ragstone("resume", "--no-export", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["hit@1"]["n"] == ROWS
    assert stored(folder) == [(True, ROWS)]
    nothing = ragstone("resume")
    assert (nothing.returncode, "there is no unfinished run" in nothing.stderr) == (2, True)
    finished = ragstone("resume", "last")
    assert "is finished; --retry-failed" in finished.stderr


def test_failed_rows_are_done_again(folder: Path) -> None:
    (folder / "broken").touch()
    first = ragstone(*RUN, "--max-failed", "1")
    assert first.returncode == 0, first.stderr
    (folder / "broken").unlink()
    before = len(asked(folder))
    again = ragstone("resume", "last", "--retry-failed", "--no-export", "--json", "-")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["metrics"]["hit@1"]["failed"] == 0
    assert len(asked(folder)) - before == sum(str(n).endswith("7") for n in range(ROWS))
    assert stored(folder) == [(True, ROWS)]


def test_what_differs_is_told(folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    done = ragstone(*RUN, "-m", "recall@1")
    assert "is unfinished and stays so, as this one differs: metrics was hit@1" in done.stderr
    assert [finished for finished, _ in stored(folder)] == [True, False]


def test_without_a_store_nothing_is_kept(folder: Path) -> None:
    assert ragstone(*RUN, "--no-store", "--limit", "3").returncode == 0
    assert not (folder / ".ragstone").exists()
    refused = ragstone(*RUN, "--no-store", "--fresh")
    assert (refused.returncode, "leave --fresh" in refused.stderr) == (2, True)
