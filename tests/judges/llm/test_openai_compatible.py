import asyncio
from threading import Event

import pytest
from aiohttp import web

from ragstone._internal.concurrency import LARGE
from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.factory import make_judge
from ragstone.judges.llm.judge import SAME_FAILURES
from ragstone.judges.llm.model import ModelPrompt
from ragstone.judges.llm.openai import AZURE_VERSION, OpenAICompatibleModel, Provider
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims
from ragstone.types.reply import JudgeFailureError, Usage

CHAT, MODELS, PS = "/v1/chat/completions", "/v1/models", "/api/ps"
SCHEMA = {"title": "Claims", "type": "object"}
PROMPT = ModelPrompt("Be brief.", "What is it?", SCHEMA, 100)
PLAIN = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}

pytestmark = pytest.mark.usefixtures("quick")


async def test_a_request_as_the_protocol_has_it(key, faulty, behave, model) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    assert (await model.complete(PROMPT)).text == "fine"
    (call,) = faulty.called(CHAT)
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
    assert "temperature" not in faulty.called(CHAT)[0].json


async def test_a_reasoning_model_is_asked_in_its_own_words(model_at, faulty, behave) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1", name="o3-mini") as model:
        await model.complete(PROMPT)
    asked = faulty.called(CHAT)[0].json
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
    (call,) = faulty.called(path)
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
    assert "authorization" not in faulty.called(CHAT)[0].headers


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
    assert len(faulty.called(CHAT)) == 1


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


UNKNOWN = [
    (404, {"error": {"code": "model_not_found"}}),
    (404, b""),
    (400, {"error": {"message": "Invalid model name passed in model=mock."}}),
    (400, {"error": {"message": "The model `mock` does not exist or you have no access."}}),
    (422, {"detail": "no such model"}),
    (500, {"error": {"message": "model 'mock' not found, try pulling it first"}}),
]


@pytest.mark.parametrize(("status", "said"), UNKNOWN)
async def test_an_unknown_model_stops_the_run(faulty, behave, model, status: int, said) -> None:
    faulty.script(CHAT, behave.reply(said, status=status))
    with pytest.raises(UsageError, match="The model 'mock' does not exist") as caught:
        await model.complete(PROMPT)
    assert "base_url" in str(caught.value)
    assert len(faulty.called(CHAT)) == 1


@pytest.mark.parametrize(("status", "said"), UNKNOWN)
async def test_after_a_reply_it_is_about_one_call(
    faulty, behave, model, failure, status: int, said
) -> None:
    faulty.script(CHAT, behave.reply(PLAIN), behave.reply(said, status=status))
    await model.complete(PROMPT)
    assert (await failure(model)).status == status


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
        identity(body={"seed": 1}),
        identity(body={"seed": 2}),
    ]
    assert len({identity(), *others}) == 8
    assert identity("http://user:pw@h/v1/") == identity(timeout=9.0, limits={"rpm": 3})
    assert identity(headers={"X-Team": "a"}) == identity(headers={"X-Team": "b"})
    assert "pw" not in identity("http://user:pw@h/v1")


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param(429, {"message": "You exceeded your quota.", "code": "insufficient_quota"}),
        (429, {"message": "Error code: 429 - insufficient_quota"}),
        (402, {"message": "Payment Required"}),
        (402, {"message": "Insufficient credits. Add more at https://openrouter.ai"}),
        (402, {"message": "Insufficient Balance"}),
        (400, {"message": "Budget has been exceeded! Current cost: 2, max budget: 1"}),
        pytest.param(429, {"type": "budget_exceeded"}),
        (500, {"message": "Crossed budget of the team"}),
    ],
)
async def test_a_spent_account_is_a_spent_budget(
    faulty, behave, model, status: int, said: dict[str, str], answered: bool
) -> None:
    spent = behave.reply({"error": said}, status=status)
    faulty.script(CHAT, *[behave.reply(PLAIN)] * answered, spent)
    if answered:
        await model.complete(PROMPT)
    with pytest.raises(CallError, match="the account's budget is spent") as caught:
        await model.complete(PROMPT)
    error = caught.value
    assert (error.cause, error.status, error.tries) == (Cause.BUDGET, status, 1)
    assert len(faulty.called(CHAT)) == 1 + answered


def served(**models: dict[str, object]) -> dict[str, object]:
    return {"data": [{"id": name, **told} for name, told in models.items()]}


@pytest.mark.parametrize("echo", ["insufficient_quota", "response_format", "model not found"])
async def test_a_request_that_an_error_repeats_says_nothing(
    faulty, behave, model, failure, echo: str
) -> None:
    said = {"error": {"message": "The server is busy.", "request": echo}}
    faulty.script(CHAT, behave.reply(said, status=500))
    assert (await failure(model)).tries == 3
    faulty.script(CHAT, behave.reply(said, status=400))
    assert (await failure(model)).tries == 1


LONG = ModelPrompt("Be brief.", "word " * 500, SCHEMA, 900)  # about 628 tokens
WINDOW = {"max_model_len": 418}


@pytest.mark.parametrize(
    "models",
    [
        served(mock=WINDOW),
        served(mock={"meta": {"n_ctx": 418, "n_ctx_train": 9999}}),
        served(mock={"loaded_context_length": 418, "max_context_length": 9999}),
        {"models": [{"model": "mock", "name": "mock", "context_length": 418}]},
        served(**{"other": {"max_model_len": 9999}, "org/Mock": WINDOW}),
        served(**{"mock-2024-08-06": {"max_model_len": 9999}, "mock": WINDOW}),
        served(whatever=WINDOW),  # it is the only one
    ],
)
async def test_a_prompt_longer_than_the_servers_window_is_not_sent(
    model_at, faulty, behave, failure, models
) -> None:
    faulty.script(MODELS, behave.reply(models))
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1") as model:
        with pytest.raises(CallError) as caught:
            await model.complete(LONG)
        assert (caught.value.cause, caught.value.tries) == (Cause.TRUNCATED, 0)
        assert str(caught.value).startswith(
            "the prompt has about 628 tokens, and the server's window for mock is 418: "
        )
        assert "set context_window to 418" in str(caught.value)
        assert not faulty.called(CHAT)
        await model.complete(PROMPT)
    (call,) = faulty.called(MODELS)
    assert call.headers["authorization"] == faulty.called(CHAT)[0].headers["authorization"]


@pytest.mark.parametrize(
    "models",
    [
        *({"status": status} for status in (401, 404, 500)),
        {"body": b"<html>"},
        {"body": []},
        {"body": {"data": None}},
        {"body": served()},
        {"body": served(mock={})},
        {"body": served(mock={"max_model_len": None, "meta": None})},
        {"body": served(mock={"max_model_len": 0})},
        {"body": served(mock={"max_model_len": "many"})},
        {"body": served(mock={"max_model_len": 419})},
        {"body": served(one=WINDOW, other=WINDOW)},
        {"after": 600.0},
    ],
    ids=str,
)
async def test_a_server_that_does_not_tell_its_window_is_asked(
    faulty, behave, model, monkeypatch: pytest.MonkeyPatch, models
) -> None:
    monkeypatch.setattr("ragstone.judges.llm.openai._MODELS_TIMEOUT", 0.2)
    faulty.script(MODELS, behave.reply(**models))
    faulty.script(CHAT, behave.reply(PLAIN))
    assert (await model.complete(LONG)).usage == Usage(calls=1)


async def test_the_window_is_asked_for_once_and_is_no_call_of_the_budget(
    model_at, faulty, behave
) -> None:
    faulty.script(MODELS, behave.reply(served(mock={"max_model_len": 9999}), after=0.02))
    faulty.script(CHAT, behave.reply(PLAIN))
    limits = {"budget": Budget(max_calls=9), "concurrency": 1}
    async with model_at(f"{faulty.url}/v1", limits=limits) as model:
        await asyncio.gather(*(model.complete(PROMPT) for _ in range(9)))
    assert (len(faulty.called(MODELS)), len(faulty.called(CHAT))) == (1, 9)


def loaded(window: int) -> dict[str, object]:
    """What Ollama tells about a model that it has loaded."""
    return {"models": [{"model": "mock:latest", "context_length": window}]}


@pytest.mark.parametrize(("window", "known"), [(418, True), (0, False)])
async def test_a_window_that_is_not_known_is_asked_for_once_more_after_a_reply(
    faulty, behave, model, window: int, known: bool
) -> None:
    faulty.script(MODELS, behave.reply(served(mock={})))
    faulty.script(PS, behave.reply({"models": []}), behave.reply(loaded(window)))
    faulty.script(CHAT, behave.reply(PLAIN))
    await model.complete(LONG)
    if known:
        with pytest.raises(CallError, match="window for mock is 418: "):
            await model.complete(LONG)
    else:
        await model.complete(LONG)
    assert [len(faulty.called(path)) for path in (MODELS, PS)] == [2, 2]


@pytest.mark.parametrize(
    ("window", "most"), [(None, 900), (9999, 900), (1500, 558), (1000, 256), (500, 256)]
)
async def test_a_reply_may_be_as_long_as_the_prompt_leaves_of_the_window(
    faulty, behave, model, window: int | None, most: int
) -> None:
    faulty.script(MODELS, behave.reply(served(mock={"max_model_len": window})))
    faulty.script(CHAT, behave.reply(PLAIN))
    await model.complete(LONG)
    assert faulty.called(CHAT)[0].json["max_tokens"] == most
    await model.complete(PROMPT)
    assert faulty.called(CHAT)[1].json["max_tokens"] == 100


@pytest.mark.parametrize(("name", "asked"), [("openai", 0), ("vllm", 2)])
async def test_only_a_server_of_ones_own_is_asked_for_its_window(
    key, faulty, behave, name: str, asked: int
) -> None:
    faulty.script(CHAT, behave.reply(PLAIN))
    provider = Provider(name, f"{faulty.url}/v1", "OPENAI_API_KEY")
    caller = RetryingCaller(Limits())
    model = OpenAICompatibleModel(provider, "m", caller=caller, timeout=5, temperature=None)
    async with model:
        await model.complete(PROMPT)
    assert len(faulty.called(MODELS)) == asked


async def test_headers_and_fields_of_ones_own_are_sent(
    key, model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY", "gateway-secret-1")
    faulty.script(CHAT, behave.reply(PLAIN))
    settings = {
        "headers": {"X-Team": "search", "X-Api-Key": "Bearer ${GATEWAY}"},
        "body": {"reasoning_effort": "low", "seed": 7, "user": {"api_key": "${GATEWAY}"}},
    }
    async with model_at(f"{faulty.url}/v1", **settings) as model:
        await model.complete(PROMPT)
    for call in faulty.calls:
        assert call.headers["authorization"] == f"Bearer {key}"
        assert (call.headers["x-team"], call.headers["x-api-key"]) == (
            "search",
            "Bearer gateway-secret-1",
        )
    sent = faulty.called(CHAT)[0].json
    assert (sent["reasoning_effort"], sent["seed"], sent["model"]) == ("low", 7, "mock")
    assert sent["user"] == {"api_key": "gateway-secret-1"}
    assert "gateway-secret-1" not in model.identity


async def test_a_plan_has_headers_and_fields(judge_server) -> None:
    more = {"judge_headers": {"X-Team": "search"}, "judge_body": {"seed": 7}}
    plan = Plan(judge="openai:m", base_url=judge_server.url, cache=False, **more)
    async with make_judge(plan) as judge:
        await judge.answer(ExtractClaims(query="q", response="It is known to be blue."))
    (asked,) = judge_server.asked
    assert (asked.headers["x-team"], asked.body["seed"]) == ("search", 7)


async def test_until_the_first_reply_few_calls_are_under_way(judge_server) -> None:
    async def fail(asked, request: web.Request) -> web.Response:
        return web.Response(status=400, text="no" * asked.number)

    judge_server.delay = 0.05
    judge_server.fault = fail
    questions = [ExtractClaims(query="q", response=f"It is {n}.") for n in range(4 * SAME_FAILURES)]
    async with make_judge(Plan(judge="vllm:m", base_url=judge_server.url, cache=False)) as judge:
        failed = await asyncio.gather(*map(judge.answer, questions), return_exceptions=True)
        assert judge_server.most <= SAME_FAILURES
        assert {type(each) for each in failed} == {JudgeFailureError}
        judge_server.fault = None
        await judge.answer(questions[0])
        await asyncio.gather(*map(judge.answer, questions))
    assert judge_server.most > SAME_FAILURES


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
async def test_a_header_may_replace_the_key(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("GATEWAY", "gateway-secret-1")
    faulty.script(CHAT, behave.reply(b"wrong: gateway-secret-1", status=401))
    async with model_at(f"{faulty.url}/v1", headers={name: "Basic ${GATEWAY}"}) as model:
        told = r"with a key in the headers: .* returned 401 .*: wrong: \[hidden\]"
        with pytest.raises(UsageError, match=told):
            await model.complete(PROMPT)
    assert faulty.called(CHAT)[0].headers["authorization"] == "Basic gateway-secret-1"


@pytest.mark.parametrize(
    "settings",
    [{"headers": {"X-Team": "a-${NOWHERE}"}}, {"body": {"user": {"api_key": "${NOWHERE}"}}}],
)
def test_a_variable_that_is_not_set_stops_the_run(model_at, settings) -> None:
    with pytest.raises(UsageError, match="variable NOWHERE of the settings is not set"):
        model_at("http://h/v1", **settings)


async def test_the_proxy_of_the_environment_is_used(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", faulty.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at("http://judge.invalid/v1") as model:
        await model.complete(PROMPT)
    (call,) = faulty.called(CHAT)
    assert call.raw_path == "http://judge.invalid/v1/chat/completions"


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
