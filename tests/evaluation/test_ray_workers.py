from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.evaluation.test_workers import samples

from ragstone.errors import UsageError
from ragstone.evaluation import ray_workers
from ragstone.evaluation.ray_workers import RayWorker, _gpus_each
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.worker_processes import WorkerError
from ragstone.evaluation.workers import WorkerSetup
from ragstone.types.config import Plan


def test_ray_needs_its_extra_and_a_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="set workers for the engine ray; each worker uses"):
        evaluate(samples(2), metrics="faithfulness", engine="ray")
    monkeypatch.setattr(ray_workers, "find_spec", {}.get)
    with pytest.raises(UsageError, match=r"ray needs an extra: pip install 'ragstone\[ray\]'"):
        evaluate(samples(2), metrics="faithfulness", engine="ray", workers=2)


class LostError(Exception):
    """What Ray raises if a machine is lost."""


def lost(*_: object, **__: object) -> Any:
    raise LostError("it is lost because Owner's node has crashed")


def nodes(*alive: bool) -> Callable[[], list[dict[str, bool]]]:
    return lambda: [{"Alive": each} for each in alive]


def test_the_run_ends_if_ray_has_no_machine_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real death takes Ray half a minute to notice."""
    started = SimpleNamespace(ready=SimpleNamespace(remote=object))
    remote = SimpleNamespace(remote=lambda *_: started)
    errors = SimpleNamespace(RayTaskError=ZeroDivisionError, RayError=LostError)
    ray = SimpleNamespace(
        exceptions=errors,
        remote=lambda _: SimpleNamespace(options=lambda **_: remote),
        wait=lambda ready, **_: (ready, []),
        get=lost,
        nodes=nodes(False),
    )
    setup = WorkerSetup(Plan(), ())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(WorkerError, match=r"Ray has ended.*`ragstone resume` continues"):
        RayWorker(ray, setup, gpus=0)
    ray.nodes = nodes(False, True)
    with pytest.raises(WorkerError, match=r"ended before it was ready \(Owner's node has crashed"):
        RayWorker(ray, setup, gpus=0)
    ray.nodes = nodes()
    monkeypatch.setenv("RAY_ADDRESS", "auto")  # a cluster may get new machines
    with pytest.raises(WorkerError, match="ended before it was ready"):
        RayWorker(ray, setup, gpus=0)


def test_workers_with_local_models_ask_for_a_share_of_the_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    local, cuda = Plan(judge="local:models/nli"), Plan(judge="local:models/nli,device=cuda")
    assert _gpus_each(Plan(judge="offline"), 2, 4) == 0
    assert [_gpus_each(local, 4, gpus) for gpus in (0, 1, 8)] == [0, 0.25, 1]
    assert _gpus_each(cuda, 4, 2) == 0.5
    with pytest.raises(WorkerError, match="device=cuda needs a GPU, and Ray found none on this"):
        _gpus_each(cuda, 4, 0)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert _gpus_each(cuda, 4, 0) == 1
