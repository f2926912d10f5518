"""A store to test with: a SQLite file, or a database of PostgreSQL."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cases import add_run
from tests.postgresql import Server, end_server, start_server

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
from ragstone.types.label import HumanLabel
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


async def put(store: Store, *rows: Row, run_id: str = "r1") -> None:
    """Write rows into a run, which is begun if there is none."""
    if run_id not in [info.id for info in store.runs()]:
        begin(store, run_id)
    async with store.open_writer(run_id) as writer:
        for row in rows:
            await writer.put(row)


LABEL = HumanLabel(
    run="r1",
    position=1,
    sample_id="q1",
    metric="faithfulness",
    claim=0,
    value=True,
    annotator="ana",
    at=datetime(2026, 11, 23, 9, 30, 1, 250_000, tzinfo=UTC),
    blind=True,
)


def query(store: Store, statement: str) -> list[tuple[object, ...]]:
    """Run a statement, and return the lines it finds."""
    with store.transaction() as connection:
        found = connection.exec_driver_sql(statement)
        return [tuple(line) for line in found] if found.returns_rows else []


@pytest.fixture
def make() -> SimpleNamespace:
    """The ways to make what a store holds."""
    return SimpleNamespace(
        manifest=manifest,
        begin=begin,
        put=put,
        full_row=full_row,
        small_row=small_row,
        metrics=METRICS,
    )


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
