"""CachedJudge and ReplyCache: replies in an SQLite file, shared by many processes."""

import asyncio
import logging
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Self, TypeVar, cast
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.concurrency import Batches, in_thread
from ragstone._internal.files import WAIT, make_folder, use_wal
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import one_line
from ragstone.errors import CallError, JudgeError, UsageError
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.types.questions import TEXTS, Question
from ragstone.types.reply import JudgeFailureError, Reply, Usage

T = TypeVar("T")

USAGE = TypeAdapter(Usage)

LAYOUT = 2  # version of the table, stored in the file as `user_version`
AT_ONCE = 200

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
checksum FROM replies WHERE key = ?"""
_STORE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"

_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class CachedReply:
    value: str  # JSON, as are `notes` and `usage`
    notes: str
    raw: str | None
    usage: str


class ReplyCache:
    """Replies in an SQLite file, shared by many processes, within `async with`."""

    def __init__(self, file: str | Path) -> None:
        self._path = Path(file)

    async def __aenter__(self) -> Self:
        # what arrives during a transaction is written together by the next one, in a thread
        self._writes = Batches(self._write, size=AT_ONCE)
        # once the file could not be read or written, nothing more is stored
        self._failed = self._closing = self._damaged = False
        try:
            await in_thread(self._open)
        except (OSError, sqlite3.Error, UsageError) as error:
            raise UsageError(
                f"{self._path}: the reply cache cannot be used: {one_line(str(error), 300)}; move "
                "the file away, or run without cache"
            ) from error
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._closing = True
        await self._writes.finish()
        await in_thread(self._reading.close)
        await in_thread(self._writing.close)

    def _open(self) -> None:
        make_folder(self._path.parent)
        self._writing = _connect(self._path)
        try:
            # only one of several processes creates the table
            self._writing.execute("BEGIN IMMEDIATE")
            layout = int(self._writing.execute("PRAGMA user_version").fetchone()[0])
            schema = self._writing.execute("SELECT name FROM sqlite_master")
            tables = {name for (name,) in schema}
            if not tables and layout == 0:
                self._writing.execute(_TABLE)
                self._writing.execute(f"PRAGMA user_version = {LAYOUT}")
            elif "replies" not in tables or layout != LAYOUT:
                raise UsageError("it is the database of another program or version of ragstone")
            self._writing.execute("COMMIT")
            use_wal(self._writing, marker="replies")
            self._writing.execute("PRAGMA synchronous = NORMAL")
            self._reading = _connect(self._path)
        except BaseException:
            self._writing.close()
            raise

    async def find(self, key: bytes) -> CachedReply | None:
        try:  # in the caller's thread: it takes microseconds, and does not wait for writes (WAL)
            row = self._reading.execute(_FIND, (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        if row is None:
            return None
        value, notes, raw, usage, checksum = row
        if checksum == _checksum(key, (value, notes, raw, usage)):
            with suppress(UnicodeDecodeError):
                written = None if raw is None else raw.decode()
                return CachedReply(value.decode(), notes.decode(), written, usage.decode())
        if not self._damaged:
            self._damaged = True
            _log.warning("%s: damaged replies are ignored; the judge is called again", self._path)
        return None

    async def store(self, key: bytes, reply: CachedReply) -> None:
        """Store a reply; when this returns, it survives the end of the process."""
        if not (self._failed or self._closing):
            texts = reply.value, reply.notes, reply.raw, reply.usage
            checksum = _checksum(key, (text if text is None else text.encode() for text in texts))
            (written,) = self._writes.submit([(key, *texts, time.time(), checksum)])
            await asyncio.shield(written)  # it is written even if this is cancelled

    def _write(self, rows: Sequence[tuple[object, ...]]) -> Sequence[None]:
        if not self._failed:
            try:
                self._writing.execute("BEGIN IMMEDIATE")
                self._writing.executemany(_STORE, rows)
                self._writing.execute("COMMIT")
            except sqlite3.Error as error:
                with suppress(sqlite3.Error):  # else other processes would wait for our lock
                    self._writing.execute("ROLLBACK")
                self._give_up(error)
        return [None] * len(rows)

    def _give_up(self, error: sqlite3.Error) -> None:
        if not self._failed:
            self._failed = True
            _log.warning(
                "%s: %s; the run continues without storing more replies; a later run calls the "
                "judge again",
                self._path,
                one_line(str(error), 300),
            )


def _checksum(key: bytes, texts: Iterable[bytes | None]) -> int:
    return crc32(b"\0".join([key, *(b"\1" if text is None else text for text in texts)]))


def _connect(path: Path) -> sqlite3.Connection:
    # opened in one thread, used in another: never in two at once
    return sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)


class CachedJudge(JudgeWrapper):
    """Caches replies in a file, by question and the judge's identity; never failures."""

    def __init__(self, judge: Judge, file: str | Path, *, budget: Budget | None = None) -> None:
        super().__init__(judge)
        if meant := re.match(r"([\w+]{2,}):[\\/]|[^\\/]*:[^\\/]*@", str(file)):
            scheme = f"{meant[1]}://..." if meant[1] else "a URL"
            raise UsageError(f"{scheme}: replies are cached in a file; specify its path")
        self._replies = ReplyCache(file)
        self._parts = (self._replies, judge)
        self._budget = budget or Budget()
        self._pending: dict[bytes, asyncio.Future[Reply[object] | CallError | None]] = {}

    async def answer(self, question: Question[T]) -> Reply[T]:
        identity = self.identity(question.kind)
        if identity is None:
            return await reply_of(self.judge, question)
        key = sha256(f"{question.key}\n{identity}".encode()).digest()
        while pending := self._pending.get(key):  # rows that ask the same make one call
            result = await asyncio.shield(pending)
            if isinstance(result, JudgeFailureError):  # it is paid once
                raise JudgeFailureError(replace(result.failure, usage=Usage()))
            if isinstance(result, CallError):
                raise JudgeError(result.cause, str(result))
            if result:
                return _free(cast("Reply[T]", result))
        # else the call was cancelled, and the next one that waits asks again
        return await self._find(key, question) or await self._ask(key, question)

    async def _find(self, key: bytes, question: Question[T]) -> Reply[T] | None:
        cached = await self._replies.find(key)
        if not cached:
            return None
        try:
            reply = question.reply(question.adapter().validate_json(cached.value))
            notes, usage = TEXTS.validate_json(cached.notes), USAGE.validate_json(cached.usage)
        except (ValidationError, JudgeError):  # stored by an older version
            return None
        self._budget.answered.add(question.kind)
        return _free(replace(reply, usage=usage, notes=notes, raw=cached.raw))

    async def _ask(self, key: bytes, question: Question[T]) -> Reply[T]:
        result: Reply[object] | CallError | None = None
        pending = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            result = reply = await reply_of(self.judge, question)
            if reply.final and (reply.usage.calls or reply.usage.local_calls):
                with suppress(ValueError):  # a lone surrogate
                    cached = CachedReply(
                        value=question.adapter().dump_json(reply.value).decode(),
                        notes=TEXTS.dump_json(reply.notes).decode(),
                        raw=reply.raw,
                        usage=USAGE.dump_json(reply.usage).decode(),
                    )
                    await self._replies.store(key, cached)
        except CallError as error:
            result = error
            raise
        else:
            return reply
        finally:
            del self._pending[key]
            pending.set_result(result)


def _free(reply: Reply[T]) -> Reply[T]:
    tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
    return Reply(reply.value, Usage(cached=1, reused_tokens=tokens), reply.notes, reply.raw)
