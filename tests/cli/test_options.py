"""Where a setting may be said: option, environment, config file, preset, default."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cases import each_case

from ragstone.cli.commands.run import command
from ragstone.cli.options import SettingOption, config_of, plan_of
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import KEYS, OTHER_KEYS
from ragstone.types import config
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
        given = read(*arguments).params
        return plan_of(given, config_of(given["config"]))

    return planned


def test_all_of_a_plan_is_an_option_and_a_key() -> None:
    gates, asked_by_default = "gates", "fallback_target"
    said = Plan.model_fields.keys() - {gates, asked_by_default}
    assert {OTHER_KEYS.get(key, key) for key in KEYS} >= said
    has_option = {name for name in said if config.SETTINGS[name].option}
    assert SETTINGS.keys() >= has_option
    assert not OPTIONS.keys() & (said - has_option)
    for flag in ("fail_under", "fail_over", "preset", "plugin", "model", "api_url"):
        assert flag in OPTIONS.keys() & set(KEYS)


def test_what_is_not_said_has_no_value(planned: Planned) -> None:
    values = read().params
    assert {values[name] for name in SETTINGS} == {None, ()}
    assert planned() == Plan(fallback_target=DEFAULT_API)


@each_case(
    ("name", "shown"),
    [
        ("k", "--k 1,3,5,10, each metric is computed at each of them.  [default: 5]"),
        ("concurrency", "default: 8; 1<=x<=1000"),
        ("min_similarity", "default: 0]"),
        ("timeout", "default: 60; x>0"),
        ("metrics", "default: all]"),
        ("max_failure_rate", "default: 10%]"),
        ("cache", "default: cache]"),
        ("fail_fast", "default: no-fail-fast]"),
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
        ("--set temperature=none", "temperature", None),
        ("--set temperature=0.7", "temperature", 0.7),
        ("--k 3", "k", 3),
        ("-k 1,3,5", "k", (1, 3, 5)),
        ("--limit none", "limit", None),
        ("--set max_tokens=100", "max_tokens", 100),
        ("--set context_window=8000", "context_window", 8000),
        ("--set votes=3", "votes", 3),
        ("--no-cache", "cache", False),
        ("--cache", "cache", True),
        ("--set strict_json=true", "strict_json", True),
        ("--set include_reason=true", "include_reason", True),
        ("--set include_reason=false", "include_reason", False),
        ("--set allow_partial=true", "allow_partial", True),
        ("--verify truths", "verify", "truths"),
        ("--set claim_source=hybrid", "claim_source", "hybrid"),
        ("--set batch_size=5", "batch_size", 5),
        ("--set truths_limit=9", "truths_limit", 9),
        ("--max-retries 0", "retries", 0),
        ("--set rpm=60", "rpm", 60.0),
        ("--set tpm=1e5", "tpm", 1e5),
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
    with pytest.raises(click.BadParameter, match=r"^write a whole number of at least 1"):
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
    ("typed", "name"),
    [
        ("--set votes=3", "votes"),
        ("--base-url http://127.0.0.1:1/v1", "base_url"),
        ("--set temperature=none", "temperature"),
        ("--prompt explain=x.md", "prompts"),
    ],
)
def test_what_is_typed_for_an_llm_wants_one(planned: Planned, typed: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: only for LLM judges, but the judge is offline"):
        planned(*typed.split())
    assert planned(*typed.split(), "--model", "gpt-4o-mini").judge == "openai:gpt-4o-mini"
    Path("ragstone.yaml").write_text("votes: 3\nbase_url: http://127.0.0.1:1/v1\n")
    assert planned("--judge", "offline").votes == 3, "a file may hold more than is used today"


def test_none_overrides_the_file(planned: Planned) -> None:
    numbers = {"temperature": 1, "max_cost": 2, "limit": 3, "rpm": 4}
    Path("ragstone.yaml").write_text(json.dumps(numbers), encoding="utf-8")
    assert planned().max_cost == 2
    typed = "--model m --set temperature=none --max-cost None --limit none --set rpm=none"
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
        "Settings from ragstone.yaml.",
        "imported",
    ]
    summary = json.loads(said.out)
    assert list(summary["metrics"]) == ["faithfulness"]
    assert summary["gates"][0]["threshold"] == 0.5
    assert ragstone("--json", "ragstone.yaml").code == 2
    (tmp_path / "named.yaml").write_text("delay: 1\n")
    assert ragstone("d.jsonl", "--config", "named.yaml", "--no-export").err.startswith(
        "Settings from named.yaml.\n"
    )
    (tmp_path / "other.yaml").write_text("k: none\nkk: 1\n", encoding="utf-8")
    said = ragstone("--config", "other.yaml")
    assert said.code == 2
    assert said.err.startswith("Error: other.yaml: 2 problems\n  line 1: k 'none'")
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    said = ragstone("d.jsonl", "--config", "empty.yaml", "-m", "faithfulness", "--no-export")
    assert said.code == 0
    assert said.err.startswith("Settings from empty.yaml.\n")


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


# Where runs are kept: --store, RAGSTONE_STORE, `store` in ragstone.yaml, the usual place.


USUAL = ".ragstone/ragstone.db"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    (tmp_path / "rows.csv").write_text(
        "query,response,contexts\nQ?,It is red.,It is red.\n", encoding="utf-8"
    )
    return "rows.csv"


@pytest.fixture
def run(ragstone: Command, rows: str) -> Command:
    def run(*options: str) -> object:
        return ragstone("run", rows, "-m", "faithfulness", "--no-export", *options)

    return run


def config_file(folder: Path, text: str, name: str = "ragstone.yaml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def stores(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.db")}
    return found - {".ragstone/replies.db"}


def test_the_file_in_the_folder_says_it_to_every_command(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    config_file(tmp_path, "store: kept/runs.db\n")
    assert run().code == 0
    assert stores(tmp_path) == {"kept/runs.db"}
    listed = ragstone("runs")
    assert listed.code == 0
    assert "rows.csv" in listed.out
    assert ragstone("runs", "show", "last").code == 0
    assert stores(tmp_path) == {"kept/runs.db"}


def test_the_environment_goes_before_the_file_and_the_option_before_both(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file(tmp_path, "store: file.db\n")
    monkeypatch.setenv("RAGSTONE_STORE", "environment.db")
    assert run().code == 0
    assert stores(tmp_path) == {"environment.db"}
    assert run("--store", "option.db").code == 0
    assert stores(tmp_path) == {"environment.db", "option.db"}


def test_another_file_is_all_that_counts(run: Command, tmp_path: Path) -> None:
    config_file(tmp_path, "store: [no, place]\n")
    config_file(tmp_path, "store: other.db\n", "other.yaml")
    config_file(tmp_path, "", "empty.yaml")
    assert run("--config", "other.yaml").code == 0
    assert stores(tmp_path) == {"other.db"}
    assert run("--config", "empty.yaml").code == 0
    assert stores(tmp_path) == {"other.db", USUAL}


def test_other_commands_mind_nothing_else_of_the_file(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    config_file(tmp_path, "store: ${PLACE_THAT_IS_NOT_SET}\n")
    said = ragstone("runs")
    assert said.code == 2
    assert "line 1" in said.err
    assert "PLACE_THAT_IS_NOT_SET" in said.err
    config_file(tmp_path, "target: ${PLACE_THAT_IS_NOT_SET}\nstore: a.db\n")
    config_file(tmp_path, "", "empty.yaml")
    assert run("--config", "empty.yaml", "--store", "a.db").code == 0
    assert ragstone("runs").code == 0


def test_nothing_is_kept_and_somewhere_is_a_contradiction(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    said = run("--no-store", "--store", "postgresql://me:secret@host/name")
    assert said.code == 2
    assert "--no-store stores nothing; remove it, or --store postgresql://me@host/name" in said.err
    demo = ragstone("demo", "--limit", "1", "--no-store", "--store", "a.db", "--no-export")
    assert demo.code == 2
    assert stores(tmp_path) == set()


ASKED = {
    "run": ("run", "rows.csv", "-m", "faithfulness", "--no-export"),
    "rank": ("rank", "--qrels", "qrels", "--ranking", "a.run"),
    "demo": ("demo", "--limit", "1", "--no-export"),
    "resume": ("resume", "last", "--no-export"),
    "report": ("runs", "show", "last"),
}


@pytest.fixture
def ranking(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 a 1 1 x\n")


@pytest.mark.parametrize("how", ["usual", "option", "environment", "file"])
@pytest.mark.parametrize("command", ["run", "rank", "demo", "resume"])
@pytest.mark.usefixtures("ranking")
def test_no_output_takes_the_place_of_the_store(
    how: str,
    command: str,
    ragstone: Command,
    run: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = USUAL if how == "usual" else "mine.db"
    if how == "environment":
        monkeypatch.setenv("RAGSTONE_STORE", place)
    elif how == "file":
        config_file(tmp_path, f"store: {place}\n")
    typed = ["--store", place] if how == "option" else []
    assert run(*typed).code == 0
    before = (tmp_path / place).read_bytes()
    said = ragstone(*ASKED[command], *typed, "--json", place)
    assert said.code == 2
    assert f"{place} is an input file, so it cannot be written" in said.err
    assert (tmp_path / place).read_bytes() == before


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("command", ["run", "report"])
def test_no_output_takes_the_place_of_what_stands_beside_the_store(
    ending: str, command: str, ragstone: Command, run: Command
) -> None:
    assert run().code == 0
    said = ragstone(*ASKED[command], "--json", USUAL + ending)
    assert said.code == 2
    assert f"{USUAL}{ending} is an input file, so it cannot be written" in said.err


@pytest.mark.parametrize(
    ("command", "more"),
    [("run", ["--no-store"]), ("rank", ["--store"]), ("rank", ["--baseline", "last"])],
)
@pytest.mark.usefixtures("ranking")
def test_whatever_the_store_is_used_for_it_stays(
    command: str, more: list[str], ragstone: Command, run: Command, tmp_path: Path
) -> None:
    assert run().code == 0
    before = (tmp_path / USUAL).read_bytes()
    assert ragstone(*ASKED[command], *more, "--json", USUAL).code == 2
    assert (tmp_path / USUAL).read_bytes() == before


@pytest.mark.usefixtures("ranking")
def test_the_place_of_a_store_that_is_to_be_made_is_taken(
    ragstone: Command, tmp_path: Path
) -> None:
    assert ragstone(*ASKED["rank"], "--store", "--json", USUAL).code == 2
    assert stores(tmp_path) == set()


def test_no_store_overrules_what_is_said_for_good(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file(tmp_path, "store: file.db\n")
    assert run("--no-store").code == 0
    monkeypatch.setenv("RAGSTONE_STORE", "environment.db")
    assert run("--no-store").code == 0
    assert stores(tmp_path) == set()


def test_a_place_with_a_password_is_told_without_it(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG", "postgresql://me:secret@127.0.0.1:9/runs")
    config_file(tmp_path, "store: ${PG}\n")
    said = run()
    assert said.code == 2
    assert "Is the server running" in said.err
    assert "secret" not in said.err + said.out


CommandOfRunPlugins = Callable[..., Any]
POLITENESS = str(Path(__file__).parents[2] / "examples" / "politeness.yaml")


@pytest.fixture
def rows_of_run_plugins(ragstone: CommandOfRunPlugins) -> str:
    row = {"query": "How long?", "response": "20 hours.", "relevance": ["a"], "contexts": []}
    Path("rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return "rows.jsonl"


def test_a_rubric_needs_an_llm_and_says_so_before_the_run(
    ragstone: CommandOfRunPlugins, rows_of_run_plugins: str
) -> None:
    said = ragstone(
        "run", rows_of_run_plugins, "--plugin", POLITENESS, "-m", "politeness", "--no-export"
    )
    assert said.code == 2
    assert "politeness: the judge offline does not support rate_response; use an LLM" in said.err


def test_a_rubric_among_a_group_is_told_as_not_run(
    ragstone: CommandOfRunPlugins, rows_of_run_plugins: str
) -> None:
    said = ragstone(
        "run",
        rows_of_run_plugins,
        "--plugin",
        POLITENESS,
        "-m",
        "all",
        "--json",
        "-",
        "--no-export",
    )
    assert said.code == 0, said.err
    assert "rate_response" in json.loads(said.out)["not_run"]["politeness"]


def test_what_is_wrong_with_a_rubric_is_told_whole(
    ragstone: CommandOfRunPlugins, rows_of_run_plugins: str
) -> None:
    Path("mine.yaml").write_text("name: Mine\nlevels: {1: a}\n", encoding="utf-8")
    said = ragstone("run", rows_of_run_plugins, "--plugin", "mine.yaml", "-m", "hit")
    assert said.code == 2
    for told in (
        "mine.yaml: 3 problems",
        "criteria is missing",
        "invalid metric name",
        "two levels",
    ):
        assert told in said.err


def test_options_without_an_effect_are_reported(ragstone, tmp_path: Path) -> None:
    row = {"query": "q", "ranking": ["a"], "relevance": ["a"]}
    (tmp_path / "data.jsonl").write_text(json.dumps(row))
    run = ("run", "data.jsonl", "-m", "hit", "--no-export")
    told = ragstone(*run, "-t", "0.8", "--delay", "7", "--policy", "ragas", "--concurrency", "3")
    assert told.code == 0
    advice = "for a pass mark, use fail_under (--fail-under)"
    effect = "min_similarity has no effect: no RAG system is called"
    assert told.err.endswith(f"\n{effect}; {advice}\n")
    assert "max_calls has no effect" in ragstone(*run, "--max-calls", "5", "--dry-run").err
    assert "no effect" not in ragstone(*run, "--concurrency", "8", "-t", "0").err, "the defaults"
    (tmp_path / "ragstone.yaml").write_text("min_similarity: 0.8\npolicy: ragas\njudge: openai:x\n")
    assert "no effect" not in ragstone(*run).err, "commands share a config file"


def test_set_is_for_settings_without_an_option(planned: Planned) -> None:
    assert planned("--model", "m", "--set", "temperature=0.7").temperature == 0.7
    with pytest.raises(UsageError, match="--set max_cost: use its own option, --max-cost"):
        planned("--model", "m", "--set", "max_cost=1")
    with pytest.raises(UsageError, match="there is no setting named 'temprature'"):
        planned("--model", "m", "--set", "temprature=1")


def test_f11_no_export_and_a_workbook_contradict(ragstone) -> None:
    told = ragstone("run", "x.jsonl", "--no-export", "-o", "x.xlsx")
    assert told.code == 2
    assert "--no-export writes no workbook; remove it, or --output" in told.err


def test_f11_commands_of_rag_evaluation_are_read_as_ours(ragstone, questions: Path) -> None:
    row = {"query": "q", "ranking": ["a"], "relevance": ["a"]}
    questions.with_name("saved.jsonl").write_text(json.dumps(row), encoding="utf-8")
    words = ("-m", "hit", "--no-export", "--no-store")
    assert ragstone("eval", "--from-chat-responses", "saved.jsonl", *words).code == 0
    for option in (["--test-data", "gone.jsonl"], ["--test-data=gone.jsonl"]):
        told = ragstone("collect", *option, "-o", "out.jsonl")
        assert "there is no file gone.jsonl" in told.err, option


def test_f6_a_number_that_compares_spelling_is_marked(ragstone, questions: Path) -> None:
    row = {"query": "q", "response": "It is red.", "reference": "It is red."}
    questions.write_text(json.dumps(row), encoding="utf-8")
    told = ragstone("run", questions.name, "-m", "answer_similarity", "--no-export")
    assert "compares spelling, not meaning" in told.out
