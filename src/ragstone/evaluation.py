"""Evaluation: the one verb, all joined: load, collect, score, record."""

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from threading import Thread
from typing import Unpack
from uuid import uuid4

from ragstone.collection import collecting
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.gates import Gate
from ragstone.judges.base import Judge
from ragstone.messages import public_url
from ragstone.metrics import GROUPS, Metric, RankingMetric, get, select
from ragstone.options import Data, Options, dataset_of, judge_of, plan_of, target_of
from ragstone.plan import Manifest, Plan
from ragstone.readiness import Readiness
from ragstone.run import Interrupted, Row, Run
from ragstone.scoring import rank, scoring
from ragstone.targets.base import Target


def evaluate(data: Data, **options: Unpack[Options]) -> Run:
    """Evaluate samples, from a caller without an event loop of its own or with one.

    Runs in a thread's own loop, so it also works in a notebook. Takes what `Options` names.

    Raises:
        UsageError: what was asked cannot be done; nothing was scored.
        Interrupted: Ctrl-C; its `run` holds the rows that were finished.
    """
    evaluation = Evaluation.of(data, **options)
    loop = asyncio.new_event_loop()
    task = loop.create_task(evaluation.finish())
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            loop.run_until_complete(task)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            outcome.append(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = Thread(target=work, name="ragstone", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)  # in slices: a join without end cannot be interrupted everywhere
    except KeyboardInterrupt:
        with suppress(RuntimeError):  # the loop has ended by itself just now
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise Interrupted(evaluation.record()) from None
    if outcome:
        raise outcome[0]
    return evaluation.record()


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
        finished: the rows with scores, as they come.
    """

    plan: Plan
    dataset: Dataset
    metrics: tuple[Metric, ...]
    not_run: Mapping[str, str]
    judge: Judge
    target: Target | None
    every: bool
    wanted: frozenset[str]
    started_at: datetime
    finished: list[Row]
    on_row: Callable[[Row, int], None] | None

    @classmethod
    def of(cls, data: Data, **options: Unpack[Options]) -> "Evaluation":
        """Check everything that can be checked before the first call.

        Raises:
            UsageError: what was asked cannot be done.
        """
        plan = plan_of(options)
        dataset = dataset_of(data, plan)
        judge = judge_of(options.get("judge", plan.judge))
        selection = select(plan.metrics, k=plan.k, policy=plan.policy)
        named = options.get("target", plan.target)
        target = target_of(named or plan.fallback_target, plan, selection.metrics)
        ready = Readiness.of(
            selection.metrics,
            dataset.samples,
            judge=judge,
            target=target,
            every=named is not None,
        )
        not_run = {**ready.refused, **selection.not_run}
        _check_asked(plan, ready.metrics, not_run)
        return cls(
            plan=_shown(plan).model_copy(update={"gates": _gates(plan, ready.metrics)}),
            dataset=dataset,
            metrics=ready.metrics,
            not_run=not_run,
            judge=judge,
            target=target if ready.wanted else None,
            every=named is not None,
            wanted=ready.wanted,
            started_at=datetime.now(UTC),
            finished=[],
            on_row=options.get("on_row"),
        )

    async def finish(self) -> None:
        """Ask and score every row; `record` tells what came of it, also after a cancellation."""
        rows = [Row(index, sample) for index, sample in enumerate(self.dataset.samples)]
        ranking = [metric for metric in self.metrics if isinstance(metric, RankingMetric)]
        if self.target is None and len(ranking) == len(self.metrics):
            for row in rank(rows, ranking):
                self._keep(row)
            return
        async with AsyncExitStack() as stack:
            source: Iterable[Row] | AsyncIterable[Row] = rows
            concurrency = self.plan.concurrency
            if self.target is not None:
                await stack.enter_async_context(self.target)
                answered = collecting(
                    rows, self.target, self.wanted, every=self.every, concurrency=concurrency
                )
                source = await stack.enter_async_context(answered)
            scored = await stack.enter_async_context(
                scoring(source, self.metrics, self.judge, concurrency=concurrency)
            )
            async for row in scored:
                self._keep(row)

    def _keep(self, row: Row) -> None:
        self.finished.append(row)
        if self.on_row:
            self.on_row(row, len(self.dataset.samples))

    def record(self) -> Run:
        """Return the run of what is finished; partial, if that is not every row."""
        rows = sorted(self.finished, key=lambda row: row.index)
        asking = any(metric.asks for metric in self.metrics)
        manifest = Manifest(
            run_id=f"{self.started_at:%Y%m%d-%H%M%S}-{uuid4().hex[:6]}",
            version=version("ragstone"),
            started_at=self.started_at,
            plan=self.plan,
            source=self.dataset.source,
            judge=self.judge.name if asking else None,
            judge_note=self.judge.description if asking else None,
            target=self.target.name if self.target else None,
            not_run=self.not_run,
        )
        return Run(
            manifest=manifest,
            metrics={str(metric): metric.info() for metric in self.metrics},
            rows=rows,
            extras={
                str(metric): metric.summarise([row.scores[str(metric)] for row in rows])
                for metric in self.metrics
            },
            partial=len(rows) < len(self.dataset.samples),
        )


def _check_asked(plan: Plan, metrics: Sequence[Metric], not_run: Mapping[str, str]) -> None:
    """Refuse a run of nothing, or one that leaves out what was asked for by name."""
    by_name = {
        str(get(name, k=plan.k, policy=plan.policy)) for name in plan.metrics if name not in GROUPS
    }
    refused = {name: why for name, why in not_run.items() if name in by_name or not metrics}
    if refused or not metrics:
        reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
        raise UsageError(f"cannot run {reasons or 'nothing: no metric was named'}")


def _shown(plan: Plan) -> Plan:
    """Return the plan as a record may hold it: without the keys in its URLs."""
    named = {"target": plan.target, "fallback_target": plan.fallback_target}
    return plan.model_copy(update={key: url and public_url(url) for key, url in named.items()})


def _gates(plan: Plan, metrics: Sequence[Metric]) -> tuple[Gate, ...]:
    """Name each gate's metric in full, and refuse one on a metric that is not run."""
    gates: list[Gate] = []
    known = [str(metric) for metric in metrics]
    for gate in plan.gates:
        name = str(get(gate.metric, k=plan.k, policy=plan.policy))
        if name not in known:
            raise UsageError(
                f"the gate {gate.metric}{gate.op}{gate.mark:g} is on a metric that is not run; "
                f"these are: {', '.join(known)}"
            )
        gates.append(gate.model_copy(update={"metric": name}))
    return tuple(gates)
