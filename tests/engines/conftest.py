"""The real engines, each started once, with two CPUs; a machine without one skips its tests."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SPARK = {
    "driver.bindAddress": "127.0.0.1",
    "driver.host": "127.0.0.1",
    "driver.memory": "512m",
    "sql.shuffle.partitions": "1",
    "ui.enabled": "false",
}


def needed(name: str) -> ModuleType:
    """Import a library of an engine; CI has all of them."""
    if "CI" in os.environ:
        return __import__(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder whose modules all processes can import, also those of the engines."""
    folder = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.syspath_prepend(folder)
        yield folder


@pytest.fixture(scope="session")
def ray(modules: Path) -> Iterator[Any]:
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


@pytest.fixture(scope="session")
def spark(modules: Path) -> Iterator[Any]:
    if shutil.which("java") is None and "CI" not in os.environ:
        pytest.skip("Spark needs Java")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        needed("pyspark")
        from pyspark.sql import SparkSession
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2,4]")
        for key, value in SPARK.items():
            builder = builder.config(f"spark.{key}", value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
