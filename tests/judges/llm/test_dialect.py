import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone.errors import CallError
from ragstone.judges.llm.model import ModelPrompt
from ragstone.judges.llm.openai import Dialect
from ragstone.types.reply import Usage

CHAT = "/v1/chat/completions"
CLAIMS = {"items": {"type": "string"}, "type": "array"}
BARE = {"title": "Claims", "type": "object", "properties": {"claims": CLAIMS}}
COUNTED = BARE | {"properties": {"claims": CLAIMS | {"maxItems": 9, "minItems": 0}}}
TEXTS = {"items": {"type": "string", "maxLength": 99}, "type": "array"}
SCHEMA = BARE | {"properties": {"claims": TEXTS | {"maxItems": 9, "minItems": 0}}}
PROMPT = ModelPrompt("Be brief.", "What is it?", SCHEMA, 100)
PLAIN = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}

pytestmark = pytest.mark.usefixtures("quick")

FIRST = Dialect()
NEWER = Dialect(limit="max_completion_tokens")
LEVELS = ("bounded", "counted", "json_schema", "json_object", "none")
LESS = Dialect(schema="counted")


@each_case(
    ("provider", "model", "first"),
    [
        ("openai", "gpt-4o-mini", LESS),
        ("openai", "o3-mini", replace(LESS, limit=NEWER.limit, temperature=False)),
        ("azure", "gpt-5", Dialect("json_schema", NEWER.limit, temperature=False)),
        ("azure", "judge", Dialect("json_schema")),
        ("ollama", "olmo", FIRST),
    ],
)
def test_what_is_tried_first(provider: str, model: str, first: Dialect) -> None:
    assert Dialect.of(provider, model) == first


@each_case(
    ("dialect", "simpler", "refusals"),
    [
        (FIRST, NEWER, ["'max_tokens' is not supported; use 'max_completion_tokens'"]),
        (NEWER, FIRST, ['Unknown name "max_completion_tokens"', "max_tokens is required"]),
        (FIRST, None, ["max_tokens is too large: 4096", "the system is overloaded", ""]),
        (NEWER, None, ["max_completion_tokens is too large: 4096; max_tokens is 50"]),
        (FIRST, Dialect(temperature=False), ["'temperature' does not support 0"]),
        (Dialect(temperature=False), None, ["'temperature' does not support 0"]),
        (
            FIRST,
            LESS,
            [
                *("Invalid schema for response_format", "This model takes no json_schema"),
                "'maxLength' is not permitted",
                "The schema is too large for max_tokens",  # the schema comes first
            ],
        ),
        *((Dialect(a), Dialect(b), ["maxItems"]) for a, b in pairwise(LEVELS)),
        (Dialect(schema="none"), None, ["response_format"]),
        (FIRST, Dialect("json_object"), ["response_format.type must be text or json_object"]),
        (Dialect("json_object"), Dialect("none"), ["json_object is not supported"]),
        (
            FIRST,
            Dialect(system=False),
            [
                *("System role not supported", "The model does not support 'system'"),
                "Developer message is not enabled for models/gemma",
            ],
        ),
        (Dialect(system=False), None, ["System role not supported"]),
    ],
)
def test_what_is_tried_after_a_refusal(dialect, simpler, refusals) -> None:
    for refusal in refusals:
        assert dialect.simpler(refusal) == simpler, refusal


def picky(*rules: Callable[[dict], str | None], status: int = 400) -> Callable:
    """Answer with this status and what the first rule says of the request; else well."""

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        await asyncio.sleep(0.002 * (len(asked["messages"][-1]["content"]) % 7))
        for rule in rules:
            if said := rule(asked):
                return web.json_response({"error": {"message": said}}, status=status)
        return web.json_response(PLAIN)

    return answer


def rule(said: str, forbids: Callable[[dict], object]) -> Callable[[dict], str | None]:
    return lambda asked: said if forbids(asked) else None


newer = rule(
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    lambda asked: "max_tokens" in asked,
)
older = rule("Unknown name: max_completion_tokens", lambda asked: "max_completion_tokens" in asked)
cool = rule("'temperature' does not support 0.0", lambda asked: "temperature" in asked)
no_schema = rule(
    "response_format.type json_schema is not known",
    lambda asked: asked.get("response_format", {}).get("type") == "json_schema",
)
no_format = rule("response_format: extra input", lambda asked: "response_format" in asked)
no_bounds = rule("failed to parse grammar: maxItems", lambda asked: "maxItems" in str(asked))
no_system = rule(
    "System role not supported", lambda asked: asked["messages"][0]["role"] == "system"
)
hates_limits = rule("max_tokens or max_completion_tokens is too large: it takes 50", bool)


@pytest.mark.parametrize(
    ("status", "rules", "steps"),
    [
        (400, (cool,), 1),
        (400, (newer, cool, no_format, no_system), 6),
        (400, (no_system, no_format, cool, newer), 6),
        (422, (newer, no_format), 4),
        (500, (no_bounds,), 1),
        (500, (no_schema,), 2),
    ],
)
async def test_what_a_server_does_not_take_is_left_out_from_then_on(
    faulty, model, caplog, status: int, rules, steps: int
) -> None:
    faulty.script(CHAT, picky(*rules, status=status))
    first = await model.complete(PROMPT)
    assert first.text == "fine"
    assert first.usage == Usage(calls=steps + 1, retries=steps)
    assert (await model.complete(PROMPT)).usage == Usage(calls=1)
    assert len(faulty.called(CHAT)) == steps + 2
    (told,) = caplog.messages
    now = model._dialect.changes(LESS)
    assert told == f"openai:mock refused the usual request; it now gets {now}"


async def test_without_a_schema_in_the_request_it_stands_in_the_prompt(faulty, model_at) -> None:
    faulty.script(CHAT, picky(no_format, no_system))
    async with model_at(f"{faulty.url}/v1", provider="vllm") as model:
        await model.complete(PROMPT)
    told = [call.json for call in faulty.called(CHAT)]
    formats = [asked.get("response_format", {}) for asked in told]
    kinds = ["json_schema"] * 3 + ["json_object", None, None]
    assert [each.get("type") for each in formats] == kinds
    schemas = [each["json_schema"]["schema"] for each in formats[:3]]
    assert schemas == [SCHEMA, COUNTED, BARE], "it loses the limits of texts first"
    systems = [asked["messages"][0]["content"] for asked in told[:5]]
    instead = "Be brief.\nThe JSON has this schema: " + json.dumps(BARE)
    assert systems == ["Be brief."] * 3 + [instead] * 2
    (message,) = told[5]["messages"]
    assert message == {"role": "user", "content": f"{instead}\n\nWhat is it?"}


async def test_many_calls_at_once_all_find_the_way(model_at, faulty, caplog):
    faulty.script(CHAT, picky(newer, cool, no_format))
    prompts = [ModelPrompt("", "x" * number, SCHEMA, 100) for number in range(16)]
    async with model_at(f"{faulty.url}/v1", limits={"concurrency": 8}) as model:
        told = await asyncio.gather(*map(model.complete, prompts))
        assert {each.text for each in told} == {"fine"}
        calls = len(faulty.called(CHAT))
        assert sum(each.usage.calls for each in told) == calls <= 16 * 7
        assert (await model.complete(PROMPT)).usage.calls == 1
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("rules", [(hates_limits,), (newer, older), (newer, hates_limits)])
@pytest.mark.parametrize("name", ["mock", "o3-mini"])
async def test_a_server_that_takes_nothing_is_not_asked_for_ever(
    model_at, faulty, rules, name: str, failure
) -> None:
    faulty.script(CHAT, picky(*rules))
    async with model_at(f"{faulty.url}/v1", name=name) as model:
        async with asyncio.timeout(50):
            error = await failure(model)
    assert (error.status, error.tries) == (400, len(faulty.called(CHAT)))
    assert len(faulty.called(CHAT)) <= 3


async def test_what_one_prompt_is_refused_for_changes_nothing_for_others(faulty, model) -> None:
    def too_long(asked: dict) -> str | None:
        return hates_limits(asked) if len(asked["messages"][1]["content"]) > 50 else None

    faulty.script(CHAT, picky(too_long, older))
    with pytest.raises(CallError):
        await model.complete(ModelPrompt("", "x" * 51, SCHEMA, 100))
    assert (await model.complete(PROMPT)).usage == Usage(calls=1)
    assert "max_tokens" in faulty.called(CHAT)[-1].json
