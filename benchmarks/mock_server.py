"""Serving a mock of OpenAI's protocol for as long as a benchmark needs it."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast
from urllib.error import URLError
from urllib.request import urlopen


@contextmanager
def serving(mock: str, *flags: str) -> Iterator[str]:
    """Start the program on a free port and wait until it answers; gives its URL."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = subprocess.Popen([sys.executable, mock, "--port", str(port), *flags])
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urlopen(f"{url}/stats").close()
                break
            except URLError:
                time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait()


def stats(url: str) -> dict[str, object]:
    """Return what the server counted: requests, prompt_tokens, faults ..."""
    with urlopen(f"{url}/stats") as reply:
        return cast("dict[str, object]", json.load(reply))
