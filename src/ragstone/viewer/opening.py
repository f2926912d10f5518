"""Opening a store to be read: nothing in it is made, changed, or brought up to date."""

import sqlite3
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from ragstone.errors import UsageError
from ragstone.plan import DEFAULT_STORE
from ragstone.store import Store, StoreError
from ragstone.store.engines import engine_of, name_of
from ragstone.store.failures import told
from ragstone.store.schema import HEAD

_VERSION = "SELECT version_num FROM alembic_version"


def open_to_read(place: str | None) -> Store:
    """Open a store that is there; no statement through it can change anything.

    Raises:
        UsageError: there is no such file.
        StoreError: the store cannot be read, or not by this version.
    """
    name = name_of(place)
    if "://" not in name and not Path(place or DEFAULT_STORE).is_file():
        raise UsageError(
            f"there is no store at {name}: `ragstone run` makes one in the folder where it is "
            "called; go there, or name a store with --store or RAGSTONE_STORE"
        )
    engine = engine_of(place, reading=True)
    event.listen(engine, "connect", _only_reading)
    try:
        with told(name):
            version = _version(engine)
        if version != HEAD:
            raise StoreError(f"{name}: {_why_not(version)}")
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, name)


def _only_reading(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    del entry
    cursor = connection.cursor()
    if isinstance(connection, sqlite3.Connection):
        cursor.execute("PRAGMA query_only = ON")
    else:
        cursor.execute("SET default_transaction_read_only TO on")
        connection.commit()
    cursor.close()


def _version(engine: Engine) -> str | None:
    """Return the version of the tables; None where there are none of ours."""
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")  # what fails here is no matter of tables
        try:
            return connection.exec_driver_sql(_VERSION).scalar()
        except SQLAlchemyError as error:
            if "alembic_version" in str(error.__cause__):
                return None
            raise


def _why_not(version: str | None) -> str:
    if version is None or not version.isdecimal():
        return "it holds no runs of ragstone; name another place"
    if int(version) > int(HEAD):
        return "it was written by a newer ragstone; update this one, or name another place"
    return "it was written by an older ragstone; `ragstone runs` brings it up to date"
