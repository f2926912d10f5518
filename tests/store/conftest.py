"""A store to test with: a SQLite file, and a PostgreSQL server that the tests start themselves."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cases import add_run

from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.store import Store
from ragstone.types.claim import (
    Claim,
    ClaimIssue,
    DiagnosedClaim,
    Evidence,
    JudgedClaim,
    Label,
    Verdict,
)
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.gate import Gate
from ragstone.types.reply import Exchange, Failure, PartialVerdict, Reply, Usage
from ragstone.types.row import Row, TargetCall
from ragstone.types.sample import Context, Sample
from ragstone.types.score import MetricInfo, Score

METRICS: dict[str, MetricInfo] = {name: get(name).described for name in ("faithfulness", "hit@5")}
START = datetime(2026, 3, 1, 12, 30, 5, 123456, tzinfo=UTC)


def manifest(run_id: str, rows: int = 3, *, minutes: int = 0) -> Manifest:
    return Manifest(
        run_id=run_id,
        version="0.1.0",
        started_at=START + timedelta(minutes=minutes),
        plan=Plan(k=(3, 5), gates=(Gate(metric="hit@5", op=">=", threshold=0.8),)),
        source=Source(name="data.xlsx", fingerprint="ab", rows=rows),
        judge="offline",
        judge_note="words",
        target=None,
        not_run={"context_precision": "needs a model"},
    )


def begin(store: Store, run_id: str, *, fingerprint: str = "f", **more: int) -> None:
    add_run(store, manifest(run_id, **more), METRICS, fingerprint=fingerprint)


def full_row(place: int, text: str = "It lasts 20 hours.", hit: float = 1.0) -> Row:
    """A row with something in every field."""
    evidence = Evidence(context=0, start=0, end=8, quote=text, verified=True)
    verdict = Verdict(label=Label.SUPPORTED, reason=text, evidence=(evidence,), confidence=0.5)
    claim = Claim(text=text, span=(0, 8))
    late = Failure(Cause.TIMEOUT, "chat: no reply within 30 s")
    usage = Usage(calls=2, retries=1, prompt_tokens=10, cost_usd=0.25)
    asked = (
        Exchange("k1", "extract_claims", Reply((claim,), usage, ("a note",), text), 40.5, 9.5, 2),
        Exchange(
            "k2",
            "verify_claims",
            Failure(
                Cause.COUNT_MISMATCH,
                "got 1 verdict for 2 claims",
                (PartialVerdict(None, "yes", verdict), PartialVerdict(2, None, None)),
                text,
                2,
                usage,
            ),
            latency_ms=1.0,
        ),
        Exchange("k3", "text_similarity", Reply((0.5, -1.0)), 1.0),
        Exchange("k4", "a_plug_ins_kind", Reply([1, "two"], final=False), 1.0),
    )
    faithful = Score.scored(
        0.75, detail={"claims": 2, "note": text}, claims=[JudgedClaim.of(claim, verdict)]
    ).model_copy(update={"threshold": 0.5, "passed": True, "fallback": True, "reason": text})
    return Row(
        place,
        Sample(
            id=f"q{place}",
            query=text,
            response=text,
            contexts=(Context(text=text, id="5", score=0.5), Context()),
            ranking=(),
            reference=None,
            reference_claims=(text, ""),
            relevance={"5": 2, "x": 0},
            tags={"n": 3, "f": 3.0, "flag": True, "none": None, text: text, "big": 10**30},
        ),
        failures={"contexts": late},
        calls=(TargetCall("chat", 5.25, late), TargetCall("search", 1.0)),
        scores={"faithfulness": faithful, "hit@5": Score.scored(hit)},
        exchanges=asked,
        blamed=(DiagnosedClaim(claim=text, of="reference", blame=ClaimIssue.IGNORED),),
        notes=(text,),
    )


def small_row(place: int, hit: float = 1.0) -> Row:
    sample = Sample(id=f"q{place}", query=f"query {place}")
    failed = Score.failed(Cause.TIMEOUT, "late")
    scores = {"faithfulness": failed if place % 3 == 0 else Score.undefined("nothing said")}
    return Row(place, sample, scores=scores | {"hit@5": Score.scored(hit)})


def query(store: Store, statement: str) -> list[tuple[object, ...]]:
    """Run a statement, and return the lines it finds."""
    with store.transaction() as connection:
        found = connection.exec_driver_sql(statement)
        return [tuple(line) for line in found] if found.returns_rows else []


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


@pytest.fixture
def make() -> SimpleNamespace:
    """The ways to make what a store holds."""
    return SimpleNamespace(
        manifest=manifest, begin=begin, full_row=full_row, small_row=small_row, metrics=METRICS
    )


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server for all tests, which leave it running."""
    server = start_server()
    yield server
    end_server(server)


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that the test may stop."""
    server = start_server()
    yield server
    end_server(server)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store can be opened: each test that takes it runs on both databases."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.db")
        return
    pytest.importorskip("psycopg", reason="no psycopg here: pip install 'ragstone[postgres]'")
    server: Server = request.getfixturevalue("server")
    yield server.url
    server.query("DROP SCHEMA IF EXISTS ragstone CASCADE")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store.open(place) as store:
        yield store
