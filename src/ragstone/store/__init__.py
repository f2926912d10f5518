"""Runs that last: kept in SQLite or PostgreSQL, found again, resumed, exported and imported."""

from ragstone.store.archive import export, import_
from ragstone.store.errors import RunLockedError, StoreError
from ragstone.store.reader import Places, StoredRows, StoredValue
from ragstone.store.run_info import RunInfo
from ragstone.store.runs import delete, find, going, prune, reopen, save_ranking, tag, untag
from ragstone.store.store import Store
from ragstone.store.writer import RowWriter

__all__ = [
    "Places",
    "RowWriter",
    "RunInfo",
    "RunLockedError",
    "Store",
    "StoreError",
    "StoredRows",
    "StoredValue",
    "delete",
    "export",
    "find",
    "going",
    "import_",
    "prune",
    "reopen",
    "save_ranking",
    "tag",
    "untag",
]
