"""The viewer's pages while a test lasts."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from ragstone.reports.viewer import LOOPBACK, listen, make_app, make_server
from ragstone.store import Store


@contextmanager
def serve_in_background(place: str | Path) -> Generator[str, None, None]:
    """Serve a store's pages on this machine during the block; gives their URL."""
    with Store.open(place, reading=True) as store, listen(0) as at:
        port: int = at.getsockname()[1]
        server = make_server(make_app(store, port=port))
        thread = Thread(target=server.run, kwargs={"sockets": [at]}, name="ragstone view")
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{port}"
        finally:
            server.should_exit = True
            thread.join()
