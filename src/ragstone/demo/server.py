"""The demo RAG service, and the same over HTTP."""

import asyncio
import errno
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from ragstone.demo.questions import Line, Passage, corpus
from ragstone.demo.retriever import Found, Index, Retriever, Variant, content_words
from ragstone.errors import UnknownNameError, UsageError

# Answerer: composes an answer from the lines of the passages that were retrieved.

NOT_FOUND = "I could not find anything about that in the support guides."
WITHOUT_GUIDES = "Without the support guides I can only say that the answer depends on your model."

LEAST_SIMILARITY = 0.45
"""A best passage below this is taken to be about something else."""
MOST_PASSAGES = 3
MOST_LINES = 4
FEWEST_LINES = 2
NEAR_ENOUGH = 0.6
"""Lines below this share of the best line's score are left out."""
LINES_PER_PASSAGE = 100


class Answerer:
    """Answers with the lines that match a question; deterministic."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Index every line of the passages, under its passage's title."""
        self._index = Index(
            (
                (passage.id * LINES_PER_PASSAGE + place, passage.title, line.text)
                for passage in passages
                for place, line in enumerate(passage.lines)
            ),
            title_weight=0.5,
        )

    def answer(self, query: str, found: Sequence[Found]) -> str:
        """Return two to four sentences from the best passages, or that nothing was found.

        A line scores its similarity to the query, weighed with that of its passage; the chosen
        lines keep the order of the passages and of the lines in them.
        """
        if not found or found[0].score < LEAST_SIMILARITY:
            return NOT_FOUND
        similarities = self._index.similarities(content_words(query))
        scored: list[tuple[float, Line]] = []
        for place in found[:MOST_PASSAGES]:
            first = place.passage.id * LINES_PER_PASSAGE
            scored.extend(
                (similarities.get(first + number, 0.0) * place.score, line)
                for number, line in enumerate(place.passage.lines)
            )
        return " ".join(line.spoken for line in _chosen(scored))


def _chosen(scored: Sequence[tuple[float, Line]]) -> list[Line]:
    """Return the matching lines, in the order given; ties go to the earlier line."""
    order = sorted(range(len(scored)), key=lambda place: -scored[place][0])[:MOST_LINES]
    mark = NEAR_ENOUGH * scored[order[0]][0]
    said = [
        place for rank, place in enumerate(order) if rank < FEWEST_LINES or scored[place][0] >= mark
    ]
    return [scored[place][1] for place in sorted(said)]


class Mode(StrEnum):
    """Whether an answer is composed from passages."""

    RAG = "rag"
    LLM_ONLY = "llm_only"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and the passages it was composed from, best first."""

    response: str
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """A RAG system without state: the same call always gives the same answer."""

    retriever: Retriever
    answerer: Answerer

    def search(self, query: str, *, top_k: int, score_threshold: float) -> tuple[Found, ...]:
        """Return the passages for a query, best first."""
        return self.retriever.search(query, top_k=top_k, score_threshold=score_threshold)

    def chat(self, query: str, *, mode: Mode, top_k: int, score_threshold: float) -> Answer:
        """Return an answer from the passages that `search` finds, or from none in `llm_only`."""
        if mode is Mode.LLM_ONLY:
            return Answer(WITHOUT_GUIDES, ())
        found = self.search(query, top_k=top_k, score_threshold=score_threshold)
        return Answer(self.answerer.answer(query, found), found)


def make_service(retriever: str = "good", *, noise: float = 0.0, seed: int = 0) -> Service:
    """Return the service over the demo's corpus.

    Args:
        retriever: `good` or `worse`.
        noise: how far a similarity may be moved up or down, in [0, 1].
        seed: which noise.

    Raises:
        UsageError: there is no such retriever, or the noise is out of range.
    """
    variants = {variant.value: variant for variant in Variant}
    if retriever not in variants:
        raise UnknownNameError("retriever", retriever, variants)
    if not 0 <= noise <= 1:
        raise UsageError(f"noise is {noise}; it must be between 0 and 1")
    passages = corpus()
    found_by = Retriever(passages, variant=variants[retriever], noise=noise, seed=seed)
    return Service(found_by, Answerer(passages))


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
