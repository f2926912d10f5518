"""StoreError: the store cannot be used; errors of databases are translated here."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ragstone._internal.files import WAIT
from ragstone._internal.text import quoted
from ragstone.errors import UsageError

_LOCKED = f"another program locked it for over {WAIT} s; stop that program first"
_DELETED = "the run was deleted by another program"
_SQLITE = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "it is read-only; change its permissions",
    sqlite3.SQLITE_PERM: "its permissions do not allow this; change them",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; choose another path",
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: _DELETED,
    sqlite3.SQLITE_NOTADB: "it is not a database; name another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away, or repair it with sqlite3's .recover",
    sqlite3.SQLITE_IOERR: "the disk is full, or cannot be read or written; check the disk",
}
"""SQLite's code -> the reason and what to do."""
_POSTGRESQL = {
    "23503": _DELETED,
    "25006": "the server is read-only; use another",
    "28P01": "the password was rejected; correct it in the URL or in PGPASSWORD",
    "28000": "the user was rejected; correct the URL, or the pg_hba.conf of the server",
    "3D000": "the database does not exist; create it (createdb), or correct the URL",
    "42501": "this user cannot create or use the schema `ragstone`; grant the privilege",
    "53100": "the disk of the server is full; free some space there",
    "53300": "the server has no free connections; close some, or raise max_connections",
    "55P03": _LOCKED,
    "57P03": "the server is starting or shutting down; try again",
}
"""SQLSTATE -> the reason and what to do."""
_POSTGRESQL_MESSAGES = {
    "password authentication failed": _POSTGRESQL["28P01"],
    "no password supplied": "a password is required; set PGPASSWORD, or add it to the URL",
    "does not exist": _POSTGRESQL["3D000"],
    "no pg_hba.conf entry": _POSTGRESQL["28000"],
    "role ": _POSTGRESQL["28000"],
}
"""Part of a message without a SQLSTATE -> the reason and what to do."""


class StoreError(UsageError):
    """The store cannot be used; the message has the reason and what to do."""


class RunLockedError(StoreError):
    """Another process is working on the run."""


class RunNotFoundError(StoreError):
    """There is no such run, or it was deleted."""


class DamagedRunError(StoreError):
    """A part of a run is missing or changed since it was stored."""

    def __init__(self, what: str, run_id: str) -> None:
        super().__init__(
            f"{what}: the store was damaged, or changed by another program. Restore it from a "
            f"backup, or delete the run (`ragstone runs delete {run_id}`) and evaluate again"
        )


@contextmanager
def translate_errors(name: str) -> Generator[None, None, None]:
    """Raise errors of a database as StoreErrors about the store of that name."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"{name}: {_reason(error, name)}") from None


def _reason(error: SQLAlchemyError, name: str) -> str:
    if not isinstance(error, DBAPIError):
        return quoted(str(error), 300)
    if isinstance(error.orig, sqlite3.Error):
        return explain_sqlite_error(error.orig, name)
    message = quoted(str(error.orig), 300)
    reason = _POSTGRESQL.get(getattr(error.orig, "sqlstate", None) or "")
    if reason is None:
        reason = next((why for part, why in _POSTGRESQL_MESSAGES.items() if part in message), None)
    if reason is None and (error.connection_invalidated or "connection" in message):
        reason = "the server is unreachable or closed the connection; start it, or correct the URL"
    return f"{reason} ({message})" if reason else message


def explain_sqlite_error(error: sqlite3.Error, file: str | Path | None = None) -> str:
    code = getattr(error, "sqlite_errorcode", 0)
    reason = _SQLITE.get(code) or _SQLITE.get(code := code & 0xFF)  # the primary code
    if file and code == sqlite3.SQLITE_CANTOPEN:
        path = Path(file)
        folder = path.absolute().parent
        if path.is_dir():
            reason = f"it is a folder; name a file in it, such as {path / 'ragstone.db'}"
        elif not folder.is_dir():
            reason = f"there is no folder {folder}; create it, or choose another folder"
        elif path.exists() and not os.access(path, os.R_OK):
            reason = "it cannot be read; change its permissions"
        elif not os.access(folder, os.W_OK | os.X_OK):
            reason = f"no files can be created in its folder {folder}; change its permissions"
            if (log := path.with_name(f"{path.name}-wal")).exists():
                reason += f", or copy {path} and {log} to another folder"
        if reason != _SQLITE[code]:
            reason = f"it cannot be opened: {reason}"
    message = quoted(str(error), 300)
    return f"{reason} ({message})" if reason else message
