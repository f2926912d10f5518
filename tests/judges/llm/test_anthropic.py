import json

import pytest
from tests.cases import each_case

from ragstone._internal.rate_limit import Limits, RetryingCaller
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.llm.anthropic import ANTHROPIC, AnthropicModel
from ragstone.judges.llm.model import Completion, ModelPrompt
from ragstone.types.reply import Usage

MESSAGES = "/v1/messages"
KEY = "sk-ant-secret-of-mine"
CLAIMS = {"type": "array", "items": {"type": "string"}}
SCHEMA = {
    "title": "Claims",
    "type": "object",
    "properties": {"claims": CLAIMS | {"maxItems": 9}},
    "required": ["claims"],
    "additionalProperties": False,
}
PROMPT = ModelPrompt("You read.", "What does it say?", SCHEMA, max_tokens=321)
WRITTEN = '{"claims": ["It rains."]}'

CUT = {"type": "text", "text": '{"claims": ["It r'}
REFUSED = {"type": "refusal", "category": "cyber", "explanation": "I will not read this."}
USED = Usage(calls=1, prompt_tokens=100, completion_tokens=9, cached_tokens=70)

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def message(*content: object, stop: str = "end_turn", **more: object) -> dict[str, object]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": content or [{"type": "text", "text": WRITTEN}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 30, "output_tokens": 9, "cache_read_input_tokens": 70},
        **more,
    }


def fault(kind: str, said: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": said}}


def anthropic(
    url: str, *, model: str = "claude-haiku-4-5", timeout: float = 10, retries: int = 3
) -> AnthropicModel:
    caller = RetryingCaller(Limits(retries=retries))
    return AnthropicModel(
        ANTHROPIC, model, caller=caller, timeout=timeout, temperature=0.0, base_url=url
    )


async def completed(model: AnthropicModel) -> Completion:
    async with model:
        return await model.complete(PROMPT)


@each_case(
    ("reply", "completion"),
    [
        (message(), Completion(WRITTEN, usage=USED)),
        (message(CUT, stop="max_tokens"), Completion(CUT["text"], truncated=True, usage=USED)),
        (
            message({"type": "text", "text": ""}, stop="refusal", stop_details=REFUSED),
            Completion("", refusal="I will not read this.", usage=USED),
        ),
    ],
)
async def test_a_reply_comes_with_what_it_took(faulty, behave, reply, completion):
    faulty.script(MESSAGES, behave.reply(reply))
    assert await completed(anthropic(faulty.url)) == completion


async def test_the_request_says_schema_limit_temperature_and_the_prompt_as_written(faulty, behave):
    faulty.script(MESSAGES, behave.reply(message()))
    await completed(anthropic(faulty.url, model="claude-sonnet-4-6"))
    (call,) = faulty.calls
    sent = json.loads(call.text)
    assert any(KEY in value for value in call.headers.values())
    assert sent["max_tokens"] == 321
    assert sent["temperature"] == 0.0
    assert sent["output_config"]["format"]["schema"]["required"] == ["claims"]
    assert sent["output_config"]["format"]["schema"]["properties"] == {"claims": CLAIMS}
    assert sent["system"] == "You read."
    assert sent["messages"] == [{"role": "user", "content": "What does it say?"}]


async def test_a_model_without_json_output_or_temperature_is_asked_without(faulty, behave, caplog):
    use = {"type": "tool_use", "id": "t", "name": "Claims", "input": json.loads(WRITTEN)}
    thought, text = {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Let me see."}
    said = "output_config.format is not supported by this model"
    faulty.script(
        MESSAGES,
        behave.reply(fault("invalid_request_error", said), status=400),
        behave.reply(fault("invalid_request_error", "`temperature` is deprecated"), status=400),
        behave.reply(message(thought, text, use, stop="tool_use")),
    )
    async with anthropic(faulty.url) as model:
        completion = await model.complete(PROMPT)
        assert (await model.complete(PROMPT)).usage.calls == 1
    sent = json.loads(faulty.calls[-1].text)
    assert sent["tools"][0]["input_schema"]["required"] == ["claims"]
    assert sent["tool_choice"] == {"type": "tool", "name": "Claims"}
    assert not sent.keys() & {"temperature", "output_config"}
    assert json.loads(completion.text) == json.loads(WRITTEN)
    assert (completion.thinks, completion.truncated, completion.usage.calls) == (True, False, 3)
    assert "it now gets a tool instead of a JSON schema and no temperature" in caplog.text


@pytest.mark.parametrize(
    ("status", "kind", "said", "cause", "tries"),
    [
        (429, "rate_limit_error", "not now", Cause.RATE_LIMITED, 3),
        (400, "invalid_request_error", "messages: too long", Cause.REJECTED, 1),
        (402, "billing_error", "no credit", Cause.BUDGET, 1),
        (400, "invalid_request_error", "Your credit balance is too low", Cause.BUDGET, 1),
    ],
)
async def test_only_our_retries_are_made(faulty, behave, status, kind, said, cause, tries):
    faulty.script(MESSAGES, behave.reply(fault(kind, said), status=status))
    with pytest.raises(CallError, match=f"returned {status}.*{said}") as caught:
        await completed(anthropic(faulty.url, retries=2))
    assert (caught.value.cause, caught.value.tries, len(faulty.calls)) == (cause, tries, tries)


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, "authentication_error", "The key or its permissions were rejected"),
        (404, "not_found_error", "The model 'claude-haiku-4-5' does not exist"),
    ],
)
async def test_a_bad_key_or_model_stops_the_run_but_not_once_it_answered(
    faulty, behave, status, kind, says
):
    refused = behave.reply(fault(kind, f"no: {KEY}"), status=status)
    faulty.script(MESSAGES, refused)
    with pytest.raises(UsageError, match=rf"returned {status}.*no: \[hidden\](?s:.*){says}"):
        await completed(anthropic(faulty.url))
    assert len(faulty.calls) == 1
    faulty.script(MESSAGES, behave.reply(message()), refused)
    async with anthropic(faulty.url) as model:
        await model.complete(PROMPT)
        with pytest.raises(CallError) as caught:
            await model.complete(PROMPT)
    assert (caught.value.cause, caught.value.status) == (Cause.UNREACHABLE, status)


@each_case(
    "reply",
    [
        *([], None, message({"type": "text", "text": None}), message() | {"usage": None}),
        *(message() | {"content": content} for content in (None, "text", [[]])),
        message() | {"stop_reason": ["end_turn"]},
    ],
)
async def test_a_reply_of_another_form_is_malformed(faulty, behave, reply):
    faulty.script(MESSAGES, behave.reply(reply))
    form = "the reply is not a message of Anthropic's protocol"
    with pytest.raises(CallError, match=form) as caught:
        await completed(anthropic(faulty.url))
    assert (caught.value.cause, caught.value.tries) == (Cause.MALFORMED, 1)
