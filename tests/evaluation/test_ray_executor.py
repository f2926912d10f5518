import pytest
from tests.evaluation.test_workers import samples

from ragstone.errors import UsageError
from ragstone.evaluation import ray_executor
from ragstone.evaluation.ray_executor import gpus_per_worker
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.workers import WorkerError
from ragstone.types.config import Plan


def test_ray_needs_its_extra_and_a_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="set workers for the engine ray; each worker uses"):
        evaluate(samples(2), metrics="faithfulness", engine="ray")
    monkeypatch.setattr(ray_executor, "find_spec", {}.get)
    with pytest.raises(UsageError, match=r"ray needs an extra: pip install 'ragstone\[ray\]'"):
        evaluate(samples(2), metrics="faithfulness", engine="ray", workers=2)


def test_workers_with_local_models_ask_for_a_share_of_the_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def share(judge: str, workers: int, gpus: float) -> float:
        return gpus_per_worker(Plan(judge=judge, workers=workers), gpus)

    local, cuda = "local:models/nli", "local:models/nli,device=cuda"
    assert share("offline", 2, 4) == 0
    assert [share(local, 4, gpus) for gpus in (0, 1, 8)] == [0, 0.25, 1]
    assert share(cuda, 4, 2) == 0.5
    with pytest.raises(WorkerError, match="device=cuda needs a GPU, and Ray found none on this"):
        share(cuda, 4, 0)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert share(cuda, 4, 0) == 1
