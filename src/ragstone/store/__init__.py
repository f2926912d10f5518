"""Runs that last: kept in SQLite or PostgreSQL, found again, resumed, exported and imported."""

from ragstone.store.archive import export, import_
from ragstone.store.failures import RunLockedError, StoreError
from ragstone.store.places import Places
from ragstone.store.ranked_runs import save_ranking
from ragstone.store.run_info import RunInfo
from ragstone.store.shelf import delete, find, going, prune, reopen, tag, untag
from ragstone.store.store import Store
from ragstone.store.stored_rows import StoredRows
from ragstone.store.values import StoredValue
from ragstone.store.writing import RowWriter

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
