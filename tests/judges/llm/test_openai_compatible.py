import asyncio
from threading import Event

import pytest
from aiohttp import web

from ragstone._internal.concurrency import LARGE
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.llm.model import ModelPrompt
from ragstone.judges.llm.openai import AZURE_VERSION, OpenAICompatibleModel

CHAT = "/v1/chat/completions"
SCHEMA = {"title": "Claims", "type": "object"}
PROMPT = ModelPrompt("Be brief.", "What is it?", SCHEMA, 100)
PLAIN = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}

pytestmark = pytest.mark.usefixtures("quick")


async def test_a_request_as_the_protocol_has_it(key, faulty, behave, model) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    assert (await model.complete(PROMPT)).text == "fine"
    (call,) = faulty.calls
    assert call.headers["authorization"] == f"Bearer {key}"
    assert call.headers["content-type"] == "application/json"
    assert call.json == {
        "model": "mock",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is it?"},
        ],
        "max_tokens": 100,
        "temperature": 0.0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Claims", "strict": True, "schema": SCHEMA},
        },
    }


def test_the_version_of_azures_interface_is_part_of_what_shapes_a_reply(
    model_at, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")

    def identities() -> list[str]:
        return [model_at("http://h", provider=name).identity for name in ("azure", "openai")]

    azure, openai = identities()
    monkeypatch.setenv("AZURE_OPENAI_API_VERSION", AZURE_VERSION)
    assert identities() == [azure, openai]
    monkeypatch.setenv("AZURE_OPENAI_API_VERSION", "2025-01-01")
    assert identities()[0] != azure
    assert identities()[1] == openai


async def test_no_temperature_is_sent_where_none_is_wanted(model_at, faulty, behave) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1/", temperature=None) as model:
        await model.complete(PROMPT)
    assert "temperature" not in faulty.calls[0].json


async def test_a_reasoning_model_is_asked_in_its_own_words(model_at, faulty, behave) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1", name="o3-mini") as model:
        await model.complete(PROMPT)
    asked = faulty.calls[0].json
    assert asked["max_completion_tokens"] == 100
    assert not {"max_tokens", "temperature"} & asked.keys()


async def test_azure_has_its_own_place_and_header(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-0123456789")
    path = "/openai/deployments/judge/chat/completions"
    faulty.script(path, behave.reply(PLAIN))
    async with model_at(faulty.url, provider="azure", name="judge") as model:
        await model.complete(PROMPT)
    (call,) = faulty.calls
    assert call.raw_path == f"{path}?api-version=2024-10-21"
    assert call.headers["api-key"] == "azure-key-0123456789"
    assert "authorization" not in call.headers


async def test_a_server_of_ones_own_needs_no_key(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1") as model:
        await model.complete(PROMPT)
    assert "authorization" not in faulty.calls[0].headers


async def test_one_connection_serves_many_calls(model_at, judge_server) -> None:
    ports = set[object]()

    async def note(asked, request: web.Request) -> dict[str, object]:
        ports.add(request.transport.get_extra_info("peername"))
        return PLAIN

    judge_server.fault = note
    async with model_at(judge_server.url, limits={"concurrency": 3}) as model:
        await asyncio.gather(*(model.complete(PROMPT) for _ in range(40)))
    assert len(ports) <= 3
    assert judge_server.most <= 3


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_stops_the_run(key, faulty, behave, model, status: int) -> None:
    faulty.script(CHAT, behave.reply(f"wrong: {key}".encode(), status=status))
    with pytest.raises(UsageError) as caught:
        await model.complete(PROMPT)
    assert str(caught.value).startswith("the judge openai:mock, with the key in OPENAI_API_KEY: ")
    assert "[hidden]" in str(caught.value)
    assert key not in str(caught.value)
    assert len(faulty.calls) == 1


async def test_a_key_that_is_missing_at_ones_own_server_is_told_so(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    faulty.script(CHAT, behave.reply(status=401))
    async with model_at(f"{faulty.url}/v1") as model:
        with pytest.raises(UsageError, match="the judge openai:mock, without a key: "):
            await model.complete(PROMPT)


async def test_401_after_a_reply_is_about_one_call(faulty, behave, model, failure) -> None:
    faulty.script(CHAT, behave.reply(PLAIN), behave.reply(status=401))
    await model.complete(PROMPT)
    assert (await failure(model)).status == 401


async def test_an_unknown_model_stops_the_run(faulty, behave, model) -> None:
    faulty.script(CHAT, behave.reply({"error": {"code": "model_not_found"}}, status=404))
    with pytest.raises(UsageError, match="The model 'mock' does not exist") as caught:
        await model.complete(PROMPT)
    assert "base_url" in str(caught.value)


async def test_404_after_a_reply_is_about_one_call(faulty, behave, model, failure) -> None:
    faulty.script(CHAT, behave.reply(PLAIN), behave.reply(status=404))
    await model.complete(PROMPT)
    assert (await failure(model)).status == 404


@pytest.mark.parametrize("status", [200, 400, 404, 418, 429, 500])
async def test_the_key_is_in_no_message(key, model_at, faulty, behave, status: int) -> None:
    said = {"error": {"message": f"{'x' * 60} {key}"}}
    faulty.script(CHAT, behave.reply(said, status=status))
    async with model_at(f"{faulty.url}/v1", limits={"retries": 0}) as model:
        with pytest.raises((CallError, UsageError)) as caught:
            await model.complete(PROMPT)
        assert "hidden" in str(caught.value)
        assert key[:8] not in str(caught.value)
        assert key not in repr(caught.value) + repr(model) + model.identity


async def test_the_key_is_hidden_in_what_a_model_writes(key, faulty, behave, model) -> None:
    faulty.script(
        CHAT,
        behave.reply({"choices": [{"message": {"content": f"key: {key}", "refusal": key}}]}),
    )
    told = await model.complete(PROMPT)
    assert (told.text, told.refusal) == ("key: [hidden]", "[hidden]")


async def test_a_word_that_stands_in_for_a_key_changes_no_reply(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "1")
    faulty.script(CHAT, behave.reply({"choices": [{"message": {"content": '{"claim": 1}'}}]}))
    async with model_at(f"{faulty.url}/v1") as model:
        assert (await model.complete(PROMPT)).text == '{"claim": 1}'


def test_what_shapes_a_reply_is_in_the_identity(model_at) -> None:
    def identity(url: str = "http://h/v1", **options: object) -> str:
        return model_at(url, **options).identity

    others = [
        identity("http://other/v1"),
        identity(name="mock2"),
        identity(provider="vllm"),
        identity(temperature=None),
        identity(temperature=0.7),
    ]
    assert len({identity(), *others}) == 6
    assert identity("http://user:pw@h/v1/") == identity(timeout=9.0, limits={"rpm": 3})
    assert "pw" not in identity("http://user:pw@h/v1")


async def test_a_spent_quota_ends_the_run_at_once(faulty, behave, model) -> None:
    said = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    faulty.script(CHAT, behave.reply(said, status=429))
    with pytest.raises(UsageError, match="quota is exhausted; the run stops"):
        await model.complete(PROMPT)
    assert len(faulty.calls) == 1


async def test_a_quota_that_is_spent_half_way_fails_what_comes_after(
    faulty, behave, model, failure
) -> None:
    said = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    faulty.script(CHAT, behave.reply(PLAIN), behave.reply(said, status=429))
    await model.complete(PROMPT)
    error = await failure(model)
    assert (error.cause, error.tries) == (Cause.RATE_LIMITED, 1)


async def test_other_rows_go_on_while_a_large_reply_is_parsed(
    monkeypatch: pytest.MonkeyPatch, faulty, behave, model
) -> None:
    """The parser waits for the event loop, which would wait for the parser."""
    loop, turned, parsed = asyncio.get_running_loop(), Event(), OpenAICompatibleModel._completion

    def waiting(*arguments: object) -> object:
        loop.call_soon_threadsafe(turned.set)
        assert turned.wait(20), "the event loop is blocked"
        return parsed(*arguments)

    monkeypatch.setattr(OpenAICompatibleModel, "_completion", waiting)
    choice = {"message": {"content": "x" * LARGE}, "finish_reason": "stop"}
    faulty.script(CHAT, behave.reply({"choices": [choice]}))
    assert (await model.complete(PROMPT)).text == "x" * LARGE
