"""No fault of a judge's server makes a wrong number or loses a sample."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause, UsageError
from ragstone.results.run import Run
from ragstone.types.score import State

ROWS = 10
PICKED = range(0, ROWS, 5)
KEY = "sk-a-key-that-nobody-may-see"

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def evaluated(server, kit, **options: object) -> Run:
    plan = {"concurrency": 8, "cache": False, "retries": 2, "timeout": 30.0} | options
    return ragstone.evaluate(
        kit.samples(ROWS), metrics="faithfulness", judge="openai:mock", base_url=server.url, **plan
    )


def outcome(run: Run, kit) -> dict[int, str]:
    """Return what became of each sample; a number that is not the right one is an error."""
    told = {}
    for row in run.rows:
        (score,) = row.scores.values()
        if score.state is State.SCORED:
            assert score.value == pytest.approx(kit.right_score(row.index), abs=1e-9)
            assert not score.fallback
            assert len(score.claims) == 5
        else:
            assert score.value is None
        told[row.index] = "right" if score.state is State.SCORED else score.cause or score.state
    return told


def right_but(*rows: int, became: str = "") -> dict[int, str]:
    return {row: became if row in rows else "right" for row in range(ROWS)}


@dataclass(frozen=True)
class Fault:
    """A way to misbehave: with which questions, and what becomes of a sample if it never ends."""

    serve: Callable[..., Awaitable[object]]
    sticky: str
    kinds: tuple[str, ...] = ("extract", "verify")
    timeout: float = 30.0


def saying(change: Callable[[dict, Callable], object]) -> Callable[..., Awaitable[object]]:
    async def serve(asked, request: web.Request, kit) -> object:
        return change(asked.answer(), kit.chat)

    return serve


def status(code: int, headers: dict[str, str] | None = None) -> Callable[..., Awaitable[object]]:
    async def serve(asked, request: web.Request, kit) -> object:
        return web.Response(status=code, headers=headers, text="not now")

    return serve


async def hang(asked, request: web.Request, kit) -> object:
    await asyncio.sleep(20)
    return web.Response()


async def drop(asked, request: web.Request, kit) -> object:
    request.transport.abort()
    return web.Response()


def cut(answer: dict, chat: Callable, *, finish: str = "stop") -> object:
    text = json.dumps(answer)
    return chat(text[: len(text) * 2 // 3], finish=finish)


VERIFY, EXTRACT = ("verify",), ("extract",)
FAULTS = {
    "cut by the token limit": Fault(
        saying(lambda answer, chat: cut(answer, chat, finish="length")), Cause.TRUNCATED
    ),
    "no JSON": Fault(saying(lambda _, chat: chat("Well, hm.")), Cause.MALFORMED),
    "one verdict missing": Fault(
        saying(lambda answer, chat: chat({"verdicts": answer["verdicts"][:-1]})),
        Cause.COUNT_MISMATCH,
        VERIFY,
    ),
    "empty claims": Fault(saying(lambda _, chat: chat({"claims": []})), Cause.NO_CLAIMS, EXTRACT),
    "refusal in words": Fault(
        saying(lambda _, chat: chat("I'm sorry, but I can't assist with that.")), Cause.REFUSAL
    ),
    "content filter": Fault(
        saying(lambda answer, chat: cut(answer, chat, finish="content_filter")), Cause.REFUSAL
    ),
    "429": Fault(status(429), Cause.RATE_LIMITED),
    "500": Fault(status(500), Cause.UNREACHABLE),
    "hang": Fault(hang, Cause.TIMEOUT, VERIFY, timeout=1.0),
    "drop": Fault(drop, Cause.UNREACHABLE),
}


def first_time(kinds: tuple[str, ...]) -> Callable[..., bool]:
    seen = set[tuple[str, int]]()

    def on(asked) -> bool:
        about = (asked.kind, asked.row)
        new = about not in seen
        seen.add(about)
        return new and asked.kind in kinds and asked.row in PICKED

    return on


def told(server, kit, fault: Fault) -> None:
    server.fault = lambda asked, request: fault.serve(asked, request, kit)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_its_samples_alone_and_only_if_it_stays(judge_server, kit, name: str) -> None:
    fault = FAULTS[name]
    told(judge_server, kit, fault)
    judge_server.on = first_time(fault.kinds)
    run = evaluated(judge_server, kit, timeout=fault.timeout)
    assert outcome(run, kit) == right_but()
    assert judge_server.served == len(PICKED) * len(fault.kinds)
    before = len(judge_server.asked)
    assert before == run.usage().calls == 2 * ROWS + judge_server.served
    judge_server.on = lambda asked: asked.kind in fault.kinds and asked.row in PICKED
    judge_server.served = 0
    run = evaluated(judge_server, kit, timeout=fault.timeout, retries=1)
    assert outcome(run, kit) == right_but(*PICKED, became=fault.sticky)
    assert judge_server.served == 2 * len(PICKED)  # once again each, by whichever rule
    assert len(judge_server.asked) - before == run.usage().calls


def test_every_reply_being_a_fault_makes_no_number(judge_server, kit) -> None:
    told(judge_server, kit, FAULTS["500"])
    judge_server.delay = 0.01
    run = evaluated(judge_server, kit, retries=1)
    assert "failed 5 times in the same way and answered nothing" in (run.stopped or "")
    assert set(outcome(run, kit).values()) <= {Cause.UNREACHABLE, Cause.BUDGET}
    assert run.summary()["faithfulness"].mean is None
    assert judge_server.most <= 5, "before the first reply few calls are under way"


def test_a_rejected_key_ends_the_run(judge_server, kit) -> None:
    async def reject(asked, request: web.Request) -> web.Response:
        if asked.number < 3:
            await asyncio.sleep(600)
        return web.Response(status=401, text=f"Incorrect API key provided: {KEY}")

    judge_server.fault = reject
    said = r"the judge openai:mock, .*OPENAI_API_KEY.*returned 401"
    with pytest.raises(UsageError, match=said) as caught:
        evaluated(judge_server, kit)
    assert KEY not in str(caught.value)
    assert len(judge_server.asked) <= 8


def test_the_budget_ends_the_run_and_holds_with_retries(judge_server, kit) -> None:
    told(judge_server, kit, FAULTS["500"])
    judge_server.on = first_time(("extract", "verify"))
    run = evaluated(judge_server, kit, max_calls=13, concurrency=2)
    assert set(outcome(run, kit).values()) == {"right", Cause.BUDGET}
    assert len(judge_server.asked) == run.usage().calls == 13
    assert run.partial
    assert "13 calls (max_calls)" in run.stopped


PROMPT = """# system
Check the claims. Reply with JSON.{partial}
# user
{contexts}

{claims}
"""


@each_case(
    ("change", "calls"),
    [
        *(({}, 0), ({"policy": "deepeval"}, 0)),
        ({"concurrency": 3, "timeout": 9.0, "retries": 0}, 0),
        *(({"judge": judge}, 2) for judge in ("openai:mock2", "vllm:mock")),
        *(({"config": {"temperature": heat}}, 2) for heat in (0.5, None)),
        ({"config": {"strict_json": True}}, 0),  # nothing but JSON is read anyway
        ({"policy": "promptfoo-plan", "config": {"strict_json": True}}, 0),
        ({"policy": "promptfoo-plan"}, 2),
        ({"prompts": {"verify_claims": "own.md"}}, 1),
        ({"config": {"batch_size": 2}}, 3),
        *(
            ({"config": {name: value}}, 1)
            for name, value in (("allow_partial", True), ("votes", 2))
        ),
        ({"base_url": "localhost"}, 2),
    ],
)
def test_a_kept_reply_is_used_only_where_nothing_that_shaped_it_changed(
    judge_server, kit, change: dict[str, object], calls: int
) -> None:
    Path("own.md").write_text(PROMPT, encoding="utf-8")
    options = {"judge": "openai:mock", "base_url": judge_server.url, "metrics": "faithfulness"}
    ragstone.evaluate(kit.samples(3), **options)
    assert len(judge_server.asked) >= 2 * 3
    if "base_url" in change:
        change = {"base_url": judge_server.url.replace("127.0.0.1", "localhost")}
    before = len(judge_server.asked)
    second = ragstone.evaluate(kit.samples(3), **(options | change))
    assert len(judge_server.asked) - before == second.usage().calls == calls * 3
    if "policy" not in change:
        assert set(outcome(second, kit).values()) == {"right"}


def summary(folder: Path) -> dict[str, object]:
    """Return a run's JSON summary without what differs from run to run, such as times."""
    text = (folder / "run.json").read_text(encoding="utf-8")
    found = json.loads(re.sub(r'"latency_ms": [0-9.]+', '"latency_ms": 1', text))
    return {n: found[n] for n in found.keys() - {"run_id", "started_at", "usage", "latency"}}


def start(folder: Path, server, kit) -> subprocess.Popen[bytes]:
    """Begin a run of 60 samples in a folder, as a person would."""
    folder.mkdir(exist_ok=True)
    lines = "\n".join(json.dumps(sample) for sample in kit.samples(60))
    (folder / "data.jsonl").write_text(lines, encoding="utf-8")
    command = [sys.executable, "-m", "ragstone", "run", "data.jsonl", "--no-export"]
    command += ["-m", "faithfulness", "--judge", "openai:mock", "--base-url", server.url]
    command += ["--concurrency", "4", "--json", "run.json"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, **quiet)


def test_a_killed_run_goes_on_where_it_was(judge_server, kit, tmp_path: Path) -> None:
    def finish(folder: Path) -> int:
        before = len(judge_server.asked)
        with start(folder, judge_server, kit) as process:
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()
        return len(judge_server.asked) - before

    ragged, clean = tmp_path / "ragged", tmp_path / "clean"
    judge_server.delay = 0.03
    with start(ragged, judge_server, kit) as process:
        while len(judge_server.asked) < 50 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    time.sleep(0.2)
    before = len(judge_server.asked)
    assert 50 <= before < 100
    assert 120 <= before + finish(ragged) <= 124  # at most the calls under way again
    assert finish(clean) == 120
    assert summary(ragged) == summary(clean)
    assert finish(ragged) == 0  # all of it is kept now
