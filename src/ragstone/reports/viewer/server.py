"""The viewer's server: listen, and serve the pages of a store."""

import errno
import ipaddress
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from ragstone.errors import UsageError
from ragstone.reports.viewer.app import make_app
from ragstone.store import Store

SHUTDOWN_SECONDS = 1
"""How long a request in progress may take when the server stops."""
LOOPBACK = "127.0.0.1"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be used.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} on {host} is in use, perhaps by another `ragstone view`; stop it, "
                "or choose another port with --port (0 picks a free one)"
            ) from error
        why = error.strerror or error
        raise UsageError(f"cannot listen on {host}, port {port}: {why}") from error


def url_for(host: str, port: int) -> str:
    """Return the URL for a browser on this machine."""
    local = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared, not bound
    name = local.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def serve(app: ASGIApp, at: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C; `ready` is called once the socket accepts connections."""
    try:
        with at:
            ready()
            _server(app).run(sockets=[at])
    except KeyboardInterrupt:
        return


@contextmanager
def serve_in_background(place: str | Path) -> Generator[str, None, None]:
    """Serve a store's pages on this machine during the block; gives their URL.

    Raises:
        StoreError: there is no store at that place, or it cannot be read.
    """
    with Store.open(place, reading=True) as store, listen(LOOPBACK, 0) as at:
        port: int = at.getsockname()[1]
        server = _server(make_app(store, host=LOOPBACK, port=port))
        thread = Thread(target=server.run, kwargs={"sockets": [at]}, name="ragstone view")
        thread.start()
        try:
            yield url_for(LOOPBACK, port)
        finally:
            server.should_exit = True
            thread.join()


def _server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
