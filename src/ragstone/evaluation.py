"""Evaluation: the one verb, all joined: load, collect, score, record."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Unpack, cast

from ragstone.budget import Budget
from ragstone.collection import collecting
from ragstone.datasets import Dataset
from ragstone.errors import TargetError
from ragstone.judge_names import begins_free, is_free
from ragstone.judges.base import Judge
from ragstone.judges.tracing import UNTRACED, Tracing
from ragstone.keeping import Keeping, open_recorder
from ragstone.manifests import manifest_of
from ragstone.metrics import Metric, RankingMetric, select
from ragstone.options import Data, Options, dataset_of, judge_of, plan_of, target_of
from ragstone.plan import Manifest, Plan
from ragstone.readiness import Readiness, check_asked
from ragstone.recording import Recorder
from ragstone.rows import Row
from ragstone.run import Run, RunInterruptedError
from ragstone.scoring import AT_ONCE, ranked, scoring
from ragstone.targets.base import Target
from ragstone.workers import finish_in_thread


def evaluate(data: Data, **options: Unpack[Options]) -> Run:
    """Evaluate samples, from a caller without an event loop of its own or with one.

    Runs in a thread's own loop, so it also works in a notebook. `data` is a file, what `load` read
    of one, samples, or mappings of their fields. `ragstone.options.Options` has all options; most
    used: `metrics` (names, groups or Metric objects; all), `k` (5), `target` (URL, YAML file,
    module:function, a function, or a Target), `judge` ("offline", "openai:gpt-4o-mini", or a
    Judge), `policy`, `preset`, `max_calls`, `fail_under`, `config`.

    Raises:
        UsageError: what was asked cannot be done; nothing was scored.
        RunInterruptedError: Ctrl-C; its `run` holds the rows that were finished.
    """
    return Evaluation.of(data, **options).finished()


async def evaluate_async(data: Data, **options: Unpack[Options]) -> Run:
    """Evaluate samples within the caller's event loop; as `evaluate` in all else."""
    evaluation = Evaluation.of(data, **options)
    await evaluation.finish()
    return evaluation.record()


@dataclass(frozen=True)
class Evaluation:
    """One evaluation, checked and ready to run.

    Attributes:
        every: whether the target is asked for every row, or only where a row lacks what is wanted.
        wanted: the Sample fields that the target is asked for; empty if it is not asked.
        manifest: what it was asked to do, and what it is done with.
        recording: where the finished rows go.
    """

    plan: Plan
    dataset: Dataset
    metrics: tuple[Metric, ...]
    not_run: Mapping[str, str]
    judge: Judge
    budget: Budget
    target: Target | None
    every: bool
    wanted: frozenset[str]
    manifest: Manifest
    recording: Recorder
    on_row: Callable[[Row, int], None] | None
    tracing: Tracing

    @classmethod
    def of(cls, data: Data, **options: Unpack[Options]) -> "Evaluation":
        """Check everything that can be checked before the first call.

        Raises:
            UsageError: what was asked cannot be done.
        """
        plan = plan_of(options)
        dataset = dataset_of(data, plan)
        metrics = select(plan.metrics, **plan.parameters)
        budget = Budget(plan.max_calls, plan.max_cost)
        judge = judge_of(options, plan, budget, metrics=metrics)
        if not isinstance(options.get("judge", plan.judge), str):
            plan = plan.model_copy(update={"judge": judge.name})
        named = options.get("target", plan.target)
        target = target_of(_spare(plan, dataset) if named is None else named, plan, metrics=metrics)
        every = named is not None
        ready = Readiness.of(metrics, dataset, judge=judge, target=target, every=every)
        check_asked(plan, ready.metrics, ready.refused)
        asked = target if ready.wanted else None
        manifest = manifest_of(plan, dataset=dataset, ready=ready, judge=judge, target=asked)
        recording, notices = open_recorder(manifest, ready.metrics, **_kept(options))
        list(map(options.get("on_notice", str), notices))
        return cls(
            plan=manifest.plan,
            dataset=dataset,
            metrics=ready.metrics,
            not_run=ready.refused,
            judge=judge,
            budget=budget,
            target=asked,
            every=every,
            wanted=ready.wanted,
            manifest=recording.manifest,
            recording=recording,
            on_row=options.get("on_row"),
            tracing=options.get("tracing", UNTRACED),
        )

    async def finish(self) -> None:
        """Ask and score every row; `record` tells what came of it, also after a cancellation."""
        ranking = [metric for metric in self.metrics if isinstance(metric, RankingMetric)]
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.recording)
            rows = self._rows() if self.target else ranked(self._rows(), ranking)
            unwatched = self.target is None and self.tracing is UNTRACED
            if unwatched and len(ranking) == len(self.metrics):
                for number, row in enumerate(rows):
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)  # else nothing could end the run before its end
                    await self._keep(row)
                return
            source: Iterable[Row] | AsyncIterable[Row] = self._affordable(rows)
            concurrency = self.plan.concurrency
            if self._asks:
                await stack.enter_async_context(self.judge)
            if self.target is not None:
                await stack.enter_async_context(self._ready(self.target))
                answered = collecting(
                    source,
                    self.target,
                    wanted=self.wanted,
                    every=self.every,
                    concurrency=concurrency,
                )
                source = await stack.enter_async_context(answered)
            watched = partial(self.tracing.scorer, manifest=self.manifest)
            scored = await stack.enter_async_context(
                scoring(source, self.metrics, self.judge, concurrency=concurrency, around=watched)
            )
            async for row in scored:
                await self._keep(row)

    def finished(self) -> Run:
        """Run in a thread of its own; Ctrl-C raises RunInterruptedError with the rows so far."""
        try:
            finish_in_thread(self.finish)
        except KeyboardInterrupt:
            raise RunInterruptedError(self.record()) from None
        return self.record()

    @asynccontextmanager
    async def _ready(self, target: Target) -> AsyncGenerator[None, None]:
        """Open the target; where nobody named it, a failure says what it is asked for."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(target)
            except TargetError as error:
                if self.every:
                    raise
                wanted = " or ".join(sorted(self.wanted))
                raise TargetError(f"{error}\nIt is asked as no row has {wanted}.") from error
            yield

    def _rows(self) -> Iterator[Row]:
        """Yield the rows to work on."""
        for index, sample in enumerate(self.dataset.samples):
            if index not in self.recording.done:
                yield Row(index, sample, lacking=self.dataset.lacking.get(index, {}))

    def _affordable(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows until the budget is spent."""
        return takewhile(lambda _: not self._spent, rows)

    @property
    def _asks(self) -> bool:
        return any(metric.question_kinds for metric in self.metrics)

    @property
    def _spent(self) -> str | None:
        """What is spent, in words; None as long as a row may need nothing of it.

        What costs nothing needs no budget: the offline judge, and models on this machine. Where
        they come first, in a cascade, only the row itself can tell, if its claims cost nothing;
        but no target is asked for rows that may come to nothing.
        """
        spent = self.budget.spent
        if spent is None or not self._asks:
            return None
        may_be_free = self.plan.claims == "sentences" and not self.target
        free = is_free(self.plan.judge) or (may_be_free and begins_free(self.plan.judge))
        return None if free and self.plan.embedding_model is None else spent

    async def _keep(self, row: Row) -> None:
        await self.recording.keep(row)
        if self.on_row:
            self.on_row(row, len(self.dataset.samples) - len(self.recording.done))

    def record(self) -> Run:
        """Return the run of what is finished; partial, if that is not every row."""
        tally = self.recording.tally
        unfinished = tally.rows < len(self.dataset.samples)
        stopped = self.budget.spent if tally.over_budget or (unfinished and self._spent) else None
        return self.recording.run(partial=unfinished, stopped=stopped)


def _spare(plan: Plan, dataset: Dataset) -> str | None:
    """Return the target to ask where nobody named one; saved answers are asked for once only."""
    return None if dataset.collected else plan.fallback_target


def _kept(options: Options) -> Keeping:
    """Return what the options say of where rows are kept."""
    names = Keeping.__annotations__.keys() & options.keys()
    return cast("Keeping", {name: options[name] for name in names})
