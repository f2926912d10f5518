"""Locks: one process at a time works on a run; the end of the process, kill -9 too, unlocks it."""

import sqlite3
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ragstone.store.errors import RunLockedError, StoreError, primary_code, why_sqlite

KIND = 0x5261_6773
"""What our locks of a server are called: any number that other programs hardly take."""
_HELD = f"""
SELECT objid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = {KIND} AND objsubid = 2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608 - our own number
PATIENCE = 0.5
"""Seconds that a lock is waited for: another process may just be looking whether it is free."""
TRIES = 10
"""How often a file is locked anew that was taken away meanwhile."""


@contextmanager
def holding(connection: Connection, run: int, *, name: str) -> Generator[None, None, None]:
    """Hold the lock of the run with that number while the block lasts.

    Raises:
        RunLockedError: another process, or another block of this one, holds it.
    """
    lock = _file_lock if connection.dialect.name == "sqlite" else _server_lock
    with lock(connection, run) as free:
        if not free:
            raise RunLockedError(
                f"run {name} is being worked on by another process; wait for its end"
            )
        yield


def held(connection: Connection, runs: Iterable[int]) -> frozenset[int]:
    """Return which of the runs with these numbers are locked; no lock is taken for that.

    Raises:
        StoreError: a lock file cannot be read.
    """
    if connection.dialect.name == "sqlite":
        return frozenset(run for run in runs if _is_locked(_lock_file(connection, run)))
    return frozenset(runs) & frozenset(connection.exec_driver_sql(_HELD).scalars())


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", 0, uri=True)) as file:
            file.execute("SELECT name FROM sqlite_master")
    except sqlite3.Error as error:
        if primary_code(error) == sqlite3.SQLITE_BUSY:
            return True
        if path.exists():  # it was not taken away just now
            raise StoreError(f"{path}: {why_sqlite(error)}") from error
    return False


def _lock_file(connection: Connection, run: int) -> Path:
    return Path(f"{connection.engine.url.database}.run-{run}.lock")


@contextmanager
def _file_lock(connection: Connection, run: int) -> Generator[bool, None, None]:
    """Lock a file beside the database, by way of SQLite, which knows how on every system."""
    path = _lock_file(connection, run)
    file = _locked(path)
    if file is None:
        yield False
        return
    with closing(file):
        try:
            yield True
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                path.unlink()


def _locked(path: Path) -> sqlite3.Connection | None:
    """Return the file, locked, or None if somebody else holds it.

    Whoever held it takes the file away; a lock on what was taken away is none.

    Raises:
        StoreError: the file cannot be made or locked.
    """
    for _ in range(TRIES):
        _touch(path)
        was = _identity(path)
        with ExitStack() as stack:
            try:
                file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
                stack.enter_context(closing(file))
                file.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                if primary_code(error) == sqlite3.SQLITE_BUSY:
                    return None
                if _identity(path) == was:
                    raise StoreError(f"{path}: {why_sqlite(error)}") from error
            else:
                if _identity(path) == was:
                    stack.pop_all()
                    return file
    return None


def _identity(path: Path) -> int | None:
    """Return what tells a file from another of its name; None if there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _touch(path: Path) -> None:
    try:
        path.touch()
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}") from error


@contextmanager
def _server_lock(connection: Connection, run: int) -> Generator[bool, None, None]:
    """Take a lock of the server's that lasts as long as the connection."""
    until = time.monotonic() + PATIENCE
    while not (free := _server_locked(connection, run)) and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield free
    finally:
        with suppress(SQLAlchemyError):  # the server is gone, and the lock with it
            if free and not connection.invalidated:
                connection.rollback()
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock({KIND}, {run})")
                connection.commit()


def _server_locked(connection: Connection, run: int) -> bool:
    tried = connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({KIND}, {run})").scalar()
    connection.commit()
    return bool(tried)
