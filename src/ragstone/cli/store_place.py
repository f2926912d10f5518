"""Where the store is, without opening it: nothing of the database is loaded for that."""

import os
from collections.abc import Sequence
from pathlib import Path

from ragstone.config import FILE
from ragstone.entries import Entry, entries_in
from ragstone.errors import InputError, Problem
from ragstone.plan import DEFAULT_STORE

_BESIDE = ("-wal", "-shm", "-journal")
"""How the files are called that SQLite keeps beside its own."""


def place_here(typed: str | None) -> str | None:
    """Return where runs are kept: where it is typed, RAGSTONE_STORE, or the config file says.

    Raises:
        UsageError: the config file cannot be read, or a variable that it names is not set.
    """
    return typed or os.environ.get("RAGSTONE_STORE", "").strip() or store_here()


def store_here() -> str | None:
    """Return where the config file in this folder says that runs are kept; None if it does not.

    Whatever else it says matters to those who evaluate.

    Raises:
        UsageError: the file cannot be read, or a variable that it names is not set.
    """
    if not FILE.is_file():
        return None
    for entry in entries_in(FILE):
        if isinstance(entry, Entry) and entry.key == "store":
            try:
                said = entry.said
            except ValueError as error:
                raise InputError(str(FILE), [Problem(f"{entry}: {error}", row=entry.row)]) from None
            return said if isinstance(said, str) else None
    return None


def store_files(place: str | None) -> Sequence[Path]:
    """Return the files of the store at a place, which no output may write over.

    None is the usual place; a server has no files.
    """
    if place and "://" in place:
        return ()
    path = Path(place or DEFAULT_STORE)
    return path, *(path.with_name(path.name + ending) for ending in _BESIDE)
