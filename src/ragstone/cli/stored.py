"""The store that commands about stored runs look into."""

from pathlib import Path

import click
from click.core import ParameterSource

from ragstone.cli.store_place import store_files
from ragstone.errors import UsageError
from ragstone.plan import DEFAULT_STORE
from ragstone.store import RunInfo, Store
from ragstone.store.engines import name_of

RUN = "RUN is an id, the beginning of one, a tag, or `last`."
"""What the help of such a command says."""


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


def open_store(place: str | None, *, make: bool = False, made_by: str = "ragstone run") -> Store:
    """Open a store that is there; with `make`, a SQLite file is made where there is none.

    `made_by` is the command that makes one, which is told where there is none.

    Raises:
        UsageError: there is no such file, or it is a folder.
        StoreError: the place cannot be used.
    """
    path = Path(place or DEFAULT_STORE)
    if not make and "://" not in str(place) and not path.exists():
        raise UsageError(
            f"there is no store at {path}: `{made_by}` makes one in the folder where it is "
            "called; go there, or name a store with --store or RAGSTONE_STORE"
        )
    if "://" not in str(place) and path.is_dir():
        raise UsageError(f"{path} is a folder; name the store's file in it")
    return Store.open(place)


def read_by(store: Store, *infos: RunInfo) -> list[str | Path]:
    """Return the files that no output may write over: the store, and what the runs were of."""
    paths = (path for info in infos if (path := info.manifest.source.path))
    return [*store_files(store.name), *paths]
