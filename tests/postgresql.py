"""A PostgreSQL server that the tests start themselves."""

import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server of the tests' own, on a free port of loopback."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def control(self, *words: str) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder} -F"
        command = ["-D", str(self.folder / "data"), "-w", "-t", "60", "-o", options]
        as_another([str(programs() / "pg_ctl"), *command, "-l", str(self.folder / "log"), *words])

    def query(self, statement: str) -> None:
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "tester"]
        as_another([str(programs() / "psql"), *address, "-q", "-c", statement, "postgres"])


@cache
def programs() -> Path:
    """Where PostgreSQL's programs are; skips the test where there are none."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if not folders:
        pytest.skip("no initdb here: install postgresql")
    return folders[0]


def other_user() -> str | None:
    """The user to run the server as, which refuses root; None for the one we are."""
    if os.geteuid() != 0:
        return None
    import pwd  # not on Windows

    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def as_another(command: list[str]) -> None:
    # no pipe: a server that was started would hold it open
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command, stdout=said, stderr=subprocess.STDOUT, user=other_user(), cwd="/", check=False
        )
        said.seek(0)
        assert done.returncode == 0, said.read().decode()


def start_server() -> Server:
    """Make a server and start it; short paths, as a socket's name has 100 characters at most."""
    programs()
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if user := other_user():
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(folder, port)
    options = ["-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
    as_another([str(programs() / "initdb"), "-D", str(folder / "data"), *options])
    server.control("start")
    return server


def end_server(server: Server) -> None:
    if (server.folder / "data" / "postmaster.pid").exists():
        server.control("-m", "immediate", "stop")
    shutil.rmtree(server.folder, ignore_errors=True)
