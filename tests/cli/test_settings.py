"""Where a setting may be said: option, environment, config file, preset, default."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.cases import each_case

from ragstone.cli.commands.run import command
from ragstone.cli.options import SettingOption
from ragstone.cli.parse import Given, config_of, plan_of
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import KEYS, OTHER_KEYS
from ragstone.types.config import DEFAULT_API, NUMBERS_OR_NONE, Plan

Command = Callable[..., object]
Planned = Callable[..., Plan]


def read(*arguments: str) -> click.Context:
    return command.make_context("run", list(arguments), help_option_names=["-h", "--help"])


OPTIONS = {option.name: option for option in command.params if isinstance(option, click.Option)}
SETTINGS = {name: option for name, option in OPTIONS.items() if isinstance(option, SettingOption)}


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planned:
    """Read arguments as `ragstone run` does, in an empty folder, and return their plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_JUDGE", raising=False)

    def planned(*arguments: str) -> Plan:
        given: Given = read(*arguments).params  # type: ignore[assignment]
        return plan_of(given, config_of(given))

    return planned


def test_all_of_a_plan_is_an_option_and_a_key() -> None:
    gates, asked_by_default = "gates", "fallback_target"
    said = Plan.model_fields.keys() - {gates, asked_by_default}
    assert SETTINGS.keys() >= said
    assert {OTHER_KEYS.get(key, key) for key in KEYS} >= said
    for flag in ("fail_under", "fail_over", "preset", "plugin", "model", "api_url"):
        assert flag in OPTIONS.keys() & set(KEYS)


def test_what_is_not_said_has_no_value(planned: Planned) -> None:
    values = read().params
    assert {values[name] for name in SETTINGS} == {None, ()}
    assert planned() == Plan(fallback_target=DEFAULT_API)


@each_case(
    ("name", "shown"),
    [
        ("k", "--k 1,3,5,10, score each metric at each one.  [default: 5]"),
        ("concurrency", "default: 8; 1<=x<=1000"),
        ("min_similarity", "default: 0]"),
        ("timeout", "default: 60; x>0"),
        ("temperature", "default: 0; 0<=x<=2"),
        ("metrics", "default: all]"),
        ("max_failure_rate", "default: 10%]"),
        ("cache", "default: cache]"),
        ("allow_partial", "default: no-allow-partial]"),
        ("policy", "default: strict]"),
    ],
)
def test_help_shows_the_defaults_of_the_plan(name: str, shown: str) -> None:
    record = SETTINGS[name].get_help_record(read())
    assert record is not None
    assert shown in record[1]


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ("--model gpt-4o-mini", "judge", "openai:gpt-4o-mini"),
        ("--model anthropic:claude", "judge", "anthropic:claude"),
        ("--judge openai:a,openai:b", "judge", "openai:a,openai:b"),
        ("--base-url http://x/v1", "base_url", "http://x/v1"),
        ("--embedding-model small", "embedding_model", "openai:small"),
        ("--temperature none", "temperature", None),
        ("--temperature 0.7", "temperature", 0.7),
        ("--k 3", "k", 3),
        ("-k 1,3,5", "k", (1, 3, 5)),
        ("--limit none", "limit", None),
        ("--max-tokens 100", "max_tokens", 100),
        ("--context-window 8000", "context_window", 8000),
        ("--votes 3", "votes", 3),
        ("--no-cache", "cache", False),
        ("--cache", "cache", True),
        ("--strict-json", "strict_json", True),
        ("--include-reason", "include_reason", True),
        ("--no-include-reason", "include_reason", False),
        ("--allow-partial", "allow_partial", True),
        ("--verify truths", "verify", "truths"),
        ("--claim-source hybrid", "claim_source", "hybrid"),
        ("--batch-size 5", "batch_size", 5),
        ("--truths-limit 9", "truths_limit", 9),
        ("--max-retries 0", "retries", 0),
        ("--rpm 60", "rpm", 60.0),
        ("--tpm 1e5", "tpm", 1e5),
        ("--max-calls 0", "max_calls", 0),
        ("--max-cost 0.5", "max_cost", 0.5),
        ("--prompt verify_claims=my.md", "prompts", {"verify_claims": "my.md"}),
        ("--max-failure-rate 5%", "max_failure_rate", 0.05),
        ("--preset ragaliq", "verify", "each"),
        ("--api-url http://x", "target", "http://x"),
    ],
)
def test_an_option_is_a_field(planned: Planned, arguments: str, field: str, value: object) -> None:
    typed = arguments.split()
    judge = [] if {"--judge", "--model"} & set(typed) else ["--judge", "openai:m"]
    assert getattr(planned(*typed, *judge), field) == value


@pytest.mark.parametrize("typed", ["0", "1,0", "x", "none", "1;3", "", "1_0"])
def test_a_cut_off_is_a_whole_number_from_1(planned: Planned, typed: str) -> None:
    with pytest.raises(UsageError, match=r"^k: write a whole number from 1, or several"):
        planned("--k", typed)


def test_an_option_goes_before_the_environment_and_that_before_the_file(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planned("--preset", "deepeval").policy == "deepeval"
    Path("ragstone.yaml").write_text("judge: openai:file\npolicy: ragas\ntarget: http://t\n")
    plan = planned("--preset", "deepeval")
    assert (plan.judge, plan.policy, plan.verify) == ("openai:file", "deepeval", "truths")
    assert (plan.target, plan.fallback_target) == ("http://t", None)
    monkeypatch.setenv("RAGSTONE_JUDGE", "openai:environment")
    assert planned().judge == "openai:environment"
    plan = planned("--model", "option", "--policy", "strict", "--preset", "deepeval")
    assert (plan.judge, plan.policy) == ("openai:option", "strict")


def test_a_key_alone_changes_nothing(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("RAGSTONE_JUDGE", " ")
    assert planned().judge == "offline"


@pytest.mark.parametrize(
    "typed",
    [
        "--votes 3",
        "--base-url http://127.0.0.1:1/v1",
        "--temperature none",
        "--prompt explain=x.md",
    ],
)
def test_what_is_typed_for_an_llm_wants_one(planned: Planned, typed: str) -> None:
    flag = typed.split()[0]
    with pytest.raises(UsageError, match=f"{flag}: for an LLM, and the judge is offline"):
        planned(*typed.split())
    assert planned(*typed.split(), "--model", "gpt-4o-mini").judge == "openai:gpt-4o-mini"
    Path("ragstone.yaml").write_text("votes: 3\nbase_url: http://127.0.0.1:1/v1\n")
    assert planned("--judge", "offline").votes == 3, "a file may hold more than is used today"


def test_none_overrides_the_file(planned: Planned) -> None:
    numbers = {"temperature": 1, "max_cost": 2, "limit": 3, "rpm": 4}
    Path("ragstone.yaml").write_text(json.dumps(numbers), encoding="utf-8")
    assert planned().max_cost == 2
    typed = "--model m --temperature none --max-cost None --limit none --rpm none"
    plan = planned(*typed.split())
    assert {getattr(plan, name) for name in numbers} == {None}
    assert numbers.keys() <= NUMBERS_OR_NONE


DATA = '{"query": "q", "response": "It weighs 5 g.", "contexts": ["It weighs 5 g."]}\n'


def test_a_file_in_the_folder_is_used_and_told(ragstone: Command, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(DATA, encoding="utf-8")
    (tmp_path / "plugin.py").write_text("print('imported')\n", encoding="utf-8")
    (tmp_path / "ragstone.yaml").write_text(
        "data: d.jsonl\nmetrics: faithfulness\nfail_under: {faithfulness: 50%}\nplugin: plugin.py\n"
        "judge: offline\n",
        encoding="utf-8",
    )
    said = ragstone("--json", "-", "--no-export")
    assert said.code == 0, said.err
    assert said.err.splitlines()[:2] == [
        "Settings from ragstone.yaml. It names: plugin.py.",
        "imported",
    ]
    summary = json.loads(said.out)
    assert list(summary["metrics"]) == ["faithfulness"]
    assert summary["gates"][0]["threshold"] == 0.5
    assert ragstone("--json", "ragstone.yaml").code == 2
    (tmp_path / "other.yaml").write_text("k: none\nkk: 1\n", encoding="utf-8")
    said = ragstone("--config", "other.yaml")
    assert said.code == 2
    assert said.err.startswith("Error: other.yaml: 2 problems\n  row 1: k 'none'")
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    said = ragstone("d.jsonl", "--config", "empty.yaml", "-m", "faithfulness", "--no-export")
    assert said.code == 0
    assert "Settings from" not in said.err


def test_a_dry_run_asks_and_writes_nothing(
    ragstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    (tmp_path / "d.jsonl").write_text(DATA, encoding="utf-8")
    said = ragstone("d.jsonl", "-m", "faithfulness", "--model", "gpt-4o-mini", "--dry-run")
    assert said.code == 0, said.err
    lines = [line.split() for line in said.out.splitlines()]
    assert ["rows", "1"] in lines
    assert ["calls", "2"] in lines
    assert "$0.0" in said.out
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]
