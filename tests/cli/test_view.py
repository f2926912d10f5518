import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

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
        url = next(word for word in said.split() if word.startswith("http"))
        with urlopen(url, timeout=240) as page:
            assert "No runs yet" in page.read().decode()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=240)
    assert (program.returncode, out, err) == (0, "", "")


def test_what_cannot_be_shown_is_told(ragstone: Command, folder: Path) -> None:
    view = ("view", "--no-browser")
    assert ragstone(*view).refuses("there is no store at .ragstone/ragstone.db")
    assert [path.name for path in folder.iterdir()] == ["runs.db"]
    view = (*view, "--store", "runs.db")
    assert ragstone(*view, "nobody").refuses("there is no run named 'nobody'")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = ragstone(*view, "--port", str(port))
    assert said.refuses(f"port {port} on 127.0.0.1 is in use")


def python(code: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_without_its_packages_it_says_how_to_get_them(folder: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; import ragstone.__main__ as ragstone\n"
    done = python(code + "ragstone.main()", *PROGRAM[3:], folder=folder)
    assert done.returncode == 2
    assert "pip install 'ragstone[view]'" in done.stderr


def test_opentelemetry_is_imported_only_where_it_is_asked_for(folder: Path) -> None:
    modules = "evaluation.runner cli.commands.run integrations.opentelemetry"
    names = ", ".join(f"ragstone.{name}" for name in modules.split())
    said = python(f"import {names}, sys\nprint(*sys.modules)", folder=folder).stdout.split()
    assert "ragstone" in said
    assert not [name for name in said if name.partition(".")[0] == "opentelemetry"]


def test_where_no_span_would_be_sent_nothing_is_run(ragstone: Command) -> None:
    row = {"query": "Q?", "response": "It is 3 m.", "contexts": ["It is 3 m."]}
    said = ragstone("run", json_lines("rows.jsonl", [row]), "-m", "faithfulness", "--otel")
    assert said.refuses("opentelemetry-instrument ragstone run")
    assert not Path(".ragstone").exists()
