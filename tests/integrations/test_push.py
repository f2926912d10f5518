"""Scores on their traces: what is sent, and servers that behave like the three platforms."""

import json
from collections.abc import Mapping
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.cases import each_case
from tests.cli.conftest import Command, ragstone  # noqa: F401 - a fixture

from ragstone._internal.concurrency import BackgroundLoop
from ragstone.errors import Cause, UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.integrations.push import PLATFORMS, LangSmith, Pushed, push, traced_scores
from ragstone.judges.base import ScriptedJudge
from ragstone.results.run import Run
from ragstone.types.reply import Failure

TRACES = [f"{number:032x}" for number in range(1, 5)]
WRONG, RIGHT = "It charges in 35 minutes.", "It charges in 22 minutes."
ENVIRON = {
    "LANGFUSE_PUBLIC_KEY": "pk",
    "LANGFUSE_SECRET_KEY": "sk-secret-1",
    "PHOENIX_API_KEY": "phoenix-key-1",
    "LANGSMITH_API_KEY": "langsmith-key-1",
}
URLS = {"langfuse": "LANGFUSE_HOST", "phoenix": "PHOENIX_HOST", "langsmith": "LANGSMITH_ENDPOINT"}
AUTH = {
    "langfuse": ("Authorization", "Basic cGs6c2stc2VjcmV0LTE="),
    "phoenix": ("Authorization", "Bearer phoenix-key-1"),
    "langsmith": ("x-api-key", "langsmith-key-1"),
}


class Service:
    """The three platforms' endpoints: `stored` is key of a score -> its value and comment.

    `faults` are statuses to answer first; the trace `unknown` does not exist. `body` is the reply
    to all requests, with the status 200.
    """

    body: str | None = None

    def __init__(self, *faults: int, unknown: str = "") -> None:
        self.faults, self.unknown = [*faults], unknown
        self.stored: dict[object, tuple[float, str | None]] = {}
        self.requests: list[object] = []
        self._seen: set[str] = set()
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/api/public/ingestion", self._langfuse)
        app.router.add_post("/v1/trace_annotations", self._phoenix)
        app.router.add_post("/feedback", self._langsmith)
        app.router.add_patch("/feedback/{id}", self._patch)
        self.server = TestServer(app)

    @web.middleware
    async def _guard(self, request: web.Request, handler) -> web.StreamResponse:
        self.requests.append(await request.json())
        if not any(request.headers.get(name) == value for name, value in AUTH.values()):
            return web.json_response({"message": "Invalid credentials"}, status=401)
        if self.body is not None:
            return web.Response(text=self.body)
        if self.faults:
            status = self.faults.pop(0)
            headers = {"Retry-After": "0"} if status == 429 else {}
            return web.Response(status=status, headers=headers, text="not now")
        return await handler(request)

    async def _langfuse(self, request: web.Request) -> web.Response:
        done, errors = [], []
        for event in (await request.json())["batch"]:
            body = event["body"]
            assert event["type"] == "score-create"
            assert body["dataType"] == "NUMERIC"
            if event["id"] in self._seen:  # deduplicated: not processed again
                continue
            self._seen.add(event["id"])
            if body["traceId"] == self.unknown:
                errors.append({"id": event["id"], "status": 400, "message": "Invalid request data"})
                continue
            self.stored[body["id"]] = body["value"], body["comment"]
            done.append({"id": event["id"], "status": 201})
        return web.json_response({"successes": done, "errors": errors}, status=207)

    async def _phoenix(self, request: web.Request) -> web.Response:
        assert request.query["sync"] == "true"
        data = (await request.json())["data"]
        if any(each["trace_id"] == self.unknown for each in data):
            text = f"Traces with IDs {self.unknown} do not exist."
            return web.Response(status=404, text=text)
        for each in data:
            assert each["annotator_kind"] in ("LLM", "CODE")
            key = each["trace_id"], each["name"], each["identifier"]
            self.stored[key] = each["result"]["score"], each["result"]["explanation"]
        return web.json_response({"data": [{"id": "x"} for _ in data]})

    async def _langsmith(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert UUID(body["run_id"])
        if body["run_id"] == str(UUID(self.unknown or TRACES[0])) and self.unknown:
            return web.json_response({"detail": "Run not found"}, status=404)
        if round(body["score"], 4) != body["score"]:
            return web.json_response({"detail": "at most 4 decimals"}, status=422)
        if body["id"] in self.stored:
            return web.json_response({"detail": "Conflict"}, status=409)
        self.stored[body["id"]] = body["score"], body["comment"]
        return web.json_response(body)

    async def _patch(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.stored[request.match_info["id"]] = body["score"], body["comment"]
        return web.json_response({})


def environ(service: Service) -> Mapping[str, str]:
    return ENVIRON | dict.fromkeys(URLS.values(), str(service.server.make_url("")))


def rows() -> list[dict[str, object]]:
    """Three rows that are scored, and one without contexts."""
    made: list[dict[str, object]] = [
        {"id": str(UUID(trace)), "query": "q", "response": text, "contexts": [RIGHT]}
        for trace, text in zip(TRACES, [WRONG, RIGHT, RIGHT, RIGHT], strict=True)
    ]
    del made[3]["contexts"]
    return [row | {"trace_id": trace} for row, trace in zip(made, TRACES, strict=True)]


@pytest.fixture(scope="module")
def run() -> Run:
    return evaluate(rows(), metrics="faithfulness")


async def pushed(run: Run, name: str, service: Service, retries: int = 2) -> Pushed:
    async with service.server:
        platform = PLATFORMS[name](environ(service))
        return await push(run, platform, retries=retries)


@each_case("name", PLATFORMS)
async def test_numbers_are_sent_once_however_often_they_are_pushed(run: Run, name: str) -> None:
    service = Service()
    async with service.server:
        platform = PLATFORMS[name](environ(service))
        for _ in range(2):
            counts = await push(run, platform)
            assert (counts.sent, dict(counts.unscored)) == (3, {"undefined": 1})
            assert (counts.untraced, counts.refused, counts.stopped) == (0, {}, None)
    assert sorted(value for value, _ in service.stored.values()) == [0.0, 1.0, 1.0]
    [wrong] = [comment for value, comment in service.stored.values() if not value]
    assert wrong is not None
    assert wrong.startswith(f"CONTRADICTED: {WRONG}")


@each_case("name", PLATFORMS)
@each_case("faults", [(429,), (500, 503)])
async def test_busy_servers_are_asked_again(run: Run, name: str, faults: tuple[int, ...]) -> None:
    service = Service(*faults)
    counts = await pushed(run, name, service)
    assert (counts.sent, len(service.stored)) == (3, 3)


@each_case("name", PLATFORMS)
async def test_a_server_that_stays_down_stops_the_push(run: Run, name: str) -> None:
    service = Service(*[500] * 100)
    counts = await pushed(run, name, service, retries=0)
    assert (counts.sent, service.stored) == (0, {})
    assert "returned 500" in str(counts.stopped)
    assert counts.unscored == {"undefined": 1}


@each_case("name", PLATFORMS)
async def test_a_refused_score_does_not_hold_up_the_others(run: Run, name: str) -> None:
    service = Service(unknown=TRACES[1])
    counts = await pushed(run, name, service)
    assert (counts.sent, len(service.stored)) == (2, 2)
    [(reason, number)] = counts.refused.items()
    assert number == 1
    assert any(text in reason for text in ("Invalid request", "do not exist", "Run not found"))


@each_case(
    ("name", "body", "reason"),
    [
        *((name, "<html>Sign in</html>", "the reply is not JSON; is this") for name in PLATFORMS),
        *((name, "{oops", "the reply is not JSON") for name in PLATFORMS),
        *((name, body, "the reply has no ") for name in PLATFORMS for body in ("", "[]", "{}")),
        ("langfuse", '{"successes": [], "errors": {"a": 1}}', "the reply has no list 'errors'"),
        ("langfuse", '{"successes": [], "errors": ["x", "x", "x", "x"]}', "x"),
        ("phoenix", '{"data": "x"}', "the reply has no list 'data'"),
    ],
)
async def test_replies_of_another_kind_are_refusals(run: Run, name, body, reason) -> None:
    service = Service()
    service.body = body
    counts = await pushed(run, name, service)
    assert (counts.sent, counts.stopped) == (0, None)
    [(seen, number)] = counts.refused.items()
    assert (seen.startswith(reason), number) == (True, 3)
    assert len(service.requests) == (3 if name == "langsmith" else 1)


@each_case("name", PLATFORMS)
async def test_a_rejected_key_stops_the_push(run: Run, name: str) -> None:
    service = Service()
    wrong = {key: f"{value}x" for key, value in ENVIRON.items()}
    async with service.server:
        platform = PLATFORMS[name]({**environ(service), **wrong})
        with pytest.raises(UsageError, match="The key or its permissions were rejected") as caught:
            await push(run, platform)
    assert not any(value in str(caught.value) for value in wrong.values() if len(value) > 3)
    assert service.stored == {}


def test_failed_scores_are_never_numbers() -> None:
    judge = ScriptedJudge({"extract_claims": Failure(Cause.TIMEOUT, "late"), "verify_claims": ()})
    counts = Pushed()
    run = evaluate(rows(), metrics="faithfulness", judge=judge, max_failure_rate=1.0)
    assert [*traced_scores(run, LangSmith({}), counts)] == []
    assert dict(counts.unscored) == {"failed": 3, "undefined": 1}


@each_case(
    ("name", "row", "trace"),
    [
        ("langfuse", {"traceId": "abc"}, "abc"),
        ("langfuse", {"id": "x", "metadata": {"source_trace_id": "abc"}}, "abc"),
        ("langfuse", {"id": TRACES[0]}, TRACES[0]),
        ("langfuse", {"id": "x"}, None),
        ("phoenix", {"id": "x", "trace_id": TRACES[1]}, TRACES[1]),
        ("langsmith", {"id": str(UUID(TRACES[0])), "trace_id": "abc"}, str(UUID(TRACES[0]))),
        ("langsmith", {"id": "x", "run_id": "abc"}, "abc"),
        ("langsmith", {"id": TRACES[0], "run_id": "abc", "trace_id": "def"}, "abc"),
        ("langsmith", {"id": TRACES[0], "source_run_id": "abc", "trace_id": "def"}, "abc"),
        ("langsmith", {"id": "x", "trace_id": "abc"}, "abc"),
    ],
)
def test_where_the_id_of_a_trace_is(name: str, row: dict[str, object], trace: str | None) -> None:
    given = {"query": "q", "response": RIGHT, "contexts": [RIGHT], **row}
    run = evaluate([given], metrics="faithfulness")
    counts = Pushed()
    found = [score.trace for score in traced_scores(run, PLATFORMS[name]({}), counts)]
    assert found == ([] if trace is None else [trace])
    assert counts.untraced == (trace is None)


def test_the_command_names_what_was_not_sent(
    ragstone: Command,  # noqa: F811
    tmp_path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [json.dumps(row) for row in [*rows(), {"query": "q", "response": "a", "id": "x"}]]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in (*ENVIRON, *URLS.values()):
        monkeypatch.delenv(name, raising=False)
    ragstone("run", "a.jsonl", "-m", "faithfulness", "--no-export")
    tried = ragstone("push", "last", "--to", "langsmith", "--dry-run")
    assert tried.code == 0
    assert tried.out.splitlines() == [
        "3 scores would be sent to LangSmith (https://api.smith.langchain.com)",
        "  2 undefined: not sent",
        "  1 row without the id of a trace: not sent",
    ]
    missing = ragstone("push", "last", "--to", "langfuse")
    assert (missing.code, "needs the environment variable LANGFUSE_" in missing.err) == (2, True)
    nowhere = ragstone("push", "last", "--to", "phoenix", "--trace-tag", "span", "--dry-run")
    assert nowhere.code == 2
    assert "no row has the tag 'span'" in nowhere.err

    loop, service = BackgroundLoop(), Service(unknown=TRACES[0])
    loop.call(service.server.start_server())
    for name, value in environ(service).items():
        monkeypatch.setenv(name, value)
    for name, code in (("langfuse", 3), ("phoenix", 3)):
        sent = ragstone("push", "last", "--to", name)
        assert sent.code == code
        assert sent.out.startswith("2 scores sent to ")
        assert "1 refused: " in sent.err
    service.unknown = ""
    assert ragstone("push", "last", "--to", "phoenix").code == 0
    loop.call(service.server.close())
    loop.close()
