"""The viewer, served from a store of a few runs on a free port of loopback."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.cases import add_run
from tests.results.conftest import manifest_of
from tests.viewing import serve_in_background

from ragstone.metrics import get
from ragstone.store import Store
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.config import Manifest, Source
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

METRICS = {name: get(name).described for name in ("faithfulness", "hit@5")}
START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HOSTILE = (
    "<script>alert(1)</script> ]]> \" ' <img src=x onerror=alert(2)> {{ 7 * 7 }} \x1b[31m \u202e"
)


@dataclass(frozen=True)
class Answer:
    """What a request was answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Served:
    """A viewer that runs, and the file of its store."""

    port: int
    place: Path

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET"
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=50)
        try:
            connection.request(method, path, headers=dict(headers or {}))
            reply = connection.getresponse()
            told = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, told, reply.read().decode())
        finally:
            connection.close()


def manifest(run_id: str, *, minutes: int = 0, judge: str = "offline") -> Manifest:
    source = Source(name="data.xlsx", fingerprint="ab", rows=12)
    at = START + timedelta(minutes=minutes)
    return manifest_of(run_id=run_id, started_at=at, source=source, judge=judge)


def row(place: int, *, supported: bool, text: str = "It lasts 20 hours.") -> Row:
    label = Label.SUPPORTED if supported else Label.CONTRADICTED
    evidence = Evidence(context=0, start=0, end=8, quote=text[:8], verified=True)
    verdict = Verdict(label=label, reason="The context says so.", evidence=(evidence,))
    claim = JudgedClaim.of(Claim(text=text, span=(0, len(text))), verdict)
    tags = {"kind": "odd" if place % 2 else "even"}
    contexts, query = (Context(text=text, id="5"),), f"How long, number {place}?"
    sample = Sample(id=f"q{place}", query=query, response=text, contexts=contexts, tags=tags)
    scores = {
        "faithfulness": Score.scored(float(supported), claims=[claim]),
        "hit@5": Score.scored(1.0) if place % 3 else Score.undefined("nothing is relevant"),
    }
    return Row(place, sample, scores=scores)


def keep(store: Store, kept: Manifest, rows: list[Row], *, ended: bool = True) -> None:
    """Store a run; one that has not ended has no summary."""
    add_run(store, kept, METRICS, fingerprint=kept.run_id)

    async def write() -> None:
        async with store.open_writer(kept.run_id) as writer:
            for each in rows:
                await writer.put(each)

    asyncio.run(write())
    if ended:
        run = replace(store.load(kept.run_id), partial=False)
        store.finish(kept.run_id, extras={}, summary=run.to_dict())


@contextmanager
def serving(place: Path) -> Iterator[Served]:
    """Serve a store while the block lasts."""
    with serve_in_background(place) as url:
        yield Served(int(url.rpartition(":")[2]), place)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two runs that ended, and one that was stopped."""
    place = tmp_path_factory.mktemp("store") / "runs.db"
    with Store.open(place) as store:
        keep(store, manifest("run-a"), [row(i, supported=i > 5) for i in range(12)])
        right = [row(i, supported=True) for i in range(12)]
        keep(store, manifest("run-b", minutes=1, judge="other"), right)
        stopped = [row(i, supported=True, text=HOSTILE) for i in range(5)]
        keep(store, manifest("run-c", minutes=2), stopped, ended=False)
    with serving(place) as found:
        yield found


@pytest.fixture
def view() -> Callable[[Path], object]:
    return serving
