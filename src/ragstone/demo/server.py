"""The demo RAG service, and the same over HTTP."""

import asyncio
import errno
import json
import math
import re
import sqlite3
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from functools import cached_property
from threading import Lock
from typing import Literal, NamedTuple, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from ragstone.demo.questions import Passage, corpus
from ragstone.errors import UnknownNameError, UsageError

STOP_WORDS = frozenset(
    """a about after all am an and any are as at be been before but by can cannot could did do does
    don for from get had has have here how i if in into is isn it its itself just keep me mean must
    my need no not of on once one or other our out over s same should since so such t than that the
    their them then there these they this those to too under up use very was we were what when where
    which who why will with would you your yourself""".split()
)
MOST_WORDS = 64
STEEPNESS = 2.6


def content_words(query: str) -> tuple[str, ...]:
    words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
    return tuple(word for word in words if word not in STOP_WORDS)[:MOST_WORDS]


class Index:
    def __init__(
        self,
        entries: Iterable[tuple[int, str, str]],
        *,
        stem: bool = True,
        title_weight: float = 2.0,
    ) -> None:
        """Index (id, title, text) entries; a word in a title counts `title_weight` times."""
        self._title_weight = title_weight
        self._columns = "{title body}" if title_weight > 0 else "{body}"
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._lock = Lock()
        weakref.finalize(self, self._database.close)
        tokenizer = "porter unicode61" if stem else "unicode61"
        try:
            self._database.execute(
                f"CREATE VIRTUAL TABLE entries USING fts5(title, body, tokenize='{tokenizer}')"
            )
        except sqlite3.OperationalError as error:
            raise UsageError(
                f"the demo needs SQLite with FTS5, but this Python's SQLite does not have "
                f"it ({error}); use a Python from python.org, conda or your system"
            ) from error
        rows = self._database.executemany(
            "INSERT INTO entries(rowid, title, body) VALUES (?, ?, ?)", entries
        )
        self._size = rows.rowcount

    def rarity(self, word: str) -> float:
        [[count]] = self._select("count(*)", [word])
        return max(math.log((self._size - count + 0.5) / (count + 0.5)), 1e-6)

    def similarities(self, words: Sequence[str]) -> dict[int, float]:
        """Return the similarity in [0, 1] of each entry that has one of the words.

        bm25 has no maximum, so it is divided by the sum of the words' rarities, which is what a
        text of average length with every word once would get. `1 - exp(-2.6 * share)` keeps the
        order: a share of 0.2 is a similarity of 0.41, 0.5 is 0.73, 1 is 0.93.
        """
        if not words:
            return {}
        whole = sum(self.rarity(word) for word in words)
        scored = self._select("rowid, -bm25(entries, ?, 1.0)", words, self._title_weight)
        return {int(entry): 1 - math.exp(-STEEPNESS * bm25 / whole) for entry, bm25 in scored}

    def _select(self, what: str, words: Sequence[str], *values: float) -> list[tuple[float, ...]]:
        any_word = " OR ".join(f'"{word}"' for word in words)
        asked = (*values, f"{self._columns} : ({any_word})")
        query = f"SELECT {what} FROM entries WHERE entries MATCH ?"  # noqa: S608 - `what` is ours
        with self._lock:  # one connection, asked from many threads
            return self._database.execute(query, asked).fetchall()


class Variant(StrEnum):
    """`worse` searches no titles, for exact forms, without the rarer half of the query's words."""

    GOOD = "good"
    WORSE = "worse"


class Found(NamedTuple):
    passage: Passage
    score: float  # the similarity to the query, in [0, 1]


class Retriever:
    """Passages by similarity; the same arguments always give the same ranking."""

    def __init__(self, passages: Sequence[Passage], *, variant: Variant = Variant.GOOD) -> None:
        self._passages = {passage.id: passage for passage in passages}
        self._variant = variant
        good = variant is Variant.GOOD
        self._index = Index(
            ((passage.id, passage.title, passage.text) for passage in passages),
            stem=good,
            title_weight=2.0 if good else 0.0,
        )

    def search(
        self, query: str, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> tuple[Found, ...]:
        """Return at most `top_k` passages that share a word with the query, best first."""
        words = content_words(query)
        if self._variant is Variant.WORSE:
            words = sorted(words, key=self._index.rarity)[: max(1, len(words) // 2)]
        found = self._index.similarities(words).items()
        scores = {point: round(min(1.0, max(0.0, score)), 4) for point, score in found}
        ranked = sorted(scores, key=lambda point: (-scores[point], point))[:top_k]
        return tuple(
            Found(self._passages[point], scores[point])
            for point in ranked
            if scores[point] >= score_threshold
        )


NOT_FOUND = "I could not find anything about that in the support guides."
WITHOUT_GUIDES = "Without the support guides I can only say that the answer depends on your model."

LEAST_SIMILARITY = 0.45  # if the best passage is below this, nothing was found
MOST_PASSAGES = 3
FEWEST_LINES, MOST_LINES = 2, 4
NEAR_ENOUGH = 0.6  # lines below this share of the best line's score are left out
LINES_PER_PASSAGE = 100
Mode = Literal["rag", "llm_only"]


class Answer(NamedTuple):
    response: str
    found: tuple[Found, ...]  # what it was composed from, best first


class Service(Retriever):
    """A RAG system without state: the same call always gives the same answer."""

    @cached_property
    def _lines(self) -> Index:
        lines = (
            (passage.id * LINES_PER_PASSAGE + place, passage.title, line.text)
            for passage in self._passages.values()
            for place, line in enumerate(passage.lines)
        )
        return Index(lines, title_weight=0.5)

    def chat(
        self, query: str, *, mode: Mode = "rag", top_k: int = 5, score_threshold: float = 0.0
    ) -> Answer:
        if mode == "llm_only":
            return Answer(WITHOUT_GUIDES, ())
        found = self.search(query, top_k=top_k, score_threshold=score_threshold)
        return Answer(self.answer(query, found), found)

    def answer(self, query: str, found: Sequence[Found]) -> str:
        """Return two to four sentences from the best passages, or that nothing was found."""
        if not found or found[0].score < LEAST_SIMILARITY:
            return NOT_FOUND
        similarities = self._lines.similarities(content_words(query))
        lines = [
            (similarities.get(place.passage.id * LINES_PER_PASSAGE + n, 0.0) * place.score, line)
            for place in found[:MOST_PASSAGES]
            for n, line in enumerate(place.passage.lines)
        ]
        best = sorted(range(len(lines)), key=lambda n: -lines[n][0])[:MOST_LINES]
        least = NEAR_ENOUGH * lines[best[0]][0]
        chosen = {*best[:FEWEST_LINES], *(n for n in best if lines[n][0] >= least)}
        return " ".join(lines[n][1].spoken for n in sorted(chosen))


def make_service(retriever: str = "good") -> Service:
    if retriever not in list(Variant):
        raise UnknownNameError("retriever", retriever, map(str, Variant))
    return Service(corpus(), variant=Variant(retriever))


JSON = "application/json"
SECONDS_TO_FINISH = 1.0  # time for running requests when the server is stopped


class _Asked(BaseModel):
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
    collection_type: Literal["text", "image"] = "text"


class ChatRequest(_Asked):
    session_id: str = ""
    mode: Mode = "rag"


Body = TypeVar("Body", bound=BaseModel)
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(service: Service) -> web.Application:
    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "service": "ragstone demo"})

    async def search(request: web.Request) -> web.Response:
        asked = await _read(request, SearchRequest)
        how = asked.model_dump(include={"query", "top_k", "score_threshold"})
        found = service.search(**how) if asked.collection_type == "text" else ()
        results = [{**_chunk(place), "source": place.passage.source} for place in found]
        return web.json_response({"results": results})

    async def chat(request: web.Request) -> web.Response:
        asked = await _read(request, ChatRequest)
        answer = service.chat(**asked.model_dump(exclude={"session_id"}))
        chunks = [_chunk(place) for place in answer.found]
        return web.json_response({"response": answer.response, "retrieved_chunks": chunks})

    app = web.Application(middlewares=[_errors_as_json])
    app.router.add_get("/api/v1/health", health)
    app.router.add_post("/api/v1/rag/search", search)
    app.router.add_post("/api/v1/chat/query", chat)
    return app


@asynccontextmanager
async def running(
    service: Service, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[str, None]:
    if not 0 <= port <= 65535:
        raise UsageError(f"port is {port}; it must be between 0 and 65535")
    runner = web.AppRunner(make_app(service), access_log=None, shutdown_timeout=SECONDS_TO_FINISH)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            seen = f"cannot listen on {host}, port {port}: {error.strerror or error}"
            if error.errno == errno.EADDRINUSE:
                fix = "stop the program that uses it, or choose another port with --port"
                seen = f"port {port} on {host} is in use; {fix}"
            raise UsageError(seen) from error
        bound: int = runner.addresses[0][1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}"
    finally:
        await runner.cleanup()


def serve(
    service: Service, *, ready: Callable[[str], None], host: str = "127.0.0.1", port: int = 8000
) -> None:
    async def until_stopped() -> None:
        async with running(service, host=host, port=port) as base_url:
            ready(base_url)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(until_stopped())


def _chunk(found: Found) -> dict[str, object]:
    return {"point_id": found.passage.id, "text": found.passage.text, "score": found.score}


async def _read(request: web.Request, shape: type[Body]) -> Body:
    try:
        return shape.model_validate_json(await request.read())
    except ValidationError as error:
        problems = [
            {"field": ".".join(map(str, found["loc"])) or "body", "message": found["msg"]}
            for found in error.errors(include_url=False, include_context=False)
        ]
    text = "; ".join(f"{problem['field']}: {problem['message']}" for problem in problems)
    body = json.dumps({"error": text, "problems": problems})
    raise web.HTTPUnprocessableEntity(text=body, content_type=JSON)


@web.middleware
async def _errors_as_json(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.content_type != JSON:
            text = f"{request.method} {request.path}: {error.reason}"
            error.text = json.dumps({"error": text})
            error.content_type = JSON
        raise
