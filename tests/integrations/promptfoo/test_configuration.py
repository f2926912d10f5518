"""A promptfooconfig.yaml as samples and settings: what is read is what promptfoo makes of it."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.errors import InputError, UsageError
from ragstone.evaluation.config_file import Config
from ragstone.integrations.promptfoo import VARIABLE
from ragstone.integrations.promptfoo.configuration import is_configuration, read_configuration
from ragstone.types.score import Score, State

FAITHFUL = {"type": "context-faithfulness", "threshold": 0.8}
TEST = {"vars": {"query": "q?", "context": "c."}, "providerOutput": "said."}
PLAIN = {"prompts": ["{{query}}"], "providers": ["echo"], "tests": [TEST]}


@pytest.fixture
def read(tmp_path: Path):
    def reading(**config: object):
        path = tmp_path / "promptfooconfig.json"
        path.write_text(json.dumps({**PLAIN, **config}), encoding="utf-8")
        return read_configuration(path)

    return reading


def asserting(*assertions: dict, **more: object) -> dict:
    return {"defaultTest": {"assert": list(assertions), **more}}


def provided(provider: object) -> dict:
    return asserting({**FAITHFUL, "provider": provider})


def graded(**grading: object) -> dict:
    return asserting({**FAITHFUL, "grading": grading})


async def test_the_samples_are_those_of_the_real_program(promptfoo, read, tmp_path: Path) -> None:
    """Without assertions promptfoo asks nobody."""
    config = {
        "prompts": ["Ask {{query}} {{ number }} {{flag}}", "{{nothing}}{{query}} {{context}}"],
        "defaultTest": {"vars": {"query": "default?", "number": 5.0, "flag": True}},
        "tests": [
            *({"vars": {"query": query, "context": "first."}} for query in ("one?", "two?")),
            {"vars": {"context": "third."}, "providerOutput": "given"},
            {"vars": {"context": "a.", "ground_truth": "truth"}, "providerOutput": "given too"},
        ],
    }
    await promptfoo({**PLAIN, **config}, {})
    default = {**config["defaultTest"], "assert": [FAITHFUL]}
    ours = read(**{**config, "defaultTest": default}).dataset.samples
    theirs = load(tmp_path / "out.json").samples
    parts = ("query", "response", "contexts", "reference")
    assert [sample.model_dump(include=set(parts)) for sample in ours] == [
        sample.model_dump(include=set(parts)) for sample in theirs
    ]
    assert len(ours) == 8


RECALL = {"type": "context-recall", "value": "{{query}} Yes."}


@each_case("name", ["reference", "expected_answer", "ground_truth"])
def test_what_a_recall_expects_is_the_reference_and_goes_before_a_variable(read, name: str) -> None:
    """It is what promptfoo holds against the contexts."""
    recalls = [{**RECALL, "threshold": mark} for mark in (0.5, 1)]
    given = {**TEST, "vars": {**TEST["vars"], name: "Another."}}
    for asserted, reference in ((recalls, "q? Yes."), ([FAITHFUL], "Another.")):
        found = read(**asserting(*asserted), tests=[given])
        assert found.dataset.samples[0].reference == reference
    metrics = ("context_recall,threshold=0.5", "context_recall,threshold=1.0")
    assert read(**asserting(*recalls)).requirements.metrics == metrics


def test_without_ragas_mode_the_policy_is_that_of_the_program(read) -> None:
    asserted = asserting(FAITHFUL, {"type": "answer-relevance", "threshold": 0.5})
    found = read(**asserted, grading={"maxRetries": 2, "strictJson": True}).requirements
    assert found.metrics == ("faithfulness,threshold=0.8", "response_relevancy")
    assert found.settings == {"policy": "promptfoo"}
    assert not found.ragas
    assert found.thresholds == {"response_relevancy": 0.5}
    assert sorted(found.notes) == [
        "answer-relevance is scored by ragstone's response_relevancy, not by promptfoo's own rule",
        "without useRagas: true, these have no effect: maxRetries, strictJson",
    ]


def score(value: float | None, **more: object) -> Score:
    state = State.UNDEFINED if value is None else State.SCORED
    return Score.model_validate({"state": state, "value": value, **more})


OWN = "faithfulness:promptfoo"


@each_case(
    ("name", "given", "fails"),
    [
        (f"{OWN},threshold=0.8", score(0.7, threshold=0.8, passed=False), True),
        (f"{OWN},threshold=0.8", score(0.8, threshold=0.8, passed=True), False),
        (OWN, score(0.9, threshold=0.0, passed=True, fallback=True), True),
        (OWN, score(None), True),
        ("faithfulness", score(0.0), False),
        ("response_relevancy", score(0.49), True),
        ("response_relevancy,count=5", score(0.5), False),
        ("context_relevance", score(0.0), False),
        ("context_relevance", score(None), True),
        ("hit@5", score(None), False),  # which no assertion asked for
    ],
)
def test_a_test_fails_by_what_does_not_reach_its_threshold(
    read, name: str, given: Score, fails: bool
) -> None:
    relevant = [{"type": "answer-relevance", "threshold": mark} for mark in (0.5, 0.2)]
    found = read(**asserting(FAITHFUL, {"type": "context-relevance"}, *relevant))
    assert found.requirements.failing({name: given}) == ([name] if fails else [])


@each_case(
    ("name", "text", "is_one"),
    [
        ("promptfooconfig.yaml", "anything", True),
        ("a.yml", "providers: echo\nprompts: [x]", True),
        ("a.json", '{"providers": [], "prompts": []}', True),
        ("a.json", '{"prompts": []}', False),
        ("a.json", '[{"prompts": [], "tests": []}]', False),
        ("a.json", '{"tests": [{"assert": []}]}', True),
        ("a.yaml", "tests:\n- vars: {query: q}", True),
        ("a.yaml", "tests:\n- query: q", False),
        ("a.yaml", "defaultTest: {}", True),
        ("a.json", '{"results": {"prompts": [], "results": []}, "config": {"tests": []}}', False),
        ("a.json", '{"prompts": [', False),
        ("a.jsonl", '{"prompts": [], "tests": []}', False),
    ],
)
def test_a_configuration_is_told_by_its_name_or_what_it_holds(
    tmp_path: Path, name: str, text: str, is_one: bool
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert is_configuration(tmp_path / name) is is_one
    (tmp_path / name).unlink()
    assert not is_configuration(tmp_path / name)


def test_ragas_mode_is_the_preset_with_its_settings(read) -> None:
    config = {"apiBaseUrl": "http://localhost:1/v1", "temperature": 0}
    provider = {"id": "openai:chat:gpt-4", "config": config}
    more = {"strictJson": True, "maxRetries": 2, "batchSize": 3, "provider": provider}
    found = read(**graded(useRagas=True, **more))
    assert found.requirements.ragas
    settings = dict(found.requirements.settings)
    plan = Config().plan(settings, preset_name=str(settings.pop("preset")))
    assert (plan.policy, plan.strict_json, plan.retries) == ("promptfoo-plan", True, 2)
    assert (plan.batch_size, plan.judge, plan.base_url) == (3, "openai:gpt-4", config["apiBaseUrl"])


def test_the_global_block_and_the_environment_turn_ragas_mode_on(
    read, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {"ragas": {"useRagas": True, "maxRetries": 3}}
    assert read(**asserting(FAITHFUL), **whole).requirements.settings["retries"] == 3
    found = read(**asserting(FAITHFUL), **whole, grading={"maxRetries": 0}).requirements
    assert (found.ragas, found.settings["retries"]) == (True, 0)
    off = graded(useRagas=False)
    assert not read(**off, **whole).requirements.ragas
    monkeypatch.setenv(VARIABLE, "true")
    found = read(**off)
    assert found.requirements.settings == {"preset": "promptfoo-plan", "retries": 1}


ASKED = {"tests": [{"vars": TEST["vars"]}]}
RAGAS = {"grading": {"useRagas": True}}
RECALLED = "two context-recall assertions expect different answers"
UNLIKE = "test 2 does not assert the same as test 1, but a run scores all tests in one way"
BOOLEAN = "must be true or false, got"


@each_case(
    ("config", "said"),
    [
        ({"providers": [{"id": "echo", "transform": "output[0]"}]}, "providers: must be text"),
        ({"targets": ["openai:gpt-4o"]}, "targets: is not supported"),
        ({"tests": "file://tests.csv"}, "tests: must be a list, got 'file://tests.csv'"),
        ({"tests": ASKED["tests"][0]}, "tests: must be a list"),
        ({"defaultTest": False}, "defaultTest: must be a mapping, got False"),
        ({"tests": [{**TEST, "vars": []}]}, "test 1: vars: must be a mapping"),
        ({"tests": [TEST, {**TEST, "vars": "file://v"}]}, "test 2: vars: must be a mapping, got"),
        ({"prompts": ["file://p.txt"]}, "prompts: must be text with {{NAME}} only, and not a file"),
        ({**ASKED, "prompts": ["{{ query | upper }}"]}, "prompts: must be text with {{NAME}} only"),
        ({**ASKED, "providers": ["openai:gpt-4"]}, "test 1: no response: it needs providerOutput"),
        ({**ASKED, "providers": None}, "it needs providerOutput, the provider echo with a prompt"),
        ({"tests": [{"vars": {"query": "{{env.X}}"}}]}, "test 1: vars: query: must be text, and"),
        ({"tests": [TEST, {"vars": {"query": ["a?"]}}]}, "test 2: vars: query: must be text"),
        (asserting({**RECALL, "value": "file://a.txt"}), "value: must be text with {{NAME}} only"),
        ({"tests": [TEST, {**TEST, "assert": [{"type": "answer-relevance"}]}]}, UNLIKE),
        ({"tests": [TEST, {**TEST, "assert": [FAITHFUL]}]}, "pass results.json to ragstone"),
        (asserting(FAITHFUL, {"type": "contains"}), "defaultTest: assert: type: must be 'context-"),
        (asserting(), "no test has an assertion; supported types: context-faithfulness, context-"),
        (asserting(FAITHFUL, options={"rubricPrompt": "x"}), "rubricPrompt: is not supported"),
        (asserting(RECALL, {**RECALL, "value": "No."}), RECALLED),
        (asserting({**RECALL, "value": ["a"]}), "defaultTest: assert: value: must be text"),
        (asserting({**FAITHFUL, "threshold": "high"}), "threshold: must be a number, got 'high'"),
        (asserting({"type": "answer-relevance", "threshold": True}), "must be a number, got True"),
        (provided({"id": "openai:m", "config": {"seed": 1}}), "or its id with a config of apiBase"),
        (provided({"id": "openai:m", "config": {"apiKey": "sk-1"}}), "must be provider:model"),
        (provided("openai:chat"), "provider: must be provider:model"),
        ({"grading": {"useRagas": "true"}}, f"grading: useRagas: {BOOLEAN} 'true'"),
        (graded(useRagas="yes"), f"defaultTest: assert: grading: useRagas: {BOOLEAN} 'yes'"),
        ({"ragas": {"strictJson": 1}}, f"ragas: strictJson: {BOOLEAN} 1"),
        ({"grading": {"maxRetries": -1}}, "grading: maxRetries: must be at least 0, got -1"),
        ({"grading": {"batchSize": 0}}, "batchSize: must be at least 1, got 0"),
        ({"grading": True}, "grading: must be a mapping, got True"),
        ({"grading": {"useRaga": True}}, "useRaga: is not supported"),
        ({**RAGAS, "test": []}, "test: is not supported"),
        (asserting({**FAITHFUL, "treshold": 1}), "treshold: is not supported"),
        ({"tests": [{**TEST, "asert": []}]}, "test 1: asert: is not supported"),
        (asserting(FAITHFUL, {**FAITHFUL, **RAGAS}), "assertions have different useRagas, but"),
    ],
)
def test_what_is_not_read_is_refused(read, config: dict, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(**{**asserting(FAITHFUL), **config})
    assert said in str(refused.value)
    assert "sk-1" not in str(refused.value)


def test_all_problems_of_a_configuration_are_listed(read) -> None:
    wrong = {**FAITHFUL, "treshold": 1, "grading": {"useRagas": "true"}}
    with pytest.raises(InputError) as refused:
        read(**asserting(wrong), prompt="x", tests=[TEST, {**TEST, "asert": []}])
    assert len(refused.value.problems) == 4
    assert str(refused.value).count("run `promptfoo eval -o results.json`") == 1
    with pytest.raises(InputError) as refused:
        read(**asserting(FAITHFUL), providers=["openai:gpt-4"], tests=ASKED["tests"] * 2)
    places = [str(problem).partition(":")[0] for problem in refused.value.problems]
    assert places == ["test 1", "test 2"]


def test_yaml_is_read_as_promptfoo_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        "prompts: '{{query}} {{flag}}'\nproviders: echo\ntests:\n"
        "- vars: {query: 'why?', flag: no, context: c}\n"
        "  assert: [{type: context-faithfulness}]\n"
    )
    assert read_configuration(path).dataset.samples[0].response == "why? no"
    path.write_text("tests: [{vars: {}}]\ngrading: {}\ngrading: {}\n")
    with pytest.raises(InputError, match="duplicate name 'grading'"):
        read_configuration(path)
    (tmp_path / "c.json").write_text('{"tests": ' + "[" * 100_000)
    with pytest.raises(InputError, match="invalid JSON: "):
        read_configuration(tmp_path / "c.json")


# The plan for RAGAS in promptfoo: its YAML as written.

BASIC = """
tests:
  - vars:
      question: 'What is the capital of France?'
      answer: 'The capital of France is Paris.'
      context: 'France, officially the French Republic, is a country. Its capital is Paris.'
    assert:
      - type: context-faithfulness
        grading:
          useRagas: true
"""
ADVANCED = """
defaultTest:
  assert:
    - type: context-faithfulness
      threshold: 0.8
      grading:
        useRagas: true
        strictJson: true
        provider: 'openai:gpt-4-turbo'
"""
OPTIONS = """
grading:
  useRagas: true
  strictJson: true # Enforce JSON output (recommended)
  maxRetries: 2 # Retry failed LLM calls
  provider: 'openai:gpt-4' # Specify grading provider
"""


def test_all_yaml_of_the_plan_works_in_one_file(tmp_path: Path) -> None:
    """The provider of an assertion overrides that of the top-level grading."""
    path = tmp_path / "plan.yaml"
    path.write_text(OPTIONS + ADVANCED + BASIC, encoding="utf-8")
    assert is_configuration(path)
    found = read_configuration(path)
    [sample] = found.dataset.samples
    assert sample.query == "What is the capital of France?"
    assert sample.response == "The capital of France is Paris."
    assert sample.contexts
    assert sample.contexts[0].text.startswith("France, officially")
    assert found.requirements.metrics == ("faithfulness,threshold=0.8", "faithfulness")
    assert found.requirements.settings == {
        "preset": "promptfoo-plan",
        "retries": 2,
        "strict_json": True,
        "judge": "openai:gpt-4-turbo",
    }


def test_a_grading_that_sets_a_default_is_not_one_that_leaves_it_out(read) -> None:
    """The second test takes RAGAS mode from the top-level grading, the first one does not."""
    gradings = {"useRagas": False}, {"strictJson": False}
    tests = [{**TEST, "assert": [{**FAITHFUL, "grading": grading}]} for grading in gradings]
    with pytest.raises(InputError, match="test 2 does not assert the same as test 1"):
        read(grading={"useRagas": True}, tests=tests)
    found = read(grading={"useRagas": True}, tests=[tests[0], tests[0]])
    assert not found.requirements.ragas


@each_case(
    ("provider", "judge"),
    [
        ("openai:gpt-4", "openai:gpt-4"),
        ("openai:responses:gpt-5", "openai:gpt-5"),
        ("openai:chat:ft:gpt-4o:org::id", "openai:ft:gpt-4o:org::id"),
        ("anthropic:messages:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("azure:responses:mine", "azure:mine"),
        ("ollama:chat:llama3.2:latest", "ollama:llama3.2:latest"),
        ({"id": "azureopenai:chat:mine"}, "azure:mine"),
    ],
)
def test_provider_ids_of_promptfoo_name_a_judge(read, provider: object, judge: str) -> None:
    found = read(**graded(useRagas=True, provider=provider))
    assert found.requirements.settings["judge"] == judge


def test_f7_the_provider_text_is_an_llm_if_there_is_a_key(
    read, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = graded(useRagas=True, provider="text", strictJson=True)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    settings = read(**config).requirements.settings
    assert (settings["judge"], settings["strict_json"]) == ("openai:gpt-4o-mini", True)
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "judge" not in read(**config).requirements.settings


def test_s0_31_two_modes_in_one_file_are_refused_with_the_way_out(read) -> None:
    on, off = ({**FAITHFUL, "grading": {"useRagas": value}} for value in (True, False))
    with pytest.raises(InputError, match="set it in the top-level grading"):
        read(**asserting(on, off))


@each_case(
    ("value", "on"),
    [
        *((word, True) for word in ("true", "1", "yes", "on", "YUP", "yeppers")),
        *((word, False) for word in ("", "0", "false", "no", "off")),
    ],
)
def test_the_environment_is_read_as_promptfoo_reads_booleans(
    read, monkeypatch: pytest.MonkeyPatch, value: str, on: bool
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert read(**asserting(FAITHFUL)).requirements.ragas is on
    monkeypatch.setenv(VARIABLE, "ture")
    with pytest.raises(UsageError, match="PROMPTFOO_RAGAS_FAITHFULNESS=ture: expected true or fal"):
        read(**asserting(FAITHFUL))
