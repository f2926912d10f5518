import json
import os
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from ragstone._internal.http import Connection
from ragstone._internal.rate_limit import Limits
from ragstone.errors import Cause, TargetError, UsageError
from ragstone.targets.base import Answer
from ragstone.targets.http import HttpTarget
from ragstone.targets.spec import ApiDescription
from ragstone.types.sample import Context, Sample

SEARCH, CHAT, HEALTH = "/api/v1/rag/search", "/api/v1/chat/query", "/api/v1/health"
ROW = Sample.model_validate(
    {
        "id": "row/1",
        "query": 'Who "is" it?\n{k} 1+1 & 50%#',
        "reference": None,
        "tags": {"level": 3, "Some name": "é", "easy": True},
    }
)
ALL = frozenset(("response", "contexts", "ranking"))


def target(description: ApiDescription, **settings: object) -> HttpTarget:
    limits = Limits(retries=settings.pop("retries", 0), delay=settings.pop("delay", 0.0))
    connection = Connection(**{"timeout": 5, **settings}, limits=limits)
    return HttpTarget("rag", description, connection=connection, k=5, min_similarity=0.5)


def standard(url: str, **settings: object) -> HttpTarget:
    return target(ApiDescription.standard(url), **settings)


def described(url: str, call: str, head: str = "") -> HttpTarget:
    text = f"base: {url}\n{head}\ncalls:\n  ask:\n    url: '{{base}}/ask'\n{call}"
    return target(ApiDescription.parse(text, "rag.yaml"))


async def answer(asked: HttpTarget, wanted: frozenset[str] = ALL) -> Answer:
    async with asked:
        return await asked.ask(ROW, wanted)


async def test_the_default_api(faulty) -> None:
    asked = standard(faulty.url)
    assert asked.gives == ALL
    given = await answer(asked)
    assert given.fields == {
        "ranking": (Context(id="5", text="five", score=0.5),),
        "response": "An answer.",
        "contexts": (Context(id="5", text="five"),),
    }
    assert given.lacking == {}
    assert [call.name for call in given.calls] == ["search", "chat"]
    assert all(call.latency_ms > 0 for call in given.calls)
    health, search, chat = faulty.calls
    assert (health.method, health.path, health.text) == ("GET", HEALTH, "")
    assert json.loads(search.text) == {
        "query": ROW.query,
        "collection_type": "text",
        "top_k": 5,
        "score_threshold": 0.5,
    }
    said = json.loads(chat.text)
    assert said.pop("session_id").startswith("ragstone-")
    assert said == {"query": ROW.query, "mode": "rag", "top_k": 5, "score_threshold": 0.5}


async def test_each_row_has_a_session_of_its_own(faulty) -> None:
    async with standard(faulty.url) as asked:
        for _ in range(3):
            await asked.ask(ROW, frozenset(("response",)))
    assert faulty.called(SEARCH) == []
    assert len({json.loads(call.text)["session_id"] for call in faulty.called(CHAT)}) == 3


async def test_a_call_that_gives_nothing_wanted_is_not_made(faulty) -> None:
    given = await answer(standard(faulty.url), frozenset(("ranking",)))
    assert given.fields.keys() == {"ranking"}
    assert faulty.called(CHAT) == []


async def test_the_fields_of_a_call_come_together_or_not_at_all(faulty, behave) -> None:
    faulty.script(CHAT, behave.reply({"response": "An answer."}))
    given = await answer(standard(faulty.url))
    assert given.fields.keys() == {"ranking"}
    assert given.lacking.keys() == {"response", "contexts"}
    failure = given.lacking["response"]
    assert failure.cause is Cause.MALFORMED
    assert failure.message.startswith("chat: the reply has no value at 'retrieved_chunks[]")
    assert [call.failure for call in given.calls] == [None, failure]


async def test_a_key_in_the_query_of_the_url_goes_with_every_call(faulty) -> None:
    await answer(standard(f"{faulty.url}/?key=abc"))
    assert [call.raw_path for call in faulty.calls] == [
        f"{path}?key=abc" for path in (HEALTH, SEARCH, CHAT)
    ]


@pytest.mark.parametrize("status", [404, 405])
async def test_an_api_without_a_health_check(faulty, behave, status: int) -> None:
    faulty.script(HEALTH, behave.reply(status=status))
    assert (await answer(standard(faulty.url))).lacking == {}


@pytest.mark.parametrize("status", [302, 400, 429, 500, 503])
async def test_an_api_that_is_not_healthy(faulty, behave, status: int) -> None:
    faulty.script(HEALTH, behave.reply(b"no index", status=status))
    with pytest.raises(TargetError, match=f"is not ready: GET .*/health answered {status} .*") as e:
        await answer(standard(faulty.url, retries=3))
    assert "no index" in str(e.value)
    assert len(faulty.calls) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_is_told_before_the_first_row(faulty, behave, status: int) -> None:
    faulty.script(HEALTH, behave.reply(status=status))
    with pytest.raises(UsageError, match="The key or its permissions were rejected"):
        await answer(standard(faulty.url))
    assert len(faulty.calls) == 1


async def test_nothing_is_there(faulty) -> None:
    await faulty.stop()
    with pytest.raises(TargetError) as caught:
        await answer(standard(f"{faulty.url}?key=abc".replace("//", "//user:pw@")))
    assert str(caught.value) == (
        f"the RAG system is not ready: GET {faulty.url}{HEALTH}: the server refuses connections; "
        "is it running?"
        "\nStart it, or set another with --api-url URL or --target; `ragstone demo-server` starts "
        "one for testing."
    )


async def test_a_host_that_is_not_known() -> None:
    with pytest.raises(TargetError, match="the host name is unknown\nStart it"):
        await answer(standard("http://nowhere.invalid"))


async def test_a_request_is_filled_from_the_row(
    faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-{query}-1\n")
    faulty.script("/ask/row/1", behave.reply({"answer": "Yes."}))
    text = f"""\
base: {faulty.url}
headers: {{Authorization: "Bearer ${{RAG_KEY}}", X-Level: all}}
calls:
  ask:
    url: "{{base}}/ask/{{id}}?q={{query}}&level={{tags.level}}"
    method: PUT
    headers: {{X-Level: "{{tags.level}}", X-Query: "{{query}}", X-Name: "{{tags.Some name}}"}}
    body:
      all: ["{{query}}", "{{k}}", "{{threshold}}", "{{reference}}", "{{tags.easy}}"]
      joined: "{{k}} {{reference}}{{tags.none}}{{base}}"
      key: ${{RAG_KEY}}
      own: [1, 2.5, null, true, {{a: b}}]
    reply: {{response: answer}}
"""
    given = await answer(target(ApiDescription.parse(text, "rag.yaml")))
    assert given.fields == {"response": "Yes."}
    (call,) = faulty.calls
    assert call.method == "PUT"
    path, _, query = call.raw_path.partition("?")
    assert path == "/ask/row%2F1"
    assert parse_qs(query) == {"q": [ROW.query], "level": ["3"]}
    assert call.headers["authorization"] == "Bearer sk-{query}-1"
    assert call.headers["x-level"] == "3"
    assert call.headers["x-query"] == 'Who "is" it? {k} 1+1 & 50%#'
    assert call.headers["x-name"] == "é"
    assert json.loads(call.text) == {
        "all": [ROW.query, 5, 0.5, None, True],
        "joined": f"5 {faulty.url}",
        "key": "sk-{query}-1\n",
        "own": [1, 2.5, None, True, {"a": "b"}],
    }


@pytest.mark.parametrize(("body", "sent"), [("", ""), ("    body: {q: '{k}'}\n", '{"q":5}')])
async def test_get(faulty, behave, body: str, sent: str) -> None:
    faulty.script("/ask", behave.reply({"a": "Yes."}))
    call = f"    method: GET\n{body}    reply: {{response: a}}"
    assert (await answer(described(faulty.url, call))).fields == {"response": "Yes."}
    assert (faulty.calls[0].method, faulty.calls[0].text) == ("GET", sent)


async def test_a_stream(faulty, behave) -> None:
    events = b': hi\r\n\r\ndata: {"t": "Ye"}\r\n\r\ndata: {"t": "s."}\r\n\r\ndata: [DONE]\r\n\r\n'
    faulty.script("/ask", behave.reply(events, headers={"Content-Type": "text/event-stream"}))
    asked = described(faulty.url, "    stream: sse\n    reply: {response: t}")
    assert (await answer(asked)).fields == {"response": "Yes."}


async def test_a_stream_that_breaks_off_is_no_answer(faulty) -> None:
    async def half(request):
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b'data: {"t": "half an"}\n\n')
        request.transport.close()
        return response

    faulty.script("/ask", half)
    given = await answer(described(faulty.url, "    stream: sse\n    reply: {response: t}"))
    assert given.fields == {}
    assert given.lacking["response"].cause is Cause.TRUNCATED


@pytest.mark.parametrize(
    ("status", "body"), [(200, "<h1>sk-12345</h1>"), (500, "your key sk-12345"), (400, "sk-12345")]
)
async def test_no_message_quotes_the_environment(
    faulty, behave, monkeypatch: pytest.MonkeyPatch, status: int, body: str
) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-12345")
    faulty.script("/ask", behave.reply(body.encode(), status=status))
    head = "headers: {Authorization: 'Bearer ${RAG_KEY}'}"
    given = await answer(described(faulty.url, "    reply: {response: a}", head))
    assert faulty.calls[0].headers["authorization"] == "Bearer sk-12345"
    assert "sk-12345" not in given.lacking["response"].message
    assert "sk-12345" not in repr(given)


async def test_no_session_is_left_open_where_the_health_check_fails(faulty, behave) -> None:
    faulty.script(HEALTH, behave.reply(status=503))
    asked = standard(faulty.url)
    with pytest.raises(TargetError):
        await asked.__aenter__()
    assert asked._client._session is not None
    assert asked._client._session.closed


def test_the_environment_is_not_changed() -> None:
    before = dict(os.environ)
    standard("http://h")
    assert dict(os.environ) == before
