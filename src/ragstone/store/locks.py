"""Locks: one process at a time works on a run. Its end unlocks the run, even after kill -9."""

import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from zlib import crc32

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ragstone._internal.files import lock_file, open_locked
from ragstone.store.errors import RunLockedError, StoreError

KIND = 0x5261_6773
"""The class of the advisory locks: a number that other programs are unlikely to use."""
_LOCKED = f"""
SELECT objid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = {KIND} AND objsubid = 2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608 - a constant
SAME_EVALUATION = (
    "another process is running the same evaluation{}; wait for it, or use --fresh to start "
    "another run"
)
TIMEOUT = 0.5
"""Seconds to wait for a lock: another process may only be checking whether it is free."""


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
        return frozenset(runs) & frozenset(connection.exec_driver_sql(_LOCKED).scalars())
    locked: set[int] = set()
    for run in runs:
        path = _lock_path(connection, run)
        try:
            with open_locked(path, "rb"), suppress(OSError):
                path.unlink()  # a process was killed; the folder may be read-only
        except FileNotFoundError:
            pass
        except BlockingIOError:
            locked.add(run)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
    return frozenset(locked)


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
