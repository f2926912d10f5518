"""Stores runs in SQLite or PostgreSQL: find, resume, compare, export and import them.

Other names than errors are imported when they are used: SQLAlchemy takes a while to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ragstone.store.errors import DamagedRunError, RunLockedError, RunNotFoundError, StoreError

if TYPE_CHECKING:
    from ragstone.store.reader import RunInfo
    from ragstone.store.runs import (
        delete,
        export,
        find_run,
        import_,
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

_HOMES = {"RowWriter": "writer", "RunInfo": "reader", "Store": "store"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'ragstone.store' has no attribute {name!r}")
    found: object = getattr(import_module(f"ragstone.store.{_HOMES.get(name, 'runs')}"), name)
    globals()[name] = found
    return found
