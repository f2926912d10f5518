"""Locks: one process at a time works on a run; the end of the process, kill -9 too, unlocks it."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ragstone.store.failures import StoreError

_KIND = 0x5261_6773  # any number that other programs hardly take
PATIENCE = 0.5
"""Seconds that a file's lock is waited for: another process may just be looking whether it is."""


@contextmanager
def holding(connection: Connection, run: int, *, name: str) -> Generator[None, None, None]:
    """Hold the lock of the run with that number while the block lasts.

    Raises:
        StoreError: another process, or another block of this one, holds it.
    """
    lock = _file_lock if connection.dialect.name == "sqlite" else _server_lock
    with lock(connection, run) as free:
        if not free:
            raise StoreError(f"run {name} is being worked on by another process; wait for its end")
        yield


def is_free(connection: Connection, run: int) -> bool:
    """Return whether nobody holds the lock of the run with that number."""
    lock = _file_lock if connection.dialect.name == "sqlite" else _server_lock
    with lock(connection, run) as free:
        return free


@contextmanager
def _file_lock(connection: Connection, run: int) -> Generator[bool, None, None]:
    """Lock a file beside the database, by way of SQLite, which knows how on every system."""
    path = Path(f"{connection.engine.url.database}.run-{run}.lock")
    try:
        path.touch()
        was = path.stat().st_ino
    except FileNotFoundError:  # whoever held it took it away just now
        yield False
        return
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}") from error
    with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as file:
        try:
            file.execute("BEGIN EXCLUSIVE")
            free = path.exists() and path.stat().st_ino == was
        except sqlite3.OperationalError:
            free = False
        try:
            yield free
        finally:
            if free:
                with suppress(OSError):  # Windows keeps a file that is open
                    path.unlink()


@contextmanager
def _server_lock(connection: Connection, run: int) -> Generator[bool, None, None]:
    """Take a lock of the server's that lasts as long as the connection."""
    free = bool(connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_KIND}, {run})").scalar())
    connection.commit()
    try:
        yield free
    finally:
        with suppress(SQLAlchemyError):  # the server is gone, and the lock with it
            if free and not connection.invalidated:
                connection.rollback()
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_KIND}, {run})")
                connection.commit()
