import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone._internal.concurrency import LARGE
from ragstone.errors import CallError, Cause
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Completion, ModelPrompt
from ragstone.judges.llm.openai import _warn_once
from ragstone.types.questions import ExtractClaims
from ragstone.types.reply import JudgeFailureError, Usage

CHAT, EMBED, MODELS = "/v1/chat/completions", "/v1/embeddings", "/v1/models"
SCHEMA = {"title": "Claims", "type": "object"}
PROMPT = ModelPrompt("Be brief.", "What is it?", SCHEMA, 100)
PLAIN = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}

pytestmark = pytest.mark.usefixtures("quick")


def completion(**message: object) -> dict[str, object]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


THOUGHTS = ("reasoning_content", "reasoning")
CALLED = [{"type": "function", "function": {"name": "Claims", "arguments": "fine"}}]
FINE = Completion("fine")


def cut(reason: str | None, content: str = "fi") -> dict[str, object]:
    return {"choices": [{"message": {"content": content}, "finish_reason": reason}]}


USED = {
    "prompt_tokens": 7,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {
        "reasoning_tokens": 2,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 3,
        "rejected_prediction_tokens": 1,
    },
}
TOLD = Usage(
    calls=1,
    prompt_tokens=7,
    completion_tokens=5,
    cached_tokens=3,
    reasoning_tokens=2,
    accepted_prediction_tokens=3,
    rejected_prediction_tokens=1,
)
THOUGHT = Completion("fine", thinks=True)
FILTERED = "the provider's content filter stopped the reply"
SHAPES = [
    (PLAIN, FINE),
    *((completion(content=content), Completion("")) for content in (None, "", [])),
    (completion(), Completion("")),
    (completion(content=[{"type": "text", "text": "fi"}, {"text": "ne"}]), FINE),
    (completion(content=[{"type": "thinking", "thinking": "hm"}, {"text": "fine"}]), FINE),
    *((completion(content="fine", refusal=refusal), FINE) for refusal in (None, "")),
    (completion(content=None, refusal="No."), Completion("", refusal="No.")),
    (cut("length"), Completion("fi", truncated=True)),
    (cut("content_filter"), Completion("fi", refusal=FILTERED)),
    ({"choices": [{"message": {"content": "fine"}}]}, FINE),
    ({"choices": [*PLAIN["choices"], {"message": {"content": "fine"}}]}, FINE),
    (PLAIN | {"error": {"message": "a warning", "code": 500}}, FINE),
    *((PLAIN | {"usage": usage}, FINE) for usage in (None, {}, "none", [], 5)),
    *(
        (PLAIN | {"usage": {"prompt_tokens": count}}, FINE)
        for count in (-1, 1.5, "many", 2**63, True, [1], None)
    ),
    *(
        (PLAIN | {"usage": {"completion_tokens_details": details}}, FINE)
        for details in ("none", None, {"reasoning_tokens": None})
    ),
    (
        PLAIN | {"usage": {"prompt_tokens": 7, "completion_tokens": None}},
        Completion("fine", usage=Usage(calls=1, prompt_tokens=7)),
    ),
    (PLAIN | {"usage": USED}, Completion("fine", usage=TOLD, thinks=True)),
    *((completion(content="fine", **{key: "hm"}), THOUGHT) for key in THOUGHTS),
    *(
        (completion(content=content, **{key: "fine"}), THOUGHT)
        for key in THOUGHTS
        for content in (None, "", " \n")
    ),
    (completion(content=None, tool_calls=CALLED), FINE),
    (completion(content="", tool_calls=CALLED, reasoning="hm"), THOUGHT),
    (completion(content="fine", tool_calls=[{"function": {"arguments": "?"}}]), FINE),
    *((completion(content="fine", tool_calls=calls), FINE) for calls in (None, [], [{}])),
]


@each_case(("reply", "expected"), SHAPES)
async def test_a_reply_in_every_known_shape(faulty, behave, model, reply, expected) -> None:
    faulty.script(CHAT, behave.reply(reply))
    assert await model.complete(PROMPT) == expected


@each_case(
    ("reasons", "truncated", "filtered"),
    [
        ((None, "", "stop", "STOP", "end_turn", "eos_token"), False, False),
        (("length", "MAX_TOKENS", "FINISH_REASON_MAX_TOKENS", "model_length"), True, False),
        (("stop_length", "finish_error", "complete_by_limit", "a new reason"), True, False),
        (("content_filter", "SAFETY", "PROHIBITED_CONTENT"), False, True),
    ],
)
async def test_every_unknown_end_is_a_truncation(
    faulty, behave, model, reasons, truncated, filtered
) -> None:
    for reason in reasons:
        faulty.script(CHAT, behave.reply(cut(reason)))
        found = await model.complete(PROMPT)
        assert (found.truncated, found.refusal is not None) == (truncated, filtered), reason


@each_case(
    ("error", "cause", "calls"),
    [
        ({"message": "overloaded", "code": 529}, Cause.UNREACHABLE, 3),
        ("Rate limit reached", Cause.RATE_LIMITED, 3),
        ({"message": "bad request", "code": "400"}, Cause.REJECTED, 1),
    ],
)
async def test_an_error_with_status_200_is_retried_like_that_error(
    faulty, behave, model, failure, error, cause, calls
) -> None:
    faulty.script(CHAT, behave.reply({"error": error}))
    failed = await failure(model)
    assert (failed.cause, failed.tries) == (cause, calls)
    assert "returned 200 OK with an error (" in str(failed)


@each_case(
    ("reply", "seen"),
    [
        (b"", "all of it: Invalid JSON"),
        (b"fine", "it begins 'fine'"),
        (b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "<html><body>Sign in"),
        (b'{"choices": [{"message": {"content": "\xff\xfe"}}]}', "all of it: "),
        (b'{"choices": [{"message": {"content": "cut', "all of it: Invalid JSON"),
        (b"x" * 10 * 1024**2, "it begins 'xxx"),
        ({}, "choices: Field required"),
        ([], "all of it: "),
        *(({"choices": choices}, "choices: ") for choices in ([], None)),
        *(({"choices": [each]}, "choices.0.message") for each in ({}, {"message": None})),
        *((completion(content=each), "choices.0.message.content") for each in ({"a": []}, 5)),
    ],
)
async def test_what_is_no_completion_is_malformed(faulty, behave, model, failure, reply, seen):
    faulty.script(CHAT, behave.reply(reply))
    error = await failure(model)
    assert (error.cause, error.tries) == (Cause.MALFORMED, 1)
    assert "the reply is not a chat completion" in str(error)
    assert seen in str(error)
    assert len(str(error)) < 500


@each_case("choices", [[[]] * 9, [PLAIN["choices"][0]] * 101])
async def test_one_fault_is_enough_to_refuse_a_reply(faulty, behave, model, failure, choices):
    """An error for each of a million items would take gigabytes."""
    faulty.script(CHAT, behave.reply({"choices": choices}))
    error = await failure(model)
    assert error.cause is Cause.MALFORMED
    assert isinstance(error.__context__, ValidationError)
    assert error.__context__.error_count() == 1


async def test_a_reply_of_ten_megabytes_is_read(faulty, behave, model, failure) -> None:
    faulty.script(CHAT, behave.reply(completion(content="x" * 10 * 1024**2)))
    assert len((await model.complete(PROMPT)).text) == 10 * 1024**2
    faulty.script(CHAT, behave.reply({"error": {"message": "x" * LARGE}}))
    error = await failure(model)  # it is not searched for an error
    assert (error.cause, error.tries) == (Cause.MALFORMED, 1)


@each_case(
    ("reply", "status", "words"),
    [
        ({"error": {"message": "triggered our content management policy"}}, 400, "our content"),
        ({"choices": [], "promptFeedback": {"blockReason": "SAFETY"}}, 200, "is not a chat"),
        ({"choices": [], "error": None, "detail": "PROHIBITED_CONTENT"}, 200, "is not a chat"),
        ({"choices": [{"content_filter_results": {"filtered": True}}]}, 200, "is not a chat"),
    ],
)
async def test_a_filter_that_refuses_the_prompt_is_a_refusal(
    faulty, behave, model, reply: dict[str, object], status: int, words: str
) -> None:
    faulty.script(CHAT, behave.reply(reply, status=status))
    told = await model.complete(PROMPT)
    assert words in (told.refusal or "")
    assert (told.text, told.usage) == ("", Usage(calls=1))


async def test_several_different_choices_are_malformed(faulty, behave, model, failure) -> None:
    other = {"message": {"content": "other"}}
    faulty.script(CHAT, behave.reply({"choices": [*PLAIN["choices"], other]}))
    error = await failure(model)
    assert (error.cause, error.tries) == (Cause.MALFORMED, 1)
    assert str(error) == "the server sent 2 different replies at once"


async def test_a_reply_that_the_server_found_to_be_no_json_is_asked_for_again(
    faulty, behave, model, failure
) -> None:
    said = {"message": "Failed to generate JSON.", "code": "json_validate_failed"}
    faulty.script(CHAT, behave.reply({"error": said}, status=400))
    error = await failure(model)
    assert (error.cause, error.tries) == (Cause.MALFORMED, 1)
    assert "Failed to generate JSON." in str(error)
    question = ExtractClaims(query="q", response="It is known to be blue.")
    with pytest.raises(JudgeFailureError) as caught:
        await LlmJudge(model).answer(question)
    found = caught.value.failure
    assert (found.cause, found.attempts) == (Cause.MALFORMED, 2)


OVERFLOW = {"error": {"message": "the request exceeds the available context size"}}


@each_case(
    ("status", "said"),
    [
        *((400, OVERFLOW), (500, OVERFLOW), (413, b"prompt is too long")),
        (400, {"object": "error", "message": "The prompt is too long, context length is 8192"}),
    ],
)
async def test_a_prompt_longer_than_the_window_is_truncated(
    faulty, behave, model, failure, status, said
):
    faulty.script(CHAT, behave.reply(said, status=status))
    error = await failure(model)
    assert (error.cause, error.tries) == (Cause.TRUNCATED, 1)
    assert "set context_window to its size" in str(error)


@each_case(
    ("window", "tokens", "read", "is_cut"),
    [
        *((None, 8000, read, False) for read in (4097, 4095, 1024)),  # no size of a window
        *((None, 8000, 4096, True), (None, 2048, 2048, True), (None, 2047, 2048, False)),
        (None, 200_000, 131_072, True),
        *((5000, 7000, read, False) for read in (4096, 4997)),  # its window is known
        *((5000, 7000, 4998, True), (5000, 4000, 5000, True)),
    ],
)
async def test_a_prompt_that_the_server_cut_was_not_read(
    faulty, behave, model_at, window: int | None, tokens: int, read: int, is_cut: bool
) -> None:
    prompt = ModelPrompt("", "x" * 4 * tokens, SCHEMA, 100)
    faulty.script(MODELS, behave.reply({"data": [{"id": "mock", "max_model_len": window}]}))
    faulty.script(CHAT, behave.reply(PLAIN | {"usage": {"prompt_tokens": read}}))
    async with model_at(f"{faulty.url}/v1") as model:
        if not is_cut:
            assert (await model.complete(prompt)).usage.prompt_tokens == read
            return
        with pytest.raises(CallError) as caught:
            await model.complete(prompt)
    error = caught.value
    assert (error.cause, error.tries) == (Cause.TRUNCATED, 1)
    assert f"the server read {read:,} tokens of a prompt of about {tokens:,}," in str(error)
    assert f"set context_window to {read}" in str(error)


async def test_a_service_cuts_no_prompt(faulty, behave, model_at, caplog, monkeypatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    path = "/openai/deployments/mock/chat/completions"
    reply = PLAIN | {"usage": {"prompt_tokens": 4096}, "model": "gpt-4o"}
    faulty.script(path, behave.reply(reply))
    async with model_at(faulty.url, provider="azure") as model:
        found = await model.complete(ModelPrompt("", "x" * 32_000, SCHEMA, 100))
    assert found.usage.prompt_tokens == 4096
    assert len(faulty.calls) == 1  # nor is it asked for its window
    assert caplog.messages == [], "it names the model and not the deployment"


@each_case(
    ("name", "warned"),
    [
        *((name, True) for name in ("gpt-4o-mini", "mock-mini", "mock2", "mo")),
        *((name, False) for name in ("mock", "Mock-2024-08-06", "models/mock", "mock@001")),
        *((name, False) for name in ("org/Mock:latest", "", None, 5)),
    ],
)
async def test_another_model_than_the_judge_is_told_once(
    faulty, behave, model, caplog, name: object, warned: bool
) -> None:
    caplog.clear()
    _warn_once.cache_clear()
    faulty.script(CHAT, behave.reply(PLAIN | {"model": name}))
    for _ in range(2):
        assert await model.complete(PROMPT) == FINE
    told = [f"openai:mock: the replies are from the model {name!r}"] if warned else []
    assert caplog.messages == told


def vectors(*indexes: int, **more: object) -> dict[str, object]:
    return {"data": [{"index": at, "embedding": [at, 0.5]} for at in indexes]} | more


async def test_embeddings_come_in_the_order_of_the_texts(faulty, behave, model) -> None:
    faulty.script(EMBED, behave.reply(vectors(2, 0, 1, usage={"prompt_tokens": 9})))
    told, usage = await model.embed(["a", "b", "c"])
    assert told == ((0.0, 0.5), (1.0, 0.5), (2.0, 0.5))
    assert usage == Usage(calls=1, prompt_tokens=9)
    asked = faulty.called(EMBED)[0].json
    assert asked == {"model": "mock", "input": ["a", "b", "c"], "encoding_format": "float"}


@each_case("indexes", [(), (0,), (0, 1, 2), (0, 0), (1, 2), (0, 5)])
async def test_other_embeddings_than_were_asked_for_are_none(faulty, behave, model, indexes):
    faulty.script(EMBED, behave.reply(vectors(*indexes)))
    with pytest.raises(CallError, match=f"got {len(indexes)} embeddings? for 2") as caught:
        await model.embed(["a", "b"])
    assert caught.value.cause is Cause.COUNT_MISMATCH


@each_case(
    "reply",
    [
        *(b"no", {}, {"data": None}, {"data": [{"embedding": [0.1]}]}),
        {"data": [{"index": 0}]},
        *({"data": [{"index": 0, "embedding": each}]} for each in ("AAAA", [], [0.1, None])),
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
    ],
)
async def test_embeddings_that_cannot_be_read_are_malformed(faulty, behave, model, reply) -> None:
    faulty.script(EMBED, behave.reply(reply))
    with pytest.raises(CallError, match="the reply is not a list of embeddings") as caught:
        await model.embed(["a"])
    assert caught.value.cause is Cause.MALFORMED
