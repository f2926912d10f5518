import asyncio

import pytest
from tests.cases import each_case

from ragstone._internal.rate_limit import Budget
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.llm.model import ModelPrompt
from ragstone.judges.llm.openai import AZURE_VERSION
from ragstone.types.reply import Usage

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


async def test_azure_has_its_own_place_and_header(model_at, faulty, behave, monkeypatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-0123456789")
    path = "/openai/deployments/judge"
    faulty.script(f"{path}/chat/completions", behave.reply(PLAIN))
    vector = {"data": [{"index": 0, "embedding": [0.5]}]}
    faulty.script(f"{path}/embeddings", behave.reply(vector))
    identities: list[str] = []
    for version in (None, AZURE_VERSION, "2025-01-01"):
        if version:
            monkeypatch.setenv("AZURE_OPENAI_API_VERSION", version)
        async with model_at(faulty.url, provider="azure", name="judge") as model:
            identities.append(model.identity)
            await model.complete(PROMPT)
            await model.embed(["a"])
        for call, place in zip(faulty.calls[-2:], ("chat/completions", "embeddings"), strict=True):
            assert call.raw_path == f"{path}/{place}?api-version={version or '2024-10-21'}"
            assert call.headers["api-key"] == "azure-key-0123456789"
            assert "authorization" not in call.headers
    assert identities[0] == identities[1] != identities[2]


async def test_a_key_that_is_missing_at_ones_own_server_is_told_so(
    model_at, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    faulty.script(CHAT, behave.reply(status=401))
    async with model_at(f"{faulty.url}/v1") as model:
        with pytest.raises(UsageError, match="the judge openai:mock, without a key: "):
            await model.complete(PROMPT)
    assert "authorization" not in faulty.called(CHAT)[0].headers


KEY = "sk-a-key-that-nobody-may-see"
REJECTED = r"^the judge openai:mock, with the key in OPENAI_API_KEY: .*wrong: \[hidden\]"
UNKNOWN = r"The model 'mock' does not exist.*base_url"


@each_case(
    ("status", "said", "told"),
    [
        *((status, f"wrong: {KEY}".encode(), REJECTED) for status in (401, 403)),
        *((404, said, UNKNOWN) for said in ({"error": {"code": "model_not_found"}}, b"")),
        (400, {"error": {"message": "The model `mock` does not exist or no access."}}, UNKNOWN),
        (422, {"detail": "no such model"}, UNKNOWN),
        (500, {"error": {"message": "model 'mock' not found, try pulling it first"}}, UNKNOWN),
    ],
)
async def test_a_rejected_key_or_an_unknown_model_stops_the_run(
    key, faulty, behave, model_at, failure, status: int, said: object, told: str
) -> None:
    assert key == KEY
    refused = behave.reply(said, status=status)
    faulty.script(CHAT, refused, behave.reply(PLAIN), refused)
    async with model_at(f"{faulty.url}/v1") as model:
        with pytest.raises(UsageError, match=f"(?s){told}") as caught:
            await model.complete(PROMPT)
        assert KEY not in str(caught.value)
        await model.complete(PROMPT)
        assert (await failure(model)).status == status, "after a reply it is about one call"


def test_what_shapes_a_reply_is_in_the_identity(model_at) -> None:
    def identity(url: str = "http://h/v1", **options: object) -> str:
        return model_at(url, **options).identity

    shaping = [{"name": "mock2"}, {"body": {"seed": 1}}, {"body": {"seed": 2}}, {}]
    assert len({identity(**options) for options in shaping}) == 4
    assert identity("http://user:pw@h/v1/") == identity(timeout=9.0, limits={"rpm": 3})
    assert identity(headers={"X-Team": "a"}) == identity(headers={"X-Team": "b"})


@each_case("answered", [False, True])
@each_case(
    ("status", "said"),
    [
        (429, {"message": "You exceeded your quota.", "code": "insufficient_quota"}),
        (402, {"message": "Payment Required"}),
        (400, {"message": "Budget has been exceeded! Current cost: 2, max budget: 1"}),
        (500, {"message": "Crossed budget of the team"}),
    ],
)
async def test_a_spent_account_is_a_spent_budget(faulty, behave, model_at, status, said, answered):
    spent = behave.reply({"error": said}, status=status)
    faulty.script(CHAT, *[behave.reply(PLAIN)] * answered, spent)
    async with model_at(f"{faulty.url}/v1") as model:
        if answered:
            await model.complete(PROMPT)
        with pytest.raises(CallError, match="the account's budget is spent") as caught:
            await model.complete(PROMPT)
    error = caught.value
    assert (error.cause, error.status, error.tries) == (Cause.BUDGET, status, 1)


def served(**models: dict[str, object]) -> dict[str, object]:
    return {"data": [{"id": name, **told} for name, told in models.items()]}


LONG = ModelPrompt("Be brief.", "word " * 500, SCHEMA, 900)  # about 628 tokens
WINDOW = {"max_model_len": 418}


@each_case(
    "models",
    [
        served(mock=WINDOW),
        served(mock={"meta": {"n_ctx": 418, "n_ctx_train": 9999}}),
        {"models": [{"model": "mock", "name": "mock", "context_length": 418}]},
        served(**{"other": {"max_model_len": 9999}, "org/Mock": WINDOW}),
        served(**{"mock-2024-08-06": {"max_model_len": 9999}, "mock": WINDOW}),
        served(whatever=WINDOW),  # it is the only one
    ],
)
async def test_a_prompt_longer_than_the_servers_window_is_not_sent(
    key, model_at, faulty, behave, models
) -> None:
    faulty.script(MODELS, behave.reply(models))
    faulty.script(CHAT, behave.reply(PLAIN))
    before = len(faulty.called(CHAT))
    async with model_at(f"{faulty.url}/v1") as model:
        with pytest.raises(CallError) as caught:
            await model.complete(LONG)
        assert (caught.value.cause, caught.value.tries) == (Cause.TRUNCATED, 0)
        assert str(caught.value).startswith(
            "the prompt has about 628 tokens, and the server's window for mock is 418: "
        )
        assert "set context_window to 418" in str(caught.value)
        assert len(faulty.called(CHAT)) == before
        await model.complete(PROMPT)
    assert faulty.called(MODELS)[-1].headers["authorization"] == f"Bearer {key}"


@each_case(
    "models",
    [
        {"status": 404},
        *({"body": body} for body in (b"<html>", [], {"data": None}, served())),
        *({"body": served(mock=told)} for told in ({}, {"max_model_len": None, "meta": None})),
        *({"body": served(mock={"max_model_len": window})} for window in (0, "many", 419)),
        {"body": served(one=WINDOW, other=WINDOW)},
        {"after": 600.0},
    ],
)
async def test_a_server_that_does_not_tell_its_window_is_asked(
    faulty, behave, model_at, monkeypatch: pytest.MonkeyPatch, models
) -> None:
    monkeypatch.setattr("ragstone.judges.llm.openai._MODELS_TIMEOUT", 0.2)
    faulty.script(MODELS, behave.reply(**models))
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1") as model:
        assert (await model.complete(LONG)).usage == Usage(calls=1)


async def test_the_window_is_asked_for_once_and_is_no_call_of_the_budget(model_at, faulty, behave):
    faulty.script(MODELS, behave.reply(served(mock={"max_model_len": 9999}), after=0.02))
    faulty.script(CHAT, behave.reply(PLAIN))
    limits = {"budget": Budget(max_calls=9), "concurrency": 1}
    async with model_at(f"{faulty.url}/v1", limits=limits) as model:
        await asyncio.gather(*(model.complete(PROMPT) for _ in range(9)))
    assert (len(faulty.called(MODELS)), len(faulty.called(CHAT))) == (1, 9)


@pytest.mark.parametrize("window", [418, 0])
async def test_a_window_that_is_not_known_is_asked_for_once_more_after_a_reply(
    faulty, behave, model, window: int
) -> None:
    loaded = {"models": [{"model": "mock:latest", "context_length": window}]}  # as Ollama tells it
    faulty.script(MODELS, behave.reply(served(mock={})))
    faulty.script(PS, behave.reply({"models": []}), behave.reply(loaded))
    faulty.script(CHAT, behave.reply(PLAIN))
    await model.complete(LONG)
    if window:
        with pytest.raises(CallError, match="window for mock is 418: "):
            await model.complete(LONG)
    else:
        await model.complete(LONG)
    assert [len(faulty.called(path)) for path in (MODELS, PS)] == [2, 2]


@each_case(("window", "most"), [(None, 900), (9999, 900), (1500, 558), (500, 256)])
async def test_a_reply_may_be_as_long_as_the_prompt_leaves_of_the_window(
    faulty, behave, model_at, window: int | None, most: int
) -> None:
    faulty.script(MODELS, behave.reply(served(mock={"max_model_len": window})))
    faulty.script(CHAT, behave.reply(PLAIN))
    async with model_at(f"{faulty.url}/v1") as model:
        await model.complete(LONG)
        await model.complete(PROMPT)
    assert [call.json["max_tokens"] for call in faulty.called(CHAT)[-2:]] == [most, 100]


async def test_headers_and_fields_of_ones_own_are_sent(key, model_at, faulty, behave, monkeypatch):
    monkeypatch.setenv("GATEWAY", "gateway-secret-1")
    faulty.script(CHAT, behave.reply(PLAIN))
    headers = {"X-Team": "search", "X-Api-Key": "Bearer ${GATEWAY}"}
    body = {"reasoning_effort": "low", "seed": 7, "user": {"api_key": "${GATEWAY}"}}
    async with model_at(f"{faulty.url}/v1", headers=headers, body=body) as model:
        await model.complete(PROMPT)
    for call in faulty.calls:
        sent = [call.headers[name] for name in ("authorization", "x-team", "x-api-key")]
        assert sent == [f"Bearer {key}", "search", "Bearer gateway-secret-1"]
    sent = faulty.called(CHAT)[0].json
    assert (sent["reasoning_effort"], sent["seed"], sent["model"]) == ("low", 7, "mock")
    assert sent["user"] == {"api_key": "gateway-secret-1"}
    assert "gateway-secret-1" not in model.identity


@each_case("name", ["Authorization", "authorization"])
async def test_a_header_may_replace_the_key(model_at, faulty, behave, monkeypatch, name) -> None:
    monkeypatch.setenv("GATEWAY", "gateway-secret-1")
    faulty.script(CHAT, behave.reply(b"wrong: gateway-secret-1", status=401))
    async with model_at(f"{faulty.url}/v1", headers={name: "Basic ${GATEWAY}"}) as model:
        told = r"with a key in the headers: .* returned 401 .*: wrong: \[hidden\]"
        with pytest.raises(UsageError, match=told):
            await model.complete(PROMPT)
    assert faulty.called(CHAT)[-1].headers["authorization"] == "Basic gateway-secret-1"


def test_a_variable_that_is_not_set_stops_the_run(model_at) -> None:
    with pytest.raises(UsageError, match="variable NOWHERE of the settings is not set"):
        model_at("http://h/v1", headers={"X-Team": "a-${NOWHERE}"})
