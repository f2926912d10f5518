"""Ray as an executor: on a cluster, or on this machine, where Ray is started for one evaluation."""

import logging
import os
import sys
import threading
from concurrent.futures import Executor
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO, cast

from ragstone._internal.text import one_line, public_url
from ragstone.errors import UsageError
from ragstone.evaluation.workers import WorkerError
from ragstone.judges.local.model import LocalSettings
from ragstone.judges.spec import LOCAL, JudgeSpec, single_names
from ragstone.types.config import Plan

OBJECTS = 2**28
"""Bytes of memory for the results that Ray passes on, if it is started here."""


def check_ray(plan: Plan) -> None:
    """Raise a UsageError if Ray is not installed, or the number of workers is not set."""
    if "workers" not in plan.model_fields_set:
        raise UsageError("set --workers for the engine ray; each worker uses one CPU of Ray's")
    if find_spec("ray") is None:
        raise UsageError("the engine ray needs an extra: pip install 'ragstone[ray]'")


class RayExecutor(Executor):
    """Runs functions as Ray tasks, each with one CPU, and a share of the GPUs for local models.

    It uses the connection of this process, or else the cluster of RAY_ADDRESS, or else this
    machine. Ray's usage statistics are off, unless the cluster was started by others.
    """

    def __init__(self, plan: Plan) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before the import
        self._ray: Any = import_module("ray")
        self._running: set[Any] = set()
        self._stdout, sys.stdout = sys.stdout, cast("TextIO", _WithoutRay(sys.stdout))
        self._connects = not self._ray.is_initialized()
        try:
            if self._connects:
                self._connect(plan.workers)
            gpus = gpus_per_worker(plan, self._ray.cluster_resources().get("GPU", 0))
        except BaseException:
            self.shutdown()
            raise
        # max_calls=0: a process is used again, with its judge. max_retries=0: WorkerPool retries
        remote = self._ray.remote(num_cpus=1, num_gpus=gpus, max_calls=0, max_retries=0)
        self._call = remote(_call)

    def _connect(self, workers: int) -> None:
        address = os.environ.get("RAY_ADDRESS")
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        if not address:
            options |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
            options["object_store_memory"] = OBJECTS
        try:
            self._ray.init(**options)
        except Exception as error:
            what = f"be reached at RAY_ADDRESS={public_url(address)}" if address else "be started"
            raise WorkerError(f"Ray cannot {what}: {one_line(str(error), 300)}") from error

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        reference = self._call.remote(fn, args, kwargs)

        def forget(_: object) -> None:
            self._running.discard(reference)

        self._running.add(reference)
        future = reference.future()
        future.add_done_callback(forget)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        for reference in [*self._running]:
            self._ray.cancel(reference, force=True)
        if self._connects:
            self._ray.shutdown()
        if isinstance(sys.stdout, _WithoutRay):
            sys.stdout = self._stdout


def _call(function: Any, args: Any, kwargs: Any) -> object:
    return function(*args, **kwargs)


class _WithoutRay:
    """Standard output; what Ray's own threads print goes to standard error instead."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def __getattr__(self, name: str) -> Any:
        is_ray = threading.current_thread().name.startswith("ray_")
        return getattr(sys.stderr if is_ray else self._stdout, name)


def gpus_per_worker(plan: Plan, gpus: float) -> float:
    judges = [name for name in single_names(plan.judge) if name.startswith(f"{LOCAL}:")]
    on_gpu = [n for n in judges if LocalSettings.of(JudgeSpec.of(n).options).device == "cuda"]
    if on_gpu and not gpus:
        if "RAY_ADDRESS" in os.environ:  # the cluster may start machines that have some
            return 1.0
        raise WorkerError(
            f"the judge {on_gpu[0]} needs a GPU, and Ray found none on this machine; remove "
            "device=cuda, or set RAY_ADDRESS to a cluster that has GPUs"
        )
    return min(1.0, gpus / plan.workers) if judges else 0.0
