"""Runs that are stopped in the middle: the same command, or `ragstone resume`, goes on."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace

import pytest
from tests.cli.conftest import Command
from tests.conftest import Fork

from ragstone.datasets import table
from ragstone.store import Store
from ragstone.types.label import HumanLabel

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
    with Store.open(folder / ".ragstone/ragstone.db") as store:
        return [(info.finished, info.rows) for info in store.runs()]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_same_command_goes_on(ragstone: Command, folder: Path, by: signal.Signals) -> None:
    killed = by is signal.SIGKILL  # what was not written by then is lost: as a rule 0.25 s of rows
    stopped(folder, by, after=ROWS // 2 if killed else 25)
    ((finished, before),) = stored(folder)
    first = len(asked(folder))
    assert not finished
    assert before >= (1 if killed else first - CONCURRENCY - 2)
    done = ragstone(*RUN, "--json", "summary.json")
    assert done.code == 0, done.err
    assert f"{before} of {ROWS} rows are finished" in done.err
    assert stored(folder) == [(True, ROWS)]
    assert len(asked(folder)) == first + ROWS - before
    summary = json.loads((folder / "summary.json").read_text())["metrics"]["hit@1"]
    assert (summary["n"], summary["mean"]) == (ROWS, 0.25)


def test_resume_goes_on_without_the_options(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    done = ragstone("resume", "--no-export", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"]["hit@1"]["n"] == ROWS
    assert stored(folder) == [(True, ROWS)]
    nothing = ragstone("resume")
    assert (nothing.code, "there is no unfinished run" in nothing.err) == (2, True)
    finished = ragstone("resume", "last")
    assert "is finished; --retry-failed" in finished.err


def test_a_run_that_could_not_start_is_not_offered(ragstone: Command, folder: Path) -> None:
    failed = ragstone(*RUN[:4], "--no-export", "--target", "http://127.0.0.1:9")
    assert failed.code == 2
    assert "continues it" not in failed.err
    assert stored(folder) == []
    assert "there is no unfinished run" in ragstone("resume").err
    assert "unfinished" not in ragstone(*RUN).err


def test_failed_rows_are_done_again(ragstone: Command, folder: Path) -> None:
    (folder / "broken").touch()
    first = ragstone(*RUN, "--max-failure-rate", "1")
    assert first.code == 0, first.err
    (folder / "broken").unlink()
    before = len(asked(folder))
    again = ragstone("resume", "last", "--retry-failed", "--no-export", "--json", "-")
    assert again.code == 0, again.err
    assert json.loads(again.out)["metrics"]["hit@1"]["failed"] == 0
    assert len(asked(folder)) - before == sum(str(n).endswith("7") for n in range(ROWS))
    assert stored(folder) == [(True, ROWS)]


def test_a_retry_says_which_labels_it_deletes(ragstone: Command, folder: Path) -> None:
    target = TARGET.replace('"b"]}', '"b"], "response": "Yes."}')
    (folder / "target.py").write_text(target)
    (folder / "broken").touch()
    assert ragstone(*RUN, "--max-failure-rate", "1").code == 0
    (folder / "broken").unlink()
    with Store.open(folder / ".ragstone/ragstone.db") as store:
        run_id = store.runs()[0].id
        store.add_labels(
            run_id,
            [
                HumanLabel(
                    run=run_id,
                    position=place,
                    sample_id=str(place),
                    metric="hit@1",
                    claim=None,
                    value=True,
                    annotator="ana",
                    at=datetime.now(UTC),
                    blind=True,
                )
                for place in (6, 7)
            ],
        )
    again = ragstone("resume", "last", "--retry-failed", "--no-export")
    assert "Note: deleted 1 label of rows that changed; label them again\n" in again.err
    with Store.open(folder / ".ragstone/ragstone.db") as store:
        assert [label.position for label in store.labels(run_id)] == [6]


def test_what_differs_is_told(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    done = ragstone(*RUN, "-m", "recall@1")
    assert "has other settings: metrics was hit@1" in done.err
    assert [finished for finished, _ in stored(folder)] == [True, False]


def test_a_run_whose_data_changed_is_passed_over(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    shutil.copy(folder / "data.jsonl", folder / "other.jsonl")
    with (folder / "other.jsonl").open("a") as file:
        file.write('\n{"query": "one more", "relevance": ["a"]}')
    with Store.open(folder / ".ragstone/ragstone.db") as store:
        run_id = store.runs()[0].id
    (folder / "asked.log").unlink()
    stopped(folder, signal.SIGKILL, data="other.jsonl")
    with (folder / "other.jsonl").open("a") as file:
        file.write('\n{"query": "another", "relevance": ["a"]}')
    done = ragstone("resume", "--no-export", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["run_id"] == run_id
    assert "Skipped: cannot resume run" in done.err
    assert "other.jsonl changed since the run was started" in done.err
    assert "fresh" not in done.err, "resume has no such option"
    stuck = ragstone("resume")
    assert stuck.code == 2
    assert "`ragstone runs delete" in stuck.err
    assert "there is no other unfinished run" in stuck.err
    (folder / "other.jsonl").unlink()
    gone = ragstone("resume", "last")
    assert (gone.code, "other.jsonl, which does not exist" in gone.err) == (2, True)


def test_a_target_that_changed_is_told_in_words(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL, after=ROWS // 2)  # its first rows are stored by then
    with (folder / "target.py").open("a") as file:
        file.write("# another\n")
    said = ragstone("resume", "last")
    assert said.code == 2
    assert "the target's file or options changed" in said.err


def test_a_folder_without_the_target_is_told_where_the_data_are(
    ragstone: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(folder, signal.SIGKILL, after=ROWS // 2)  # its first rows are stored by then
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    said = ragstone("resume", "last", "--store", str(folder / ".ragstone/ragstone.db"))
    assert said.code == 2
    assert "needs target.py, which the current folder does not contain" in said.err
    assert str(folder) in said.err


def test_where_nothing_failed_nothing_is_done_again(ragstone: Command, folder: Path) -> None:
    assert ragstone(*RUN).code == 0
    before = len(asked(folder))
    said = ragstone("resume", "last", "--retry-failed", "--no-export", "--json", "-")
    assert said.code == 0
    assert "no score failed, so there is nothing to retry" in said.err
    assert json.loads(said.out)["metrics"]["hit@1"]["n"] == ROWS
    assert len(asked(folder)) == before


def test_without_a_store_nothing_is_kept(ragstone: Command, folder: Path) -> None:
    assert ragstone(*RUN, "--no-store", "--limit", "3").code == 0
    assert not (folder / ".ragstone").exists()
    refused = ragstone(*RUN, "--no-store", "--fresh")
    assert (refused.code, "remove --fresh" in refused.err) == (2, True)


def test_resume_reads_the_data_set_where_it_was(
    ragstone: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = folder / ".ragstone/ragstone.db"
    stopped(folder, signal.SIGKILL)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(folder / "target.py", elsewhere)
    monkeypatch.chdir(elsewhere)
    done = ragstone("resume", "--store", str(store), "--no-export", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"]["hit@1"]["n"] == ROWS
    assert stored(folder) == [(True, ROWS)]


def test_a_run_that_was_scored_again_is_not_gone_on_with(ragstone: Command, folder: Path) -> None:
    stopped(folder, signal.SIGKILL)
    again = ragstone("runs", "rescore", "last", "-m", "hit@2", "--save")
    assert again.code == 3, again.err
    refused = ragstone("resume", "last")
    assert (refused.code, "was rescored from run" in refused.err) == (2, True)
    done = ragstone("resume", "--no-export", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["dataset"]["path"] == "data.jsonl"
    assert stored(folder)[-1] == (True, ROWS)


async def test_a_panel_goes_on_as_it_was_named(
    fork: Fork,
    folder: Path,
    faulty: SimpleNamespace,
    behave: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{faulty.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (folder / "data.jsonl").write_text('{"query": "q", "response": "A.", "contexts": ["A."]}')
    chat = "/v1/chat/completions"
    faulty.script(chat, behave.reply(b"", status=400))
    words = (
        "--judge",
        "openai:a, openai:b",
        "--set",
        "votes=2",
        "--no-export",
        "--max-failure-rate",
        "1",
    )
    first = await asyncio.to_thread(
        fork, "run", "data.jsonl", "-m", "faithfulness", *words, "--json", "-", folder=folder
    )
    assert first["code"] == 0, first["err"]
    assert json.loads(first["out"])["judge"] == "2*openai:a,2*openai:b"
    said = {"message": {"content": '{"claims": []}'}, "finish_reason": "stop"}
    faulty.script(chat, behave.reply({"choices": [said]}))
    again = await asyncio.to_thread(
        fork, "resume", "last", "--retry-failed", "--no-export", "--json", "-", folder=folder
    )
    assert again["code"] == 0, again["err"]
    assert json.loads(again["out"])["metrics"]["faithfulness"]["failed"] == 0
    assert json.loads(again["out"])["judge"] == "2*openai:a,2*openai:b"


def test_resume_continues_the_same_sample(ragstone: Command, folder: Path) -> None:
    (folder / "broken").touch()
    sample = (*RUN, "--sample", "30", "--set", "seed=3", "--max-failure-rate", "1")
    said = ragstone(*sample, "--json", "-", "-v")
    assert "30 of 60 rows, drawn at random with seed 3" in said.err
    found = json.loads(said.out)
    assert (found["metrics"]["hit@1"]["n"], found["dataset"]["sample"]) == (30, "30 rows, seed 3")
    first, failed = set(asked(folder)), found["metrics"]["hit@1"]["failed"]
    assert failed == sum(query.endswith("7") for query in first) > 0
    (folder / "broken").unlink()
    said = ragstone("resume", "last", "--retry-failed", "--no-export", "--json", "-")
    assert json.loads(said.out)["metrics"]["hit@1"]["scored"] == 30
    assert set(asked(folder)) == first

    assert ragstone(*RUN, "--sample", "30", "--set", "seed=4").code == 0
    b, a = [info["run_id"] for info in json.loads(ragstone("runs", "--json", "-").out)]
    said = ragstone("compare", a, b)
    assert "sample" in said.out
    assert "30 rows, seed 3" in said.out
    refused = ragstone(*RUN, "--sample", "30", "--limit", "3")
    assert refused.code == 2
    assert "limit 3 reads the first rows, and sample 30 draws from all; use one" in refused.err


def test_a_data_set_that_changes_during_a_run(
    ragstone: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "IN_MEMORY", -1)  # so that the rows are read when they are needed
    monkeypatch.setattr(table.FileRows, "size", 20)
    data = folder / "data.jsonl"
    content = data.read_text()
    changing = 'if Path("spoil").exists() and query == "q3":\n'
    changing += (
        '        Path("data.jsonl").write_text(Path("data.jsonl").read_text().lower()[:2000])\n'
    )
    (folder / "target.py").write_text(TARGET.replace("sleep(0.03)\n", f"{changing}"))
    (folder / "spoil").touch()
    said = ragstone(*RUN, "--json", "out.json")
    assert said.code == 2
    assert "data.jsonl changed while it was read; run the command again" in said.err
    assert not (folder / "out.json").exists()
    ((finished, rows),) = stored(folder)
    assert (finished, 0 < rows < ROWS) == (False, True)

    (folder / "spoil").unlink()
    data.write_text(content)
    said = ragstone(*RUN, "--json", "out.json")
    assert f"{rows} of {ROWS} rows are finished" in said.err
    assert (said.code, stored(folder)) == (0, [(True, ROWS)])
