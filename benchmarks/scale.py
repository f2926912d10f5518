"""What engines cost: CPU and wall time of each beside a plain run, on the same rows.

    python benchmarks/scale.py [--rows 50000] [--kill] [plain workers spark]

Each engine evaluates the same file with the offline judge and a store, with two workers, in a
process of its own. The rows and the summary must be equal to those of the plain run, apart from
times and ids. With --kill, one worker is killed with SIGKILL half way. CPU is that of the main
process and the workers, from the start of Python; processes of Spark itself are reported
separately. The exit code is 1 if a result differs. Linux only. Needs ragstone[parquet],
pyspark and Java.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any

WORDS = (
    "battery camera screen memory charger model phone cable hours weeks price network signal "
    "storage sensor lens update warranty speaker design weight colour"
).split()
ENGINES = ("plain", "workers", "spark")
SETTINGS: Mapping[str, Any] = {"metrics": ["faithfulness"]}
VARYING = re.compile(
    r'"(?:run_id|started_at|path)": "[^"]*",? ?|"(?:latency_ms|p\d\d_ms|workers)": [^,}]*'
)
"""What differs between equal runs."""
TICKS = os.sysconf("SC_CLK_TCK")
WORKERS = ("pyspark.daemon", "multiprocessing.spawn")
"""Parts of the command line of workers; all other processes belong to the engine."""


def sentence(pick: random.Random) -> str:
    """Return a sentence with a number."""
    words = " ".join(pick.choices(WORDS, k=9))
    return f"The {words} lasts {pick.randint(2, 90)} hours."


def write_rows(path: Path, rows: int) -> None:
    """Write rows with 3 contexts of 7 sentences, and responses of 2 or 3 of those sentences."""
    pick = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            contexts = [" ".join(sentence(pick) for _ in range(7)) for _ in range(3)]
            said = pick.sample(" ".join(contexts).split(". "), pick.choice((2, 3)))
            row = {
                "id": f"r{number}",
                "query": f"How long does the {pick.choice(WORDS)} of model {number} last?",
                "response": ". ".join(said).rstrip(".") + ".",
                "contexts": contexts,
                "kind": pick.choice(("short", "long")),
            }
            file.write(json.dumps(row) + "\n")


def run(engine: str, data: str) -> None:
    """Evaluate the file in the working folder, then print a digest of the result."""
    import ragstone

    options: dict[str, Any] = {**SETTINGS, "store": "runs.db"}
    if engine == "workers":
        options["workers"] = 2
    if engine == "spark":
        score_in_spark(data)
        options["scored"] = "scores"
    evaluated = ragstone.evaluate(data, **options)
    print("done", flush=True)
    sys.stdin.readline()  # the digest is not measured
    digest = sha256()
    for document in (evaluated.to_dict(), *(row.to_dict() for row in evaluated.rows)):
        digest.update(VARYING.sub("", json.dumps(document)).encode())
    print(len(evaluated.rows), digest.hexdigest(), flush=True)


def score_in_spark(data: str) -> None:
    """Score the file in Spark, as in docs/many-machines.md."""
    from pyspark.sql import SparkSession

    import ragstone

    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.config("spark.sql.files.maxPartitionBytes", "8m").getOrCreate()
    scorer = ragstone.Scorer(**SETTINGS)

    def score(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from scorer(batch).to_batches()

    types = {float: "double", str: "string"}
    schema = ", ".join(f"`{name}` {types[kind]}" for name, kind in scorer.columns.items())
    spark.read.json(data).mapInArrow(score, schema).write.parquet("scores")
    spark.stop()


class Processes:
    """The CPU seconds of a process and of those it started, as long as they ran."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seconds: dict[int, float] = {}
        self._kinds = {root: "main"}

    def look(self) -> None:
        """Look through all processes; a process that ends is known until then."""
        parents: dict[int, int] = {}
        seconds: dict[int, float] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                stat = (folder / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(stat[1])
            seconds[int(folder.name)] = (int(stat[11]) + int(stat[12])) / TICKS
        for process in seconds:
            above = process
            while above in parents and above != self._root:
                above = parents[above]
            if above == self._root:
                self._seconds[process] = seconds[process]
                self._kinds[process] = self._kind(process)

    def _kind(self, process: int) -> str:
        if process == self._root:
            return "main"
        try:
            command = Path(f"/proc/{process}/cmdline").read_text(errors="replace")
        except OSError:
            command = ""
        if not command:  # it has ended
            return self._kinds.get(process, "engine")
        named = command.replace("\0", " ")
        return "worker" if any(part in named for part in WORKERS) else "engine"

    def cpu(self, kind: str) -> float:
        """Return the seconds of all processes of a kind: main, worker or engine."""
        return sum(cpu for each, cpu in self._seconds.items() if self._kinds[each] == kind)

    def busiest_worker(self) -> tuple[float, int]:
        """Return the worker with the most CPU seconds, after these."""
        found = [
            (cpu, each) for each, cpu in self._seconds.items() if self._kinds[each] == "worker"
        ]
        return max(found, default=(0.0, 0))


def measure(
    engine: str, data: Path, *, kill_after: float | None
) -> tuple[str, Mapping[str, float]]:
    """Run an engine; return the digest of its result, and its seconds.

    With `kill_after`, kill the first worker that has used so many CPU seconds.
    """
    with TemporaryDirectory() as folder:
        start = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, __file__, "--child", engine, str(data)],
            cwd=folder,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(Path(folder) / "messages").open("w"),
        )
        assert child.stdout
        processes = Processes(child.pid)
        while not select([child.stdout], [], [], 0.2)[0]:  # it prints a line when it is done
            processes.look()
            cpu, worker = processes.busiest_worker()
            if kill_after is not None and cpu > kill_after:
                os.kill(worker, signal.SIGKILL)
                print(f"{engine}: killed process {worker} after {cpu:.0f} s of CPU", flush=True)
                kill_after = None
        processes.look()
        seconds = {kind: processes.cpu(kind) for kind in ("main", "worker", "engine")}
        seconds["wall"] = time.monotonic() - start
        said, _ = child.communicate(b"\n")
        if child.returncode or (kill_after is not None and engine != "plain"):
            print((Path(folder) / "messages").read_text()[-3000:])
            sys.exit(f"{engine} failed, or no worker was killed")
        return said.decode().splitlines()[-1], seconds


def main() -> int:
    """Run the engines, and print a table."""
    options = argparse.ArgumentParser()
    options.add_argument("engines", nargs="*", default=ENGINES)
    options.add_argument("--rows", type=int, default=50_000)
    options.add_argument("--kill", action="store_true")
    options.add_argument("--child", nargs=2)
    given = options.parse_args()
    if given.child:
        run(*given.child)
        return 0
    with TemporaryDirectory() as folder:
        data = Path(folder, "rows.jsonl")
        write_rows(data, given.rows)
        plain: Mapping[str, float] = {}
        expected, different = "", False
        print("engine   main  workers   sum    x plain  engine's own   wall    x plain  result")
        for engine in ("plain", *(each for each in given.engines if each != "plain")):
            half = (plain["main"] / 4) if given.kill and engine != "plain" else None
            digest, seconds = measure(engine, data, kill_after=half)
            plain, expected = plain or seconds, expected or digest
            cpu = seconds["main"] + seconds["worker"]
            different |= digest != expected
            print(
                f"{engine:8}{seconds['main']:6.1f}{seconds['worker']:8.1f}{cpu:8.1f}"
                f"{cpu / plain['main']:9.2f}{seconds['engine']:13.1f}{seconds['wall']:9.1f}"
                f"{seconds['wall'] / plain['wall']:9.2f}  "
                f"{'equal' if digest == expected else 'DIFFERENT'}: {digest[:20]}",
                flush=True,
            )
        return int(different)


if __name__ == "__main__":
    sys.exit(main())
