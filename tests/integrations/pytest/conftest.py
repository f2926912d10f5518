"""A project of a user's own, whose tests a pytest of its own runs; and a judge on a socket."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree

import pytest
from tests.conftest import Fork

PLUGINS = ("pytest_asyncio.plugin", "xdist", "ragstone.integrations.pytest.plugin")
INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
strict_markers = true
"""
OURS = ("RAGSTONE_JUDGE", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PYTEST_ADDOPTS", "CI")


@dataclass(frozen=True)
class Ran:
    """What pytest said: each test's outcome and the message with it, by its name."""

    code: int
    text: str
    outcomes: dict[str, tuple[str, str]]

    @property
    def summary(self) -> str:
        """Our part of the terminal's last lines."""
        return self.text.partition(" ragstone ===")[2].partition("\n")[2].partition("\n===")[0]


@dataclass(frozen=True)
class Project:
    """A folder with tests."""

    path: Path
    fork: Fork

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: str, anew: bool = False, **environment: str) -> Ran:
        """Run pytest there, with no setting or key of this machine, in a new process or a fork."""
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        plugins = [part for plugin in PLUGINS for part in ("-p", plugin)]
        xml = self.path / "report.xml"
        own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "100"}
        words = (*plugins, f"--junitxml={xml}", "-q", *arguments)
        given = inherited | own | environment
        if anew:
            command = [sys.executable, "-m", "pytest", *words]
            done = subprocess.run(command, cwd=self.path, env=given, capture_output=True, text=True)
            code, text = done.returncode, done.stdout + done.stderr
        else:
            ended = self.fork(*words, program="pytest", folder=self.path, environment=given)
            code, text = ended["code"], ended["out"] + ended["err"]
        cases = ElementTree.parse(xml).iter("testcase") if xml.exists() else ()
        return Ran(
            code,
            text,
            {case.attrib["name"]: _outcome(case) for case in cases},
        )


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            return child.tag, child.attrib.get("message", "")
    return "passed", ""


def new_project(path: Path, fork: Fork) -> Project:
    project = Project(path, fork)
    project.write("pytest.ini", INI)
    return project


@pytest.fixture
def project(tmp_path: Path, fork: Fork) -> Project:
    return new_project(tmp_path, fork)


@pytest.fixture(scope="module")
def lasting_project(tmp_path_factory: pytest.TempPathFactory, fork: Fork) -> Project:
    """One project for all tests of a file."""
    return new_project(tmp_path_factory.mktemp("project"), fork)


class Handler(BaseHTTPRequestHandler):
    """Speaks OpenAI's protocol: every response is one claim, and every claim is supported."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        claims = {"claims": ["It is of ash."]}
        verdicts = {"verdicts": [{"claim": 1, "reason": "", "evidence": [], "label": "SUPPORTED"}]}
        content = json.dumps(verdicts if "<claims-" in body else claims)
        if '"queries"' in body:
            queries = {str(n): "What is it of?" for n in (1, 2, 3)}
            content = json.dumps({"queries": queries, "commits": True})
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        reply = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.server.bodies.append(json.loads(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


class JudgeServer(ThreadingHTTPServer):
    """A model on loopback that keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, object]] = []

    @property
    def calls(self) -> int:
        return len(self.bodies)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make it the judge."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_port}/v1",
            "RAGSTONE_JUDGE": "openai:gpt-4o-mini",
        }


@pytest.fixture
def model() -> Iterator[JudgeServer]:
    server = JudgeServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
