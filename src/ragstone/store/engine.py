"""The engine of a store's database: a SQLite file, or a PostgreSQL server."""

import os
import re
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from ragstone._internal.files import WAIT, make_folder, use_wal
from ragstone._internal.secrets import remember
from ragstone.store.errors import StoreError
from ragstone.types.config import DEFAULT_STORE

SCHEMA = "ragstone"
"""The schema of the tables in a PostgreSQL database."""
PAGE = 16_384
"""Page size of new SQLite files in bytes; a row with its texts has about 8,000."""
CHECKPOINT = 4000
"""Pages in the write-ahead log after which they are copied to the database file."""
WRITING = {"writing": True}
"""Execution options of a connection that writes: SQLite locks the file before the first read."""

_LIKE_URL = re.compile(
    r"[a-z0-9+]*://|(?:postgres(?:ql)?|mysql|https?)(?:\+\w+)?:|(?![a-z]:[\\/]).*:.*@"
    r"|.*\bpassword=",
    re.IGNORECASE,
)
"""A URL, or what is probably meant as one, with a password: no path for a file."""
_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""When a PostgreSQL server counts as unreachable."""


def display_name(place: str | Path | None) -> str:
    if isinstance(place, str) and _LIKE_URL.match(place):
        url = _url(place)
        shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
        return shown.render_as_string()
    return str(place or DEFAULT_STORE)


def create_store_engine(place: str | Path | None, *, reading: bool = False) -> Engine:
    """Return the engine for a path, a `postgresql://` URL, or, for None, the default path.

    With `reading`, the store must exist, and no statement can change it.
    """
    if isinstance(place, str) and _LIKE_URL.match(place):
        return _postgresql(_url(place), reading=reading)
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
            connection.execute(f"PRAGMA page_size = {PAGE}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
            if reading:
                connection.execute("PRAGMA query_only = ON")
            elif connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                use_wal(connection, marker="alembic_version")
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
        if path.exists() and not (path.is_file() or path.is_dir()):
            # SQLite would write a journal beside a device
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
        raise StoreError(
            f"{path}: its folder cannot be created: {error.strerror}; choose another path"
        ) from error
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
    """Open an existing file; if it is read-only, create no files beside it.

    SQLite must share an index (`-shm`) with other processes, unless there is no log (`-wal`).
    """
    place, options = Path(os.path.realpath(path)), "mode=rw"
    if _is_read_only(place):
        log, index = (place.with_name(f"{place.name}-{end}") for end in ("wal", "shm"))
        options = "mode=ro&immutable=1"
        with suppress(FileNotFoundError):
            if log.stat().st_size or index.exists():
                options = "mode=ro"
    uri = f"{place.as_uri()}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=WAIT, check_same_thread=False)


def _url(text: str) -> URL:
    remember(text)
    _, slashes, rest = text.partition("://")
    scheme = re.split(r"[^\w+]", text)[0]
    if scheme not in _SCHEMES:
        raise StoreError(
            f"{scheme}://...: runs are stored in a SQLite file or in PostgreSQL; "
            "specify a file, or postgresql://USER@HOST/DATABASE"
        )
    if not slashes:
        raise StoreError(f"{scheme}:... has no //; write {scheme}://USER@HOST/DATABASE")
    if rest.partition("/")[0].count("@") > 1:
        raise StoreError(f"{scheme}://...: more than one @; write an @ in the password as %40")
    try:
        return make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):  # its text contains the password
        pass
    raise StoreError(f"{scheme}://...: invalid URL; write {scheme}://USER@HOST/DATABASE")


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
