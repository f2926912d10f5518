"""Stores runs in SQLite or PostgreSQL: find, resume, search, export and import them."""

from ragstone.store.archive import export, import_
from ragstone.store.errors import (
    DamagedRunError,
    RunLockedError,
    RunNotFoundError,
    StoreError,
)
from ragstone.store.run_info import RunInfo
from ragstone.store.runs import (
    delete,
    find_run,
    old_runs,
    prune,
    resume,
    running_runs,
    save_ranking,
    tag,
    untag,
)
from ragstone.store.store import Store
from ragstone.store.writer import RowWriter

__all__ = [
    "DamagedRunError",
    "RowWriter",
    "RunInfo",
    "RunLockedError",
    "RunNotFoundError",
    "Store",
    "StoreError",
    "delete",
    "export",
    "find_run",
    "import_",
    "old_runs",
    "prune",
    "resume",
    "running_runs",
    "save_ranking",
    "tag",
    "untag",
]
