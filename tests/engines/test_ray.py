import logging
import sys
import tempfile
from pathlib import Path

import pytest
from tests.evaluation.test_ranking_workers import LINES, PLUGIN, QRELS, write
from tests.evaluation.test_ranking_workers import bare as bare_ranking
from tests.evaluation.test_workers import JUDGE, METRICS, bare, samples

from ragstone.errors import UsageError
from ragstone.evaluation import ranking_workers
from ragstone.evaluation.ranking import RankingEvaluation
from ragstone.evaluation.ranking_workers import RankingWorkers
from ragstone.evaluation.ray_workers import ray_workers
from ragstone.evaluation.runner import evaluate
from ragstone.judges.offline.judge import OfflineJudge
from ragstone.metrics import load_plugin
from ragstone.types.config import Plan

pytestmark = pytest.mark.xdist_group("ray")


def test_two_workers_of_which_one_is_killed_find_what_one_process_finds(
    ray, module_file, caplog, capsys
) -> None:
    module_file("ray_judge.py", JUDGE)
    sys.path.insert(0, str(Path.cwd()))
    from ray_judge import Worded

    alone = evaluate(samples(), metrics=METRICS, judge=OfflineJudge())
    seen: list[int] = []
    with caplog.at_level(logging.WARNING):
        run = evaluate(
            samples(),
            metrics=METRICS,
            judge=Worded(),
            workers=2,
            engine="ray",
            store="runs.db",
            on_row=lambda row, _: seen.append(row.index),
        )
    assert Path("killed").exists()
    assert sorted(seen) == list(range(200))
    assert bare(run).replace("worded", "offline") == bare(alone)
    assert "a Ray worker died" in caplog.text
    assert "scored again" in caplog.text
    assert capsys.readouterr().out == ""  # Ray prints the death there, where results may be
    assert ray.is_initialized()


def test_workers_rank_as_one_process_does_also_without_its_files(
    ray, tmp_path, module_file, monkeypatch, caplog
) -> None:
    """The second time, the workers read the judgments, as they do on other machines."""
    load_plugin(module_file("deadly_metric.py", PLUGIN))
    monkeypatch.setattr(ranking_workers, "SMALLEST", 4_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path("qrels").write_text(QRELS)
    path = write("run", LINES)
    plan = Plan(metrics=("deadly", "ndcg"), workers=2, engine="ray")
    evaluation = RankingEvaluation.of(Path("qrels"), plan)
    with caplog.at_level(logging.WARNING), RankingWorkers(evaluation) as workers:
        found = workers.evaluation.run(path, workers=workers)
    assert "a Ray worker died" in caplog.text
    alone = evaluation.run(path)
    assert bare_ranking(found) == bare_ranking(alone)
    with RankingWorkers(evaluation) as workers:
        (file,) = tmp_path.glob("ragstone-*/evaluation")
        file.unlink()
        found = workers.evaluation.run(path, workers=workers, rows=False)
    assert found.summary() == alone.summary()


GPUS = """
import ray
from dataclasses import dataclass
from ragstone.types.config import Plan

@dataclass(frozen=True)
class Scored:
    gpus: list[int]
    logs: tuple = ()

@dataclass(frozen=True)
class Setup:
    plan: Plan
    folder: str = "."
    version: str = ""

    def for_process(self):
        return self

    def scorer(self):
        return self

    def describe(self, shard):
        return ""

    def score(self, shard):
        return Scored(ray.get_gpu_ids())

    def close(self):
        pass
"""


def test_workers_share_the_gpus(ray, modules) -> None:
    """One GPU is pretended; each of two workers gets half of it."""
    (modules / "gpu_setup.py").write_text(GPUS)
    from gpu_setup import Setup

    for judge, expected in (("local:models/nli,device=cuda", [0]), ("offline", [])):
        with ray_workers(Setup(Plan(judge=judge), str(Path.cwd())), 2) as start:
            workers = [start(), start()]
            assert [worker.score(None).gpus for worker in workers] == [expected] * 2
            for worker in workers:
                worker.stop(at_once=True)


class Local(OfflineJudge):
    """A judge that no other process can import."""


def test_a_judge_that_workers_cannot_import_is_reported(ray, monkeypatch) -> None:
    monkeypatch.setattr(Local, "__module__", "no_such_module")
    monkeypatch.setitem(sys.modules, "no_such_module", sys.modules[__name__])
    with pytest.raises(UsageError, match="a Ray worker cannot be set up: the judge cannot be im"):
        evaluate(samples(2), metrics="faithfulness", judge=Local(), workers=2, engine="ray")
