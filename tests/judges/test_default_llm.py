"""A metric requested by name that offline cannot answer uses an LLM if its key is set."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from tests.cases import each_case

import ragstone
from ragstone.__main__ import main
from ragstone.errors import UsageError
from ragstone.types.config import Plan

NAME, OFFLINE, LLM = "response_relevancy", "offline", "openai:gpt-4o-mini"
TEXTS = [f"It weighs {number} grams." for number in (180, 190)]
ROWS = [{"query": "How heavy is it?", "response": text, "contexts": [text]} for text in TEXTS]
REASON = (
    "The judge is openai:gpt-4o-mini, because the offline judge cannot score response_relevancy "
    "and OPENAI_API_KEY is set"
)


@pytest.fixture(autouse=True)
def server(judge_server: Any, kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set a key, and write queries on the server that its variable names."""

    async def answer(asked: Any, request: web.Request) -> dict[str, object]:
        queries = {str(n): "How heavy is it?" for n in (1, 2, 3)}
        return kit.chat({"queries": queries, "commits": True})

    judge_server.fault = answer
    judge_server.on = lambda asked: asked.fence("contexts") is None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", judge_server.url)
    monkeypatch.delenv("RAGSTONE_JUDGE", raising=False)
    Path("a.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return judge_server


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return what the command line left: its exit code and what it wrote."""

    def call(*arguments: str) -> Any:
        monkeypatch.setattr("sys.argv", ["ragstone", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        wrote = capsys.readouterr()
        return SimpleNamespace(code=left.value.code, out=wrote.out, err=wrote.err)

    return call


def test_the_seeds_own_line_for_response_relevancy_runs(server: Any, run: Any) -> None:
    done = run("a.jsonl", "--metric", NAME, "--k", "5", "--no-export", "--json", "-")
    assert done.code == 0
    summary = json.loads(done.out)
    assert summary["judge"].startswith(LLM)
    assert summary["options"]["judge"] == LLM
    assert summary["metrics"][NAME]["mean"] == pytest.approx(1.0)
    assert len(server.asked) == 2
    assert {asked.body["model"] for asked in server.asked} == {"gpt-4o-mini"}


def test_the_judge_and_the_cost_are_announced_in_one_line_before_the_first_call(server, run):
    calls: list[int] = []
    ragstone.evaluate(ROWS, metrics=NAME, on_notice=lambda _: calls.append(len(server.asked)))
    assert calls == [0, 0], "how the data was read, and the judge"
    with pytest.warns(UserWarning, match="The judge is openai:gpt-4o-mini, because the offline"):
        found = ragstone.evaluate(ROWS, metrics=["faithfulness", NAME])
    assert found.manifest.plan.judge == LLM
    Path("ragstone.yaml").write_text(f"metrics: [{NAME}]\ndata: a.jsonl\n", encoding="utf-8")
    done = run("run", "--set", "temperature=0.5", "--no-export", "--no-store", "--no-cache")
    assert done.code == 0
    (line,) = [line for line in done.err.splitlines() if line.startswith("The judge is")]
    assert line == f"{REASON}: 2 calls, price unknown. To avoid this, use judge=offline."


@each_case("typed", [("--judge", OFFLINE), ("--config", "offline.yaml"), ()])
def test_offline_prevents_it(server, run, monkeypatch, typed) -> None:
    Path("offline.yaml").write_text("judge: offline\n", encoding="utf-8")
    if not typed:
        monkeypatch.setenv("RAGSTONE_JUDGE", OFFLINE)
    done = run("a.jsonl", "-m", NAME, *typed)
    assert done.code == 2
    assert "the judge offline does not support generate_queries" in done.err
    assert "OPENAI_API_KEY" not in done.err
    for said in ({"judge": OFFLINE}, {"plan": Plan(metrics=(NAME,), judge=OFFLINE)}):
        with pytest.raises(UsageError):
            ragstone.evaluate(ROWS, **({"metrics": NAME} if "judge" in said else {}), **said)
    assert not server.asked


@each_case("group", ["all", "all_generation", "ALL_judged", "faithfulness"])
def test_a_group_never_does_it(server: Any, run: Any, group: str) -> None:
    done = run("a.jsonl", "-m", group, "--no-export", "--no-store", "--json", "-")
    assert done.code == 0
    assert (NAME in json.loads(done.out)["not_run"]) is (group != "faithfulness")
    assert "The judge is" not in done.err
    assert not server.asked


def test_without_a_key_the_error_explains(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    done = run("a.jsonl", "-m", NAME)
    assert done.code == 2
    assert done.err.endswith(
        "\nError: cannot run response_relevancy: the judge offline does not support "
        "generate_queries; use an LLM as judge. To use openai:gpt-4o-mini, set "
        "OPENAI_API_KEY\n"
    )


def test_a_resumed_run_keeps_its_judge(server: Any, run: Any, monkeypatch: pytest.MonkeyPatch):
    first = ("a.jsonl", "-m", NAME, "--no-export", "--max-calls", "1", "--concurrency", "1")
    done = run(*first)
    assert done.code == 3
    assert f"{REASON}: 2 calls" in done.err
    monkeypatch.setenv("OPENAI_API_KEY", "")  # the rule would now choose offline
    assert run("resume", "--no-export").code == 0
    assert len(server.asked) == 2
