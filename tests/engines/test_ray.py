import logging
import sys
from pathlib import Path

import pytest
from tests.evaluation.test_workers import JUDGE, METRICS, bare, samples

from ragstone.errors import UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.workers import RayExecutor
from ragstone.judges.offline.judge import OfflineJudge
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


def test_workers_share_the_gpus(ray) -> None:
    """One GPU is pretended; each of two workers gets half of it."""
    for judge, expected in (("local:models/nli,device=cuda", [0]), ("offline", [])):
        with RayExecutor(Plan(judge=judge, workers=2)) as executor:
            tasks = [executor.submit(ray.get_gpu_ids) for _ in range(2)]
            assert [task.result() for task in tasks] == [expected] * 2
    assert ray.is_initialized()


class Local(OfflineJudge):
    """A judge that no other process can import."""


def test_a_judge_that_workers_cannot_import_is_reported(ray, monkeypatch) -> None:
    monkeypatch.setattr(Local, "__module__", "no_such_module")
    monkeypatch.setitem(sys.modules, "no_such_module", sys.modules[__name__])
    with pytest.raises(UsageError, match="a Ray worker cannot be set up: the judge cannot be im"):
        evaluate(samples(2), metrics="faithfulness", judge=Local(), workers=2, engine="ray")
