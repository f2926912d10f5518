"""ReplyCache: the SQLite file that keeps judges' replies, for any number of processes at once."""

import asyncio
import logging
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.concurrency import in_thread
from ragstone._internal.sqlite import WAIT, make_folder, use_wal
from ragstone.errors import CallError, JudgeError, UsageError
from ragstone.judges.base import Judge, JudgeWrapper
from ragstone.types.questions import TEXTS, Question
from ragstone.types.reply import JudgeFailureError, Reply, Usage

LAYOUT = 1
"""Version of the table, kept in the file as `user_version`."""

AT_ONCE = 200
"""Replies that are written in one transaction, at most."""

_TABLE = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY,
    value TEXT NOT NULL,
    notes TEXT NOT NULL,
    raw TEXT,
    usage TEXT NOT NULL,
    kept_at REAL NOT NULL
)"""
_FIND = "SELECT value, notes, raw, usage, kept_at FROM replies WHERE key = ?"
_KEEP = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)"

_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class CachedReply:
    """One reply as the file holds it.

    Attributes:
        value, notes, usage: the parts of a Reply of that name, as JSON.
        raw: the reply as the model wrote it; None where no model wrote one.
        kept_at: seconds since 1970.
    """

    value: str
    notes: str
    raw: str | None
    usage: str
    kept_at: float


@dataclass(frozen=True)
class _Put:
    """A reply that waits to be written, and who waits for that."""

    key: bytes
    kept: CachedReply
    written: "asyncio.Future[None]"


class ReplyCache:
    """Finds and keeps replies by key; made by `await ReplyCache.open(path)`.

    A thread of its own writes what waits, in one transaction. Reads are done where they are asked
    for: they are found by an index, in microseconds, and wait for no writer (WAL).
    """

    def __init__(
        self, path: Path, *, reading: sqlite3.Connection, writing: sqlite3.Connection
    ) -> None:
        self._path = path
        self._reading = reading
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._waiting: SimpleQueue[_Put | None] = SimpleQueue()
        self._lost = self._closing = False
        write = partial(self._write_all, writing)
        Thread(target=write, name="ragstone replies", daemon=True).start()

    @classmethod
    async def open(cls, path: Path) -> "ReplyCache":
        """Open the file; make it, and its folder, where there is none.

        Raises:
            UsageError: the file cannot be used; the message says why.
        """
        writing = await in_thread(partial(_connected, path))
        return cls(path, reading=_connection(path), writing=writing)

    def find(self, key: bytes) -> CachedReply | None:
        """Return what is kept under a key, None if nothing is or it cannot be read."""
        try:
            row = self._reading.execute(_FIND, (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        return CachedReply(*row) if row else None

    async def keep(self, key: bytes, kept: CachedReply) -> None:
        """Keep a reply; once this returns, the end of the process does not lose it.

        Where it cannot be kept, a warning is logged once and nothing more is written: what was
        paid for is worth more than the file.
        """
        if self._lost or self._closing:
            return
        put = _Put(key, kept, self._loop.create_future())
        self._waiting.put(put)
        await put.written

    async def close(self) -> None:
        """Write what waits, and close the file."""
        self._closing = True
        self._reading.close()
        self._waiting.put(None)
        await self._ended

    def _write_all(self, connection: sqlite3.Connection) -> None:
        with closing(connection):
            while puts := self._batch():
                if not self._lost:
                    self._write(connection, puts)
                self._tell([put.written for put in puts])
        self._tell([self._ended])

    def _batch(self) -> list[_Put]:
        """Wait for something to write and return all that waits; nothing if this is the end."""
        put = self._waiting.get()
        puts: list[_Put] = []
        while put:
            puts.append(put)
            if len(puts) == AT_ONCE:
                return puts
            try:
                put = self._waiting.get_nowait()
            except Empty:
                return puts
        if puts:
            self._waiting.put(None)  # the end comes after these
        return puts

    def _write(self, connection: sqlite3.Connection, puts: list[_Put]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_KEEP, [(put.key, *vars(put.kept).values()) for put in puts])
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):  # else the others would wait for our lock
                connection.execute("ROLLBACK")
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        if not self._lost:
            self._lost = True
            _log.warning(
                "%s: %s; the run goes on, and no more replies are kept: "
                "a later run asks for them again",
                self._path,
                error,
            )

    def _tell(self, waiting: "list[asyncio.Future[None]]") -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(_set, waiting)


def _set(waiting: "list[asyncio.Future[None]]") -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)


def _connection(path: Path) -> sqlite3.Connection:
    # opened in one thread, used in one other: never in two at once
    return sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)


def _connected(path: Path) -> sqlite3.Connection:
    """Return a connection that writes to a file whose layout is known to be ours."""
    try:
        make_folder(path.parent)
        connection = _connection(path)
        try:
            _lay_out(connection)
            use_wal(connection, marker="replies")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    except (OSError, sqlite3.Error, UsageError) as error:
        raise UsageError(
            f"{path}: the reply cache cannot be used: {error}; "
            "move the file away, or go without it: --no-cache"
        ) from error
    return connection


def _lay_out(connection: sqlite3.Connection) -> None:
    """Make the table in an empty file; refuse a file that holds anything else."""
    connection.execute("BEGIN IMMEDIATE")  # of several processes, one makes it
    layout = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables and layout == 0:
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    elif "replies" not in tables or layout == 0:
        raise UsageError("it is the database of another program")
    elif layout > LAYOUT:
        raise UsageError(
            f"a newer ragstone wrote it (layout {layout}, this version knows {LAYOUT})"
        )
    connection.execute("COMMIT")


# CachedJudge: a judge that is not asked again what it has answered before.

T = TypeVar("T")

USAGE = TypeAdapter(Usage)


class CachedJudge(JudgeWrapper):
    """Keeps replies in a file, and takes them from there; several processes may share one file.

    A reply is kept under the question and the judge's identity, before it is given: the end of
    the process loses no more than the calls under way. Failures are not kept, nor is a judge's
    word that has no identity. Rows that ask the same at the same time make one call.
    """

    _replies: ReplyCache

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self._path = path
        self._under_way: dict[bytes, asyncio.Future[Reply[object] | CallError | None]] = {}

    async def __aenter__(self) -> Self:
        """Open the file and the judge within.

        Raises:
            UsageError: the file cannot be used.
        """
        self._replies = await ReplyCache.open(self._path)
        try:
            return await super().__aenter__()
        except BaseException:
            await self._replies.close()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the judge within, then the file when all that waits is written."""
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            await self._replies.close()

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return the reply that is kept, or ask and keep the reply.

        Raises:
            JudgeError: there is no answer. Whoever waited for the same call is told the same, as
                the call had all its tries; only where it was broken off, the next one asks.
        """
        identity = self.judge.identity(question.kind)
        if identity is None:
            return await self.judge.answer(question)
        key = sha256(f"{question.key}\n{identity}".encode()).digest()
        while under_way := self._under_way.get(key):
            told = await asyncio.shield(under_way)
            if isinstance(told, CallError):
                raise _shared(told)
            if told:
                return _free(cast("Reply[T]", told))
        return self._find(key, question) or await self._ask(key, question)

    def _find(self, key: bytes, question: Question[T]) -> Reply[T] | None:
        kept = self._replies.find(key)
        if not kept:
            return None
        try:
            reply = question.reply(question.adapter().validate_json(kept.value))
            return _free(replace(reply, notes=TEXTS.validate_json(kept.notes), raw=kept.raw))
        except (ValidationError, JudgeError):  # an older version's idea of a reply
            return None

    async def _ask(self, key: bytes, question: Question[T]) -> Reply[T]:
        told: Reply[object] | CallError | None = None
        under_way = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            told = reply = await self.judge.answer(question)
            if kept := _kept(question, reply):
                await self._replies.keep(key, kept)
        except CallError as error:
            told = error
            raise
        else:
            return reply
        finally:
            del self._under_way[key]
            under_way.set_result(told)


def _kept(question: Question[T], reply: Reply[T]) -> CachedReply | None:
    """Return the reply as text; None if it is in doubt, was free, or holds half a character."""
    if not reply.final or not (reply.usage.calls or reply.usage.local_calls):
        return None
    try:
        if reply.raw is not None:
            reply.raw.encode()
        return CachedReply(
            value=question.adapter().dump_json(reply.value).decode(),
            notes=TEXTS.dump_json(reply.notes).decode(),
            raw=reply.raw,
            usage=USAGE.dump_json(reply.usage).decode(),
            kept_at=time.time(),
        )
    except ValueError:
        return None


def _free(reply: Reply[T]) -> Reply[T]:
    """Return the reply as one that cost nothing this time."""
    return Reply(reply.value, Usage(cached=1), reply.notes, reply.raw)


def _shared(error: CallError) -> CallError:
    """Return a failure as it is told to those who waited: it cost once."""
    if isinstance(error, JudgeFailureError):
        return JudgeFailureError(replace(error.failure, usage=Usage()))
    return JudgeError(error.cause, str(error))
