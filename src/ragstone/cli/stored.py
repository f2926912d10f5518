"""The store that commands about stored runs look into."""

from pathlib import Path

from ragstone.errors import UsageError
from ragstone.store import Store
from ragstone.store.engines import DEFAULT

RUN = "RUN is an id, the beginning of one, a tag, or `last`."
"""What the help of such a command says."""


def open_store(place: str | None, *, make: bool = False) -> Store:
    """Open a store that is there; with `make`, a SQLite file is made where there is none.

    Raises:
        UsageError: there is no such file.
        StoreError: the place cannot be used.
    """
    path = Path(place or DEFAULT)
    if not make and "://" not in str(place) and not path.exists():
        raise UsageError(
            f"there is no store at {path}: `ragstone run` makes one in the folder where it is "
            "called; go there, or name a store with --store or RAGSTONE_STORE"
        )
    return Store.open(place)
