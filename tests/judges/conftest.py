"""A judge on a socket of loopback: it speaks OpenAI's protocol and misbehaves as it is told.

It runs in a thread of its own, so that `ragstone.evaluate` and other processes may ask it. A claim
is supported unless the word "fabricated" is in it: every sample's right score is known.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from threading import Thread
from time import perf_counter

import pytest
from aiohttp import web

MARKER = "fabricated"
SENTENCES = 5

Reply = web.StreamResponse | dict[str, object]
"""What the judge does with a request: a whole response, or JSON to send with status 200."""


@dataclass(frozen=True)
class Asked:
    """One request: its number from 0, its body, and what its prompt asks."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict
    at: float

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body.get("messages", ()))

    def fence(self, name: str) -> str | None:
        found = re.search(rf"<{name}-([0-9a-f]+)>\n(.*)\n</{name}-\1>", self.prompt, re.DOTALL)
        return found[2] if found else None

    @property
    def kind(self) -> str:
        return "verify" if self.fence("claims") is not None else "extract"

    @property
    def row(self) -> int:
        found = re.search(r"row (\d+)", self.fence("claims") or self.fence("response") or "")
        return int(found[1]) if found else -1

    def answer(self) -> dict[str, list]:
        if (claims := self.fence("claims")) is None:
            return {"claims": re.split(r"(?<=\.) ", self.fence("response") or "")}
        numbered = re.findall(r"^(\d+)\. (.*)$", claims, re.MULTILINE)
        return {
            "verdicts": [
                {
                    "claim": int(number),
                    "reason": "as it says",
                    "evidence": [],
                    "label": "NOT_ENOUGH_INFO" if MARKER in claim else "SUPPORTED",
                }
                for number, claim in numbered
            ]
        }


def chat(content: object, *, finish: str = "stop", **message: object) -> dict[str, object]:
    """Return a chat completion; what is not text becomes JSON text."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    return {
        "choices": [{"message": {"content": text, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


Fault = Callable[[Asked, web.Request], Awaitable[Reply]]


@dataclass
class JudgeServer:
    """Judges by the marker word; `fault` is what it does instead, with the requests of `on`."""

    delay: float = 0.0  # before each reply
    fault: Fault | None = None
    on: Callable[[Asked], bool] = bool
    asked: list[Asked] = field(default_factory=list)
    served: int = 0  # faults
    most: int = 0  # requests under way at once
    port: int = 0
    _busy: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def asked_of(self, kind: str) -> Counter[int]:
        return Counter(asked.row for asked in self.asked if asked.kind == kind)

    def start(self) -> None:
        Thread(target=self._loop.run_forever, daemon=True).start()
        self._wait(self._open())

    def stop(self) -> None:
        """Close the socket, whatever is under way."""
        if not self._loop.is_closed():
            self._wait(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            while self._loop.is_running():
                pass
            self._loop.close()

    def _wait(self, call: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(call, self._loop).result(10)

    async def _open(self) -> None:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        if self._runner:
            await self._runner.cleanup()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}  # those that hang
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await asyncio.sleep(0.01)  # their connections close in a later turn of the loop

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":  # it does not describe its models
            raise web.HTTPNotFound
        self._busy += 1
        self.most = max(self.most, self._busy)
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            body = await request.json()
            asked = Asked(len(self.asked), request.path_qs, headers, body, perf_counter())
            self.asked.append(asked)
            await asyncio.sleep(self.delay)
            if self.fault and self.on(asked):
                self.served += 1
                reply = await self.fault(asked, request)
            else:
                reply = chat(asked.answer())
            return web.json_response(reply) if isinstance(reply, dict) else reply
        finally:
            self._busy -= 1


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    server = JudgeServer()
    server.start()
    yield server
    server.stop()


def samples(count: int = 20) -> list[dict[str, object]]:
    """Return samples of five claims, of which `row % 6` are not backed."""
    return [
        {
            "id": str(row),
            "query": f"What of row {row}?",
            "response": " ".join(
                f"Part {part} of row {row} is {MARKER if part < row % 6 else 'known'} here."
                for part in range(SENTENCES)
            ),
            "contexts": [f"All parts of row {row} are known here."],
        }
        for row in range(count)
    ]


def right_score(row: int) -> float:
    return 1 - row % 6 / SENTENCES


@dataclass(frozen=True)
class JudgeKit:
    chat = staticmethod(chat)
    samples = staticmethod(samples)
    right_score = staticmethod(right_score)


@pytest.fixture
def kit() -> JudgeKit:
    return JudgeKit()
