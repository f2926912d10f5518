"""The Python assertion, called as promptfoo calls it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import InputError, UsageError
from ragstone.integrations.promptfoo import VARIABLE, JudgeFailedError, Settings, get_assert

CONTEXT = "The Eiffel Tower is 330 metres tall. It was completed in 1889."
WRONG = "The Eiffel Tower is 330 metres tall. It was completed in 1925."
VARS = {"query": "How tall is it?", "context": CONTEXT}
CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_JUDGE", raising=False)


def called(answer: object = WRONG, variables: dict | None = None, **context: object) -> dict:
    given = {"prompt": "How tall is it?", "vars": VARS if variables is None else variables}
    return dict(get_assert(answer, {**given, **context}))


def test_the_result_is_what_promptfoo_takes() -> None:
    found = called(config={"threshold": 0.8})
    assert (found["pass"], found["score"]) == (False, 0.5)
    said = 'Faithfulness 0.50 is < 0.8; NOT_ENOUGH_INFO: "It was completed in 1925."'
    assert found["reason"] == said
    assert found["namedScores"] == {"faithfulness": 0.5}
    assert found["tokensUsed"]["total"] == 0
    assert "cacheReadInputTokens" in found["tokensUsed"]["completionDetails"]
    kept, wrong = found["componentResults"]
    assert (kept["pass"], kept["score"], wrong["pass"], wrong["score"]) == (True, 1, False, 0)
    assert wrong["reason"].startswith("NOT_ENOUGH_INFO: It was completed in 1925.")
    assert wrong["metadata"]["evidence"][0]["quote"]
    assert found["metadata"]["judge"] == "offline"
    json.dumps(found, allow_nan=False)


@each_case(
    ("config", "beside", "passed"),
    [
        ({}, {}, True),  # the documents' 0.5
        ({"threshold": 0.6}, {"threshold": 0.1}, False),
        ({}, {"threshold": 0.6}, False),
        ({}, {"threshold": 0}, True),
        ({"policy": "ragaliq"}, {}, False),  # whose mark is 0.7
        ({"metric": "faithfulness,threshold=0.4"}, {}, True),
        ({"policy": "deepeval"}, {"threshold": 0.5}, True),
    ],
)
def test_the_threshold_is_the_nearest_that_is_said(
    config: dict, beside: dict, passed: bool
) -> None:
    one = {"type": "python", "config": config, **beside}
    sets = {"assert": [{"type": "assert-set", "assert": [one]}]}
    assert called(config=config, test=sets)["pass"] is passed
    alike = {"assert": [{"type": "python", "threshold": mark} for mark in (0.2, 0.8)]}
    with pytest.raises(UsageError, match=r"different thresholds \(.*0\.2 and 0\.8\)"):
        called(test=alike)


def test_texts_may_come_from_the_prompt_the_response_or_variables_alone() -> None:
    assert called(variables={"contexts": [CONTEXT]})["score"] == 0.5
    given = {"output": WRONG, "metadata": {"contexts": [CONTEXT], "model": "m"}}
    assert called(variables={"query": "How?"}, providerResponse=given)["score"] == 0.5
    variables = {**VARS, "reference": WRONG}
    found = called(WRONG, variables, config={"metric": "exact_match", "threshold": 1})
    assert (found["pass"], found["componentResults"]) == (True, [])
    assert found["reason"] == "Exact Match 1.00 is >= 1"


def test_a_variable_can_be_chosen_where_two_could_be_one_field() -> None:
    variables = {**VARS, "question": "other"}
    with pytest.raises(InputError, match="all match query"):
        called(variables=variables)
    assert called(variables=variables, config={"columns": {"query": "question"}})["score"] == 0.5


@each_case(
    ("config", "said"),
    [
        ({"metrics": "hit"}, "did you mean 'metric'"),
        ({"metric": "all"}, "metrics; an assertion takes one"),
        ({"metric": "hallucination"}, "lower is better for hallucination"),
        ({"judge": "offline", "model": "gpt-4"}, "use one of them"),
        ({"threshold": "0.8"}, "expected a number"),
        ({"threshold": float("nan")}, "expected a number"),
        (0.8, "config: expected a mapping such as {threshold: 0.8}, got 0.8"),
        ({"policy": "mild"}, "there is no policy named 'mild'"),
        ({"useRagas": True}, "no setting of this assertion named 'useRagas'; use the preset promp"),
        ({"grading": True}, "'grading'; use the preset promptfoo-plan"),
        ({"strictJson": True}, "'strictJson'; use strict_json: true"),
    ],
)
def test_a_config_that_says_what_there_is_not_is_refused(config: object, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        called(config=config)
    assert said in str(refused.value)


def test_nothing_to_judge_is_no_result() -> None:
    undefined = "is undefined for this test: the "
    with pytest.raises(JudgeFailedError, match=f"{undefined}response makes no claims"):
        called("I cannot say.")
    with pytest.raises(JudgeFailedError, match=f"{undefined}row has no contexts"):
        called(WRONG, {"query": "How?"})


@pytest.mark.parametrize("preset", ["ragas", "promptfoo-plan"])
async def test_a_judge_that_fails_gives_no_result(faulty, behave, quick, preset: str) -> None:
    faulty.script(CHAT, behave.reply(b"broken", status=500))
    place = {"judge": "openai:m", "base_url": f"{faulty.url}/v1", "retries": 0, "cache": False}
    with pytest.raises(JudgeFailedError, match="was not judged"):
        await asyncio.to_thread(called, config={**place, "preset": preset})


def test_a_score_without_statements_fails_and_cannot_be_inverted() -> None:
    """Under `not-python`, promptfoo passes a result that fails."""
    config = {"preset": "promptfoo-plan"}
    result = called("Sure!", config=config)
    assert (result["pass"], result["score"]) == (False, 0)
    assert str(result["reason"]).endswith("no statements (the response makes no claims)")
    with pytest.raises(JudgeFailedError, match=r"was not measured: .*no statements"):
        called("Sure!", config=config, test={"assert": [{"type": "not-python", "config": config}]})


def test_the_environment_names_the_judge_and_turns_ragas_mode_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAGSTONE_JUDGE", "nobody")
    with pytest.raises(UsageError, match="there is no judge named 'nobody'"):
        called()
    assert called(config={"judge": "offline"})["score"] == 0.5
    monkeypatch.delenv("RAGSTONE_JUDGE")
    monkeypatch.setenv(VARIABLE, "yes")
    assert called()["metadata"]["metric"].startswith("faithfulness:promptfoo-plan,batch_size=5")
    retries = [Settings.of(each).plan.retries for each in ({}, {"retries": 4}, {"max_retries": 0})]
    assert retries == [1, 4, 0]
    assert called(config={"policy": "strict"})["metadata"]["metric"].startswith("faithfulness,")
    monkeypatch.setenv(VARIABLE, "ture")
    with pytest.raises(UsageError, match="expected true or false"):
        called()


async def test_s0_41_log_level_shows_prompts_and_replies(
    faulty, behave, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    claims = {"claims": ["The Eiffel Tower is 330 metres tall."]}
    verdicts = {"verdicts": [{"claim": 1, "label": "SUPPORTED", "reason": "It is said."}]}
    messages = [{"message": {"content": json.dumps(each)}} for each in (claims, verdicts)]
    faulty.script(CHAT, *(behave.reply({"choices": [message]}) for message in messages))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-nobody-may-see")
    monkeypatch.setenv("LOG_LEVEL", "debug")
    config = {"model": "gpt-4o-mini", "base_url": f"{faulty.url}/v1", "cache": False}
    await asyncio.to_thread(called, "It is 330 metres tall.", config=config)
    err = capfd.readouterr().err
    assert "It is said." in err
    assert "It was completed in 1889." in err
    assert "sk-a-key" not in err


def test_it_starts_without_what_only_runs_and_pages_need() -> None:
    code = "import sys; import ragstone.integrations.promptfoo; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sqlalchemy", "rich", "starlette"} & set(done.stdout.split())
