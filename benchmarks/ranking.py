"""Rankings of many queries: CPU and peak memory of ragstone and its peers, measured in one run.

    python benchmarks/ranking.py --queries 100000 --folder FOLDER --peers PYTHON

FOLDER gets the files (10 million rows take 1 GB); those that are there are used again. PYTHON is
the interpreter of an environment with pytrec-eval-terrier, ir_measures, ranx and polars. Every
contestant is a process of its own, which reads the same files and ends with each metric's mean:
hit, recall, precision, F1, MRR, MAP and NDCG at 1, 3, 5, 10 and 20, as far as it knows them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KS = (1, 3, 5, 10, 20)
DEPTH = 100
JUDGED = 28
FOUND = 10
"""Of a query's judged documents, how many are among those returned."""
METRICS = ("hit", "recall", "precision", "f1", "mrr", "map", "ndcg")

PEERS = {
    "pytrec_eval": """
import sys, pytrec_eval
with open(sys.argv[1]) as f: qrels = pytrec_eval.parse_qrel(f)
with open(sys.argv[2]) as f: run = pytrec_eval.parse_run(f)
ks = "1,3,5,10,20"
measures = {f"{m}.{ks}" for m in ("success", "recall", "P", "map_cut", "ndcg_cut")} | {"recip_rank"}
found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
names = next(iter(found.values()))
print({name: sum(each[name] for each in found.values()) / len(found) for name in names})
""",
    "ir_measures": """
import sys, ir_measures
from ir_measures import *
asked = [m @ k for k in (1, 3, 5, 10, 20) for m in (Success, R, P, RR, AP, nDCG)]
qrels = ir_measures.read_trec_qrels(sys.argv[1])
print(ir_measures.calc_aggregate(asked, qrels, ir_measures.read_trec_run(sys.argv[2])))
""",
    "ranx": """
import sys
from ranx import Qrels, Run, evaluate
names = ("hit_rate", "recall", "precision", "f1", "mrr", "map", "ndcg")
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
print(evaluate(qrels, run, [f"{n}@{k}" for n in names for k in (1, 3, 5, 10, 20)]))
""",
    "only reading (polars)": """
import sys, polars as pl
for path in sys.argv[1:3]:
    print(pl.read_csv(path, separator=" ", has_header=False, quote_char=None).shape)
""",
    "pytrec_eval, JSONL": """
import json, sys, pytrec_eval
qrels = {}
for line in open(sys.argv[1]):
    each = json.loads(line); qrels[each["query_id"]] = each["relevance"]
run = {}
for line in open(sys.argv[2]):
    each = json.loads(line)
    run[each["query_id"]] = {d: -float(n) for n, d in enumerate(each["ranking"])}
ks = "1,3,5,10,20"
measures = {f"{m}.{ks}" for m in ("success", "recall", "P", "map_cut", "ndcg_cut")} | {"recip_rank"}
found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
names = next(iter(found.values()))
print({name: sum(each[name] for each in found.values()) / len(found) for name in names})
""",
}
FIRST = """
import atexit
@atexit.register
def told():
    with open("/proc/self/status") as status:
        print("\\nPEAK", next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
"""What each process tells last: its peak in kB, which is not that of the one it was forked from."""
OURS = """
import sys
from ragstone.__main__ import main
sys.argv = ["ragstone", "rank", "--qrels", sys.argv[1], "--ranking", sys.argv[2],
            "--k", "1,3,5,10,20", *(f"-m{name}" for name in METRICS)]
main()
"""
LISTS = """
import json, resource, sys, time
qrels = [json.loads(line)["relevance"] for line in open(sys.argv[1])]
lists = [json.loads(line)["ranking"] for line in open(sys.argv[2])]
def spent(work):
    start = time.process_time(); work(); return time.process_time() - start
WORK
"""
LISTS_OURS = """
from ragstone.metrics import select
from ragstone.metrics.retrieval import depth_of
from ragstone.types.rankings import Rankings
metrics = select(METRICS, k=(1, 3, 5, 10, 20))
def work():
    for start in range(0, len(lists), 1000):
        some = slice(start, start + 1000)
        rankings = Rankings.of(lists[some], qrels[some], depth=depth_of(metrics))
        for metric in metrics:
            metric.values(rankings)
print("CPU", spent(work))
"""
LISTS_THEIRS = """
import pytrec_eval
ks = "1,3,5,10,20"
measures = {f"{m}.{ks}" for m in ("success", "recall", "P", "map_cut", "ndcg_cut")} | {"recip_rank"}
judged = {str(n): each for n, each in enumerate(qrels)}
run = {str(n): {d: -float(r) for r, d in enumerate(ids)} for n, ids in enumerate(lists)}
print("CPU", spent(lambda: pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)))
"""


def make(folder: Path, queries: int) -> None:
    """Write the same judgments and rankings as TREC, JSON Lines and Parquet."""
    if (folder / "run.jsonl").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    files = {name: (folder / name).open("w") for name in ("qrels", "run", "qrels.jsonl")}
    with (folder / "run.jsonl.part").open("w") as lines:
        for query in range(queries):
            ids = list(dict.fromkeys(rng.integers(0, 8_841_823, 150).tolist()))
            ranked = [f"doc{each}" for each in ids[:DEPTH]]
            scores = np.sort(rng.random(DEPTH) * 30)[::-1].tolist()
            hits = [ranked[place] for place in rng.choice(DEPTH, FOUND, replace=False)]
            judged = hits + [f"doc{each}" for each in ids[DEPTH : DEPTH + JUDGED - FOUND]]
            grades = dict(zip(judged, rng.integers(0, 4, JUDGED).tolist(), strict=True))
            rows = enumerate(zip(ranked, scores, strict=True), 1)
            files["run"].writelines(f"q{query} Q0 {d} {n} {s:.6f} bm25\n" for n, (d, s) in rows)
            files["qrels"].writelines(f"q{query} 0 {d} {g}\n" for d, g in grades.items())
            known = {"query_id": f"q{query}", "relevance": grades}
            files["qrels.jsonl"].write(json.dumps(known) + "\n")
            lines.write(json.dumps({"query_id": f"q{query}", "ranking": ranked}) + "\n")
    for file in files.values():
        file.close()
    as_parquet(folder, "qrels", ["query_id", "0", "document_id", "grade"])
    as_parquet(folder, "run", ["query_id", "0", "document_id", "rank", "score", "name"])
    (folder / "run.jsonl.part").rename(folder / "run.jsonl")


def as_parquet(folder: Path, name: str, columns: list[str]) -> None:
    """Write a TREC file as Parquet, through polars."""
    import polars as pl

    frame = pl.scan_csv(folder / name, separator=" ", has_header=False, new_columns=columns)
    frame.drop("0").sink_parquet(folder / f"{name}.parquet")


def measured(python: str, code: str, *files: Path) -> tuple[float, float, str]:
    """Run code in a process of its own; return its CPU seconds, its peak in MB, what it printed."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [python, "-c", FIRST + code, *map(str, files)],
            stdout=out,
            env={**os.environ, "COLUMNS": "120", "PYTHONDONTWRITEBYTECODE": ""},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {said}")
    said, _, peak = said.rpartition("PEAK")
    return usage.ru_utime + usage.ru_stime, int(peak) / 1024, said


def main() -> None:
    """Print a table of all contestants, each the best of some rounds, in turn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="contestants whose name holds this")
    given = parser.parse_args()
    folder: Path = given.folder / str(given.queries)
    make(folder, given.queries)
    ours = OURS.replace("METRICS", repr(METRICS))
    lists = LISTS_OURS.replace("METRICS", repr(METRICS))
    trec, lines = (folder / "qrels", folder / "run"), (folder / "qrels.jsonl", folder / "run.jsonl")
    tables = folder / "qrels.parquet", folder / "run.parquet"
    contestants = {
        "pytrec_eval": (given.peers, PEERS["pytrec_eval"], trec),
        "ragstone, TREC": (sys.executable, ours, trec),
        "only reading (polars)": (given.peers, PEERS["only reading (polars)"], trec),
        "pytrec_eval, JSONL": (given.peers, PEERS["pytrec_eval, JSONL"], lines),
        "ragstone, JSONL": (sys.executable, ours, lines),
        "ragstone, Parquet": (sys.executable, ours, tables),
        "ranx": (given.peers, PEERS["ranx"], trec),
        "ir_measures": (given.peers, PEERS["ir_measures"], trec),
        "lists: pytrec_eval": (given.peers, LISTS.replace("WORK", LISTS_THEIRS), lines),
        "lists: ragstone": (sys.executable, LISTS.replace("WORK", lists), lines),
    }
    best: dict[str, tuple[float, float]] = {}
    for _ in range(given.rounds):
        for name, (python, code, files) in contestants.items():
            if given.only not in name:
                continue
            cpu, peak, said = measured(python, code, *files)
            if name.startswith("lists"):  # what reads the lists is not counted
                cpu = float(said.split()[-1])
            known = best.get(name, (float("inf"), float("inf")))
            best[name] = min(cpu, known[0]), min(peak, known[1])
            print(f"{name}: {cpu:.2f} s, {peak:.0f} MB", file=sys.stderr)
    print(f"| {given.queries * DEPTH:,} rows | CPU s | peak MB | CPU, pytrec_eval = 1 |")
    print("|---|--:|--:|--:|")
    for name, (cpu, peak) in best.items():
        base = best.get("lists: pytrec_eval" if name.startswith("lists") else "pytrec_eval")
        ratio = f"{cpu / base[0]:.2f}" if base else ""
        print(f"| {name} | {cpu:.2f} | {peak:.0f} | {ratio} |")


if __name__ == "__main__":
    main()
