import pytest
from tests.evaluation.test_workers import samples

from ragstone.errors import UsageError
from ragstone.evaluation import ray_workers
from ragstone.evaluation.runner import evaluate


def test_ray_needs_its_extra_and_a_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="set workers for the engine ray; each worker uses"):
        evaluate(samples(2), metrics="faithfulness", engine="ray")
    monkeypatch.setattr(ray_workers, "find_spec", {}.get)
    with pytest.raises(UsageError, match=r"ray needs an extra: pip install 'ragstone\[ray\]'"):
        evaluate(samples(2), metrics="faithfulness", engine="ray", workers=2)
