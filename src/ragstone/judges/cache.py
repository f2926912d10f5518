"""CachedJudge and ReplyCache: replies in SQLite or PostgreSQL, shared by many processes."""

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
from typing import Self, TypeAlias, TypeVar, cast
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.concurrency import Batches, in_thread
from ragstone._internal.files import WAIT, make_folder, use_wal
from ragstone._internal.secrets import remember
from ragstone._internal.text import one_line, public_url
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
_STORE = """
INSERT OR REPLACE INTO replies
VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)"""

_SCHEME = re.compile(r"(?:postgres|postgresql(?:\+psycopg)?)://")
_SERVER_TABLE = """
CREATE SCHEMA IF NOT EXISTS ragstone_cache;
CREATE TABLE IF NOT EXISTS ragstone_cache.replies (
    key BYTEA PRIMARY KEY,
    value BYTEA NOT NULL,
    notes BYTEA NOT NULL,
    raw BYTEA,
    usage BYTEA NOT NULL,
    kept_at DOUBLE PRECISION NOT NULL,
    checksum BIGINT NOT NULL
)"""
"""In a schema of its own: the store and its migrations own the other one."""
_FIND_ON_SERVER = """
SELECT key, value, notes, raw, usage, kept_at, checksum
FROM ragstone_cache.replies WHERE key = ANY(%s)"""
_STORE_ON_SERVER = """
INSERT INTO ragstone_cache.replies VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key) DO UPDATE SET (value, notes, raw, usage, kept_at, checksum)
= (excluded.value, excluded.notes, excluded.raw, excluded.usage, excluded.kept_at,
excluded.checksum)"""

StoredRow: TypeAlias = tuple[bytes, bytes, bytes | None, bytes, float, int | None]
"""Value, notes, raw and usage as UTF-8, the time and the checksum."""

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


class ReplyFile:
    """Replies in an SQLite file.

    Reads happen in the caller's thread: they take microseconds and do not wait for writes (WAL).
    """

    error = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        make_folder(path.parent)
        self._writing = _connect(path)
        try:
            _create_table(self._writing)
            use_wal(self._writing, marker="replies")
            self._writing.execute("PRAGMA synchronous = NORMAL")
            self._reading = _connect(path)
        except BaseException:
            self._writing.close()
            raise

    async def find(self, key: bytes) -> StoredRow | None:
        return self._reading.execute(_FIND, (key,)).fetchone()

    def write(self, rows: Sequence[tuple[bytes, StoredRow]]) -> None:
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            self._writing.executemany(_STORE, [(key, *row) for key, row in rows])
            self._writing.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):  # else other processes would wait for our lock
                self._writing.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._reading.close()
        self._writing.close()


class ReplyServer:
    """Replies in a PostgreSQL database, for several machines.

    Keys that are looked up at the same time are one query. A user who may only SELECT reads.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise UsageError(
                "PostgreSQL needs the package psycopg: pip install 'ragstone[postgres]'"
            ) from error
        self.name, self.error = public_url(url), psycopg.Error
        self._finds = Batches(self._find, size=AT_ONCE)
        address = url.replace("+psycopg", "", 1)
        self._connection = psycopg.connect(
            address, autocommit=True, connect_timeout=10, tcp_user_timeout=60_000
        )
        try:
            execute = self._connection.execute
            execute("SET lock_timeout TO '30s'")
            execute("SET synchronous_commit TO off")  # a reply may be lost if the server crashes
            if execute("SELECT to_regclass('ragstone_cache.replies')").fetchone() == (None,):
                with self._connection.transaction():  # only one of several processes creates it
                    execute("SELECT pg_advisory_xact_lock(1382114164)")
                    execute(_SERVER_TABLE)
        except BaseException:
            self._connection.close()
            raise

    async def find(self, key: bytes) -> StoredRow | None:
        return (await self._finds.results([key]))[0]

    def _find(self, keys: Sequence[bytes]) -> Sequence[StoredRow | None]:
        rows = self._connection.execute(_FIND_ON_SERVER, [list(keys)]).fetchall()
        found = {key: cast("StoredRow", tuple(row)) for key, *row in rows}
        return [found.get(key) for key in keys]

    def write(self, rows: Sequence[tuple[bytes, StoredRow]]) -> None:
        """Write rows in one transaction, sorted so that no two processes wait for each other."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_STORE_ON_SERVER, [(key, *row) for key, row in sorted(rows)])

    def close(self) -> None:
        self._connection.close()


def is_server(place: str | Path) -> bool:
    if isinstance(place, Path) or "://" not in place:
        return False
    if not _SCHEME.match(place):
        raise UsageError(
            f"{place.partition('://')[0]}://...: replies are cached in a file or in PostgreSQL; "
            "specify a file, or postgresql://USER@HOST/DATABASE"
        )
    return True


class ReplyCache:
    """Finds and stores replies by key; created by `await ReplyCache.open(place)`.

    Replies that arrive during a transaction are written together by the next one, in a thread.
    """

    def __init__(self, table: ReplyFile | ReplyServer) -> None:
        self._table = table
        self._writes = Batches(self._write, size=AT_ONCE)
        self._failed = self._closing = self._damaged = False

    @classmethod
    async def open(cls, place: str | Path) -> "ReplyCache":
        server = is_server(place)
        name = public_url(str(place)) if server else str(place)

        def table() -> ReplyFile | ReplyServer:
            return ReplyServer(str(place)) if server else ReplyFile(Path(place))

        try:
            return cls(await in_thread(table))
        except Exception as error:
            if not isinstance(error, OSError | sqlite3.Error | UsageError) and not server:
                raise
            fix = "correct the URL, or set PGPASSWORD" if server else "move the file away"
            raise UsageError(
                f"{name}: the reply cache cannot be used: {one_line(str(error), 300)}; {fix}, or "
                "run with --no-cache"
            ) from error

    async def find(self, key: bytes) -> CachedReply | None:
        """Return the reply of a key; None if there is none, or it is damaged or cannot be read.

        The first damaged reply logs a warning.
        """
        try:
            row = await self._table.find(key)
        except self._table.error as error:
            self._give_up(error)
            return None
        if row is None:
            return None
        value, notes, raw, usage, stored_at, checksum = row
        if checksum is None or checksum == _checksum(key, (value, notes, raw, usage)):
            with suppress(UnicodeDecodeError):
                written = None if raw is None else raw.decode()
                return CachedReply(
                    value.decode(), notes.decode(), written, usage.decode(), stored_at
                )
        if not self._damaged:
            self._damaged = True
            name = self._table.name
            _log.warning("%s: damaged replies are ignored; the judge is called again", name)
        return None

    async def store(self, key: bytes, reply: CachedReply) -> None:
        """Store a reply; when this returns, it survives the end of the process.

        If the cache cannot be written, one warning is logged and nothing more is stored: the run
        is worth more than the cache.
        """
        if not (self._failed or self._closing):
            (written,) = self._writes.submit([(key, _row(key, reply))])
            await asyncio.shield(written)  # it is written even if this is cancelled

    async def close(self) -> None:
        self._closing = True
        await self._writes.finish()
        await in_thread(self._table.close)

    def _write(self, rows: Sequence[tuple[bytes, StoredRow]]) -> Sequence[None]:
        if not self._failed:
            try:
                self._table.write(rows)
            except self._table.error as error:
                self._give_up(error)
        return [None] * len(rows)

    def _give_up(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            _log.warning(
                "%s: %s; the run continues without storing more replies; a later run calls the "
                "judge again",
                self._table.name,
                one_line(str(error), 300),
            )


def _row(key: bytes, reply: CachedReply) -> StoredRow:
    raw = None if reply.raw is None else reply.raw.encode()
    texts = reply.value.encode(), reply.notes.encode(), raw, reply.usage.encode()
    return *texts, reply.stored_at, _checksum(key, texts)


def _checksum(key: bytes, texts: Iterable[bytes | None]) -> int:
    return crc32(b"\0".join([key, *(b"\1" if text is None else text for text in texts)]))


def _connect(path: Path) -> sqlite3.Connection:
    # opened in one thread, used in another: never in two at once
    return sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)


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
    """Caches replies in a file or a PostgreSQL database, by question and the judge's identity.

    A reply is stored before it is returned: the end of the process loses only the calls in
    progress. Failures are not cached, nor replies of a judge without identity. Rows that ask the
    same at the same time make one call.
    """

    _replies: ReplyCache

    def __init__(self, judge: Judge, place: str | Path) -> None:
        super().__init__(judge)
        if is_server(place):
            remember(place)
        self._place = place
        self._pending: dict[bytes, asyncio.Future[Reply[object] | CallError | None]] = {}

    async def __aenter__(self) -> Self:
        self._replies = await ReplyCache.open(self._place)
        try:
            return await super().__aenter__()
        except BaseException:
            await self._replies.close()
            raise

    async def __aexit__(self, *raised: object) -> None:
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
        return await self._find(key, question) or await self._ask(key, question)

    async def _find(self, key: bytes, question: Question[T]) -> Reply[T] | None:
        cached = await self._replies.find(key)
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
