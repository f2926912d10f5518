"""A model of pydantic-ai: Anthropic's over a real socket, what others may do by FunctionModel."""

import json
from collections.abc import Callable

import pytest
from pydantic_ai import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from tests.cases import each_case

from ragstone._internal.rate_limit import Limits, RetryingCaller
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.llm.model import Completion, ModelPrompt
from ragstone.judges.llm.pydantic_ai import PydanticAiModel
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
    url: str,
    *,
    model: str = "claude-haiku-4-5",
    timeout: float = 10,
    temperature: float | None = 0.0,
    retries: int = 3,
) -> PydanticAiModel:
    return PydanticAiModel(
        "anthropic",
        model,
        caller=RetryingCaller(Limits(retries=retries)),
        timeout=timeout,
        temperature=temperature,
        base_url=url,
    )


async def completed(model: PydanticAiModel) -> Completion:
    async with model:
        return await model.complete(PROMPT)


async def test_a_reply_comes_with_what_it_took(faulty, behave):
    faulty.script(MESSAGES, behave.reply(message()))
    assert await completed(anthropic(faulty.url)) == Completion(
        WRITTEN, usage=Usage(calls=1, prompt_tokens=100, completion_tokens=9, cached_tokens=70)
    )


async def test_the_request_says_schema_limit_temperature_and_the_prompt_as_written(faulty, behave):
    faulty.script(MESSAGES, behave.reply(message()))
    await completed(anthropic(faulty.url, model="claude-sonnet-4-6"))
    (call,) = faulty.calls
    sent = json.loads(call.text)
    assert any(KEY in value for value in call.headers.values())
    assert sent["max_tokens"] == 321
    assert sent["temperature"] == 0.0
    assert sent["output_config"]["format"]["schema"]["required"] == ["claims"]
    assert [part["text"] for part in sent["system"]] == ["You read."]
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "What does it say?"}]}
    ]


async def test_a_model_without_json_output_is_asked_through_a_tool(faulty, behave):
    use = {"type": "tool_use", "id": "t", "name": "Claims", "input": json.loads(WRITTEN)}
    said = {"type": "text", "text": "Let me see."}
    faulty.script(MESSAGES, behave.reply(message(said, use, stop="tool_use")))
    completion = await completed(anthropic(faulty.url, model="model-of-a-proxy"))
    sent = json.loads(faulty.calls[0].text)
    assert [tool["name"] for tool in sent["tools"]] == ["Claims"]
    assert sent["tool_choice"]["type"] in ("any", "tool")
    assert json.loads(completion.text) == json.loads(WRITTEN)


async def test_a_model_that_refuses_a_temperature_gets_none_and_says_so(faulty, behave):
    faulty.script(MESSAGES, behave.reply(message()))
    model = anthropic(faulty.url, model="claude-opus-4-7")
    await completed(model)
    assert "temperature" not in json.loads(faulty.calls[0].text)
    assert json.loads(model.identity)["temperature"] is None


async def test_retry_after_is_obeyed_and_the_tries_are_told(faulty, behave):
    limited = fault("rate_limit_error", "slow down")
    faulty.script(
        MESSAGES,
        behave.reply(limited, status=429, headers={"Retry-After": "1"}),
        behave.reply(message()),
    )
    completion = await completed(anthropic(faulty.url))
    first, second = faulty.calls
    assert second.at - first.at >= 0.9
    assert (completion.usage.calls, completion.usage.retries) == (2, 1)


async def test_a_wait_that_is_too_long_is_not_waited_for(faulty, behave):
    limited = fault("rate_limit_error", "slow down")
    faulty.script(MESSAGES, behave.reply(limited, status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(CallError, match="the server asked to wait 3600 s") as caught:
        await completed(anthropic(faulty.url))
    assert caught.value.cause is Cause.RATE_LIMITED
    assert len(faulty.calls) == 1


@pytest.mark.parametrize(
    ("status", "kind", "cause"),
    [
        (429, "rate_limit_error", Cause.RATE_LIMITED),
        (500, "api_error", Cause.UNREACHABLE),
        (529, "overloaded_error", Cause.UNREACHABLE),
    ],
)
async def test_only_our_retries_are_made(faulty, behave, status, kind, cause):
    faulty.script(MESSAGES, behave.reply(fault(kind, "not now"), status=status))
    with pytest.raises(CallError, match=rf"returned {status}: not now \(tried 3 times\)") as caught:
        await completed(anthropic(faulty.url, retries=2))
    assert (caught.value.cause, caught.value.tries, len(faulty.calls)) == (cause, 3, 3)


async def test_a_late_reply_is_a_timeout_that_is_tried_again(faulty, behave):
    faulty.script(MESSAGES, behave.hang(), behave.reply(message()))
    assert (await completed(anthropic(faulty.url, timeout=0.3))).usage.calls == 2
    faulty.script(MESSAGES, behave.hang())
    with pytest.raises(CallError, match=r"no reply within 0\.1 s; raise the timeout") as caught:
        await completed(anthropic(faulty.url, timeout=0.1, retries=1))
    assert (caught.value.cause, caught.value.tries) == (Cause.TIMEOUT, 2)


async def test_a_closed_door_and_a_broken_reply_are_unreachable(faulty, behave):
    faulty.script(MESSAGES, behave.drop())
    with pytest.raises(CallError) as caught:
        await completed(anthropic(faulty.url, retries=1))
    assert (caught.value.cause, caught.value.tries) == (Cause.UNREACHABLE, 2)
    await faulty.stop()
    with pytest.raises(CallError) as caught:
        await completed(anthropic(faulty.url, retries=0))
    assert caught.value.cause is Cause.UNREACHABLE


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, "authentication_error", "The key or its permissions were rejected"),
        (403, "permission_error", "The key or its permissions were rejected"),
        (404, "not_found_error", "There is no such model"),
    ],
)
async def test_a_bad_key_or_model_stops_the_run_but_not_once_it_answered(
    faulty, behave, status, kind, says
):
    refused = behave.reply(fault(kind, f"no: {KEY}"), status=status)
    faulty.script(MESSAGES, refused)
    with pytest.raises(UsageError, match=rf"returned {status}: no: \[hidden\]\n{says}"):
        await completed(anthropic(faulty.url))
    assert len(faulty.calls) == 1
    faulty.script(MESSAGES, behave.reply(message()), refused)
    async with anthropic(faulty.url) as model:
        await model.complete(PROMPT)
        with pytest.raises(CallError) as caught:
            await model.complete(PROMPT)
    assert (caught.value.cause, caught.value.status) == (Cause.UNREACHABLE, status)


@pytest.mark.parametrize(
    ("status", "kind", "said", "cause"),
    [
        (400, "invalid_request_error", "messages: too long", Cause.REJECTED),
        (402, "billing_error", "no credit", Cause.RATE_LIMITED),
    ],
)
async def test_what_another_try_cannot_mend_is_not_tried(faulty, behave, status, kind, said, cause):
    faulty.script(MESSAGES, behave.reply(fault(kind, said), status=status))
    with pytest.raises(CallError, match=f"returned {status}: {said}") as caught:
        await completed(anthropic(faulty.url))
    assert (caught.value.cause, caught.value.status, caught.value.tries) == (cause, status, 1)


@each_case(
    "reply",
    [
        [],
        None,
        message() | {"content": None},
        message() | {"content": "text"},
        message() | {"content": [[]]},
        message({"type": "text", "text": None}),
        message({"type": "of tomorrow"}),
        message() | {"usage": None},
        message() | {"stop_reason": ["end_turn"]},
    ],
)
async def test_a_reply_that_the_sdk_cannot_read_is_malformed(faulty, behave, reply):
    faulty.script(MESSAGES, behave.reply(reply))
    with pytest.raises(CallError, match="sent a reply that its SDK cannot read") as caught:
        await completed(anthropic(faulty.url))
    assert (caught.value.cause, caught.value.tries) == (Cause.MALFORMED, 1)


async def test_a_reply_at_the_token_limit_is_truncated(faulty, behave):
    cut = {"type": "text", "text": '{"claims": ["It r'}
    faulty.script(MESSAGES, behave.reply(message(cut, stop="max_tokens")))
    completion = await completed(anthropic(faulty.url))
    assert (completion.text, completion.truncated) == (cut["text"], True)


async def test_a_refusal_is_told_in_the_providers_words(faulty, behave):
    details = {"type": "refusal", "category": "cyber", "explanation": "I will not read this."}
    reply = message({"type": "text", "text": ""}, stop="refusal", stop_details=details)
    faulty.script(MESSAGES, behave.reply(reply))
    assert (await completed(anthropic(faulty.url))).refusal == "I will not read this."


Reply = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PydanticAiModel]:
    """Make a model that answers as a function does."""

    def make(reply: Reply, **profile: object) -> PydanticAiModel:
        wire = FunctionModel(reply, profile=profile)
        monkeypatch.setattr("ragstone.judges.llm.pydantic_ai.connect", lambda *_, **__: wire)
        return PydanticAiModel(
            "some", "model", caller=RetryingCaller(Limits(retries=1)), timeout=5, temperature=None
        )

    return make


async def test_thoughts_are_no_part_of_the_text(made):
    parts = [ThinkingPart("Hm."), TextPart('{"claims":'), TextPart(" []}")]
    usage = RequestUsage(input_tokens=8, output_tokens=7, output_reasoning_tokens=5)
    model = made(lambda *_: ModelResponse(parts, usage=usage))
    completion = await model.complete(PROMPT)
    assert completion.text == '{"claims": []}'
    assert (completion.usage.completion_tokens, completion.usage.reasoning_tokens) == (7, 5)


@pytest.mark.parametrize(
    ("profile", "mode"),
    [
        ({"supports_json_schema_output": True}, "native"),
        ({"supports_json_schema_output": False, "supports_tools": True}, "tool"),
        ({"supports_json_schema_output": False, "supports_tools": False}, "prompted"),
    ],
)
async def test_the_schema_goes_the_best_way_that_the_model_has(made, profile, mode):
    seen = []

    def reply(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((info.model_request_parameters, info.instructions or ""))
        calls = [ToolCallPart(tool.name, WRITTEN) for tool in info.output_tools]
        return ModelResponse(calls or [TextPart(WRITTEN)])

    completion = await made(reply, **profile).complete(PROMPT)
    assert json.loads(completion.text) == json.loads(WRITTEN)
    ((parameters, system),) = seen
    assert parameters.output_mode == mode
    form, (*tools,) = parameters.output_object, parameters.output_tools
    schema = tools[0].parameters_json_schema if tools else form.json_schema
    assert schema == SCHEMA | {"properties": {"claims": CLAIMS}}, "without limits"
    assert system.startswith("You read.")
    assert ('"claims"' in system) == (mode == "prompted")


async def test_a_filtered_reply_without_words_is_a_refusal_all_the_same(made):
    model = made(lambda *_: ModelResponse([], finish_reason="content_filter"))
    completion = await model.complete(PROMPT)
    assert completion.text == ""
    assert completion.refusal == "the provider's content filter stopped the reply"


@pytest.mark.parametrize(
    ("raised", "cause", "tries"),
    [
        (UnexpectedModelBehavior("what is this?"), Cause.UNREACHABLE, 2),
        (ModelHTTPError(502, "model", None), Cause.UNREACHABLE, 2),
        (ModelHTTPError(429, "model", None), Cause.RATE_LIMITED, 2),
        (ModelHTTPError(418, "model", {"message": "tea?"}), Cause.UNREACHABLE, 1),
    ],
)
async def test_errors_of_no_class_are_judged_by_their_status(made, raised, cause, tries):
    def reply(*_: object) -> ModelResponse:
        raise raised

    with pytest.raises(CallError) as caught:
        await made(reply).complete(PROMPT)
    assert (caught.value.cause, caught.value.tries) == (cause, tries)


def test_the_identity_tells_all_that_shapes_a_reply_and_no_secret():
    def identity(**changes: object) -> str:
        given = {"url": "http://me:password@127.0.0.1:1", "temperature": 0.0} | changes
        return anthropic(given.pop("url"), **given).identity

    assert identity() == identity()
    assert "password" not in identity()
    others = {identity(url="http://127.0.0.1:2"), identity(temperature=1.0), identity(model="x")}
    assert len({identity(), *others}) == 4


def test_an_address_from_the_environment_is_part_of_the_identity(monkeypatch):
    usual = PydanticAiModel(
        "anthropic", "m", caller=RetryingCaller(Limits()), timeout=1, temperature=None
    )
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    other = PydanticAiModel(
        "anthropic", "m", caller=RetryingCaller(Limits()), timeout=1, temperature=None
    )
    assert usual.name == other.name == "anthropic:m"
    assert usual.identity != other.identity


async def test_only_a_request_that_was_sent_may_be_charged(faulty, behave, unused_tcp_port):
    busy = behave.reply(fault("overloaded_error", "busy"), status=529)
    for url, reply, lost in (
        (faulty.url, behave.drop(within=True), True),
        (faulty.url, busy, False),
        (f"http://127.0.0.1:{unused_tcp_port}", busy, False),
    ):
        faulty.script(MESSAGES, reply)
        with pytest.raises(CallError) as caught:
            await completed(anthropic(url, retries=0))
        tried = caught.value.__context__  # the error of the try, which is charged
        assert any(isinstance(e, CallError) and e.lost for e in (tried, caught.value)) is lost, url
