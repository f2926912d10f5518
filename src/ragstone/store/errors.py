"""StoreError: the store cannot be used; foreign errors are told in our words here."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ragstone._internal.text import one_line
from ragstone.errors import UsageError

WAIT = 30
"""Seconds that a lock of another process is waited for."""

_BY_CODE = {
    sqlite3.SQLITE_BUSY: f"another program has kept it locked for {WAIT} s; end that one first",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_READONLY: "it may be read and not written; fix its permissions",
    sqlite3.SQLITE_PERM: "its permissions forbid this; fix them",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; name another place",
    sqlite3.SQLITE_NOTADB: "it is no database; name another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away, or fix it with sqlite3's .recover",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written, or is full; see to it",
}
_BY_STATE = {
    "28P01": "the server refuses the password; fix the one in the URL, or in PGPASSWORD",
    "28000": "the server does not let this user in; fix the URL, or the server's pg_hba.conf",
    "3D000": "the server has no database of that name; create it (createdb), or fix the URL",
    "42501": "this user may not make or use the schema `ragstone`; grant it",
    "53100": "the server's disk is full; make room there",
    "53300": "the server has no connection free; close others, or raise max_connections",
    "55P03": f"another program has kept it locked for {WAIT} s; end that one first",
    "57P03": "the server is starting or shutting down; try again",
}
_BY_WORDS = {
    "password authentication failed": _BY_STATE["28P01"],
    "no password supplied": "the server asks for a password; set PGPASSWORD, or name it in the URL",
    "does not exist": _BY_STATE["3D000"],
    "no pg_hba.conf entry": _BY_STATE["28000"],
    "role ": _BY_STATE["28000"],
}


class StoreError(UsageError):
    """The store cannot be used, or no longer; the message says why and what to do."""


class RunLockedError(StoreError):
    """Another process works on the run."""


class RunNotFoundError(StoreError):
    """There is no such run, or no longer."""


@contextmanager
def translate_errors(name: str) -> Generator[None, None, None]:
    """Raise what a database raises as a StoreError about the store of that name."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"{name}: {_why(error, name)}") from error


def _why(error: SQLAlchemyError, name: str) -> str:
    if not isinstance(error, DBAPIError):
        return one_line(str(error), 300)
    foreign = error.orig
    said = one_line(str(foreign), 300)
    if isinstance(foreign, sqlite3.Error):
        return explain_sqlite_error(foreign, name)
    known = _BY_STATE.get(getattr(foreign, "sqlstate", None) or "")
    known = known or next((why for words, why in _BY_WORDS.items() if words in said), None)
    if known is None and (error.connection_invalidated or "connection" in said):
        known = "the server cannot be reached, or went away; start it, or fix the URL"
    return f"{known} ({said})" if known else said


def explain_sqlite_error(error: sqlite3.Error, file: str | Path | None = None) -> str:
    """Return why SQLite fails, with that file if it is known, and what to do."""
    said = one_line(str(error), 300)
    code = primary_code(error)
    seen = _seen(Path(file)) if file and code == sqlite3.SQLITE_CANTOPEN else None
    known = f"it cannot be opened: {seen}" if seen else _BY_CODE.get(code)
    return f"{known} ({said})" if known else said


def _seen(file: Path) -> str | None:
    """Say why a file cannot be opened, as far as that can be seen."""
    folder = file.absolute().parent
    if file.is_dir():
        return f"it is a folder; name a file in it, such as {file / 'ragstone.db'}"
    if not folder.is_dir():
        return f"there is no folder {folder}; make it, or name another place"
    if file.exists() and not os.access(file, os.R_OK):
        return "it may not be read; fix its permissions"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"its folder {folder} takes no new files; fix its permissions"
    return None


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's code of an error, without its details; 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
