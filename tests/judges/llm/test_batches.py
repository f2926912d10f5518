"""Batch APIs on a real socket: what is submitted, what becomes of it, and coming back."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.judges.batch_server import CANCELED, EXPIRED, MISSING, Served

import ragstone
from ragstone.__main__ import main
from ragstone._internal.files import lock_file
from ragstone.errors import BatchPendingError, Cause, UsageError
from ragstone.judges.llm.model import price_of
from ragstone.results.run import Run

OPENAI, ANTHROPIC = "openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"
FOLDER = Path(".ragstone/batches")
MODULE = "ragstone.judges.llm.batches"


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

    def evaluate(judge: str, rows: int = 6, *, data: list | None = None, **options: Any) -> Run:
        given = {"base_url": url_of(judge, batch_server), "metrics": "faithfulness", "store": None}
        given["batch_api"] = True
        rare = {"reply_cache", "max_tokens", "votes", "temperature"} & options.keys()
        if rare:
            given["config"] = {name: options.pop(name) for name in rare}
        return ragstone.evaluate(data or kit.samples(rows), judge=judge, **{**given, **options})

    return evaluate


@pytest.fixture
def finish(run: Callable[..., Run], kit: Any) -> Callable[..., Run]:
    """Repeat the command until nothing is missing."""

    def evaluate(*judge: str, **options: Any) -> Run:
        for _ in range(30):
            with suppress(BatchPendingError):
                return run(*judge, **options)
        raise AssertionError("it never ends")

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
    with pytest.raises(BatchPendingError, match=r"Submitted batch batch_1 \(.*\): 6 requests\."):
        run(judge)
    assert batch_server.sizes == [6]
    with pytest.raises(BatchPendingError, match="Submitted batch batch_2"):
        run(judge)
    found = run(judge)
    assert scores(found) == right(kit)
    assert batch_server.sizes == [6, 6]
    assert set(batch_server.submitted.values()) == {1}
    assert list(FOLDER.glob("*")) == []
    usage = found.usage()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (12, 1200, 120)
    prices = {OPENAI: (0.15, 0.60), ANTHROPIC: (1.0, 5.0)}[judge]
    assert usage.cost_usd == pytest.approx((1200 * prices[0] + 120 * prices[1]) / 1e6 / 2)
    body = batch_server.batches[0].lines[0][1]
    assert {OPENAI: "response_format", ANTHROPIC: "output_config"}[judge] in body
    assert body["temperature"] == 0.0
    assert "maxItems" not in json.dumps(body), "a refused schema would cost a batch"
    assert run(judge).usage().calls == 0  # replies are cached as always
    assert run(judge, batch_api=False).usage().calls == 0
    assert len(batch_server.batches) == 2


def test_a_batch_in_progress_is_waited_for(run, finish, batch_server, kit, judge):
    batch_server.looks = 3
    with suppress(BatchPendingError):
        run(judge)
    for _ in range(2):
        with pytest.raises(BatchPendingError, match=r"batch_1 \(.*\): submitted"):
            run(judge)
    assert batch_server.sizes == [6]
    assert scores(finish(judge)) == right(kit)
    assert batch_server.sizes == [6, 6]


def test_rows_that_wait_for_nothing_are_finished(run, finish, batch_server, kit, tmp_path):
    finish(OPENAI, rows=3, store="runs.db", cache=True)
    with pytest.raises(BatchPendingError):
        run(OPENAI, rows=6, store="runs.db")
    assert batch_server.sizes == [3, 3, 3]
    assert scores(finish(OPENAI, rows=6, store="runs.db")) == right(kit)
    assert set(batch_server.submitted.values()) == {1}


def test_the_same_question_of_several_rows_is_one_request(run, batch_server, kit, judge):
    row = kit.samples(2)[1]
    data = [row | {"id": str(n)} for n in range(4)]
    options = {"judge": judge, "batch_api": True, "base_url": url_of(judge, batch_server)}
    for _ in range(2):
        with pytest.raises(BatchPendingError):
            ragstone.evaluate(data, metrics="faithfulness", store=None, **options)
    found = ragstone.evaluate(data, metrics="faithfulness", store=None, **options)
    assert set(scores(found).values()) == {kit.right_score(1)}
    assert batch_server.sizes == [1, 1]


@pytest.mark.parametrize("is_usable", [True, False])
def test_a_reply_that_several_rows_read_is_paid_once(finish, batch_server, kit, is_usable):
    data = [kit.samples(2)[1] | {"id": str(n)} for n in range(4)]
    if not is_usable:
        batch_server.answer = lambda _: "Well."
    found = finish(OPENAI, data=data, concurrency=1, max_calls=3)
    assert set(scores(found).values()) == {kit.right_score(1) if is_usable else Cause.MALFORMED}
    assert found.usage().calls == 2
    assert found.stopped is None
    assert batch_server.sizes == [1, 1]


def test_records_of_another_judge_do_not_tell_what_is_paid(run, finish):
    assert finish(OPENAI).usage().calls == 12
    (FOLDER / "0123456789abcdef-1000-t.json").write_text("{}")
    assert run(OPENAI).usage().calls == 0


def test_replies_that_cannot_be_used_are_requested_again_in_a_batch(
    finish, batch_server, kit, judge
):
    answer, first = batch_server.answer, []

    def once_nonsense(body: dict) -> str:
        first.append(body)
        return "Well." if len(first) <= 2 else answer(body)

    batch_server.answer = once_nonsense
    assert scores(finish(judge)) == right(kit)
    assert sum(batch_server.sizes) == 14
    assert set(batch_server.submitted.values()) == {1}


def test_only_requests_without_a_result_are_submitted_again(finish, batch_server, kit, judge):
    fates = {0: EXPIRED, 1: MISSING, 2: 500, 3: None, 4: CANCELED}
    batch_server.fate = lambda batch, line: fates.get(line) if batch == 1 else None
    batch_server.shuffle = True  # and among duplicates and lines that are none
    found = finish(judge)
    assert scores(found) == right(kit)
    assert batch_server.sizes[0] == 6
    assert sum(batch_server.sizes) == 16
    assert found.usage().calls == 16


def test_a_request_is_submitted_three_times_and_then_fails_with_its_cause(
    finish, batch_server, kit, judge
):
    causes = {EXPIRED: Cause.TIMEOUT, MISSING: Cause.UNREACHABLE, 500: Cause.UNREACHABLE}
    for fate, cause in causes.items():
        batch_server.fate = lambda _, line, fate=fate: fate if line == 0 else None
        batch_server.batches.clear()
        found = finish(judge, rows=2, reply_cache=f"{fate}/replies.db")
        assert cause in scores(found).values(), fate
        assert {1.0, 0.8} & set(scores(found).values()), fate
        assert max(batch_server.submitted.values()) == 3, fate
        assert list(Path(f"{fate}/batches").glob("*")) == []


def test_a_parameter_that_the_model_does_not_know_is_left_out(finish, batch_server, kit):
    batch_server.fate = lambda batch, _: 400 if batch == 1 else None
    assert scores(finish(OPENAI)) == right(kit)
    parameters = ["max_completion_tokens" in batch.lines[0][1] for batch in batch_server.batches]
    assert parameters == [False, True, True]


def test_a_whole_batch_may_expire_be_cancelled_or_refused(finish, batch_server, kit):
    batch_server.end = {1: "expired"}.get
    batch_server.fate = lambda batch, line: MISSING if batch == 1 and line > 1 else None
    assert scores(finish(OPENAI, reply_cache="a/replies.db")) == right(kit)
    assert sum(batch_server.sizes) == 6 + 4 + 6

    cases = {"cancelled": Cause.UNREACHABLE, ("invalid", "no such model"): Cause.REJECTED}
    for end, cause in cases.items():  # a person did that, or it would happen again
        batch_server.batches.clear()
        batch_server.end = lambda _, end=end: end
        batch_server.fate = lambda *_: MISSING
        found = finish(OPENAI, reply_cache="b/replies.db")
        assert set(scores(found).values()) == {cause}
        assert batch_server.sizes == [6]
        assert ("no such model" if isinstance(end, tuple) else "cancelled") in reasons(found)


def test_a_batch_that_is_too_large_for_the_account_is_split(finish, batch_server, kit):
    full = ("token_limit_exceeded", "Enqueued token limit reached for the model")
    batch_server.end = lambda batch: (
        full if len(batch_server.batches[batch - 1].lines) > 3 else None
    )
    assert scores(finish(OPENAI)) == right(kit)
    assert batch_server.sizes[:2] == [6, 3]


def test_limits_of_a_batch(finish, batch_server, kit, judge, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.MAX_BYTES", 3500)
    assert scores(finish(judge)) == right(kit)
    sizes = [sum(len(json.dumps(body)) for _, body in each.lines) for each in batch_server.batches]
    assert len(sizes) > 4
    assert max(sizes) < 4500
    batch_server.batches.clear()
    name = {OPENAI: "OpenAIBatches", ANTHROPIC: "AnthropicBatches"}[judge]
    monkeypatch.setattr(f"{MODULE}.MAX_BYTES", 10**6)
    monkeypatch.setattr(f"{MODULE}.{name}.max_requests", 4)
    assert scores(finish(judge, reply_cache="other/replies.db")) == right(kit)
    assert max(batch_server.sizes) == 4
    assert sum(batch_server.sizes) == 12


def test_after_an_error_that_stops_the_run_its_requests_are_submitted_again(
    run, finish, batch_server, kit
):
    batch_server.fate = lambda batch, _: 404 if batch == 1 else None
    with suppress(BatchPendingError):
        run(OPENAI)
    with pytest.raises(UsageError, match=r"returned 404.*\n.*the run stops"):
        run(OPENAI)
    assert scores(finish(OPENAI)) == right(kit)
    assert batch_server.sizes == [6, 6, 6]


def test_after_the_account_was_spent_its_requests_are_submitted_again(
    run, finish, batch_server, kit
):
    batch_server.fate = lambda batch, _: 429 if batch == 1 else None
    with suppress(BatchPendingError):
        run(OPENAI)
    found = run(OPENAI)
    assert set(scores(found).values()) == {Cause.BUDGET}
    assert "insufficient_quota" in (found.stopped or "")
    assert scores(finish(OPENAI)) == right(kit)
    assert batch_server.sizes == [6, 6, 6]


def test_a_reply_that_could_not_be_used_is_not_kept_after_the_evaluation(
    finish, batch_server, kit, judge
):
    answer, batch_server.answer = batch_server.answer, lambda _: "Well."
    assert set(scores(finish(judge, rows=2)).values()) == {Cause.MALFORMED}
    batch_server.answer = answer
    found = finish(judge, rows=2)
    assert scores(found) == right(kit, 2)
    assert found.usage().calls == 4
    assert batch_server.sizes == [2, 2, 2, 2]


def test_an_evaluation_that_finishes_leaves_the_replies_of_another(run, finish, batch_server, kit):
    with suppress(BatchPendingError):
        run(OPENAI)
    finish(OPENAI, data=kit.samples(8)[6:])
    assert scores(finish(OPENAI)) == right(kit)
    assert set(batch_server.submitted.values()) == {1}


def test_failures_while_collecting_only_delay(finish, batch_server, kit, judge):
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
    assert scores(finish(judge, retries=1)) == right(kit)
    assert set(seen.values()) == {2}
    assert batch_server.sizes == [6, 6]


def test_a_batch_whose_reply_is_lost_is_not_submitted_twice(finish, batch_server, kit, judge):
    lost: list[str] = []

    def after(made: int, method: str, path: str) -> web.StreamResponse | str | None:
        if method == "POST" and path.endswith("batches") and len(lost) < 2:
            lost.append(path)
            return "closed" if made == 1 else web.json_response({}, status=500)
        return None

    batch_server.after = after
    assert scores(finish(judge)) == right(kit)
    assert len(lost) == 2
    assert batch_server.sizes == [6, 6]


def test_a_batch_of_somebody_else_is_not_mistaken_for_a_lost_one(
    run, finish, batch_server, kit, judge
):
    other = Served(99, [(f"other-{line}", {"model": "m"}) for line in range(6)], time.time())

    def after(made: int, method: str, path: str) -> str | None:
        if method == "POST" and path.endswith("batches"):  # ours is created, nobody learns of it
            batch_server.batches.insert(0, other)
            batch_server.after = lambda *_: None
            return "closed"
        return None

    batch_server.after = after
    batch_server.answer = lambda body, of=batch_server.answer: (
        of(body) if "messages" in body else ""
    )
    with suppress(UsageError, BatchPendingError):
        run(judge, retries=0)
    assert scores(finish(judge)) == right(kit)
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


def test_votes_are_separate_requests(finish, batch_server, kit, judge):
    found = finish(judge, votes=3, temperature=0.5)
    assert scores(found) == right(kit)
    assert batch_server.sizes == [6] * 4  # claims come from one judge
    assert sorted(batch_server.submitted.values()) == [1] * 6 + [3] * 6


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server have the prices of the providers."""
    monkeypatch.setattr("ragstone.judges.llm.model.price_of", lambda name, _: price_of(name))


def test_the_budget_holds(finish, batch_server, kit, judge):
    found = finish(judge, max_calls=8)
    assert sum(batch_server.sizes) == 8
    assert len(found.rows) == 2
    assert found.partial
    assert "(max_calls)" in (found.stopped or "")


@pytest.mark.usefixtures("listed")
def test_the_cost_of_what_is_in_progress_is_counted(finish, batch_server, kit):
    """A request may cost $0.00027, mostly of tokens that the provider adds; it costs $0.0000105."""
    found = finish(OPENAI, rows=8, max_cost=0.00034, max_tokens=200, max_failure_rate=1)
    assert set(batch_server.sizes) == {1}
    assert 3 < len(batch_server.sizes) < 16
    assert "(max_cost)" in (found.stopped or "")
    again = finish(OPENAI, rows=8, max_tokens=200)
    assert scores(again) == {row: round(kit.right_score(row), 9) for row in range(8)}
    assert set(batch_server.submitted.values()) == {1}


def test_settings_that_contradict_batches_are_refused(run, batch_server, kit):
    cases = {
        ("mistral:small",): "no batch API of mistral:small",
        ("openai:a,mistral:b",): "no batch API of openai:a,mistral:b",
        (OPENAI, ("workers", 2)): "workers cannot help",
        (OPENAI, ("target", lambda query: query)): "judges saved responses",
        (OPENAI, ("cache", False)): "in the reply cache; turn cache on",
        ("offline",): "only for LLM judges",
    }
    for (judge, *options), message in cases.items():
        with pytest.raises(UsageError, match=message):
            run(judge, **dict(options))
    row = {"query": "q", "response": "It is.", "reference": "It is."}
    options = {"metrics": "answer_similarity", "judge": "ollama:m"}  # no LLM is asked
    assert not ragstone.evaluate([row], **options, batch_api=True, on_notice=str).usage().calls


def test_a_process_that_submits_has_the_batches_for_itself(run, batch_server):
    FOLDER.mkdir(parents=True)
    with lock_file(FOLDER / "lock", timeout=1.0), pytest.raises(UsageError, match="has locked"):
        run(OPENAI)
    assert batch_server.sizes == []


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


def test_damaged_and_old_records_are_ignored(run, finish, batch_server, kit):
    with suppress(BatchPendingError):
        run(OPENAI, rows=1)
    (record,) = FOLDER.glob("*.json")
    key = record.name.partition("-")[0]
    old = {"judge": OPENAI, "token": "t", "at": time.time() - 30 * 86_400, "requests": []}
    (FOLDER / f"{key}-1-t.json").write_text(json.dumps(old))
    (FOLDER / f"{key}-2-t.json").write_text("{")
    assert scores(finish(OPENAI)) == right(kit)
    assert not (FOLDER / f"{key}-1-t.json").exists()
    assert set(batch_server.submitted.values()) == {1}


STEPS = {
    "before the record": f"{MODULE}.Record.save",
    "before the batch": "*.create",
    "after the batch": "*.create",
    "before the results": "*.results",
    "before the reply cache": "ragstone.judges.cache.ReplyCache.store",
    "after the results": f"{MODULE}.BatchQueue._store_results",
    "before the records are deleted": f"{MODULE}.BatchQueue.forget",
}


@pytest.mark.parametrize("step", STEPS)
def test_nothing_is_paid_twice_whatever_step_is_the_last(
    step, run, finish, batch_server, kit, judge, monkeypatch
):
    """A process is killed at its first, second ... pass through the step, and started again."""
    name = {OPENAI: "OpenAIBatches", ANTHROPIC: "AnthropicBatches"}[judge]
    path = STEPS[step].replace("*", f"{MODULE}.{name}")
    owner, _, function = path.rpartition(".")
    module, _, kind = owner.rpartition(".")
    original = getattr(getattr(import_module(module), kind), function)

    class KilledError(BaseException):
        """The process has ended here."""

    def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left:
            return original(*arguments, **options)

        async def ended() -> None:
            if step.startswith("after"):
                await original(*arguments, **options)
            raise KilledError

        if iscoroutinefunction(original):
            return ended()
        raise KilledError

    for passes in (1, 2, 3):
        left = passes
        with monkeypatch.context() as patch:
            patch.setattr(path, killed)
            for _ in range(6):
                with suppress(BatchPendingError, KilledError):
                    run(judge)
                if left <= 0:
                    break
    assert scores(finish(judge)) == right(kit)
    assert set(batch_server.submitted.values()) == {1}
    assert batch_server.sizes == [6, 6]
    assert list(FOLDER.glob("*")) == []


def test_after_kill_9_nothing_is_submitted_twice(batch_server, kit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("\n".join(map(json.dumps, kit.samples(20))))
    options = ["--batch-api", "--rows", "rows.jsonl", "--no-export"]
    command = ["run", "a.jsonl", "-m", "faithfulness", "--judge", OPENAI, *options]

    def start() -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-m", "ragstone", *command]
        return subprocess.Popen(
            arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def kill(made: int, method: str, path: str) -> None:  # created, but nobody learns of it
        if method == "POST" and path.endswith("batches") and not made:
            process.kill()

    monkeypatch.setenv("OPENAI_BASE_URL", batch_server.url)
    batch_server.after = kill
    process = start()
    process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL
    assert batch_server.sizes == [20]
    process = start()
    out, message = process.communicate(timeout=100)
    assert process.returncode == 0, message
    assert "Submitted batch batch_2 (openai:gpt-4o-mini): 20 requests." in out
    assert not Path("rows.jsonl").exists()
    process = start()
    _, message = process.communicate(timeout=100)
    assert process.returncode == 0, message
    assert batch_server.sizes == [20, 20]
    assert set(batch_server.submitted.values()) == {1}
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    values = {row["id"]: row["scores"]["faithfulness"]["value"] for row in rows}
    assert values == pytest.approx({str(row): kit.right_score(row) for row in range(20)})
    assert list(FOLDER.glob("*")) == []
