"""Data sets: files of questions and answers, read into samples."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragstone.datasets.dataset import (
        LOADERS,
        WORKBOOKS,
        Dataset,
        Shard,
        load,
        read_table,
        samples_of,
        shards,
    )

__all__ = ["LOADERS", "WORKBOOKS", "Dataset", "Shard", "load", "read_table", "samples_of", "shards"]


def __getattr__(name: str) -> object:
    """Import the readers of all formats when one is used; reading rankings needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("ragstone.datasets.dataset"), name)
