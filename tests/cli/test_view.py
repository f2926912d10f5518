import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ragstone.store import Store

PROGRAM = [sys.executable, "-m", "ragstone", "view", "--no-browser", "--store", "runs.db"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Store.open(tmp_path / "runs.db").close()
    return tmp_path


def test_it_serves_until_it_is_interrupted(folder: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as program:
        assert program.stdout is not None
        said = program.stdout.readline()
        url = urlsplit(next(word for word in said.split() if word.startswith("http")))
        connection = HTTPConnection(url.netloc, timeout=240)
        connection.request("GET", "/")
        assert "No runs yet" in connection.getresponse().read().decode()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=240)
        connection.close()
    assert (program.returncode, out, err) == (0, "", "")


def test_a_port_that_is_taken_is_told(ragstone: Callable[..., object], tmp_path: Path) -> None:
    Store.open(tmp_path / "runs.db").close()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = ragstone("view", "--no-browser", "--store", "runs.db", "--port", str(port))
    assert said.code == 2
    assert f"port {port} on 127.0.0.1 is in use" in said.err
    assert "--port" in said.err


def test_a_store_that_is_not_there_is_told_and_not_made(
    ragstone: Callable[..., object], tmp_path: Path
) -> None:
    said = ragstone("view", "--no-browser")
    assert said.code == 2
    assert "there is no store at .ragstone/ragstone.db" in said.err
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_not_there_is_told(ragstone: Callable[..., object], tmp_path: Path) -> None:
    Store.open(tmp_path / "runs.db").close()
    said = ragstone("view", "nobody", "--no-browser", "--store", "runs.db")
    assert said.code == 2
    assert "there is no run named 'nobody'" in said.err


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_its_packages_it_says_how_to_get_them(folder: Path, missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from ragstone.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *PROGRAM[3:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'ragstone[view]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_load_no_server() -> None:
    code = (
        "import sys; import ragstone.cli; sys.argv = ['ragstone', '--help']\n"
        "try: ragstone.cli.main()\n"
        "finally: print([n for n in ('starlette', 'uvicorn', 'jinja2') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"
