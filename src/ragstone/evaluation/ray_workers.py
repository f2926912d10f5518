"""Workers in Ray: on a cluster, or on this machine, where Ray is started for one evaluation."""

import logging
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO, cast

from ragstone._internal.text import one_line, public_url
from ragstone.errors import UsageError
from ragstone.evaluation.worker_processes import (
    GRACE,
    DeadWorkerError,
    RestartedWorker,
    Scored,
    Setup,
    Shard,
    WorkerError,
    WorkerScorer,
    portable,
)
from ragstone.judges.local.model import LocalSettings
from ragstone.judges.spec import LOCAL, JudgeSpec, single_names
from ragstone.types.config import Plan

OBJECTS = 2**28
"""Bytes of memory for the results that Ray passes on, if it is started here."""
PATIENCE = 30.0
"""Seconds without a started worker after which there is a warning."""
_log = logging.getLogger("ragstone")


def check_ray(plan: Plan) -> None:
    """Raise a UsageError if Ray is not installed, or the number of workers is not set."""
    if "workers" not in plan.model_fields_set:
        raise UsageError("set --workers for the engine ray; each worker uses one CPU of Ray's")
    if find_spec("ray") is None:
        raise UsageError("the engine ray needs an extra: pip install 'ragstone[ray]'")


@contextmanager
def ray_workers(
    setup: Setup[Shard, Scored], number: int
) -> Generator[Callable[[], "RayWorker[Shard, Scored]"], None, None]:
    """Give a function that starts one of `number` workers.

    They are on the cluster that this process is connected to, or else on that of RAY_ADDRESS, or
    else on this machine. Ray's usage statistics are off, unless the cluster was started by others.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before the import
    ray: Any = import_module("ray")
    connects = not ray.is_initialized()
    with _ray_messages_on_stderr():
        if connects:
            _connect(ray, number)  # not in another thread: with its end, Linux would end Ray
        try:
            gpus = _gpus_each(setup.plan, number, ray.cluster_resources().get("GPU", 0))
            yield partial(RayWorker[Shard, Scored], ray, setup, gpus=gpus)
        finally:
            if connects:
                ray.shutdown()


def _gpus_each(plan: Plan, workers: int, gpus: float) -> float:
    judges = [name for name in single_names(plan.judge) if name.startswith(f"{LOCAL}:")]
    on_gpu = [n for n in judges if LocalSettings.of(JudgeSpec.of(n).options).device == "cuda"]
    if on_gpu and not gpus:
        if "RAY_ADDRESS" in os.environ:  # the cluster may start machines that have some
            return 1.0
        raise WorkerError(
            f"the judge {on_gpu[0]} needs a GPU, and Ray found none on this machine; remove "
            "device=cuda, or set RAY_ADDRESS to a cluster that has GPUs"
        )
    return min(1.0, gpus / workers) if judges else 0.0


@contextmanager
def _ray_messages_on_stderr() -> Generator[None, None, None]:
    stdout = sys.stdout

    class Output:
        def __getattr__(self, name: str) -> object:
            is_ray = threading.current_thread().name.startswith("ray_")
            return getattr(sys.stderr if is_ray else stdout, name)

    replaced = cast("TextIO", Output())
    sys.stdout = replaced
    try:
        yield
    finally:
        if sys.stdout is replaced:
            sys.stdout = stdout


def _connect(ray: Any, number: int) -> None:
    address = os.environ.get("RAY_ADDRESS")
    here: Mapping[str, object] = {
        "address": "local",
        "num_cpus": number,
        "include_dashboard": False,
        "object_store_memory": OBJECTS,
    }
    try:
        ray.init(
            **({} if address else here),
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
    except Exception as error:
        what = f"be reached at RAY_ADDRESS={public_url(address)}" if address else "be started"
        raise WorkerError(f"Ray cannot {what}: {one_line(str(error), 300)}") from error


class RayWorker(RestartedWorker[Shard, Scored]):
    """An actor of Ray with one CPU, on any machine of the cluster."""

    kind = "Ray worker"
    unready = "each machine of the cluster needs the same version of ragstone, with its extras"
    unusable = (
        "Each machine needs the modules of your own metrics and judges, files at the same absolute "
        "paths, and keys in its environment; see `runtime_env` in Ray's documentation"
    )

    def __init__(self, ray: Any, setup: Setup[Shard, Scored], *, gpus: float) -> None:
        self._ray, self._gpus = ray, gpus
        self._made = ray.remote(RayScorer).options(num_cpus=1, num_gpus=gpus)
        super().__init__(setup)

    def _open(self) -> Exception | None:
        ray = self._ray
        self._actor = self._made.remote(self._setup, _log.getEffectiveLevel())
        ready = self._actor.ready.remote()
        if not ray.wait([ready], timeout=PATIENCE)[0]:
            kind, each = ("GPU", f"{self._gpus:g} GPUs") if self._gpus else ("CPU", "a CPU")
            found = ray.cluster_resources().get(kind, 0), ray.available_resources().get(kind, 0)
            _log.warning(
                "Ray has not started a worker for %d s; each needs %s, and the cluster has %g "
                "(%g free). Stop other jobs, add machines, or set fewer --workers",
                *(PATIENCE, each, *found),
            )
            self._check_nodes()
        return self._received(ready)

    def _ask(self, shard: Shard) -> Scored | Exception:
        return self._received(self._actor.score.remote(shard))

    def _received(self, reference: object) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            text = " ".join(str(error).split())
            self._check_nodes()
            raise DeadWorkerError(one_line(text.partition("because ")[2] or text, 300)) from error

    def _check_nodes(self) -> None:
        if "RAY_ADDRESS" not in os.environ and not any(n["Alive"] for n in self._ray.nodes()):
            raise WorkerError(
                "Ray has ended, because one of its processes was killed or its machine failed; "
                "`ragstone resume` continues with the rows that are stored"
            )

    def stop(self, *, at_once: bool) -> None:
        """End the actor; it closes its judge unless it has to end at once."""
        self._stopped = True
        with suppress(self._ray.exceptions.RayError):  # it has died, or does not answer
            if not at_once:
                self._ray.get(self._actor.close.remote(), timeout=GRACE)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)  # else it would occupy a CPU


class RayScorer:
    """What an actor runs; it returns exceptions, because Ray would change those it raises."""

    def __init__(self, setup: Setup[Any, Any], log_level: int) -> None:
        self._problem: Exception | None = None
        try:
            self._scorer = WorkerScorer(setup, log_level)
        except Exception as error:  # noqa: BLE001 - raised again in the main process
            self._problem = portable(error)

    def ready(self) -> Exception | None:
        """Return why it cannot be used, if it cannot."""
        return self._problem

    def score(self, shard: object) -> object:
        try:
            return self._scorer.score(shard)
        except Exception as error:  # noqa: BLE001 - raised again in the main process
            return portable(error)

    def close(self) -> None:
        self._scorer.close()
