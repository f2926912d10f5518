"""The demo's HTTP server: three endpoints over a Service, on loopback by default."""

import asyncio
import errno
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from ragstone.demo.retriever import Found
from ragstone.demo.service import Mode, Service
from ragstone.errors import UsageError

JSON = "application/json"
SECONDS_TO_FINISH = 1.0
"""How long a request under way may take when the server is stopped."""


class _Asked(BaseModel):
    """What both endpoints ask; fields that are not known are ignored."""

    model_config = ConfigDict(frozen=True, strict=True)

    query: str = Field(max_length=2000)
    top_k: int = Field(default=5, ge=1, le=1000)
    score_threshold: float = Field(default=0.0, ge=0.0, le=1.0, allow_inf_nan=False)

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str) -> str:
        if not query.strip():
            raise PydanticCustomError("blank", "Input should not be blank")
        return query


class SearchRequest(_Asked):
    """The body of a search; the collection of images is empty."""

    collection_type: Literal["text", "image"] = "text"


class ChatRequest(_Asked):
    """The body of a chat; the session is accepted and not used, as no answer needs a history."""

    session_id: str = ""
    mode: Mode = Field(default=Mode.RAG, strict=False)


Body = TypeVar("Body", bound=BaseModel)
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Endpoints:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "service": "ragstone demo"})

    async def search(self, request: web.Request) -> web.Response:
        asked = await _read(request, SearchRequest)
        found: Sequence[Found] = ()
        if asked.collection_type == "text":
            found = self._service.search(
                asked.query, top_k=asked.top_k, score_threshold=asked.score_threshold
            )
        results = [{**_chunk(place), "source": place.passage.source} for place in found]
        return web.json_response({"results": results})

    async def chat(self, request: web.Request) -> web.Response:
        asked = await _read(request, ChatRequest)
        answer = self._service.chat(
            asked.query,
            mode=asked.mode,
            top_k=asked.top_k,
            score_threshold=asked.score_threshold,
        )
        chunks = [_chunk(place) for place in answer.found]
        return web.json_response({"response": answer.response, "retrieved_chunks": chunks})


def make_app(service: Service) -> web.Application:
    """Return the web application; every answer is JSON, errors too."""
    endpoints = _Endpoints(service)
    app = web.Application(middlewares=[_errors_as_json])
    app.add_routes(
        [
            web.get("/api/v1/health", endpoints.health),
            web.post("/api/v1/rag/search", endpoints.search),
            web.post("/api/v1/chat/query", endpoints.chat),
        ]
    )
    return app


@asynccontextmanager
async def running(
    service: Service, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[str, None]:
    """Serve while the block runs, and yield the base URL.

    Args:
        service: what answers.
        host: the address to listen at.
        port: 0 takes a free one.

    Raises:
        UsageError: the address is not available.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"port is {port}; it must be between 0 and 65535")
    runner = web.AppRunner(make_app(service), access_log=None, shutdown_timeout=SECONDS_TO_FINISH)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise UsageError(_not_listening(error, host, port)) from error
        bound: int = runner.addresses[0][1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}"
    finally:
        await runner.cleanup()


def serve(
    service: Service,
    *,
    ready: Callable[[str], None],
    host: str = "127.0.0.1",
    port: int = 8000,
) -> None:
    """Serve until Ctrl-C, then return; `ready` is called with the base URL once it listens.

    Raises:
        UsageError: the address is not available.
    """

    async def until_stopped() -> None:
        async with running(service, host=host, port=port) as base_url:
            ready(base_url)
            await asyncio.Event().wait()

    try:
        asyncio.run(until_stopped())
    except KeyboardInterrupt:
        return


def _not_listening(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is in use; stop the program that uses it, or choose "
            "another port with --port"
        )
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def _chunk(found: Found) -> dict[str, object]:
    return {"point_id": found.passage.id, "text": found.passage.text, "score": found.score}


async def _read(request: web.Request, shape: type[Body]) -> Body:
    """Return the request's body.

    Raises:
        web.HTTPUnprocessableEntity: with all that is wrong with it, as JSON.
    """
    try:
        return shape.model_validate_json(await request.read())
    except ValidationError as error:
        problems = [
            {"field": ".".join(map(str, found["loc"])) or "body", "message": found["msg"]}
            for found in error.errors(include_url=False, include_context=False)
        ]
    told = "; ".join(f"{problem['field']}: {problem['message']}" for problem in problems)
    raise web.HTTPUnprocessableEntity(
        text=json.dumps({"error": told, "problems": problems}), content_type=JSON
    )


@web.middleware
async def _errors_as_json(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.content_type != JSON:
            told = f"{request.method} {request.path}: {error.reason}"
            error.text = json.dumps({"error": told})
            error.content_type = JSON
        raise
