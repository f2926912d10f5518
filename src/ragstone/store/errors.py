"""StoreError, and the name of a store in messages. Importing this does not load SQLAlchemy."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ragstone._internal.secrets import remember
from ragstone.errors import UsageError
from ragstone.types.config import DEFAULT_STORE

if TYPE_CHECKING:
    from sqlalchemy import URL

LIKE_URL = re.compile(  # a URL, or probably meant as one, with a password: no path
    r"[a-z0-9+]*://|(?:postgres(?:ql)?|mysql|https?)(?:\+\w+)?:|(?![a-z]:[\\/]).*:.*@"
    r"|.*\bpassword=",
    re.IGNORECASE,
)
_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
SAME_EVALUATION = (
    "another process is running the same evaluation{}; wait for it, or use fresh to start "
    "another run"
)


class StoreError(UsageError):
    """The store cannot be used; the message has the reason and what to do."""


class RunLockedError(StoreError):
    """Another process is working on the run."""


class RunNotFoundError(StoreError):
    """There is no such run, or it was deleted."""


class DamagedRunError(StoreError):
    """A part of a run is missing or changed since it was stored."""

    def __init__(self, what: str, run_id: str) -> None:
        super().__init__(
            f"{what}: the store was damaged, or changed by another program. Restore it from a "
            f"backup, or delete the run (`ragstone runs delete {run_id}`) and evaluate again"
        )


def display_name(place: str | Path | None) -> str:
    if isinstance(place, str) and LIKE_URL.match(place):
        url = parse_url(place)
        shown = type(url).create("postgresql", url.username, None, url.host, url.port, url.database)
        return shown.render_as_string()
    return str(place or DEFAULT_STORE)


def parse_url(text: str) -> "URL":
    from sqlalchemy import make_url  # slow to import
    from sqlalchemy.exc import ArgumentError

    remember(text)
    _, slashes, rest = text.partition("://")
    scheme = re.split(r"[^\w+]", text)[0]
    if scheme not in _SCHEMES:
        raise StoreError(
            f"{scheme}://...: runs are stored in a SQLite file or in PostgreSQL; "
            "specify a file, or postgresql://USER@HOST/DATABASE"
        )
    if not slashes:
        raise StoreError(f"{scheme}:... has no //; write {scheme}://USER@HOST/DATABASE")
    if rest.partition("/")[0].count("@") > 1:
        raise StoreError(f"{scheme}://...: more than one @; write an @ in the password as %40")
    try:
        return make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):  # its text contains the password
        pass
    raise StoreError(f"{scheme}://...: invalid URL; write {scheme}://USER@HOST/DATABASE")
