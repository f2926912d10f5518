"""The database of a store, a SQLite file or a PostgreSQL server: its tables, errors and locks.

One process at a time works on a run. The end of a process unlocks its runs, even after kill -9.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from ragstone._internal.files import WAIT, lock_file, make_folder, use_wal
from ragstone._internal.text import quoted
from ragstone.store.codec import USAGE
from ragstone.store.errors import LIKE_URL, SAME_EVALUATION, RunLockedError, StoreError, parse_url
from ragstone.types.config import DEFAULT_STORE

SCHEMA = "ragstone"  # the schema of the tables in a PostgreSQL database
WRITING = {"writing": True}  # SQLite locks the file before the first read of such a connection

_TIMEOUTS = {  # when a PostgreSQL server counts as unreachable
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_WAITED = f"another program locked it for over {WAIT} s; stop that program first"
_DELETED = "the run was deleted by another program"
_SQLITE = {  # code -> the reason and what to do
    sqlite3.SQLITE_BUSY: _WAITED,
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "it is read-only; change its permissions",
    sqlite3.SQLITE_PERM: "its permissions do not allow this; change them",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; correct the permissions of the file and of its "
    "folder, in which it needs others, or copy it with its -wal file to another folder",
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: _DELETED,
    sqlite3.SQLITE_NOTADB: "it is not a database; name another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away, or repair it with sqlite3's .recover",
    sqlite3.SQLITE_IOERR: "the disk is full, or cannot be read or written; check the disk",
}
_POSTGRESQL = {  # SQLSTATE -> the reason and what to do, where the server's message lacks it
    "23503": _DELETED,
    "42501": "this user cannot create or use the schema `ragstone`; grant the privilege",
    "53300": "the server has no free connections; close some, or raise max_connections",
    "55P03": _WAITED,
}
KIND = 0x5261_6773  # of the advisory locks: a number that other programs are unlikely to use
_LOCKED_RUNS = f"""
SELECT objid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = {KIND} AND objsubid = 2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608 - a constant
TIMEOUT = 0.5  # seconds to wait for a lock: another process may only be checking whether it is free


def create_store_engine(place: str | Path | None, *, reading: bool = False) -> Engine:
    """Return the engine for a path or URL; with `reading`, no statement can change the store."""
    if isinstance(place, str) and LIKE_URL.match(place):
        return _postgresql(parse_url(place), reading=reading)
    path = Path(place or DEFAULT_STORE)
    _check_path(path, reading=reading)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": WAIT, "check_same_thread": False},
        poolclass=NullPool,  # Windows cannot delete open files
        hide_parameters=True,
    )

    def connect(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        assert isinstance(connection, sqlite3.Connection)
        connection.isolation_level = None  # `begin` begins transactions
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            # of new files, in bytes; a row with its texts has about 8,000
            connection.execute("PRAGMA page_size = 16384")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")  # pages
            if reading:
                connection.execute("PRAGMA query_only = ON")
            elif connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                use_wal(connection, marker="schema_version")
        except BaseException:
            connection.close()
            raise

    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    if reading:
        event.listen(engine, "do_connect", lambda *_: _connect_to_read(path))
    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
    return engine


def _check_path(path: Path, *, reading: bool) -> None:
    try:
        if path.is_dir():
            near = path / "ragstone.db"
            raise StoreError(f"{path}: it is a folder; name a file in it, such as {near}")
        if path.exists() and not path.is_file():  # SQLite would write a journal beside a device
            raise StoreError(f"{path}: it is not a regular file; choose another path")
        if reading and not path.exists():
            raise StoreError(f"there is no store at {path}; choose another path")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; choose another path") from error
    if reading:
        return
    try:
        make_folder(path.parent)
    except OSError as error:
        reason = f"its folder cannot be created: {error.strerror}; choose another path"
        raise StoreError(f"{path}: {reason}") from error
    if _is_read_only(path):
        raise StoreError(
            f"{path}: the store is read-only; change the permissions of the file and its folder, "
            "or choose another store"
        )


def _is_read_only(path: Path) -> bool:
    place = Path(os.path.realpath(path))
    writable = os.access(place, os.W_OK) and os.access(place.parent, os.W_OK | os.X_OK)
    return os.access(place, os.R_OK) and not writable


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open an existing file; if it is read-only, create no files beside it."""
    place, options = Path(os.path.realpath(path)), "mode=rw"
    if _is_read_only(place):
        log, index = (place.with_name(f"{place.name}-{end}") for end in ("wal", "shm"))
        # it must share an index (`-shm`) with other processes, unless there is no log (`-wal`)
        options = "mode=ro&immutable=1"
        with suppress(FileNotFoundError):
            if log.stat().st_size or index.exists():
                options = "mode=ro"
    uri = f"{place.as_uri()}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=WAIT, check_same_thread=False)


def _postgresql(url: URL, *, reading: bool) -> Engine:
    try:
        engine = create_engine(
            url,
            connect_args={name: v for name, v in _TIMEOUTS.items() if name not in url.query},
            paramstyle="format",
            pool_pre_ping=True,
            hide_parameters=True,
        )
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(
            "PostgreSQL needs the package psycopg: pip install 'ragstone[postgres]'"
        ) from error

    def connect(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET search_path TO {SCHEMA}")
        cursor.execute(f"SET lock_timeout TO '{WAIT}s'")
        if reading:
            cursor.execute("SET default_transaction_read_only TO on")
        connection.commit()
        cursor.close()

    event.listen(engine, "connect", connect)
    return engine


@contextmanager
def translate_errors(name: str) -> Generator[None, None, None]:
    try:
        yield
    except SQLAlchemyError as error:
        if not isinstance(error, DBAPIError):
            raise StoreError(f"{name}: {quoted(str(error), 300)}") from None
        if isinstance(error.orig, sqlite3.Error):
            raise StoreError(f"{name}: {explain_sqlite_error(error.orig)}") from None
        message = quoted(str(error.orig), 300)
        reason = _POSTGRESQL.get(getattr(error.orig, "sqlstate", None) or "")
        if reason is None and (error.connection_invalidated or "connection" in message):
            reason = "connecting failed; correct the URL, or start the server"
        raise StoreError(
            f"{name}: {reason} ({message})" if reason else f"{name}: {message}"
        ) from None


def explain_sqlite_error(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0)
    reason = _SQLITE.get(code) or _SQLITE.get(code & 0xFF)  # the primary code
    message = quoted(str(error), 300)
    return f"{reason} ({message})" if reason else message


def run_lock(connection: Connection, run: int, *, name: str) -> AbstractContextManager[None]:
    busy = f"run {name} is in use by another process; wait until it finishes"
    return _locked(connection, _lock_path(connection, run), (KIND, run), busy)


def start_lock(connection: Connection, fingerprint: str) -> AbstractContextManager[None]:
    number = crc32(fingerprint.encode()) & 0x7FFF_FFFF
    path = Path(f"{connection.engine.url.database}.start-{number:08x}.lock")
    return _locked(connection, path, (KIND + 1, number), SAME_EVALUATION.format(""))


@contextmanager
def _locked(
    connection: Connection, path: Path, key: tuple[int, int], busy: str
) -> Generator[None, None, None]:
    sqlite = connection.dialect.name == "sqlite"
    with ExitStack() as stack:
        try:
            held = lock_file(path, timeout=TIMEOUT) if sqlite else _advisory_lock(connection, key)
            stack.enter_context(held)
        except BlockingIOError as error:
            raise RunLockedError(busy) from error
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        yield


def locked_runs(connection: Connection, runs: Iterable[int]) -> frozenset[int]:
    if connection.dialect.name != "sqlite":
        return frozenset(runs) & frozenset(connection.exec_driver_sql(_LOCKED_RUNS).scalars())
    return frozenset(run for run in runs if _is_locked(_lock_path(connection, run)))


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        try:
            with lock_file(path, timeout=0):  # deletes what a killed process left
                return False
        except OSError as error:
            # in a read-only folder it can be checked, but not deleted
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
        from filelock import lock_descriptor

        with path.open("rb") as file:
            return not lock_descriptor(file.fileno(), blocking=False)
    except BlockingIOError:
        return True
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def _lock_path(connection: Connection, run: int) -> Path:
    return Path(f"{connection.engine.url.database}.run-{run}.lock")


@contextmanager
def _advisory_lock(connection: Connection, key: tuple[int, int]) -> Generator[None, None, None]:
    until = time.monotonic() + TIMEOUT
    while True:
        free = connection.exec_driver_sql(f"SELECT pg_try_advisory_lock{key}").scalar()
        connection.commit()
        if free:
            break
        if time.monotonic() > until:
            raise BlockingIOError
        time.sleep(0.02)
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):  # the connection is lost, and the lock with it
            if not connection.invalidated:
                connection.rollback()
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock{key}")
                connection.commit()


VERSION = 1  # increase it when older code can no longer read the tables below, or the JSON in them

METADATA = sa.MetaData()

SCHEMA_VERSION = sa.Table(
    "schema_version",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)


def _table_of_runs(name: str, *columns: sa.Column[Any], **options: Any) -> sa.Table:
    owner = sa.ForeignKey("runs.number", ondelete="CASCADE")
    run = sa.Column("run", sa.Integer, owner, primary_key=True, autoincrement=False)
    return sa.Table(name, METADATA, run, *columns, **options)


def _place() -> sa.Column[int]:
    return sa.Column("place", sa.Integer, primary_key=True, autoincrement=False)


RUNS = sa.Table(
    "runs",
    METADATA,
    # short, because every row and score contains it
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    # ISO 8601 in UTC, which sorts in the order of time
    sa.Column("started_at", sa.Text, nullable=False),
    sa.Column("finished_at", sa.Text),
    sa.Column("tag", sa.Text, unique=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("metrics", sa.Text, nullable=False),
    sa.Column("extras", sa.Text, nullable=False),
    sa.Column("summary", sa.Text),
    sa.Column("stopped", sa.Text),
    sa.Column("transcript", sa.Boolean, nullable=False),
    sa.Column("rows", sa.Integer),  # of a finished run
    sa.Column("checksum", sa.BigInteger),  # of the line
    # `started_at`, or that of an earlier run if the clock was set back
    sa.Column("sort_time", sa.Text, nullable=False),
    sa.Index("runs_by_fingerprint", "fingerprint"),
    sqlite_autoincrement=True,
)

UNDER_WAY = ".importing"  # ends the id of a run that is being imported, or whose import was killed
WHOLE = ~RUNS.c.id.endswith(UNDER_WAY, autoescape=True)  # the condition for all other runs
NEWEST = RUNS.c.sort_time.desc(), RUNS.c.number.desc()  # even if the clock was set back

ROWS = _table_of_runs(  # to find and count rows; narrow, so that a scan of a million takes a second
    "rows",
    _place(),
    sa.Column("sample_id", sa.Text, nullable=False),
    sa.Column("query_fingerprint", sa.Text, nullable=False),
    *(sa.Column(name, sa.Integer, nullable=False) for name in USAGE if name != "cost_usd"),
    sa.Column("cost_usd", sa.Double),
    sqlite_with_rowid=False,
)

SCORES = _table_of_runs(  # figures of scores, by metric; reasons and claims are in the texts
    "scores",
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("passed", sa.Boolean),
    sa.Column("fallback", sa.Boolean, nullable=False),
    sa.Column("cause", sa.Text),
    sqlite_with_rowid=False,
)

TEXTS = _table_of_runs(  # rows as JSON: the exchanges, and all other fields
    "texts",
    _place(),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("transcript", sa.Text, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
)

QUERY_BLOCKS = _table_of_runs(  # what a ranking run has instead of rows, scores and texts
    "query_blocks",
    _place(),
    sa.Column("queries", sa.Integer, nullable=False),
    sa.Column("why", sa.LargeBinary, nullable=False),
    sa.Column("names", sa.LargeBinary, nullable=False),
)

VALUE_BLOCKS = _table_of_runs(  # one metric's scores of a block; `place` is the first query's
    "value_blocks",
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("failed", sa.LargeBinary),
    sa.Column("numbers", sa.LargeBinary, nullable=False),
)

LABELS = _table_of_runs(  # people's verdicts on claims
    "labels",
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("claim", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("annotator", sa.Text, primary_key=True),
    sa.Column("value", sa.Boolean),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),  # 1: all rows are drawn alike
    sa.Column("blind", sa.Boolean, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

COUNTS = _table_of_runs(  # what a finished run's summary needs of its rows, by version
    "counts",
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)

_WRITABLE = """SELECT has_table_privilege('runs', 'INSERT')
AND NOT current_setting('transaction_read_only')::boolean"""


def prepare_tables(engine: Engine, name: str, *, reading: bool) -> None:
    """Create the tables in an empty database; other processes wait meanwhile."""
    with engine.connect() as connection:
        exist, server = _has_tables(connection, name), connection.dialect.name == "postgresql"
        if reading and not exist:
            raise StoreError(f"{name}: the database is empty; choose another path")
        if server and exist and not reading and not connection.exec_driver_sql(_WRITABLE).scalar():
            raise StoreError(
                f"{name}: the store is read-only for this user or on this server; use another"
            )
    if exist:
        return
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        if server:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({KIND})")
            if not sa.inspect(connection).has_schema(SCHEMA):
                connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        if not _has_tables(connection, name):
            METADATA.create_all(connection, checkfirst=False)
            connection.execute(SCHEMA_VERSION.insert().values(version=VERSION))


def _has_tables(connection: Connection, name: str) -> bool:
    tables = set(sa.inspect(connection).get_table_names())
    if not tables:
        return False
    if not tables >= {SCHEMA_VERSION.name, RUNS.name}:
        raise StoreError(f"{name} is the database of another program; choose another path")
    version = connection.execute(sa.select(SCHEMA_VERSION.c.version)).scalar()
    if version != VERSION:
        raise StoreError(
            f"{name}: another version of ragstone wrote this store (its tables have version "
            f"{version}, this ragstone needs {VERSION}); export its runs with that version "
            "(`ragstone runs export`) and import them here, or choose another path"
        )
    return True
