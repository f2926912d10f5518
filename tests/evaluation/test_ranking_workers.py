import json
import logging
import os
import re
import signal
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path

import polars as pl
import pytest

from ragstone.errors import InputError, UsageError
from ragstone.evaluation import ranking_workers
from ragstone.evaluation.ranking import RankingEvaluation
from ragstone.evaluation.ranking_workers import RankingWorkers
from ragstone.metrics import load_plugin
from ragstone.reports.worst import worst_samples
from ragstone.results.run import Run
from ragstone.types.config import Plan

QUERIES = 700
PLAN = Plan(metrics=("ndcg", "map", "bpref"), k=(1, 5), workers=2)
LINES = [
    f"q{query} Q0 d{(query * 7 + rank * 3) % 50} {rank} {100 - rank / 2} x\n"
    for query in range(QUERIES)
    for rank in range(query % 5 + 1)
]
QRELS = "".join(
    f"q{q} 0 d{(q * 7 + n) % 50} {n % 3}\n" for q in range(5, QUERIES) for n in (0, 3, 4)
)
PLUGIN = """
import os, signal
from pathlib import Path
from ragstone import register
from ragstone.metrics.retrieval import RankingMetric

@register("deadly")
class Deadly(RankingMetric):
    '''Kills the process that finds document d49 first, or each that finds `poison`.'''

    def value(self, retrieved_ids, relevance):
        if "poison" in retrieved_ids or ("d49" in retrieved_ids and not Path("killed").exists()):
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "d3" in retrieved_ids:
            raise ValueError("d3 was found")
        return 1 / len(retrieved_ids)
"""


@pytest.fixture(autouse=True)
def small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ranking_workers, "SMALLEST", 4_000)
    monkeypatch.setattr(ranking_workers, "LARGEST", 4_000)
    Path("qrels").write_text(QRELS)


def bare(run: Run) -> str:
    """Return summary and rows as text, without times and ids."""
    summary = run.to_dict()
    summary |= {"run_id": "", "started_at": ""}
    return json.dumps([summary, *map(str, run.rows if run.columns else ())])


def write(name: str, lines: list[str]) -> Path:
    """Write a run of TREC in the format of the file's suffix."""
    path = Path(name)
    table = [line.split() for line in lines]
    if path.suffix == ".jsonl":
        ranked: dict[str, list[str]] = {}
        for query, _, document, *_ in table:
            ranked.setdefault(query, []).append(document)
        pairs = [{"query_id": query, "ranking": ids} for query, ids in ranked.items()]
        path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    elif path.suffix == ".parquet":
        columns = {"query_id": 0, "document_id": 2, "score": 4}
        frame = pl.DataFrame({name: [row[at] for row in table] for name, at in columns.items()})
        frame.with_columns(pl.col("score").cast(pl.Float64)).write_parquet(path)
    else:
        path.write_text("".join(lines))
    return path


def test_workers_find_what_one_process_finds_in_each_format() -> None:
    evaluation = RankingEvaluation.of(Path("qrels"), PLAN)
    with RankingWorkers(evaluation) as workers:
        for name in ("run", "run.jsonl", "run.parquet"):
            path = write(name, LINES)
            alone = evaluation.run(path)
            assert len(workers.cut(path)) > 1
            seen: list[int] = []
            run = workers.evaluation.run(path, seen.append, workers=workers)
            assert bare(run) == bare(alone), name
            assert seen == sorted(seen)
            assert seen[-1] == path.stat().st_size
            summed = workers.evaluation.run(path, workers=workers, rows=False)
            assert bare(alone).startswith(bare(summed)[:-1]), name
            assert worst_samples(summed, "ndcg@5") == worst_samples(alone, "ndcg@5")


def test_errors_are_those_of_one_process_and_scattered_lines_are_joined() -> None:
    evaluation = RankingEvaluation.of(Path("qrels"), PLAN)
    wrong = [*LINES]
    wrong[30], wrong[-2] = "q9 Q0 x 1 high x\n", "q699 Q0\n"
    scattered = [*LINES[3:], *LINES[:3]]
    last = LINES[-1].split()[2]
    with RankingWorkers(evaluation) as workers:
        for name, lines in {"wrong": wrong, "empty": [], "twice": [*LINES, LINES[-1]]}.items():
            path = write(name, lines)
            with pytest.raises(InputError) as alone:
                evaluation.run(path)
            with pytest.raises(InputError) as raised:
                workers.evaluation.run(path, workers=workers)
            assert str(raised.value) == str(alone.value)
        assert f"document {last} of query q699 is already at line {len(LINES)}" in str(raised.value)
        path = write("scattered", scattered)
        assert len(workers.cut(path)) > 3
        run = workers.evaluation.run(path, workers=workers)
        assert bare(run) == bare(evaluation.run(path))


def test_a_part_whose_worker_was_killed_is_scored_again(
    module_file: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    load_plugin(module_file("deadly_metric.py", PLUGIN))
    evaluation = RankingEvaluation.of(Path("qrels"), Plan(metrics=("deadly", "ndcg"), workers=2))
    path = write("run", LINES)
    with caplog.at_level(logging.WARNING), RankingWorkers(evaluation) as workers:
        run = workers.evaluation.run(path, workers=workers)
        summed = workers.evaluation.run(path, workers=workers, rows=False)
    assert re.search(
        r"worker process died \(exit code -9.*\); bytes .* of run are scored again", caplog.text
    )
    assert Path("killed").exists()
    alone = evaluation.run(path)
    assert bare(run) == bare(alone)
    assert run.counts.scores["deadly"].failed
    assert summed.summary() == alone.summary()
    poisoned = write("run2", [*LINES[:-1], "q699 Q0 poison 1 1 x\n"])
    with (
        RankingWorkers(evaluation) as workers,
        pytest.raises(
            UsageError, match=r"a worker process died 3 times while it scored .* of run2"
        ),
    ):
        workers.evaluation.run(poisoned, workers=workers)


def test_ctrl_c_ends_the_workers() -> None:
    evaluation = RankingEvaluation.of(Path("qrels"), PLAN)
    path = write("run", LINES)

    def interrupt(done: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), RankingWorkers(evaluation) as workers:
        workers.evaluation.run(path, interrupt, workers=workers)
    assert active_children() == []
