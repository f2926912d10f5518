"""What storing a run costs: CPU a row, the writer's thread included, and whether memory stays flat.

    python benchmarks/storing.py [--n 100000] [--store PLACE] [--whole]

A row is what a scripted judge leaves: a faithfulness score with 5 claims and their evidence, and a
transcript of two exchanges. With --whole it has a raw reply of some 800 characters in each
exchange, and 5 ranking scores. The same rows are made once without
a store, so that their own cost is left out. Then the run is read: what is done, and the
rows. The exit code is 1 if a row costs more than 100 microseconds of CPU, or if
memory grows by more than a tenth of itself, and 8 MB, after the first tenth of the rows.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ragstone.metrics import get
from ragstone.store import RowWriter, Store
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.reply import Exchange, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

GOAL_US, GROWTH = 100.0, 1.1
METRICS = ("faithfulness", "hit@5", "precision@5", "recall@5", "mrr@5", "ndcg@5")


def rows(n: int, *, whole: bool) -> Iterator[Row]:
    """Make rows as a run does; what does not differ from row to row is made once."""
    texts = [f"The battery of model {i} lasts {i + 9} hours on one charge." for i in range(5)]
    contexts = tuple(Context(text=f"{text} " * 5, id=str(i)) for i, text in enumerate(texts))
    claims = tuple(Claim(text=text, span=(0, len(text))) for text in texts)
    quotes = [
        Evidence(context=i, start=0, end=len(t), quote=t, verified=True)
        for i, t in enumerate(texts)
    ]
    verdicts = tuple(
        Verdict(label=Label.SUPPORTED, reason="The context says so.", evidence=(quote,))
        for quote in quotes
    )
    judged = [JudgedClaim.of(*pair) for pair in zip(claims, verdicts, strict=True)]
    scores = {"faithfulness": Score.scored(0.8, claims=judged)}
    names = METRICS[1:] if whole else ()
    scores |= {name: Score.scored(0.5, detail={"first_hit_rank": 2}) for name in names}
    usage = Usage(calls=1, prompt_tokens=700, completion_tokens=200, cost_usd=0.0003)
    raw = '{"claims": ["' + "as the model wrote it, " * 34 + '"]}' if whole else None
    exchanges = (
        Exchange("a" * 64, "extract_claims", Reply(claims, usage, raw=raw), 812.5, 1.7e9),
        Exchange("b" * 64, "verify_claims", Reply(verdicts, usage, raw=raw), 921.5, 1.7e9),
    )
    for place in range(n):
        sample = Sample(
            id=f"q{place}",
            query=f"How long does the battery of model {place} last?",
            response=" ".join(texts),
            contexts=contexts,
            relevance={"0": 1, "3": 1},
            tags={"difficulty": "easy"},
        )
        yield Row(place, sample, scores=scores, exchanges=exchanges)


def rss() -> float:
    """Return what this process has in memory, in MB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def manifest(n: int) -> Manifest:
    """Return a manifest of a run of so many rows."""
    now = datetime.now(UTC)
    return Manifest(
        run_id=f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06}",
        version="0",
        started_at=now,
        plan=Plan(),
        source=Source(name="made.jsonl", rows=n),
        judge="scripted",
        judge_note=None,
        target=None,
        not_run={},
    )


async def stored(opened: RowWriter, n: int, *, whole: bool) -> dict[int, float]:
    """Write the rows; return what is in memory at 10%, 50% and 100%."""
    seen: dict[int, float] = {}
    marks = {n // 10: 10, n // 2: 50, n - 1: 100}
    async with opened as writer:
        for row in rows(n, whole=whole):
            await writer.put(row)
            if row.index in marks:
                seen[marks[row.index]] = rss()
    return seen


def timed(what: str, n: int, start: tuple[float, float]) -> float:
    """Print the CPU and the wall time a row since a start, and return the CPU in microseconds."""
    cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    print(f"{what:<24}{cpu / n * 1e6:8.1f} us CPU a row  {wall:8.2f} s wall")
    return cpu / n * 1e6


def now() -> tuple[float, float]:
    """Return the CPU time of all threads, and the time."""
    return time.process_time(), time.perf_counter()


def main() -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--store", default=None)
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    n: int = options.n
    whole: bool = options.whole
    with tempfile.TemporaryDirectory() as folder:
        place = options.store or Path(folder) / "runs.db"
        with Store.open(place) as store:
            start = now()
            for _ in rows(n, whole=whole):
                pass
            made = timed("making the rows", n, start)
            entered = manifest(n)
            infos = {name: get(name).described for name in METRICS[: None if whole else 1]}
            writer = store.begin_writing(entered, infos, fingerprint="")
            gc.collect()
            start = now()
            memory = asyncio.run(stored(writer, n, whole=whole))
            cost = timed("making and storing them", n, start) - made
            store.finish(entered.run_id, extras={})
            read(store, entered.run_id, n)
            if not options.store:
                size = sum(path.stat().st_size for path in Path(folder).iterdir())
                print(f"{'on disk':<24}{size / n:8.0f} bytes a row")
    grown = memory[100] / memory[10] if memory[10] else 1.0
    flat = grown <= GROWTH or memory[100] - memory[10] <= 8
    print(f"storing: {cost:.1f} us CPU a row, {cost / GOAL_US:.2f} of the goal of {GOAL_US:.0f}")
    shown = ", ".join(f"{mb:.1f} MB at {share} %" for share, mb in memory.items())
    print(f"memory: {shown}; {grown:.3f} times")
    return 0 if cost <= GOAL_US and flat else 1


def read(store: Store, run_id: str, n: int) -> None:
    """Time the ways to read a run, and check that all of it is there."""
    start = now()
    assert len(store.done(run_id)) == n
    timed("which are stored", n, start)
    start = now()
    assert sum(1 for _ in store.load(run_id).rows) == n
    timed("reading the rows", n, start)


if __name__ == "__main__":
    sys.exit(main())
