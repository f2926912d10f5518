"""The store of `ragstone rank`: its runs are kept there, and compared with what is."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from ragstone.cli.store_place import place_here
from ragstone.cli.stored import open_store
from ragstone.run import Run
from ragstone.store import Store, find, save_ranking


class RankingStore:
    """An open store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    @contextmanager
    def open(cls, place: str, *, keeps: bool) -> Generator[Self, None, None]:
        """Open the store at a place; "" is what RAGSTONE_STORE or the config file says.

        With `keeps`, a SQLite file is made where there is none.

        Raises:
            UsageError: there is none, and nothing is to be kept.
            StoreError: the place cannot be used.
        """
        made_by = "ragstone rank --store"
        with open_store(place_here(place), make=keeps, made_by=made_by) as store:
            yield cls(store)

    def run(self, name: str) -> Run:
        """Return the run of that id, tag, or unique beginning of an id; or the `last`.

        Raises:
            StoreError: there is none, or several begin so.
        """
        return self._store.load(find(self._store, name))

    def keep(self, run: Run) -> str:
        """Keep a run; say where, in a line.

        Raises:
            StoreError: it could not be written.
        """
        save_ranking(self._store, run)
        return f"stored as run {run.manifest.run_id} in {self._store.name}"
