"""What storing a ranking's run costs: CPU and bytes to write, CPU to read, and memory.

    python benchmarks/storing_values.py [--queries 100000] [--metrics 35] [--store PLACE] [--unlike]

The values are shares with two digits; with --unlike no two are alike, which packs worst. The exit
code is 1 if writing takes more than 2 s of CPU, 30 MB, or 8 MB of memory; or if reading one
metric's values takes more than 0.5 s of CPU.
"""

import argparse
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ragstone.metrics import get
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.store import Store, save_ranking
from ragstone.types.config import Manifest, Plan, Source

WRITE_S, WRITE_MB, READ_S, GROWTH_MB = 2.0, 30.0, 0.5, 8.0


def made(queries: int, metrics: int, *, unlike: bool) -> Run:
    """Return a run of so many queries and metrics."""
    names = [f"ndcg@{k}" for k in range(1, metrics + 1)]
    rng = np.random.default_rng(0)
    shape = queries, metrics
    values = rng.random(shape) if unlike else rng.integers(0, 101, shape) / 100
    now = datetime.now(UTC)
    manifest = Manifest(
        run_id=f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06}",
        version="0",
        started_at=now,
        plan=Plan(),
        source=Source(name="made.run", rows=queries),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
    )
    rows = RankingScores(
        ids=[f"query-{number}" for number in range(queries)],
        texts={},
        metrics=names,
        values=values,
        why=np.zeros(queries, dtype=np.uint8),
    )
    return Run(manifest=manifest, metrics={name: get(name).described for name in names}, rows=rows)


def timed(what: str, start: float) -> float:
    """Print the CPU time of all threads since a start, and return it."""
    cpu = time.process_time() - start
    print(f"{what:<28}{cpu:8.3f} s CPU")
    return cpu


def peak() -> float:
    """Return the most that this process had in memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(store: Store, run: Run, middle: str) -> float:
    """Time the ways to read a run, and check what comes back; return that of one metric."""
    name = run.manifest.run_id
    start = time.process_time()
    rows = store.load(name).columns
    timed("opening the run", start)
    assert rows is not None
    start = time.process_time()
    found, _ = rows.column(middle)
    column = timed("one metric's values", start)
    assert run.columns is not None
    assert (found == run.columns.numbers(middle)).all()
    start = time.process_time()
    store.load(name).summary()
    timed("what the run came to", start)
    return column


def main() -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=35)
    parser.add_argument("--store", default=None)
    parser.add_argument("--unlike", action="store_true")
    options = parser.parse_args()
    run = made(options.queries, options.metrics, unlike=options.unlike)
    run.to_dict()  # what `rank` has reckoned before it stores
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(options.store or Path(folder) / "runs.db") as store:
            before, start = peak(), time.process_time()
            save_ranking(store, run)
            wrote, grown = timed("writing the run", start), peak() - before
            column = read(store, run, f"ndcg@{options.metrics // 2 + 1}")
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
    print(f"on disk {size:.1f} MB; writing took {grown:.1f} MB of memory")
    good = wrote <= WRITE_S and size <= WRITE_MB and column <= READ_S and grown <= GROWTH_MB
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
