"""The real engines, each started once, with two CPUs; a machine without one skips its tests."""

import os
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


def needed(name: str) -> ModuleType:
    """Import a library of an engine; CI has all of them."""
    if "CI" in os.environ:
        return __import__(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = needed("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=10**9,
            log_to_driver=False,
            logging_level="ERROR",
        )
    yield ray
    ray.shutdown()
