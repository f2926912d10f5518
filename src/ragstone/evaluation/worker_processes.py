"""Worker processes: they score shards of any kind, and are started again if they die."""

import logging
import os
import pickle
import signal
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import Field, replace
from logging.handlers import QueueHandler
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from ragstone.errors import UsageError
from ragstone.types.config import Plan

GRACE = 10.0
"""Seconds that running shards get to finish when the run is stopped."""
MOST_DEATHS = 3
"""Deaths of workers on one shard after which the run stops."""
_log = logging.getLogger("ragstone")


class WorkerError(UsageError):
    """Workers cannot be started, or die again and again on the same rows."""


class Logged(Protocol):
    """A dataclass with what a worker logged."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def logs(self) -> Sequence[logging.LogRecord]: ...


Shard = TypeVar("Shard", contravariant=True)
Scored = TypeVar("Scored", bound=Logged, covariant=True)


class Scorer(Protocol[Shard, Scored]):
    """Scores shards in this process."""

    def score(self, shard: Shard, /) -> Scored: ...

    def close(self) -> None: ...


class Setup(Protocol[Shard, Scored]):
    """What a worker makes its scorer from; it can be pickled."""

    @property
    def plan(self) -> Plan: ...

    @property
    def folder(self) -> str: ...

    @property
    def version(self) -> str: ...

    def scorer(self) -> Scorer[Shard, Scored]: ...

    def for_process(self) -> Self: ...

    def describe(self, shard: Shard, /) -> str: ...


class Worker(Protocol[Shard, Scored]):
    """Scores shards in another process; called from any thread, one call at a time."""

    def score(self, shard: Shard, /) -> Scored: ...

    def stop(self, *, at_once: bool) -> None: ...


class DeadWorkerError(Exception):
    """A worker has died; the text is why."""


class RestartedWorker(ABC, Generic[Shard, Scored]):
    """A worker in another process that is started again if it dies; a subclass starts one kind.

    Attributes:
        kind: what it is called in messages.
        unready: what to do if it ends before it is ready.
        unusable: what it needs, for the message that it cannot be set up.
    """

    kind: str
    unready: str
    unusable: str

    def __init__(self, setup: Setup[Shard, Scored]) -> None:
        self._setup = setup
        self._stopped = self._dead = False
        try:
            self._start()
        except DeadWorkerError as error:
            raise WorkerError(
                f"a {self.kind} ended before it was ready ({error}); {self.unready}"
            ) from error

    def _start(self) -> None:
        self._setup = self._setup.for_process()
        problem = self._open()
        if isinstance(problem, UsageError):
            raise WorkerError(f"a {self.kind} cannot be set up: {problem}. {self.unusable}")
        if problem is not None:
            raise problem
        self._dead = False

    @abstractmethod
    def _open(self) -> Exception | None:
        """Start the process; return what it raised, if it cannot score."""

    @abstractmethod
    def _ask(self, shard: Shard) -> Scored | Exception:
        """Return the result of a shard, or what the process raised."""

    def score(self, shard: Shard) -> Scored:
        rows, why = self._setup.describe(shard), ""
        for left in reversed(range(MOST_DEATHS)):
            try:
                if self._dead:
                    self._start()
                found = self._ask(shard)
            except DeadWorkerError as death:
                self._dead, why = True, str(death)
                if self._stopped:
                    break
                again = "scored again" if left else "given up"
                _log.warning("a %s died (%s); %s are %s", self.kind, why, rows, again)
                continue
            if isinstance(found, Exception):
                raise found
            return found
        raise WorkerError(
            f"a {self.kind} died {MOST_DEATHS} times while it scored {rows}: {why}; a smaller "
            "data set with these rows shows which row it is"
        )


class ProcessWorker(RestartedWorker[Shard, Scored]):
    """A worker process.

    A ProcessPoolExecutor would end all processes if one dies, and could not name its rows.
    """

    kind = "worker process"
    unready = "in a script, call evaluate() below `if __name__ == '__main__':`"
    unusable = "Your own metrics and judges must be in a module, and metrics loaded with --plugin"

    def _open(self) -> Exception | None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        serving = (theirs, self._setup, _log.getEffectiveLevel())
        self._process = context.Process(target=_serve, args=serving, daemon=True)
        self._process.start()
        theirs.close()
        return self._received()

    def _ask(self, shard: Shard) -> Scored | Exception:
        with suppress(OSError):  # then nothing is received
            self._pipe.send(shard)
        return self._received()

    def _received(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode
            hint = ", which often means too little memory" if code == -9 else ""
            raise DeadWorkerError(f"exit code {code}{hint}") from error

    def stop(self, *, at_once: bool) -> None:
        """End the process; it closes its judge unless it has to end at once."""
        self._stopped = True
        if not at_once:
            self._pipe.close()
            self._process.join(GRACE)
        self._process.kill()
        self._process.join()


class WorkerScorer(Generic[Shard, Scored]):
    """Scores shards in the process of a worker, and returns with them what was logged."""

    def __init__(self, setup: Setup[Shard, Scored], log_level: int) -> None:
        sys.stdout = sys.stderr  # prints of user code must not mix with results
        self._logs: SimpleQueue[logging.LogRecord] = SimpleQueue()
        _log.addHandler(QueueHandler(self._logs))
        _log.setLevel(log_level)
        _log.propagate = False
        with suppress(OSError):
            os.chdir(setup.folder)
        if setup.folder not in sys.path:  # as for plugins
            sys.path.insert(0, setup.folder)
        self._scorer = setup.scorer()

    def score(self, shard: Shard) -> Scored:
        found = self._scorer.score(shard)
        return replace(found, logs=[self._logs.get() for _ in range(self._logs.qsize())])

    def close(self) -> None:
        self._scorer.close()


def _serve(pipe: Connection, setup: Setup[Any, Any], log_level: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the run is over
        try:
            scorer = WorkerScorer(setup, log_level)
            pipe.send(None)
            try:
                while True:
                    pipe.send(scorer.score(pipe.recv()))
            finally:
                scorer.close()
        except Exception as error:  # noqa: BLE001 - raised again in the parent
            if not isinstance(error, EOFError | OSError):
                pipe.send(portable(error))


def portable(error: Exception) -> Exception:
    """Return the error, or one with its text if it cannot be passed to another process."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):  # noqa: S301 - our own bytes
            return error
    except Exception:  # noqa: BLE001, S110 - what third-party exceptions raise here
        pass
    kind = UsageError if isinstance(error, UsageError) else RuntimeError
    return kind("".join(traceback.format_exception_only(error)).strip())
