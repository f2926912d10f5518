"""A promptfooconfig.yaml as samples and settings: what is read is what promptfoo makes of it."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.errors import InputError, UsageError
from ragstone.evaluation.config_file import Config
from ragstone.integrations.promptfoo import VARIABLE
from ragstone.integrations.promptfoo.configuration import (
    Configuration,
    is_configuration,
    read_configuration,
)
from ragstone.types.row import Row
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


def test_the_expected_answer_of_a_recall_is_the_reference(read) -> None:
    value = "{{query}} Yes."
    found = read(**asserting({"type": "context-recall", "value": value, "threshold": 1}))
    assert found.dataset.samples[0].reference == "q? Yes."
    assert found.requirements.metrics == ("context_recall,threshold=1.0",)


RECALL = {"type": "context-recall", "value": "{{query}} Yes."}


@pytest.mark.parametrize("name", ["reference", "expected_answer", "ground_truth"])
def test_what_a_recall_expects_goes_before_a_variable(read, name: str) -> None:
    """It is what promptfoo holds against the contexts."""
    given = {**TEST, "vars": {**TEST["vars"], name: "Another."}}
    assert read(**asserting(RECALL), tests=[given]).dataset.samples[0].reference == "q? Yes."
    assert read(**asserting(FAITHFUL), tests=[given]).dataset.samples[0].reference == "Another."


def test_one_expected_answer_may_be_held_against_two_thresholds(read) -> None:
    found = read(**asserting({**RECALL, "threshold": 0.5}, {**RECALL, "threshold": 1}))
    assert found.dataset.samples[0].reference == "q? Yes."
    assert found.requirements.metrics == (
        "context_recall,threshold=0.5",
        "context_recall,threshold=1.0",
    )


def test_without_ragas_mode_the_policy_is_that_of_the_program(read) -> None:
    found = read(**asserting(FAITHFUL, {"type": "answer-relevance", "threshold": 0.5}))
    assert found.requirements.metrics == ("faithfulness,threshold=0.8", "response_relevancy")
    assert found.requirements.settings == {"policy": "promptfoo"}
    assert not found.requirements.ragas
    assert found.requirements.thresholds == {"response_relevancy": 0.5}
    assert found.requirements.notes == (
        "answer-relevance is scored by ragstone's response_relevancy, not by promptfoo's own rule",
    )


def score(value: float | None, **more: object) -> Score:
    state = State.UNDEFINED if value is None else State.SCORED
    return Score.model_validate({"state": state, "value": value, **more})


@pytest.mark.parametrize(
    ("name", "given", "fails"),
    [
        ("faithfulness:promptfoo,threshold=0.8", score(0.7, threshold=0.8, passed=False), True),
        ("faithfulness:promptfoo,threshold=0.8", score(0.8, threshold=0.8, passed=True), False),
        ("faithfulness:promptfoo", score(0.9, threshold=0.0, passed=True, fallback=True), True),
        ("faithfulness:promptfoo", score(None), True),
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
    requirements = read(
        **asserting(FAITHFUL, {"type": "context-relevance"}, *relevant)
    ).requirements
    assert requirements.failing({name: given}) == ([name] if fails else [])


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("promptfooconfig.yaml", "anything", True),
        ("a.yaml", "prompts: [x]\ntests: []", True),
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
        ("a.yaml", "rows:\n  - query: q\n    prompts: x\n    tests: y", False),
        ("a.jsonl", '{"prompts": [], "tests": []}', False),
    ],
)
def test_a_configuration_is_told_by_its_name_or_what_it_holds(
    tmp_path: Path, name: str, text: str, is_one: bool
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert is_configuration(tmp_path / name) is is_one


def test_no_file_is_no_configuration(tmp_path: Path) -> None:
    assert not is_configuration(tmp_path / "promptfooconfig.yaml")
    assert not is_configuration(tmp_path)


GRADING = {"useRagas": True, "strictJson": True, "maxRetries": 2, "batchSize": 3}


def test_ragas_mode_is_the_preset_with_its_settings(read) -> None:
    config = {"apiBaseUrl": "http://localhost:1/v1", "temperature": 0}
    provider = {"id": "openai:chat:gpt-4", "config": config}
    found = read(**asserting({**FAITHFUL, "grading": {**GRADING, "provider": provider}}))
    assert found.requirements.ragas
    preset, settings = found.requirements.settings["preset"], dict(found.requirements.settings)
    del settings["preset"]
    plan = Config().plan(settings, preset_name=str(preset))
    assert (plan.policy, plan.strict_json, plan.retries) == ("promptfoo-plan", True, 2)
    assert (plan.batch_size, plan.judge, plan.base_url) == (3, "openai:gpt-4", config["apiBaseUrl"])


def test_the_global_block_and_the_environment_turn_ragas_mode_on(
    read, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {"ragas": {"useRagas": True, "maxRetries": 3}}
    assert read(**asserting(FAITHFUL), **whole).requirements.settings["retries"] == 3
    off = {**FAITHFUL, "grading": {"useRagas": False}}
    assert not read(**asserting(off), **whole).requirements.ragas
    monkeypatch.setenv(VARIABLE, "true")
    found = read(**asserting(off))
    assert found.requirements.settings == {"preset": "promptfoo-plan", "retries": 1}


ECHOED = {"tests": [{"vars": TEST["vars"]}]}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"providers": [{"id": "echo", "transform": "output[0]"}]}, "providers: must be text"),
        ({"targets": ["openai:gpt-4o"]}, "targets: is not supported"),
        ({"scenarios": []}, "scenarios: is not supported"),
        ({"tests": "file://tests.csv"}, "tests: must be a list, got 'file://tests.csv'"),
        ({"tests": {"vars": TEST["vars"]}}, "tests: must be a list"),
        ({"defaultTest": False}, "defaultTest: must be a mapping, got False"),
        ({"tests": [{**TEST, "vars": []}]}, "test 1: vars: must be a mapping"),
        ({"prompts": ["file://p.txt"]}, "prompts: must be text with {{NAME}} only, and not a file"),
        (
            {**ECHOED, "prompts": ["{{ query | upper }}"]},
            "prompts: must be text with {{NAME}} only",
        ),
        ({**ECHOED, "providers": ["openai:gpt-4"]}, "test 1: no response: it needs providerOutput"),
        (
            {"tests": [{"vars": {"query": "{{env.X}}"}}]},
            "test 1: vars: query: must be text, and not a template or a file, got '{{env.X}}'",
        ),
        (
            {"tests": [TEST, {"vars": {"query": ["one?", "two?"]}}]},
            "test 2: vars: query: must be text",
        ),
        (asserting({**RECALL, "value": "file://a.txt"}), "value: must be text with {{NAME}} only"),
        (
            {"tests": [TEST, {**TEST, "assert": [{"type": "answer-relevance"}]}]},
            "test 2 does not assert the same as test 1, but a run scores all tests in one way",
        ),
        (asserting(FAITHFUL, {"type": "contains"}), "defaultTest: assert: type: must be 'context-"),
        (asserting(), "no test has an assertion; supported types: context-faithfulness, context-"),
        (
            asserting(FAITHFUL, options={"rubricPrompt": "x"}),
            "defaultTest: options: rubricPrompt: is not supported",
        ),
        (
            asserting(RECALL, {**RECALL, "value": "No."}),
            "two context-recall assertions expect different answers",
        ),
        (
            asserting({**RECALL, "value": ["a", "b"]}),
            "defaultTest: assert: value: must be text",
        ),
        (asserting({**FAITHFUL, "threshold": "high"}), "threshold: must be a number, got 'high'"),
        (
            asserting({**FAITHFUL, "contextTransform": "output"}),
            "contextTransform: is not supported",
        ),
        (
            asserting({"type": "answer-relevance", "threshold": True}),
            "threshold: must be a number, got True",
        ),
        (asserting({**FAITHFUL, "provider": "openai"}), "must be provider:model"),
        (
            asserting({**FAITHFUL, "provider": {"id": "openai:m", "config": {"seed": 1}}}),
            "provider: must be provider:model, or its id with a config of apiBaseUrl",
        ),
    ],
)
def test_what_is_not_read_is_refused(read, config: dict, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(**{**asserting(FAITHFUL), **config})
    assert said in str(refused.value)


def test_yaml_is_read_as_promptfoo_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        "prompts: '{{query}} {{flag}}'\nproviders: echo\ntests:\n"
        "- vars: {query: 'why?', flag: no, context: c}\n"
        "  assert: [{type: context-faithfulness}]\n"
    )
    assert read_configuration(path).dataset.samples[0].response == "why? no"


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


def read_text(folder: Path, text: str) -> Configuration:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    assert is_configuration(path)
    return read_configuration(path)


def test_basic_usage_takes_the_response_from_the_var_answer(tmp_path: Path) -> None:
    found = read_text(tmp_path, BASIC)
    [sample] = found.dataset.samples
    assert (sample.query, sample.response) == (
        "What is the capital of France?",
        "The capital of France is Paris.",
    )
    assert sample.contexts
    assert sample.contexts[0].text.startswith("France, officially")
    assert found.requirements.ragas


def test_all_yaml_of_the_plan_works_in_one_file(tmp_path: Path) -> None:
    """The provider of an assertion overrides that of the top-level grading."""
    found = read_text(tmp_path, OPTIONS + ADVANCED + BASIC)
    assert found.requirements.metrics == ("faithfulness,threshold=0.8", "faithfulness")
    assert found.requirements.settings == {
        "preset": "promptfoo-plan",
        "retries": 2,
        "strict_json": True,
        "judge": "openai:gpt-4-turbo",
    }


def test_a_top_level_grading_goes_before_the_ragas_block(read) -> None:
    whole = {"ragas": {"useRagas": True, "maxRetries": 3}, "grading": {"maxRetries": 0}}
    found = read(**asserting(FAITHFUL), **whole).requirements
    assert (found.ragas, found.settings["retries"]) == (True, 0)
    assert not read(**asserting(FAITHFUL), grading={"useRagas": False}).requirements.ragas


def test_a_grading_that_sets_a_default_is_not_one_that_leaves_it_out(read) -> None:
    """The second test takes RAGAS mode from the top-level grading, the first one does not."""
    gradings = {"useRagas": False}, {"strictJson": False}
    tests = [{**TEST, "assert": [{**FAITHFUL, "grading": grading}]} for grading in gradings]
    with pytest.raises(InputError, match="test 2 does not assert the same as test 1"):
        read(grading={"useRagas": True}, tests=tests)
    found = read(grading={"useRagas": True}, tests=[tests[0], tests[0]])
    assert not found.requirements.ragas


def test_tests_with_different_thresholds_are_for_promptfoo(read) -> None:
    high, low = ([{**FAITHFUL, "threshold": mark}] for mark in (0.9, 0.5))
    with pytest.raises(InputError, match="test 2 does not assert the same as test 1") as refused:
        read(tests=[{**TEST, "assert": high}, {**TEST, "assert": low}])
    assert "pass results.json to ragstone" in str(refused.value)


def test_metrics_on_the_command_line_replace_the_thresholds_of_all_tests(read) -> None:
    found = read(tests=[{**TEST, "assert": [{**FAITHFUL, "threshold": 0.9}]}] * 2)
    scores = {"faithfulness:promptfoo-plan": score(0.3, threshold=0.5, passed=False)}
    rows = [Row(place, sample, scores=scores) for place, sample in enumerate(found.dataset.samples)]
    assert [found.requirements.failing(row.scores) for row in rows] == [list(scores)] * 2
    assert found.finish(rows[0]).scores == rows[0].scores


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"grading": {"useRagas": "true"}},
            "grading: useRagas: must be true or false, got 'true'",
        ),
        (
            asserting({**FAITHFUL, "grading": {"useRagas": "yes"}}),
            "defaultTest: assert: grading: useRagas: must be true or false, got 'yes'",
        ),
        ({"ragas": {"strictJson": 1}}, "ragas: strictJson: must be true or false, got 1"),
        (
            {"grading": {"maxRetries": -1}},
            "grading: maxRetries: must be at least 0, got -1",
        ),
        ({"grading": {"batchSize": 0}}, "batchSize: must be at least 1, got 0"),
        ({"grading": True}, "grading: must be a mapping, got True"),
        ({"grading": {"useRaga": True}}, "useRaga: is not supported"),
        ({"grading": {"colour": 1}}, "grading: colour: is not supported"),
        (
            {"grading": {"useRagas": True}, "test": []},
            "test: is not supported",
        ),
        (
            asserting({**FAITHFUL, "treshold": 1}),
            "treshold: is not supported",
        ),
        (
            {"tests": [{**TEST, "asert": []}]},
            "test 1: asert: is not supported",
        ),
        (
            {"tests": [TEST, {**TEST, "vars": "file://v.yaml"}]},
            "test 2: vars: must be a mapping, got 'file://v.yaml'",
        ),
        (
            asserting(*({**FAITHFUL, "grading": {"provider": f"openai:{n}"}} for n in "ab")),
            "assertions have different provider, but a run scores all tests with one judge; remove",
        ),
        (
            asserting(FAITHFUL, {**FAITHFUL, "grading": {"useRagas": True}}),
            "assertions have different useRagas, but",
        ),
        (
            {"providers": None, "tests": [{"vars": {"query": "q?", "context": "c."}}]},
            "test 1: no response: it needs providerOutput, the provider echo with a prompt, or",
        ),
    ],
)
def test_wrong_settings_are_errors(read, config, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(**{**asserting(FAITHFUL), **config})
    assert said in str(refused.value)


def test_json_nested_too_deeply_is_invalid_json(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"tests": ' + "[" * 100_000)
    with pytest.raises(InputError, match="invalid JSON: "):
        read_configuration(tmp_path / "c.json")


def test_a_key_given_twice_is_invalid_yaml(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tests: [{vars: {}}]\ngrading: {}\ngrading: {}\n")
    with pytest.raises(InputError, match="duplicate name 'grading'"):
        read_configuration(tmp_path / "c.yaml")


def test_all_problems_of_a_configuration_are_listed(read) -> None:
    wrong = {**FAITHFUL, "treshold": 1, "grading": {"useRagas": "true"}}
    with pytest.raises(InputError) as refused:
        read(**asserting(wrong), prompt="x", tests=[TEST, {**TEST, "asert": []}])
    assert len(refused.value.problems) == 4
    said = str(refused.value)
    assert said.count("run `promptfoo eval -o results.json`") == 1


def test_all_tests_without_a_response_are_listed(read) -> None:
    with pytest.raises(InputError) as refused:
        read(**asserting(FAITHFUL), providers=["openai:gpt-4"], tests=ECHOED["tests"] * 2)
    places = [str(problem).partition(":")[0] for problem in refused.value.problems]
    assert places == ["test 1", "test 2"]


def test_settings_of_ragas_mode_without_it_have_no_effect(read) -> None:
    found = read(**asserting(FAITHFUL), grading={"maxRetries": 2, "strictJson": True})
    assert found.requirements.settings == {"policy": "promptfoo"}
    assert found.requirements.notes == (
        "without useRagas: true, these have no effect: maxRetries, strictJson",
    )


@each_case(
    ("provider", "judge"),
    [
        ("openai:gpt-4", "openai:gpt-4"),
        ("openai:chat:gpt-4", "openai:gpt-4"),
        ("openai:responses:gpt-5", "openai:gpt-5"),
        ("openai:chat:ft:gpt-4o:org::id", "openai:ft:gpt-4o:org::id"),
        ("anthropic:messages:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("azureopenai:chat:mine", "azure:mine"),
        ("azure:responses:mine", "azure:mine"),
        ("ollama:chat:llama3.2:latest", "ollama:llama3.2:latest"),
        ({"id": "azureopenai:chat:mine"}, "azure:mine"),
    ],
)
def test_provider_ids_of_promptfoo_name_a_judge(read, provider: object, judge: str) -> None:
    grading = {"useRagas": True, "provider": provider}
    assert (
        read(**asserting({**FAITHFUL, "grading": grading})).requirements.settings["judge"] == judge
    )


def test_f7_the_provider_text_is_an_llm_if_there_is_a_key(
    read, monkeypatch: pytest.MonkeyPatch
) -> None:
    grading = {"useRagas": True, "provider": "text", "strictJson": True}
    config = asserting({**FAITHFUL, "grading": grading})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    settings = read(**config).requirements.settings
    assert (settings["judge"], settings["strict_json"]) == ("openai:gpt-4o-mini", True)
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "judge" not in read(**config).requirements.settings


def test_s0_31_two_modes_in_one_file_are_refused_with_the_way_out(read) -> None:
    on, off = ({**FAITHFUL, "grading": {"useRagas": value}} for value in (True, False))
    with pytest.raises(InputError, match="set it in the top-level grading"):
        read(**asserting(on, off))


@each_case("provider", ["openai", "openai:chat", {"id": "openai:m", "config": {"apiKey": "sk-1"}}])
def test_what_names_no_chat_model_or_has_a_key_is_refused(read, provider: object) -> None:
    with pytest.raises(UsageError, match="provider: must be provider:model") as refused:
        read(**asserting({**FAITHFUL, "provider": provider}))
    assert "sk-1" not in str(refused.value)


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


def test_a_misspelt_boolean_in_the_environment_is_an_error(
    read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "ture")
    with pytest.raises(UsageError, match="PROMPTFOO_RAGAS_FAITHFULNESS=ture: expected true or fal"):
        read(**asserting(FAITHFUL))
