"""Engines: how a store's database is reached: a SQLite file, or a PostgreSQL server."""

import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from ragstone.store.errors import WAIT, StoreError
from ragstone.types.config import DEFAULT_STORE

SCHEMA = "ragstone"
"""The schema of a PostgreSQL database that holds the tables, beside those of other programs."""

PAGE = 16_384
"""Bytes of a page of a new SQLite file: a row with its texts is some 8,000."""
LOGGED = 4000
"""Pages in SQLite's log after which they are copied to the file."""

WRITING = {"writing": True}
"""Execution options of a connection that writes: it takes SQLite's lock before it reads."""

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""When a PostgreSQL server counts as gone, so that nobody waits for ever."""


def display_name(place: str | Path | None) -> str:
    """Return what messages call the store at a place: the path, or the URL without secrets."""
    if isinstance(place, str) and "://" in place:
        url = _url(place)
        shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
        return shown.render_as_string()
    return str(place or DEFAULT_STORE)


def create_store_engine(place: str | Path | None, *, reading: bool = False) -> Engine:
    """Return the engine for a path, a `postgresql://` URL, or, for None, the default path.

    One that is only for reading leaves a file as it is.

    Raises:
        StoreError: the place cannot be one of a store, or its driver is not installed.
    """
    if isinstance(place, str) and "://" in place:
        return _postgresql(_url(place))
    return _sqlite(Path(place or DEFAULT_STORE), reading=reading)


def _url(text: str) -> URL:
    scheme = text.partition("://")[0]
    if scheme not in _SCHEMES:
        raise StoreError(
            f"{scheme}://...: runs are stored in a SQLite file or in PostgreSQL; "
            "name a path, or postgresql://USER@HOST/DATABASE"
        )
    try:
        return make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):  # the error would show the password
        pass
    raise StoreError(f"{scheme}://...: the URL is not of the shape {scheme}://USER@HOST/DATABASE")


def _postgresql(url: URL) -> Engine:
    patience = {name: value for name, value in _PATIENCE.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            connect_args=patience,
            paramstyle="format",
            pool_pre_ping=True,
            hide_parameters=True,
        )
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(
            "runs are stored in PostgreSQL by psycopg, which is not installed; "
            "pip install 'ragstone[postgres]'"
        ) from error
    event.listen(engine, "connect", _settle)
    return engine


def _settle(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Have a new connection find our tables, and wait for a lock only so long."""
    del entry
    cursor = connection.cursor()
    cursor.execute(f"SET search_path TO {SCHEMA}")
    cursor.execute(f"SET lock_timeout TO '{WAIT}s'")
    connection.commit()
    cursor.close()


def _sqlite(path: Path, *, reading: bool) -> Engine:
    try:
        _make_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: its folder cannot be made: {error.strerror}; name another place"
        ) from error
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": WAIT},
        poolclass=NullPool,  # Windows deletes no file that is open
        hide_parameters=True,
    )
    event.listen(engine, "connect", _ready)
    if not reading:
        event.listen(engine, "connect", _share)
    event.listen(engine, "begin", _begin)
    return engine


def _make_folder(folder: Path) -> None:
    if folder.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder.name == ".ragstone":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _ready(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Have us begin and end every transaction, and set what holds for one connection."""
    del entry
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None
    with _closed_on_failure(connection):
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOGGED}")


def _share(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Let reads go on beside a write."""
    del entry
    assert isinstance(connection, sqlite3.Connection)
    with _closed_on_failure(connection):
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _write_ahead(connection)


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Generator[None, None, None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite itself does not wait where two ask for that."""
    until = time.monotonic() + WAIT
    while True:
        try:
            if _is_empty_or_ours(connection):
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _is_empty_or_ours(connection: sqlite3.Connection) -> bool:
    """Return whether the file may be changed: another program's is left as it is."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return not tables or "alembic_version" in tables


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
