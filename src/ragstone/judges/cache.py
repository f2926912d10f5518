"""CachedJudge and ReplyCache: replies in an SQLite file, shared by any number of processes."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self, TypeVar, cast
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.concurrency import in_thread
from ragstone._internal.files import WAIT, make_folder, use_wal
from ragstone.errors import CallError, JudgeError, UsageError
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.types.questions import TEXTS, Question
from ragstone.types.reply import JudgeFailureError, Reply, Usage

T = TypeVar("T")

USAGE = TypeAdapter(Usage)

LAYOUT = 2
"""Version of the table, stored in the file as `user_version`; version 1 has no checksums."""
AT_ONCE = 200
"""Replies written in one transaction, at most."""

_TABLE = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY,
    value TEXT NOT NULL,
    notes TEXT NOT NULL,
    raw TEXT,
    usage TEXT NOT NULL,
    kept_at REAL NOT NULL,
    checksum INTEGER
)"""
_FIND = """
SELECT CAST(value AS BLOB), CAST(notes AS BLOB), CAST(raw AS BLOB), CAST(usage AS BLOB),
kept_at, checksum FROM replies WHERE key = ?"""
_STORE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"

_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class CachedReply:
    """One reply as stored.

    Attributes:
        value, notes, usage: these parts of a Reply, as JSON.
        raw: the reply as the model wrote it; None if no model did.
        stored_at: seconds since 1970.
    """

    value: str
    notes: str
    raw: str | None
    usage: str
    stored_at: float


class ReplyCache:
    """Finds and stores replies by key; created by `await ReplyCache.open(path)`.

    Replies that arrive during a transaction are written together by the next one, in a thread.
    Reads happen in the caller's thread: they take microseconds and do not wait for writes (WAL).
    """

    def __init__(
        self, path: Path, *, reading: sqlite3.Connection, writing: sqlite3.Connection
    ) -> None:
        self._path, self._reading, self._writing = path, reading, writing
        self._waiting: list[tuple[bytes, CachedReply, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None
        self._failed = self._closing = self._damaged = False

    @classmethod
    async def open(cls, path: Path) -> "ReplyCache":
        """Open the file; create it and its folder if needed.

        Raises:
            UsageError: the file cannot be used.
        """
        writing = await in_thread(partial(_open_for_writing, path))
        return cls(path, reading=_connect(path), writing=writing)

    def find(self, key: bytes) -> CachedReply | None:
        """Return the reply of a key; None if there is none, or it is damaged or cannot be read.

        The first damaged reply logs a warning.
        """
        try:
            row = self._reading.execute(_FIND, (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        if row is None:
            return None
        *texts, stored_at, checksum = row
        if checksum is None or checksum == _checksum(key, texts):
            with suppress(UnicodeDecodeError):
                value, notes, raw, usage = (text and text.decode() for text in texts)
                return CachedReply(value, notes, raw, usage, stored_at)
        if not self._damaged:
            self._damaged = True
            _log.warning("%s: damaged replies are ignored; the judge is called again", self._path)
        return None

    async def store(self, key: bytes, reply: CachedReply) -> None:
        """Store a reply; when this returns, it survives the end of the process.

        If the file cannot be written, one warning is logged and nothing more is stored: the run
        is worth more than the cache.
        """
        if self._failed or self._closing:
            return
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((key, reply, written))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_waiting())
        await written

    async def close(self) -> None:
        """Write what is waiting, and close the file."""
        self._closing = True
        self._reading.close()
        if self._task:
            await asyncio.shield(self._task)  # a cancelled `close` still writes
        await in_thread(self._writing.close)

    async def _write_waiting(self) -> None:
        while batch := self._waiting[:AT_ONCE]:
            del self._waiting[:AT_ONCE]
            rows = [_row(key, reply) for key, reply, _ in batch]
            try:
                await in_thread(partial(self._write, rows))
            finally:
                for _, _, written in batch:
                    if not written.done():
                        written.set_result(None)

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        if self._failed:
            return
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            self._writing.executemany(_STORE, rows)
            self._writing.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):  # else other processes would wait for our lock
                self._writing.execute("ROLLBACK")
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        if not self._failed:
            self._failed = True
            _log.warning(
                "%s: %s; the run continues without storing more replies; a later run calls the "
                "judge again",
                self._path,
                error,
            )


def _row(key: bytes, reply: CachedReply) -> tuple[object, ...]:
    """Return a reply as a row of the table."""
    texts = reply.value, reply.notes, reply.raw, reply.usage
    written = [None if text is None else text.encode() for text in texts]
    return key, *texts, reply.stored_at, _checksum(key, written)


def _checksum(key: bytes, texts: Iterable[bytes | None]) -> int:
    """Return the CRC-32 of a reply; text and no text differ."""
    return crc32(b"\0".join([key, *(b"\1" if text is None else text for text in texts)]))


def _connect(path: Path) -> sqlite3.Connection:
    # opened in one thread, used in another: never in two at once
    return sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)


def _open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a file, with our table in WAL mode; reject files of other programs."""
    try:
        make_folder(path.parent)
        connection = _connect(path)
        try:
            _create_table(connection)
            use_wal(connection, marker="replies")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    except (OSError, sqlite3.Error, UsageError) as error:
        raise UsageError(
            f"{path}: the reply cache cannot be used: {error}; "
            "move the file away, or run with --no-cache"
        ) from error
    return connection


def _create_table(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")  # only one of several processes creates it
    layout = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables and layout == 0:
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    elif "replies" not in tables or layout == 0:
        raise UsageError("it is the database of another program")
    elif layout > LAYOUT:
        raise UsageError(
            f"a newer version of ragstone wrote it (layout {layout}, this version has {LAYOUT})"
        )
    elif layout == 1:
        connection.execute("ALTER TABLE replies ADD COLUMN checksum INTEGER")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


class CachedJudge(JudgeWrapper):
    """Caches replies in a file, by question and by the judge's identity.

    A reply is stored before it is returned: the end of the process loses only the calls in
    progress. Failures are not cached, nor replies of a judge without identity. Rows that ask the
    same at the same time make one call.
    """

    _replies: ReplyCache

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self._path = path
        self._pending: dict[bytes, asyncio.Future[Reply[object] | CallError | None]] = {}

    async def __aenter__(self) -> Self:
        """Open the file and the wrapped judge.

        Raises:
            UsageError: the file cannot be used.
        """
        self._replies = await ReplyCache.open(self._path)
        try:
            return await super().__aenter__()
        except BaseException:
            await self._replies.close()
            raise

    async def __aexit__(self, *raised: object) -> None:
        """Close the wrapped judge, then the file when everything is written."""
        try:
            await super().__aexit__(*raised)
        finally:
            await self._replies.close()

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return the cached reply, or ask and cache the reply.

        Raises:
            JudgeError: there is no answer. All who waited for the call get its failure; only if it
                was cancelled, the next one asks again.
        """
        identity = self.judge.identity(question.kind)
        if identity is None:
            return await reply_of(self.judge, question)
        key = sha256(f"{question.key}\n{identity}".encode()).digest()
        while pending := self._pending.get(key):
            result = await asyncio.shield(pending)
            if isinstance(result, JudgeFailureError):  # it is paid once
                raise JudgeFailureError(replace(result.failure, usage=Usage()))
            if isinstance(result, CallError):
                raise JudgeError(result.cause, str(result))
            if result:
                return _free(cast("Reply[T]", result))
        return self._find(key, question) or await self._ask(key, question)

    def _find(self, key: bytes, question: Question[T]) -> Reply[T] | None:
        cached = self._replies.find(key)
        if not cached:
            return None
        try:
            reply = question.reply(question.adapter().validate_json(cached.value))
            notes, usage = TEXTS.validate_json(cached.notes), USAGE.validate_json(cached.usage)
            return _free(replace(reply, usage=usage, notes=notes, raw=cached.raw))
        except (ValidationError, JudgeError):  # stored by an older version
            return None

    async def _ask(self, key: bytes, question: Question[T]) -> Reply[T]:
        result: Reply[object] | CallError | None = None
        pending = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            result = reply = await reply_of(self.judge, question)
            if cached := _storable(question, reply):
                await self._replies.store(key, cached)
        except CallError as error:
            result = error
            raise
        else:
            return reply
        finally:
            del self._pending[key]
            pending.set_result(result)


def _storable(question: Question[T], reply: Reply[T]) -> CachedReply | None:
    """Return the reply as text; None if it is in doubt, was free, or has a lone surrogate."""
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
            stored_at=time.time(),
        )
    except ValueError:
        return None


def _free(reply: Reply[T]) -> Reply[T]:
    tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
    return Reply(reply.value, Usage(cached=1, reused_tokens=tokens), reply.notes, reply.raw)
