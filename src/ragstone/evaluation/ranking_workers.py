"""Workers of a ranking: processes that read parts of the file, and score them."""

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Self

from ragstone._internal.files import load_mapped, write_mapped
from ragstone._internal.plugins import plugin_of
from ragstone.datasets.rankings.files import problems_of, ranking_parts, read_ranking
from ragstone.datasets.rankings.join import TieRule
from ragstone.errors import InputError, RagstoneError, UsageError
from ragstone.evaluation.ranking import (
    INCOMPLETE,
    Missing,
    RankedPart,
    RankingEvaluation,
    ScoredQueries,
)
from ragstone.evaluation.ray_workers import check_ray, ray_workers
from ragstone.evaluation.worker_processes import ProcessWorker, Worker
from ragstone.metrics import get, load_plugin
from ragstone.metrics.retrieval import RankingMetric
from ragstone.types.config import Plan

SMALLEST, LARGEST = 1 << 20, 1 << 25
"""Bytes of a part: a dead worker loses as much, and progress moves as often."""
EACH = 4
"""Parts per worker, if they are not too small."""


@dataclass(frozen=True)
class Part:
    """A part of a ranking: bytes of a text file, or rows of a table.

    Attributes:
        size: bytes of the whole file.
        rows: whether its scores are returned, not only their counts.
    """

    path: Path
    size: int
    place: range
    rows: bool


@dataclass(frozen=True)
class PartSetup:
    """What a worker makes its scorer from.

    Attributes:
        evaluation: the file that has the evaluation without its metrics, on the first machine.
        source: the judgments, which other machines read.
        fingerprint: that of the judgments.
    """

    evaluation: Path
    plan: Plan
    source: Path
    fingerprint: str
    missing: Missing
    ties: TieRule
    metrics: tuple[str, ...]
    plugins: tuple[str, ...]
    folder: str
    version: str = field(default_factory=partial(version, "ragstone"))

    def scorer(self) -> "PartScorer":
        return PartScorer(self)

    def for_process(self) -> Self:
        return self

    @staticmethod
    def describe(part: Part) -> str:
        unit = "rows" if problems_of(part.path).unit == "row" else "bytes"
        return f"{unit} {part.place.start + 1:,} to {part.place.stop:,} of {part.path.name}"


class PartScorer:
    """Scores parts in this process; the judgments are in memory once for all processes."""

    def __init__(self, setup: PartSetup) -> None:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")  # the other processes use the other cores
        for plugin in setup.plugins:
            load_plugin(plugin)
        if setup.evaluation.is_file():
            evaluation = load_mapped(setup.evaluation, RankingEvaluation)
        else:
            evaluation = RankingEvaluation.of(
                setup.source, setup.plan, missing=setup.missing, ties=setup.ties
            )
            if evaluation.judgments.fingerprint != setup.fingerprint:
                raise UsageError(f"{setup.source} has other judgments on a worker's machine")
        metrics = map(get, setup.metrics)
        ranking = tuple(metric for metric in metrics if isinstance(metric, RankingMetric))
        self._evaluation = replace(evaluation, metrics=ranking)

    def score(self, part: Part) -> RankedPart:
        if not part.path.is_file() or part.path.stat().st_size != part.size:
            raise UsageError(f"{part.path} is missing or another file on a worker's machine")
        problems = problems_of(part.path)
        queries = ScoredQueries(self._evaluation, rows=part.rows)
        columns = self._evaluation.plan.columns
        with suppress(RagstoneError):
            for batch in read_ranking(part.path, problems, columns, part=part.place):
                if not queries.add(batch, problems):
                    return INCOMPLETE
            return queries.part(problems)
        return INCOMPLETE

    def close(self) -> None:
        """Do nothing: nothing is open."""


class RankingWorkers:
    """Processes that read and score parts of rankings; use as `with`.

    The parts of a file are scored in any order and merged in theirs. So the result is that of one
    process.


    Attributes:
        evaluation: what they evaluate, with judgments in memory that they share.
    """

    def __init__(
        self,
        evaluation: RankingEvaluation,
        start: Callable[[PartSetup], Worker[Part, RankedPart]] = ProcessWorker[Part, RankedPart],
    ) -> None:
        self._number = evaluation.plan.workers
        self._start = start
        self._stack = ExitStack()
        self._workers: list[Worker[Part, RankedPart]] = []
        self._idle: SimpleQueue[Worker[Part, RankedPart]] = SimpleQueue()
        self._given = evaluation

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="ragstone-")))
        file = folder / "evaluation"
        metrics, texts = self._given.metrics, self._given.texts
        write_mapped(file, replace(self._given, metrics=(), texts={}))
        self.evaluation = replace(
            load_mapped(file, RankingEvaluation), metrics=metrics, texts=texts
        )
        del self._given
        plugins = dict.fromkeys(filter(None, (plugin_of(type(metric)) for metric in metrics)))
        setup = PartSetup(
            evaluation=file,
            plan=self.evaluation.plan,
            source=self.evaluation.source.resolve(),
            fingerprint=self.evaluation.judgments.fingerprint,
            missing=self.evaluation.missing,
            ties=self.evaluation.ties,
            metrics=tuple(map(str, metrics)),
            plugins=tuple(plugins),
            folder=str(Path.cwd()),
        )
        self._make: Callable[[], Worker[Part, RankedPart]] = partial(self._start, setup)
        if self.evaluation.plan.engine == "ray":
            check_ray(self.evaluation.plan)
            self._make = self._stack.enter_context(ray_workers(setup, self._number))
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        for worker in self._workers:
            worker.stop(at_once=kind is not None)
        self._stack.close()

    def cut(self, ranking: Path) -> Sequence[range]:
        size = ranking.stat().st_size // (EACH * self._number) if ranking.is_file() else 0
        within = min(max(size, SMALLEST), LARGEST)
        return ranking_parts(ranking, self.evaluation.plan.columns, within)

    def score(
        self, ranking: Path, queries: ScoredQueries, on_read: Callable[[int], None] | None
    ) -> bool:
        try:
            places = self.cut(ranking)
        except InputError:
            return False
        if len(places) < 2:
            return False
        size = ranking.stat().st_size
        parts = [Part(ranking.resolve(), size, place, queries.rows) for place in places]
        with ThreadPoolExecutor(self._number) as threads:
            try:
                started = [
                    threads.submit(self._add) for _ in range(len(self._workers), self._number)
                ]
                for each in started:
                    each.result()
                for part, found in zip(parts, threads.map(self._score, parts), strict=True):
                    if not queries.merge(found):
                        return False
                    if on_read:
                        on_read(size * part.place.stop // places[-1].stop)
            finally:
                threads.shutdown(cancel_futures=True)
        return True

    def _add(self) -> None:
        worker = self._make()
        self._workers.append(worker)
        self._idle.put(worker)

    def _score(self, part: Part) -> RankedPart:
        worker = self._idle.get()
        try:
            found = worker.score(part)
        finally:
            self._idle.put(worker)
        for record in found.logs:
            logging.getLogger(record.name).handle(record)
        return found
