"""`ragstone judge test` on a model behind a socket of loopback that supports whatever it reads."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragstone.cli import ragstone
from ragstone.results.judge_test import FILE

Tested = Callable[..., Result]


@pytest.fixture
def tested(judge_server, kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tested:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(map(json.dumps, kit.samples(3)))
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")

    def run(*options: str) -> Result:
        named = ["--judge", "openai:m", "--base-url", judge_server.url]
        return CliRunner().invoke(ragstone, ["judge", "test", "rows.jsonl", *named, *options])

    return run


def test_a_spent_budget_ends_it_and_the_same_command_goes_on(tested, judge_server) -> None:
    stopped = tested("--max-calls", "2", "--json", "out.json")
    assert stopped.exit_code == 3
    spent = "the budget of 2 calls (max_calls) is spent"
    told = json.loads(Path("out.json").read_text())
    for said in (spent, "; --max-calls allows 2", f"{told['claims']} of 12 claims (the budget"):
        assert said in stopped.output
    assert told["supported"] <= told["claims"] < told["planned"] == 12
    assert (told["asked"], told["failed"], told["calls"], told["stopped"]) == (2, 0, 2, spent)
    assert told["unasked"] > 0
    assert not FILE.exists()
    assert tested().exit_code == 0
    assert FILE.exists()
    asked = [request.body["messages"][-1]["content"] for request in judge_server.asked]
    assert len(asked) == len(set(asked))  # what was answered is not asked again


def test_a_server_that_is_not_there_is_a_failed_test(tested, judge_server) -> None:
    judge_server.stop()
    Path("ragstone.yaml").write_text("retries: 0\n")
    done = tested()
    assert done.exit_code == 3
    assert "questions were not answered; the first: unreachable: " in done.output
    assert "found no claim supported" in done.output


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_an_interrupt_tells_what_came_until_then(tested, judge_server) -> None:
    async def hang(asked: object, request: object) -> dict[str, object]:
        del asked, request
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
        return {}

    judge_server.fault, judge_server.on = hang, lambda asked: asked.number == 3
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        Path("ragstone.yaml").write_text("concurrency: 1\n")
        done = tested("--json", "out.json")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code == 130
    assert "4 of 12 claims (it was interrupted)" in done.output
    assert "Interrupted: 4 of 12 claims tested. The result was not saved" in done.output
    told = json.loads(Path("out.json").read_text())
    assert (told["asked"], told["stopped"]) == (3, "it was interrupted")
    assert not FILE.exists()
