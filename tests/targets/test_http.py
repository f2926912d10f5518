import asyncio
import json
import re
from threading import Event
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone._internal.concurrency import LARGE
from ragstone._internal.secrets import remember
from ragstone.errors import CallError, Cause, TargetError, UsageError
from ragstone.targets.base import Answer
from ragstone.targets.http import HttpTarget, parse_events, parse_fields
from ragstone.targets.spec import ApiDescription
from ragstone.types.config import Plan
from ragstone.types.sample import Context, Sample

ITEMS = "[].{id: point_id, text: text, score: score}"
RANKING, CONTEXTS = f"results{ITEMS}", f"retrieved_chunks{ITEMS}"


def read(reply: object, **paths: str) -> dict[str, object]:
    content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return parse_fields(content, paths, stream=False)


def streamed(*events: object, **paths: str) -> dict[str, object]:
    message = [event if isinstance(event, str) else json.dumps(event) for event in events]
    stream = "".join(f"data: {event}\n\n" for event in message)
    return parse_fields(stream.encode(), paths, stream=True)


CHUNKS = [{"point_id": 5, "text": "five", "score": 0.5}, {"text": "six"}]
FOUND = (Context(text="five", id="5", score=0.5), Context(text="six"))


@each_case(
    ("reply", "paths", "fields"),
    [
        ({"found": CHUNKS}, {"contexts": f"found{ITEMS}"}, {"contexts": FOUND}),
        ({"r": [], "a": ""}, {"response": "a", "ranking": "r"}, {"response": "", "ranking": ()}),
        ({"ids": [5, 7.0]}, {"ranking": "ids"}, {"ranking": (Context(id="5"), Context(id="7"))}),
        ({"c": ["a", ""]}, {"contexts": "c"}, {"contexts": (Context(text="a"), Context())}),
        (
            [{"content": None}, {"content": [{"text": "a"}, {"refusal": "b"}, {"text": "c"}]}],
            {"response": "[].content[].text | join('', @)"},
            {"response": "ac"},
        ),
        (
            b'{"results": [{"point_id": 1, "score": NaN}, {"point_id": 2, "score": 1e999}]}',
            {"ranking": RANKING},
            {"ranking": (Context(id="1"), Context(id="2"))},
        ),
        (
            rb'{"r": "a\ud83d\ude00 b\ud83d", "c": [{"text": "\ude00 c"}]}',
            {"response": "r", "contexts": "c"},
            {"response": "a\U0001f600 b\ufffd", "contexts": (Context(text="\ufffd c"),)},
        ),
        (b'{"t": "Yes.", "t": "Yes."}', {"response": "t"}, {"response": "Yes."}),
    ],
)
def test_a_whole_reply(reply: object, paths: dict[str, str], fields: dict[str, object]) -> None:
    assert read(reply, **paths) == fields


NO_ID = "item 1 of ranking has no id: "


@each_case(
    ("reply", "message"),
    [
        (b"<html>\n<body>", "the reply is not valid JSON: <html> <body>"),
        *((bad, "the reply is not valid JSON") for bad in (b"", b'{"results": [', b"\xff\xfe\xfa")),
        ([], "the reply has no value at 'results[]"),
        (None, "it has null"),
        ({}, "it has no keys"),
        ({"results": None}, "'results' has null"),
        ({"results": [{"text": "a"}]}, NO_ID),
        ({"results": [{"point_id": 1}, {"point_id": None}]}, "item 2 of ranking has no id: "),
        *(({"results": [{"point_id": bad}]}, "item 1 of ranking: id: ") for bad in (" ", True)),
        ({"results": [{"point_id": 1, "score": "high"}]}, "item 1 of ranking: score: "),
    ],
)
def test_a_search_s_reply_of_another_shape(reply: object, message: str) -> None:
    with pytest.raises(CallError) as caught:
        read(reply, ranking=RANKING)
    assert caught.value.cause is Cause.MALFORMED
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 350


@each_case(
    ("changed", "message"),
    [
        (
            {"response": {"text": "a", "language": "de"}},
            "expected the response to be text, got an object with the keys text, language",
        ),
        ({"retrieved_chunks": None}, "the reply has no value at 'retrieved_chunks[]"),
        ({"retrieved_chunks": [{"point_id": 5}]}, "contexts has no text"),
        ({"retrieved_chunks": ["five"]}, "item 1 of contexts has no text"),
    ],
)
def test_a_chat_s_reply_of_another_shape(changed: dict[str, object], message: str) -> None:
    reply = {"response": "a", "retrieved_chunks": []} | changed
    with pytest.raises(CallError, match=re.escape(message)) as caught:
        read(reply, response="response", contexts=CONTEXTS)
    assert caught.value.cause is Cause.MALFORMED


@each_case(
    ("path", "reply", "number"),
    [
        ("results[].{id: id}", [None, None, {"id": "R"}], 1),
        ("results[].id", [{"id": "A"}, {"text": "no id"}, {"id": "R"}], 2),
        ("results[?score].id", [{"id": "A", "score": 1}, {"score": 1}], 2),
        ("[results[].id, other[].id][]", [{"id": "A"}, {}], 2),
    ],
)
def test_a_null_in_a_list_shifts_no_rank(path: str, reply: object, number: int) -> None:
    body = {"results": reply, "other": [{"id": "B"}]}
    for parse in (read, streamed):
        with pytest.raises(CallError, match=f"^item {number} of ranking is null or missing; "):
            parse(body, ranking=path)


def test_a_filter_leaves_nulls_out() -> None:
    parts = [{"text": "d"}, None, {}, {"text": "e"}]
    results = [{"id": "A", "text": "a b", "parts": parts}, None, {"text": "c", "parts": []}]
    found = read({"results": results}, contexts="results[?@].{id: id, text: text}")
    assert found["contexts"] == (Context(id="A", text="a b"), Context(text="c"))
    joined = "results[?@].{text: parts[].text | join(' ', @)}"
    found = read({"results": results}, contexts=joined)
    assert found["contexts"] == (Context(text="d e"), Context())


def test_an_id_that_contains_a_secret_fails_instead_of_changing() -> None:
    remember("hunter2hunter2", "key")
    with pytest.raises(CallError, match=r"^the id of item 2 of ranking contains a key or variable"):
        read({"results": ["A", "of-hunter2hunter2"]}, ranking="results")
    assert read({"results": ["[hidden]"]}, ranking="results")["ranking"]


@each_case("path", ["results", "results[?@].{id: @}"])
def test_a_list_has_at_most_10_000_documents(path: str) -> None:
    found = read({"results": [*range(1, 10_001)]}, ranking=path)["ranking"]
    assert len(found) == 10_000  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"has 10,001 items, more than the limit of 10,000$"):
        read({"results": [*range(1, 10_002)]}, ranking=path)


def test_a_path_that_does_not_fit() -> None:
    with pytest.raises(CallError, match=r"join.* cannot be applied to the reply: .*") as caught:
        read({"a": 5}, response="join('', a)")
    assert caught.value.cause is Cause.MALFORMED
    for data, has in ((None, "null"), ({"text": "a", "took": 1}, "the keys text, took")):
        with pytest.raises(CallError, match=f"no value at 'data.answer'; 'data' has {has}$"):
            read({"data": data}, response="data.answer")


PIECE = {"choices": [{"delta": {"content": "Yes"}, "finish_reason": None}]}
CONTENT = "choices[0].delta.content"


@each_case(
    ("events", "path", "response"),
    [
        # pieces are joined, and words between events of JSON say nothing
        ([{"t": "The "}, {}, {"t": None}, {"t": "answer."}, "[DONE]"], "t", "The answer."),
        ([{"t": "a"}, "ping", {"t": "b"}, "END"], "t", "ab"),
        # a character cut apart is whole again
        ([r'{"t": "a\ud83d"}', r'{"t": "\ude00"}'], "t", "a\U0001f600"),
        # events that are text
        (["It was ", "2024", ".", " null", '"', "[1]"], "@", 'It was 2024. null"[1]'),
        # a response may repeat itself, and quote a finish reason
        *(([{"t": t} for t in p], "t", "".join(p)) for p in ("...", ["ha", "ha", "haha"], "11")),
        # nothing is read after the end
        ([{"t": "Yes"}, "  [DONE] ", {"t": " or no"}], "t", "Yes"),
        # a proxy may leave out the finish reason; the HTTP body shows whether it is whole
        ([PIECE], CONTENT, "Yes"),
        ([PIECE, {"choices": [{"finish_reason": 1}]}], CONTENT, "Yes"),
    ],
)
def test_events_are_joined(events: list[object], path: str, response: str) -> None:
    assert streamed(*events, response=path) == {"response": response}


def test_a_streamed_reply_may_have_contexts() -> None:
    events = [{"chunks": []}, {"t": "Yes"}, {"chunks": [{"text": "a"}]}, {"t": "."}]
    found = streamed(*events, response="t", contexts="chunks")
    assert found == {"response": "Yes.", "contexts": (Context(text="a"),)}


def test_a_stream_that_broke_is_not_an_answer() -> None:
    for last, cause, message in (
        ('{"t": "an ans', Cause.MALFORMED, "an event is not valid JSON: "),
        ({"error": {"m": "oh"}}, Cause.UNREACHABLE, 'error: {"m": "oh"}'),
        ({"t": 5}, Cause.MALFORMED, "expected text in each event of the response"),
    ):
        with pytest.raises(CallError, match=re.escape(message)) as caught:
            streamed({"t": "half"}, last, response="t")
        assert caught.value.cause is cause
    with pytest.raises(CallError, match="no event of the reply has a value at 't'"):
        streamed("ping", response="t")


def test_a_response_is_not_read_twice() -> None:
    for pieces in (
        ("The ", "The tower ", "The tower is high."),
        ("Paris", "Paris is", "Paris is big", "Paris is big"),
        ("The tower is ", "70 m high.", "The tower is 70 m high."),
    ):
        for events, path in (([{"t": t} for t in pieces], "t"), (pieces, "@")):
            with pytest.raises(CallError, match="would be read twice") as caught:
                streamed(*events, response=path)
            assert caught.value.cause is Cause.MALFORMED


def test_two_values_under_one_name_are_no_answer() -> None:
    reply = b'{"t": "Yes.", "c": [{"id": 1, "id": 2}]}'
    for stream, content in ((False, reply), (True, b"data: " + reply + b"\n\n")):
        with pytest.raises(CallError, match=r"the reply has two values for 'id'") as caught:
            parse_fields(content, {"response": "t"}, stream=stream)
        assert caught.value.cause is Cause.MALFORMED


def test_a_stream_that_is_not_utf_8_or_has_no_events_is_no_answer() -> None:
    wrong = "the reply contains no events"
    for content in (b'data: {"t": "k\xe4"}\n\n', b"", b": ping\n\n", b"data: [DONE]\n\n", b"<a>"):
        message = "not UTF-8 text: " if b"\xe4" in content else wrong
        with pytest.raises(CallError, match=message) as caught:
            parse_events(content)
        assert caught.value.cause is Cause.MALFORMED


SEARCH, CHAT, HEALTH = "/api/v1/rag/search", "/api/v1/chat/query", "/api/v1/health"
TAGS = {"level": 3, "Some name": "é", "easy": True}
ROW = Sample(id="row/1", query='Who "is" it?\n{k} 1+1 & 50%#', tags=TAGS)
ALL = frozenset(("response", "contexts", "ranking"))


def target(description: ApiDescription, **settings: object) -> HttpTarget:
    plan = Plan(**{"timeout": 5, "retries": 0, "min_similarity": 0.5, **settings})
    return HttpTarget("rag", description, plan, k=5)


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
    assert given.failures == {}
    assert [call.name for call in given.calls] == ["search", "chat"]
    health, search, chat = faulty.calls
    assert (health.method, health.path, health.text) == ("GET", HEALTH, "")
    settings = {"query": ROW.query, "top_k": 5, "score_threshold": 0.5}
    assert json.loads(search.text) == {**settings, "collection_type": "text"}
    message = json.loads(chat.text)
    assert message.pop("session_id").startswith("ragstone-")
    assert message == {**settings, "mode": "rag"}


async def test_each_row_has_a_session_of_its_own(faulty) -> None:
    async with standard(faulty.url) as asked:
        for _ in range(3):
            await asked.ask(ROW, frozenset(("response",)))
    assert faulty.called(SEARCH) == [], "a call that gives nothing wanted is not made"
    assert len({json.loads(call.text)["session_id"] for call in faulty.called(CHAT)}) == 3


async def test_the_fields_of_a_call_come_together_or_not_at_all(faulty, behave) -> None:
    faulty.script(CHAT, behave.reply({"response": "An answer."}))
    given = await answer(standard(faulty.url))
    assert given.fields.keys() == {"ranking"}
    assert given.failures.keys() == {"response", "contexts"}
    failure = given.failures["response"]
    assert failure.cause is Cause.MALFORMED
    assert failure.message.startswith("chat: the reply has no value at 'retrieved_chunks[]")
    assert [call.failure for call in given.calls] == [None, failure]


@pytest.mark.parametrize("status", [302, 400, 429, 503])
async def test_an_api_that_is_not_healthy(faulty, behave, status: int) -> None:
    faulty.script(HEALTH, behave.reply(b"no index", status=status))
    asked = standard(faulty.url, retries=3)
    message = f"is not ready: GET .*/health returned {status} .*no index"
    with pytest.raises(TargetError, match=f"(?s){message}"):
        await answer(asked)
    assert len(faulty.calls) == 1
    assert asked._client._session is not None
    assert asked._client._session.closed


async def test_a_rejected_key_is_reported_before_the_first_row(faulty, behave) -> None:
    faulty.script(HEALTH, behave.reply(status=401))
    with pytest.raises(UsageError, match="The key or its permissions were rejected"):
        await answer(standard(faulty.url))
    assert {call.path for call in faulty.calls} == {HEALTH}
    faulty.script(HEALTH, behave.reply(status=404))  # an API without a health check
    assert (await answer(standard(faulty.url))).failures == {}


async def test_nothing_is_there(faulty) -> None:
    await faulty.stop()
    with pytest.raises(TargetError) as caught:
        await answer(standard(f"{faulty.url}?key=abc".replace("//", "//user:pw@")))
    begin, *rest = str(caught.value).split("\n")
    refused = f"GET {faulty.url}{HEALTH}: the server refuses connections; is it running?"
    assert begin == f"the RAG system is not ready: {refused}"
    assert rest[0].startswith("Start it, or specify another target. If it has other paths, de")


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
    reply: {{response: answer}}
"""
    given = await answer(target(ApiDescription.parse(text, "rag.yaml")))
    assert given.fields == {"response": "Yes."}
    (call,) = faulty.calls
    assert call.method == "PUT"
    path, _, query = call.raw_path.partition("?")
    assert (path, parse_qs(query)) == ("/ask/row%2F1", {"q": [ROW.query], "level": ["3"]})
    assert call.headers["authorization"] == "Bearer sk-{query}-1"
    sent = [call.headers[f"x-{name}"] for name in ("level", "query", "name")]
    assert sent == ["3", 'Who "is" it? {k} 1+1 & 50%#', "é"]
    assert json.loads(call.text) == {
        "all": [ROW.query, 5, 0.5, None, True],
        "joined": f"5 {faulty.url}",
        "key": "sk-{query}-1\n",
    }


@each_case("body", ["", "    body: {q: '{k}'}\n"])
async def test_a_stream(faulty, behave, body: str) -> None:
    events = b': hi\r\n\r\ndata: {"t": "Ye"}\r\n\r\ndata: {"t": "s."}\r\n\r\ndata: [DONE]\r\n\r\n'
    faulty.script("/ask", behave.reply(events, headers={"Content-Type": "text/event-stream"}))
    call = f"    method: GET\n{body}    stream: sse\n    reply: {{response: t}}"
    assert (await answer(described(faulty.url, call))).fields == {"response": "Yes."}
    sent = faulty.calls[-1]
    assert (sent.method, sent.text) == ("GET", '{"q":5}' if body else "")


async def test_a_stream_that_breaks_off_is_not_an_answer(faulty) -> None:
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
    assert given.failures["response"].cause is Cause.TRUNCATED


@each_case(
    ("stream", "events"),
    [
        ("data: a\n\ndata: b\n\n", ["a", "b"]),
        ("data: a\n\ndata: b", ["a", "b"]),
        ("\ufeffdata: a\n\n", ["a"]),
        ("data:a\n\ndata:  b\n\n", ["a", " b"]),
        ("data: a\ndata: b\n\n", ["a\nb"]),
        (": ping\n\ndata: a\n: ping\n\n: ping\n\n", ["a"]),
        ("data: é\u2028x\n\n", ["é\u2028x"]),
    ],
)
def test_events(stream: str, events: list[str]) -> None:
    assert parse_events(stream.encode()) == events


def test_an_event_named_error_fails_the_reply() -> None:
    run = [f"thread.run.{name}" for name in ("failed", "incomplete", "expired", "cancelled")]
    for name in ("error", "response.failed", "response.incomplete", *run):
        stream = f"data: half an\n\nevent: {name}\ndata: out of\ndata: memory\n\ndata: b\n\n"
        with pytest.raises(CallError, match="ended with an error: out of memory") as caught:
            parse_events(stream.encode())
        assert caught.value.cause is Cause.UNREACHABLE
    for step in ("response.mcp_list_tools.failed", "thread.run.step.failed"):  # only a tool failed
        stream = f"event: {step}\ndata: x\n\nevent: response.completed\ndata: y\n\n"
        assert parse_events(stream.encode()) == ["x", "y"]


async def test_other_rows_go_on_while_a_large_reply_is_parsed(
    monkeypatch: pytest.MonkeyPatch, faulty, behave
) -> None:
    """The parser waits for the event loop, which would wait for the parser."""
    loop, turned = asyncio.get_running_loop(), Event()

    def parsed(content: bytes, *asked: object, stream: bool) -> dict[str, object]:
        loop.call_soon_threadsafe(turned.set)
        assert turned.wait(20), "the event loop is blocked"
        return parse_fields(content, *asked, stream=stream)  # type: ignore[arg-type]

    monkeypatch.setattr("ragstone.targets.http.parse_fields", parsed)
    faulty.script(CHAT, behave.reply({"response": "x" * LARGE, "retrieved_chunks": []}))
    async with standard(faulty.url) as rag:
        answer = await rag.ask(Sample(id="1", query="?"), frozenset({"response"}))
    assert answer.fields["response"] == "x" * LARGE
