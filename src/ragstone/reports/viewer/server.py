"""Serving: where the pages are listened for, and how that begins and ends."""

import errno
import ipaddress
import socket
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import uvicorn
from sqlalchemy import Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry
from starlette.types import ASGIApp

from ragstone.errors import UsageError
from ragstone.reports.viewer.app import make_app
from ragstone.store import Store, StoreError
from ragstone.store.engine import create_store_engine, display_name
from ragstone.store.errors import translate_errors
from ragstone.store.schema import HEAD
from ragstone.types.config import DEFAULT_STORE

SECONDS_TO_FINISH = 1
"""How long a request under way may take when the server is stopped."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises:
        UsageError: nothing can listen there; the message says why.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        raise UsageError(_not_listening(error, host, port)) from error


def _not_listening(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is in use, perhaps by another `ragstone view`; stop that, or "
            "choose another with --port (0 takes a free one)"
        )
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def url_of(host: str, port: int) -> str:
    """Return the address for a browser of this machine."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
    name = everywhere.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def serve(app: ASGIApp, at: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, then return; `ready` is called once requests are waited for."""
    try:
        with at:
            ready()
            server_of(app).run(sockets=[at])
    except KeyboardInterrupt:
        return


def server_of(app: ASGIApp) -> uvicorn.Server:
    """Return the server of the pages; it says nothing of itself, and logs only what went wrong."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


# Opening a store to be read: nothing in it is made, changed, or brought up to date.

_VERSION = "SELECT version_num FROM alembic_version"


def open_to_read(place: str | None) -> Store:
    """Open a store that is there; no statement through it can change anything.

    Raises:
        UsageError: there is no such file.
        StoreError: the store cannot be read, or not by this version.
    """
    name = display_name(place)
    if "://" not in name and not Path(place or DEFAULT_STORE).is_file():
        raise UsageError(
            f"there is no store at {name}: `ragstone run` makes one in the folder where it is "
            "called; go there, or name a store with --store or RAGSTONE_STORE"
        )
    engine = create_store_engine(place, reading=True)
    event.listen(engine, "connect", _only_reading)
    try:
        with translate_errors(name):
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


# A store's pages, served from a thread of their own.

LOOPBACK = "127.0.0.1"


@contextmanager
def viewing(place: str | Path) -> Generator[str, None, None]:
    """Serve a store's pages to this machine while the block lasts; gives their address.

    Raises:
        UsageError: there is no store at that place.
    """
    with open_to_read(str(place)) as store, listening(LOOPBACK, 0) as at:
        port: int = at.getsockname()[1]
        server = server_of(make_app(store, host=LOOPBACK, port=port))
        thread = Thread(target=server.run, kwargs={"sockets": [at]}, name="ragstone view")
        thread.start()
        try:
            yield url_of(LOOPBACK, port)
        finally:
            server.should_exit = True
            thread.join()
