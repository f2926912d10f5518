"""Where a setting may be said: option, environment, config file, preset, default."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.cli.commands.run import command
from ragstone.cli.options import config_of, plan_of
from ragstone.errors import UsageError
from ragstone.types.config import Plan

Planned = Callable[..., Plan]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planned:
    """Read arguments as `ragstone run` does, in an empty folder, and return their plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_JUDGE", raising=False)

    def planned(*arguments: str) -> Plan:
        helps = ["-h", "--help"]  # click keeps those of the first context
        given = command.make_context("run", list(arguments), help_option_names=helps).params
        return plan_of(given, config_of(given["config"]))

    return planned


@each_case(
    ("arguments", "field", "value"),
    [
        ("--model gpt-4o-mini", "judge", "openai:gpt-4o-mini"),
        ("--embedding-model small", "embedding_model", "openai:small"),
        ("--set temperature=none", "temperature", None),
        ("-k 1,3,5", "k", (1, 3, 5)),
        ("--limit none", "limit", None),
        ("--set include_reason=true", "include_reason", True),
        ("--prompt verify_claims=my.md", "prompts", {"verify_claims": "my.md"}),
        ("--preset ragaliq", "verify", "each"),
    ],
)
def test_an_option_is_a_field(planned: Planned, arguments: str, field: str, value: object) -> None:
    typed = arguments.split()
    judge = [] if {"--judge", "--model"} & set(typed) else ["--judge", "openai:m"]
    assert getattr(planned(*typed, *judge), field) == value


def test_an_option_goes_before_the_environment_and_that_before_the_file(planned, monkeypatch):
    assert planned("--preset", "deepeval").policy == "deepeval"
    Path("ragstone.yaml").write_text("judge: openai:file\npolicy: ragas\ntarget: http://t\n")
    plan = planned("--preset", "deepeval")
    assert (plan.judge, plan.policy, plan.verify) == ("openai:file", "deepeval", "truths")
    monkeypatch.setenv("RAGSTONE_JUDGE", "openai:environment")
    assert planned().judge == "openai:environment"
    plan = planned("--model", "option", "--policy", "strict", "--preset", "deepeval")
    assert (plan.judge, plan.policy) == ("openai:option", "strict")


DATA = '{"query": "q", "response": "It weighs 5 g.", "contexts": ["It weighs 5 g."]}\n'


def test_a_file_in_the_folder_is_used_and_told(ragstone: Command) -> None:
    config_file(DATA, "d.jsonl")
    config_file("print('imported')\n", "plugin.py")
    settings = "data: d.jsonl\nmetrics: faithfulness\nfail_under: {faithfulness: 50%}\n"
    config_file(settings + "plugin: plugin.py\njudge: offline\n")
    config_file("k: none\nkk: 1\n", "other.yaml")
    said = ragstone("--json", "-", "--no-export")
    assert said.code == 0, said.err
    assert said.err.splitlines()[:2] == ["Settings from ragstone.yaml.", "imported"]
    summary = json.loads(said.out)
    assert summary["gates"][0]["threshold"] == 0.5
    assert ragstone("--json", "ragstone.yaml").code == 2
    said = ragstone("--config", "other.yaml")
    assert said.refuses("Error: other.yaml: 2 problems\n  line 1: k 'none'")


# Where runs are kept: --store, RAGSTONE_STORE, `store` in ragstone.yaml, the usual place.


USUAL = ".ragstone/ragstone.db"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    text = "query,response,contexts\nQ?,It is red.,It is red.\n"
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    return "rows.csv"


@pytest.fixture
def run(ragstone: Command, rows: str) -> Command:
    def run(*options: str) -> object:
        return ragstone("run", rows, "-m", "faithfulness", "--no-export", *options)

    return run


def config_file(text: str, name: str = "ragstone.yaml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def stores() -> set[str]:
    found = {path.as_posix() for path in Path().rglob("*.db")}
    return found - {".ragstone/replies.db"}


def test_options_go_before_the_environment_and_that_before_the_file(
    ragstone, run, monkeypatch
) -> None:
    config_file("store: [no, place]\n")
    config_file("", "empty.yaml")
    assert run("--config", "empty.yaml").code == 0
    assert stores() == {USUAL}, "another file is all that counts"
    config_file("store: kept/file.db\n")
    assert run().code == 0
    assert "rows.csv" in ragstone("runs").out
    assert stores() == {USUAL, "kept/file.db"}
    monkeypatch.setenv("RAGSTONE_STORE", "environment.db")
    assert run("--no-store").code == 0
    assert "environment.db" not in stores()
    assert run().code == 0
    assert "environment.db" in stores()
    assert run("--store", "option.db").code == 0
    assert stores() == {USUAL, "kept/file.db", "environment.db", "option.db"}


def test_other_commands_mind_nothing_else_of_the_file(ragstone: Command, run: Command) -> None:
    config_file("store: ${PLACE_THAT_IS_NOT_SET}\n")
    said = ragstone("runs")
    assert said.refuses("PLACE_THAT_IS_NOT_SET")
    config_file("target: ${PLACE_THAT_IS_NOT_SET}\nstore: a.db\n")
    config_file("", "empty.yaml")
    assert run("--config", "empty.yaml", "--store", "a.db").code == 0
    assert ragstone("runs").code == 0


def test_nothing_is_kept_and_somewhere_is_a_contradiction(run: Command) -> None:
    said = run("--no-store", "--store", "postgresql://me:secret@host/name")
    why = "--no-store stores nothing; remove it, or --store postgresql://me@host/name"
    assert said.refuses(why)
    unreachable = run("--store", "postgresql://me:secret@127.0.0.1:9/runs")
    assert unreachable.refuses("Is the server running")
    assert "secret" not in unreachable.err
    assert stores() == set()


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


@pytest.mark.parametrize("how", ["usual", "option", "file"])
@pytest.mark.usefixtures("ranking")
def test_no_output_takes_the_place_of_the_store(how: str, ragstone: Command, run: Command) -> None:
    place = USUAL if how == "usual" else "mine.db"
    if how == "file":
        config_file(f"store: {place}\n")
    typed = ["--store", place] if how == "option" else []
    assert ragstone(*ASKED["rank"], "--store", place, "--json", place).code == 2
    assert stores() == set(), "it need not be there yet"
    assert run(*typed).code == 0
    before = Path(place).read_bytes()
    for name, words in ASKED.items():
        said = ragstone(*words, *typed, "--json", place)
        assert said.refuses(f"{place} is an input file, so it cannot be written"), name
    said = ragstone(*ASKED["run"], *typed, "--json", f"{place}-wal")
    assert said.refuses(f"{place}-wal is an input file, so it cannot be written")
    assert ragstone(*ASKED["run"], "--no-store", "--json", place).code == 2
    assert Path(place).read_bytes() == before


RANKED = {"query": "q", "ranking": ["a"], "relevance": ["a"]}


def test_set_is_for_settings_without_an_option(planned: Planned) -> None:
    assert planned("--model", "m", "--set", "temperature=0.7").temperature == 0.7
    with pytest.raises(UsageError, match="--set max_cost: use its own option, --max-cost"):
        planned("--model", "m", "--set", "max_cost=1")


def test_f11_commands_of_rag_evaluation_are_read_as_ours(ragstone: Command) -> None:
    saved = json_lines("saved.jsonl", [RANKED])
    words = ("-m", "hit", "--no-export", "--no-store")
    assert ragstone("eval", "--from-chat-responses", saved, *words).code == 0
    for option in (["--test-data", "gone.jsonl"], ["--test-data=gone.jsonl"]):
        told = ragstone("collect", *option, "-o", "out.jsonl")
        assert told.refuses("there is no file gone.jsonl"), option


def test_f6_a_number_that_compares_spelling_is_marked(ragstone: Command) -> None:
    row = {"query": "q", "response": "It is red.", "reference": "It is red."}
    told = ragstone("run", json_lines("d.jsonl", [row]), "-m", "answer_similarity", "--no-export")
    assert "compares spelling, not meaning" in told.out
