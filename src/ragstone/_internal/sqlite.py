"""SQLite files that several processes use at once."""

import sqlite3
import time
from pathlib import Path

WAIT = 30
"""Seconds to wait for a lock of another process."""


def make_folder(folder: Path) -> None:
    """Create a folder if it is missing; Git ignores a folder named `.ragstone`."""
    if folder.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder.name == ".ragstone":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def use_wal(connection: sqlite3.Connection, *, marker: str) -> None:
    """Let reads go on beside a write.

    A file of another program is left as it is: one that has tables, and none named `marker`.
    SQLite itself does not wait if two processes switch to WAL at once.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not tables or marker in tables:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
