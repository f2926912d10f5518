"""A RAG server that fails on demand: real sockets, on a free port of loopback."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import unwrap
from itertools import count
from pathlib import Path
from ssl import SSLContext
from threading import Thread
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, settings
from tests.postgresql import Server, end_server, start_server

from ragstone._internal import secrets
from ragstone.demo.server import make_service, running
from ragstone.metrics import registry


def add_profile(name: str, examples: int, *, random: bool = False) -> None:
    """Add a Hypothesis profile; a busy machine fails no test."""
    settings.register_profile(
        name,
        deadline=None,
        derandomize=not random,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )


add_profile("fast", 20)
add_profile("ci", 150)
add_profile("deep", 1000, random=True)  # HYPOTHESIS_PROFILE=deep looks for new examples
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "fast"))

# A shell starts background jobs with SIGINT ignored; the tests of Ctrl-C send it to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW_FOLDERS = {"browser", "engines", "training", "test_recipes.py", "test_workers.py"}
SLOW_NAMES = {
    "subprocess",
    "Popen",
    "create_subprocess_exec",
    "runpytest",
    "onnx",
    "NotebookClient",
}
"""A test is slow if it, its fixtures, or what these call in tests, uses one of these names."""
SERVERS = {"server", "own_server"}
"""Fixtures that start PostgreSQL."""
SLOW_TIMEOUT = 300
"""Seconds; the limit of the others is in pyproject.toml."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, and among them those that need PostgreSQL or a browser."""
    for item in items:
        assert isinstance(item, pytest.Function)
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        definitions = item._fixtureinfo.name2fixturedefs
        fixtures = [each.func for name in item.fixturenames for each in definitions.get(name, ())]
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)
        if "postgresql" in map(str, parameters) or SERVERS & set(item.fixturenames):
            item.add_marker(pytest.mark.postgres)
        if "huge" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        elif (
            SLOW_FOLDERS & set(item.path.parts)
            or item.get_closest_marker("postgres")
            or any(SLOW_NAMES & names_of(each) for each in reached(item.function, *fixtures))
        ):
            item.add_marker(pytest.mark.slow)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT))


def reached(*first: object) -> set[FunctionType]:
    """Return these functions and all functions of the tests that they name, directly or not."""
    found, ahead = set[FunctionType](), list(first)
    while ahead:
        thing = ahead.pop()
        if isinstance(thing, staticmethod):
            thing = thing.__func__
        if getattr(thing, "__module__", "").partition(".")[0] != "tests":
            continue
        if isinstance(thing, type):
            ahead += vars(thing).values()
        elif isinstance(thing, FunctionType) and (function := unwrap(thing)) not in found:
            found.add(function)
            known = function.__globals__
            ahead += (known[name] for name in names_of(function) if name in known)
    return found


@cache
def names_of(function: FunctionType) -> frozenset[str]:
    """Return the names that a function and the functions within it use."""
    names, codes = set[str](), [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += (each for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(names)


HEALTH, SEARCH, CHAT = "/api/v1/health", "/api/v1/rag/search", "/api/v1/chat/query"
GOOD = {
    HEALTH: {"status": "ok"},
    SEARCH: {"results": [{"point_id": 5, "text": "five", "score": 0.5}]},
    CHAT: {"response": "An answer.", "retrieved_chunks": [{"point_id": 5, "text": "five"}]},
}

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Call:
    """One request as it came in; `raw_path` is still percent-encoded."""

    method: str
    path: str
    raw_path: str
    headers: dict[str, str]
    text: str
    at: float

    @property
    def json(self) -> dict[str, object]:
        """The body, read as JSON."""
        return json.loads(self.text)


@dataclass
class Faulty:
    """Answers as the default API does, or as `script` says, and keeps every call."""

    calls: list[Call] = field(default_factory=list)
    most: int = 0
    url: str = ""
    _busy: int = 0
    _scripts: dict[str, list[Behaviour]] = field(default_factory=dict)
    _runner: web.AppRunner | None = None

    def script(self, path: str, *behaviours: Behaviour) -> None:
        """Answer a path's calls in this order; the last behaviour stays."""
        self._scripts[path] = list(behaviours)

    def called(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]

    async def start(self, ssl: SSLContext | None = None) -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=ssl).start()
        self.url = f"{'https' if ssl else 'http'}://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._busy += 1
        self.most = max(self.most, self._busy)
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            text = await request.text()
            call = Call(
                request.method, request.path, request.raw_path, headers, text, perf_counter()
            )
            self.calls.append(call)
            script = self._scripts.get(request.path)
            if not script:
                good = GOOD.get(request.path)
                return web.json_response(good) if good else web.Response(status=404)
            behave = script.pop(0) if len(script) > 1 else script[0]
            return await behave(request)
        finally:
            self._busy -= 1


class Behaviours:
    """What a server may do; each returns something for `script`."""

    @staticmethod
    def reply(
        body: object = b"",
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        after: float = 0.0,
    ) -> Behaviour:
        async def answer(request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(after)
            if isinstance(body, bytes):
                return web.Response(body=body, status=status, headers=headers)
            return web.json_response(body, status=status, headers=headers)

        return answer

    @staticmethod
    def good(*, after: float = 0.0) -> Behaviour:
        async def answer(request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(after)
            return web.json_response(GOOD[request.path])

        return answer

    @staticmethod
    def hang() -> Behaviour:
        async def answer(request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(600)
            return web.Response()

        return answer

    @staticmethod
    def drop(*, within: bool = False) -> Behaviour:
        """Close the connection: unanswered, or within the reply."""

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            if within:
                await response.prepare(request)
                await response.write(b'{"results": [')
            assert request.transport
            request.transport.close()
            return response

        return answer


@pytest.fixture
def behave() -> type[Behaviours]:
    return Behaviours


@pytest.fixture
async def faulty() -> AsyncIterator[Faulty]:
    server = Faulty()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def make_faulty() -> AsyncIterator[Callable[..., Awaitable[Faulty]]]:
    """Start further servers, with TLS if asked."""
    started: list[Faulty] = []

    async def make(ssl: SSLContext | None = None) -> Faulty:
        started.append(Faulty())
        await started[-1].start(ssl)
        return started[-1]

    yield make
    for server in started:
        await server.stop()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once."""
    monkeypatch.setattr("ragstone._internal.rate_limit.FIRST_BACKOFF", 0.001)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the event loop's time pass by waiting only: a sleep takes 2 ms at most, work none."""
    loop = asyncio.get_running_loop()
    select, now = loop._selector.select, loop.time()

    def jump(timeout: float | None = None) -> object:
        nonlocal now
        ready = select(None if timeout is None else min(timeout, 0.002))
        now += 0 if ready else timeout or 0
        return ready

    monkeypatch.setattr(loop._selector, "select", jump)
    monkeypatch.setattr(loop, "time", lambda: now)


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    """The demo RAG system, served on a free port of loopback."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = running(make_service())
    yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def huge() -> int:
    """Characters of a text so long that quadratic work would not end before the test's timeout."""
    return 400_000


@pytest.fixture
def module_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a Python file into an empty working folder and return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away after each test what it registered."""
    monkeypatch.setattr(registry, "_metrics", dict(registry.registered()))


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away after each test the secrets that it used."""
    monkeypatch.setattr(secrets, "_known", {})


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow config files to load plugins; tests/cli/test_trust.py tests what they need for it."""
    monkeypatch.setenv("RAGSTONE_TRUST", "1")


Fork = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def fork() -> Iterator[Fork]:
    """Run `ragstone ARGS`, or another program, in a process; it starts in a few milliseconds."""
    command = [sys.executable, str(Path(__file__).with_name("forking.py"))]
    pipes, numbers = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}, count()
    with subprocess.Popen(command, **pipes) as process:

        def run(
            *arguments: str,
            folder: Path,
            program: str = "ragstone",
            home: Path | None = None,
            environment: Mapping[str, str] | None = None,
        ) -> dict[str, Any]:
            case = {
                "number": next(numbers),
                "arguments": arguments,
                "folder": str(folder),
                "program": program,
                "home": home and str(home),
                "environment": dict(os.environ if environment is None else environment),
            }
            process.stdin.write(json.dumps(case) + "\n")
            process.stdin.flush()
            while True:  # what a test left that ran out of time comes first
                ended = json.loads(process.stdout.readline())
                if ended["number"] == case["number"]:
                    return ended

        yield run
        process.stdin.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for all tests, which leave it running."""
    server = start_server()
    yield server
    end_server(server)
