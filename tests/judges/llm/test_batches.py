"""Batch APIs on a real socket: what is submitted, what becomes of it, and coming back."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.judges.batch_server import CANCELED, EXPIRED, MISSING, Served

import ragstone
from ragstone.__main__ import main
from ragstone.errors import Cause, UsageError
from ragstone.judges.llm.model import price_of
from ragstone.results.run import Run

OPENAI, ANTHROPIC = "openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"
FOLDER = Path(".ragstone/batches")
MODULE = "ragstone.judges.llm.batches"
CHILD = f"""
import sys
import {MODULE} as batches
batches.QUIET, batches.FIRST_POLL, batches.LONGEST_POLL = 0.2, 0.1, 0.2
from ragstone.__main__ import main
sys.argv[0] = "ragstone"
main()
"""


@pytest.fixture(params=[OPENAI, ANTHROPIC])
def judge(request: pytest.FixtureRequest) -> str:
    return request.param


def url_of(judge: str, server: Any) -> str:
    return server.url if judge == OPENAI else server.url.removesuffix("/v1")


@pytest.fixture
def run(
    batch_server: Any, kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Run]:
    """Evaluate samples in batches, in an empty folder, without a store."""
    monkeypatch.chdir(tmp_path)

    def evaluate(judge: str, rows: int = 6, **options: Any) -> Run:
        given = {"base_url": url_of(judge, batch_server), "metrics": "faithfulness", "store": None}
        return ragstone.evaluate(
            kit.samples(rows), judge=judge, batch_api=True, **{**given, **options}
        )

    return evaluate


def scores(run: Run) -> dict[int, float | Cause | None]:
    """Return row -> score, or the cause of its failure."""
    found = {int(row.sample.id or ""): row.scores["faithfulness"] for row in run.rows}
    return {row: score.cause or round(score.value or 0, 9) for row, score in sorted(found.items())}


def right(kit: Any, rows: int = 6) -> dict[int, float]:
    return {row: round(kit.right_score(row), 9) for row in range(rows)}


def reasons(run: Run) -> str:
    return "; ".join(row.scores["faithfulness"].reason or "" for row in run.rows)


@pytest.mark.usefixtures("listed")
def test_each_phase_of_a_run_becomes_a_batch_at_half_the_price(run, batch_server, kit, judge):
    found = run(judge)
    assert scores(found) == right(kit)
    assert batch_server.sizes == [6, 6]
    assert set(batch_server.submitted.values()) == {1}
    assert list(FOLDER.glob("*.json")) == []
    usage = found.usage()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (12, 1200, 120)
    prices = {OPENAI: (0.15, 0.60), ANTHROPIC: (1.0, 5.0)}[judge]
    assert usage.cost_usd == pytest.approx((1200 * prices[0] + 120 * prices[1]) / 1e6 / 2)
    body = batch_server.batches[0].lines[0][1]
    assert {OPENAI: "response_format", ANTHROPIC: "output_config"}[judge] in body
    assert body["temperature"] == 0.0
    assert run(judge).usage().calls == 0  # replies are cached as always
    assert len(batch_server.batches) == 2


def test_replies_that_cannot_be_used_are_requested_again_in_a_batch(run, batch_server, kit, judge):
    answer, first = batch_server.answer, []

    def once_nonsense(body: dict) -> str:
        first.append(body)
        return "Well." if len(first) <= 2 else answer(body)

    batch_server.answer = once_nonsense
    assert scores(run(judge)) == right(kit)
    assert sum(batch_server.sizes) == 14


def test_only_requests_without_a_result_are_submitted_again(run, batch_server, kit, judge):
    fates = {0: EXPIRED, 1: MISSING, 2: 500, 3: None, 4: CANCELED}
    batch_server.fate = lambda batch, line: fates.get(line) if batch == 1 else None
    batch_server.shuffle = True  # and among duplicates and lines that are none
    found = run(judge)
    assert scores(found) == right(kit)
    assert batch_server.sizes[0] == 6
    assert sum(batch_server.sizes) == 16
    assert found.usage().calls == 16


def test_a_request_is_submitted_three_times_and_then_fails_with_its_cause(
    run, batch_server, kit, judge
):
    causes = {EXPIRED: Cause.TIMEOUT, MISSING: Cause.UNREACHABLE, 500: Cause.UNREACHABLE}
    for fate, cause in causes.items():
        batch_server.fate = lambda _, line, fate=fate: fate if line == 0 else None
        batch_server.batches.clear()
        found = run(judge, rows=2, cache=False)
        assert cause in scores(found).values(), fate
        assert {1.0, 0.8} & set(scores(found).values()), fate
        assert max(batch_server.submitted.values()) == 3, fate
        assert list(FOLDER.glob("*.json")) == []


def test_a_parameter_that_the_model_does_not_know_is_left_out(run, batch_server, kit):
    batch_server.fate = lambda batch, _: 400 if batch == 1 else None
    assert scores(run(OPENAI)) == right(kit)
    parameters = ["max_completion_tokens" in batch.lines[0][1] for batch in batch_server.batches]
    assert parameters == [False, True, True]


def test_a_whole_batch_may_expire_be_cancelled_or_refused(run, batch_server, kit):
    batch_server.end = {1: "expired"}.get
    batch_server.fate = lambda batch, line: MISSING if batch == 1 and line > 1 else None
    assert scores(run(OPENAI, cache=False)) == right(kit)
    assert sum(batch_server.sizes) == 6 + 4 + 6

    cases = {"cancelled": Cause.UNREACHABLE, ("invalid", "no such model"): Cause.REJECTED}
    for end, cause in cases.items():  # a person did that, or it would happen again
        batch_server.batches.clear()
        batch_server.end = lambda _, end=end: end
        batch_server.fate = lambda *_: MISSING
        found = run(OPENAI, cache=False)
        assert set(scores(found).values()) == {cause}
        assert batch_server.sizes == [6]
        assert ("no such model" if isinstance(end, tuple) else "cancelled") in reasons(found)


def test_a_batch_that_is_too_large_for_the_account_is_split(run, batch_server, kit):
    full = ("token_limit_exceeded", "Enqueued token limit reached for the model")
    batch_server.end = lambda batch: (
        full if len(batch_server.batches[batch - 1].lines) > 2 else None
    )
    assert scores(run(OPENAI)) == right(kit)
    assert batch_server.sizes[:2] == [6, 3]
    assert max(batch_server.sizes[2:]) == 1


def test_limits_of_a_batch(run, batch_server, kit, judge, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.MOST_BYTES", 3500)
    assert scores(run(judge)) == right(kit)
    sizes = [sum(len(json.dumps(body)) for _, body in each.lines) for each in batch_server.batches]
    assert len(sizes) > 4
    assert max(sizes) < 4500
    batch_server.batches.clear()
    name = {OPENAI: "OpenAIBatches", ANTHROPIC: "AnthropicBatches"}[judge]
    monkeypatch.setattr(f"{MODULE}.MOST_BYTES", 10**6)
    monkeypatch.setattr(f"{MODULE}.{name}.most", 4)
    assert scores(run(judge, cache=False)) == right(kit)
    assert max(batch_server.sizes) == 4
    assert sum(batch_server.sizes) == 12


def test_failures_while_waiting_only_delay(run, batch_server, kit, judge):
    seen = dict.fromkeys(("429", "500", "closed", "nonsense", "results"), 0)

    def fault(made: int, method: str, path: str) -> web.StreamResponse | str | None:
        if method == "POST" or not made:
            return None
        for name in seen:
            is_file = path.endswith(("content", "results"))
            if seen[name] < 2 and is_file == (name == "results") and path.count("/"):
                seen[name] += 1
                responses = {
                    "429": web.json_response({}, status=429, headers={"Retry-After": "0"}),
                    "500": web.json_response({}, status=500),
                    "nonsense": web.json_response([]),
                }
                return responses.get(name, "closed")
        return None

    batch_server.fault = fault
    assert scores(run(judge, max_retries=1)) == right(kit)
    assert set(seen.values()) == {2}
    assert batch_server.sizes == [6, 6]


def test_a_batch_whose_reply_is_lost_is_not_submitted_twice(run, batch_server, kit, judge):
    lost: list[str] = []

    def after(made: int, method: str, path: str) -> web.StreamResponse | str | None:
        if method == "POST" and path.endswith("batches") and len(lost) < 2:
            lost.append(path)
            return "closed" if made == 1 else web.json_response({}, status=500)
        return None

    batch_server.after = after
    assert scores(run(judge)) == right(kit)
    assert len(lost) == 2
    assert batch_server.sizes == [6, 6]


def test_a_batch_of_somebody_else_is_not_mistaken_for_a_lost_one(run, batch_server, kit, judge):
    other = Served(99, [(f"other-{line}", {"model": "m"}) for line in range(6)], time.time())

    def fault(made: int, method: str, path: str) -> str | None:
        if method == "POST" and path.endswith("batches") and not made:  # ours is not created
            batch_server.batches.append(other)
            return "closed"
        return None

    batch_server.fault = fault
    batch_server.answer = lambda body, of=batch_server.answer: (
        of(body) if "messages" in body else ""
    )
    assert scores(run(judge)) == right(kit)
    batch_server.batches.remove(other)
    assert batch_server.sizes == [6, 6]


def test_nothing_is_submitted_with_a_wrong_key_or_to_a_server_without_batches(
    run, batch_server, judge, monkeypatch
):
    batch_server.fault = lambda *_: web.json_response({"error": "unknown"}, status=404)
    with pytest.raises(UsageError, match="no batch API; run without batch_api"):
        run(judge)
    batch_server.fault = lambda *_: None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    with pytest.raises(UsageError, match="returned 401"):
        run(judge)
    assert not batch_server.batches
    assert list(FOLDER.glob("*.json")) == []


def test_votes_are_separate_requests(run, batch_server, kit, judge):
    found = run(judge, votes=3, temperature=0.5)
    assert scores(found) == right(kit)
    assert batch_server.sizes == [6] * 4  # claims come from one judge
    assert sorted(batch_server.submitted.values()) == [1] * 6 + [3] * 6


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server have the prices of the providers."""
    monkeypatch.setattr("ragstone.judges.factory.price_of", lambda name, _: price_of(name))


def test_the_budget_holds(run, batch_server, kit, judge):
    found = run(judge, max_calls=8)
    assert sum(batch_server.sizes) == 8
    assert list(scores(found).values()).count(Cause.BUDGET) == 4
    assert "(--max-calls)" in (found.stopped or "")


@pytest.mark.usefixtures("listed")
def test_the_cost_of_what_is_in_progress_is_reserved(run, batch_server, kit):
    """A request of 200 reply tokens may cost $0.0001; it does cost $0.0000105."""
    found = run(OPENAI, rows=40, max_cost=0.0006, max_tokens=200, max_failure_rate=1)
    assert found.usage().cost_usd is not None
    assert 0.0003 < found.usage().cost_usd <= 0.0006
    assert batch_server.sizes[0] < 10
    assert Cause.BUDGET in scores(found).values()
    assert "--max-cost" in (found.stopped or "")
    again = run(OPENAI, rows=40, max_tokens=200)
    assert scores(again) == {row: round(kit.right_score(row), 9) for row in range(40)}
    assert set(batch_server.submitted.values()) == {1}


def test_settings_that_contradict_batches_are_refused(run, batch_server, kit):
    cases = {
        ("mistral:small",): "no batch API of mistral:small",
        ("openai:a,mistral:b",): "no batch API of openai:a,mistral:b",
        (OPENAI, ("workers", 2)): "workers cannot help",
        (OPENAI, ("target", lambda query: query)): "ragstone collect",
        ("offline",): "only for LLM judges",
    }
    for (judge, *options), message in cases.items():
        with pytest.raises(UsageError, match=message):
            run(judge, **dict(options))
    row = {"query": "q", "response": "It is.", "reference": "It is."}
    options = {"metrics": "answer_similarity", "judge": "ollama:m"}  # no LLM is asked
    assert not ragstone.evaluate([row], **options, batch_api=True, on_notice=str).usage().calls
    notices: list[str] = []
    run(OPENAI, rpm=5, tpm=5000, on_notice=notices.append)
    assert any("rpm, tpm have no effect" in each for each in notices), notices


def test_a_dry_run_prints_both_prices(kit, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("\n".join(map(json.dumps, kit.samples(60))))

    def printed(judge: str, *more: str) -> str:
        arguments = ["ragstone", "a.jsonl", "-m", "faithfulness", "--judge", judge, "--dry-run"]
        monkeypatch.setattr("sys.argv", [*arguments, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    out = printed(OPENAI, "--batch-api")
    normal, batch = (
        [float(each.strip("$")) for each in line.split() if each.startswith("$")]
        for line in out.splitlines()
        if "(an estimate)" in line
    )
    assert batch == pytest.approx([price / 2 for price in normal], abs=1.1e-4)
    assert "with --batch-api" in printed("cascade:offline+openai:gpt-4o-mini")
    assert "with --batch-api" not in printed("cascade:offline+openai:gpt-4o-mini,ollama:m")
    assert "with --batch-api" not in printed("offline")


def test_damaged_and_old_records_are_ignored(run, batch_server, kit):
    run(OPENAI, rows=1, cache=False)
    records: list[Path] = []

    def after(made: int, *_: str) -> None:
        records.extend(path for path in FOLDER.iterdir() if path not in records)

    batch_server.after = after
    run(OPENAI, rows=1, cache=False)
    old = {"judge": OPENAI, "token": "t", "at": time.time() - 30 * 86_400, "requests": []}
    records[0].write_text(json.dumps(old))
    records[1].write_text("{")
    assert scores(run(OPENAI)) == right(kit)
    assert not records[0].exists()


async def test_another_process_collects_what_a_cancelled_one_has_submitted(
    batch_server, kit, judge, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = {"judge": judge, "batch_api": True, "base_url": url_of(judge, batch_server)}
    options |= {"metrics": "faithfulness", "store": None, "cache": False}
    batch_server.looks = None
    for _ in range(2):  # the second one leaves while it waits for the batch of the first
        looks = sum(each.looks for each in batch_server.batches)
        task = asyncio.create_task(ragstone.evaluate_async(kit.samples(6), **options))
        while sum(each.looks for each in batch_server.batches) == looks:  # noqa: ASYNC110 - a thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert batch_server.sizes == [6]
    batch_server.looks = 1
    assert scores(await ragstone.evaluate_async(kit.samples(6), **options)) == right(kit)
    assert batch_server.sizes == [6, 6]
    assert not glob(f"{FOLDER}/*")  # noqa: PTH207


def test_after_kill_9_and_ctrl_c_nothing_is_submitted_twice(
    batch_server, kit, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("\n".join(map(json.dumps, kit.samples(20))))
    to = ["--rows", "rows.jsonl", "--no-export"]
    run = ["run", "a.jsonl", "-m", "faithfulness", "--judge", OPENAI, "--batch-api", *to]

    def start(*command: str) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-c", CHILD, *command]
        return subprocess.Popen(
            arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def kill(made: int, method: str, path: str) -> None:  # created, but nobody learns of it
        if method == "POST" and path.endswith("batches") and not made:
            process.kill()

    monkeypatch.setenv("OPENAI_BASE_URL", batch_server.url)
    batch_server.after = kill
    process = start(*run)
    process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL
    assert batch_server.sizes == [20]

    batch_server.looks_of = {2: None}  # the second batch does not end
    process = start(*run)
    until = time.monotonic() + 100
    while len(batch_server.batches) < 2 or not batch_server.batches[1].looks:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "batches with 20 requests go on" in message

    batch_server.looks_of = {}
    process = start("resume", *to)
    _, message = process.communicate(timeout=100)
    assert process.returncode == 0, message
    assert batch_server.sizes == [20, 20]
    assert set(batch_server.submitted.values()) == {1}
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    values = {row["id"]: row["scores"]["faithfulness"]["value"] for row in rows}
    assert values == pytest.approx({str(row): kit.right_score(row) for row in range(20)})
    assert list(FOLDER.glob("*.json")) == []
