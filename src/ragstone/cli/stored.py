"""The store that commands about stored runs look into."""

from pathlib import Path

import click
from click.core import ParameterSource

from ragstone.config import FILE
from ragstone.entries import Entry, entries_in
from ragstone.errors import InputError, Problem, UsageError
from ragstone.store import RunInfo, Store
from ragstone.store.engines import DEFAULT, name_of

RUN = "RUN is an id, the beginning of one, a tag, or `last`."
"""What the help of such a command says."""


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


def place_said(given: str | None, *, no_store: bool) -> str | None:
    """Return the place that --store or RAGSTONE_STORE says; None where neither does.

    Raises:
        UsageError: --store and --no-store are both typed.
    """
    if no_store and is_place_typed():
        raise UsageError(f"--no-store keeps nothing; leave it out, or --store {name_of(given)}")
    return (
        given if _source() in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT) else None
    )


def is_place_typed() -> bool:
    """Tell whether --store is typed: RAGSTONE_STORE and the config file speak of every run."""
    return _source() is ParameterSource.COMMANDLINE


def _source() -> ParameterSource | None:
    return click.get_current_context().get_parameter_source("store")


def open_store(place: str | None, *, make: bool = False) -> Store:
    """Open a store that is there; with `make`, a SQLite file is made where there is none.

    Raises:
        UsageError: there is no such file, or it is a folder.
        StoreError: the place cannot be used.
    """
    path = Path(place or DEFAULT)
    if not make and "://" not in str(place) and not path.exists():
        raise UsageError(
            f"there is no store at {path}: `ragstone run` makes one in the folder where it is "
            "called; go there, or name a store with --store or RAGSTONE_STORE"
        )
    if "://" not in str(place) and path.is_dir():
        raise UsageError(f"{path} is a folder; name the store's file in it")
    return Store.open(place)


def read_by(store: Store, *infos: RunInfo) -> list[str]:
    """Return the files that no output may write over: the store, and what the runs were of."""
    return [store.name, *(path for info in infos if (path := info.manifest.source.path))]
