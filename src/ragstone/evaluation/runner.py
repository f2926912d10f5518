"""Evaluation: the one verb, all joined: load, collect, score, record."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Literal, Unpack, cast

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.rate_limit import Budget
from ragstone.datasets import Dataset, load, samples_of
from ragstone.errors import TargetError, UnknownNameError, UsageError
from ragstone.evaluation.ask_target import ask_target
from ragstone.evaluation.config_file import Config, read_config
from ragstone.evaluation.fingerprint import manifest_of
from ragstone.evaluation.preflight import Preflight
from ragstone.evaluation.recorder import Recorder, StoreOptions, open_recorder
from ragstone.evaluation.scoring import BATCH, score_retrieval_in_batches, score_rows
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.judges.router import RouterJudge
from ragstone.judges.spec import begins_free, is_free
from ragstone.metrics import Metric, RankingMetric, load_plugin, select
from ragstone.results.run import Run, RunInterruptedError
from ragstone.targets import Target as OptionsTarget
from ragstone.targets import get_target
from ragstone.targets.base import Target
from ragstone.types.config import Manifest, Plan
from ragstone.types.gate import FLAGS, Gate, gate
from ragstone.types.row import Row
from ragstone.types.sample import Sample

# Options: what `evaluate` can be told, and the plan, data set, judge and target that it means.

Gates = tuple[Gate, ...]
Data = str | Path | Dataset | Iterable[Sample | Mapping[str, object]]
"""A file, one that was read, or the samples themselves (or mappings of their fields, by any name
that is understood)."""


class Options(StoreOptions, total=False):
    """What `evaluate` can be told: most fields of `Plan` by their names, and what has no name.

    `metrics` may be one name, several, or Metric objects; `k` one cut-off, or several; `target`
    and `judge` names or objects (a target may be a Python function); `fail_under` and
    `fail_over` are metric -> mark, `min_coverage` metric -> the least share of its rows scored; all
    other settings come from `preset` and the file `config`, or from `plan`; `on_row` is called
    with each finished row and the number of rows there will be, `on_notice` with what is to be
    known before the first; `tracing` watches it all. Rows are kept in memory unless `store` says
    where.
    """

    metrics: str | Metric | Sequence[str | Metric]
    k: int | Sequence[int]
    min_similarity: float
    config: str | Path
    preset: str
    policy: str
    verify: str
    claim_source: str
    batch_size: int
    truths_limit: int | None
    include_reason: bool
    allow_partial: bool
    judge: str | Judge
    votes: int
    base_url: str
    embedding_model: str
    temperature: float | None
    max_tokens: int
    context_window: int
    strict_json: bool
    prompts: Mapping[str, str]
    cache: bool
    rpm: float
    tpm: float
    max_calls: int
    max_cost: float
    cascade_threshold: float
    cascade_audit_rate: float
    offline: bool
    target: str | OptionsTarget | Callable[..., object]
    limit: int
    columns: Mapping[str, str]
    sheet: str
    concurrency: int
    timeout: float
    retries: int
    delay: float
    fail_under: Mapping[str, float | str]
    fail_over: Mapping[str, float | str]
    min_coverage: Mapping[str, float | str]
    gates_on: Literal["mean", "interval"]
    cluster: str
    max_failure_rate: float
    plan: Plan
    on_row: Callable[[Row, int], None]
    on_notice: Callable[[str], None]
    tracing: Tracing


def plan_of(options: Options) -> Plan:
    """Join the options into a plan: what they say goes before what `plan` says.

    Raises:
        UsageError: an option does not exist, or is out of its range.
    """
    if strange := sorted(options.keys() - Options.__annotations__.keys()):
        raise UnknownNameError("option of evaluate", strange[0], Options.__annotations__)
    if "plan" in options and (both := sorted(options.keys() & {"config", "preset"})):
        raise UsageError(f"plan= holds all settings; leave {' and '.join(both)} out")
    config = read_config(options["config"]) if "config" in options else Config()
    for module in config.plugins:
        load_plugin(module)
    said = _said(options)
    if "plan" not in options:
        return config.plan(said, preset_said=options.get("preset"))
    base = options["plan"]
    return Plan.of({**dict(base), **said, "gates": (*base.gates, *cast("Gates", said["gates"]))})


def _said(options: Options) -> dict[str, object]:
    """Return the fields of the plan that the options say."""
    objects = {name for name in ("judge", "target") if not isinstance(options.get(name), str)}
    given = cast("dict[str, object]", options)
    said = {name: given[name] for name in given.keys() & Plan.model_fields.keys() - objects}
    if "metrics" in options:
        metrics = options["metrics"]
        several = [metrics] if isinstance(metrics, str | Metric) else metrics
        said["metrics"] = tuple(m.spelled if isinstance(m, Metric) else m for m in several)
    said["gates"] = tuple(
        gate(f"{metric}={mark}", *demand)
        for name, demand in FLAGS.items()
        for metric, mark in cast("Mapping[str, float | str]", given.get(name, {})).items()
    )
    return said


def dataset_of(data: Data, plan: Plan) -> Dataset:
    """Load the file, or take the samples; what was loaded stays as it is.

    Raises:
        UsageError: what was loaded, or given, is to be read in another way.
        InputError: the file's content is wrong.
    """
    if isinstance(data, Dataset):
        if late := [name for name in ("sheet", "columns", "limit") if getattr(plan, name)]:
            raise UsageError(f"these data are loaded: say {' and '.join(late)} to load() itself")
        return data
    if isinstance(data, str | Path):
        return load(data, sheet=plan.sheet, columns=plan.columns, limit=plan.limit)
    if plan.sheet is not None:
        raise UsageError(f"samples in memory have no sheets; leave sheet={plan.sheet!r} out")
    return samples_of(islice(data, plan.limit), columns=plan.columns)


def target_of(
    named: str | OptionsTarget | Callable[..., object] | None,
    plan: Plan,
    *,
    metrics: Sequence[Metric],
) -> OptionsTarget | None:
    """Return the target that is named, asked for as many documents as the deepest metric reads."""
    if named is None or isinstance(named, OptionsTarget):
        return named
    depth = max([*plan.cutoffs, *(getattr(metric, "k", 0) for metric in metrics)])
    return get_target(named, plan, k=depth)


def judge_of(options: Options, plan: Plan, budget: Budget, *, metrics: Sequence[Metric]) -> Judge:
    """Return the judge that the plan names, fit for the metrics, or one given as an object.

    Whoever watches the evaluation watches it.

    Raises:
        UsageError: it is neither, or a judge of one's own is to keep what it cannot know: a budget,
            where a model is, or who compares texts.
    """
    named, tracing = options.get("judge", plan.judge), options.get("tracing", UNTRACED)
    if isinstance(named, str):
        asked = [metric.question_kinds for metric in metrics]
        return tracing.judge(make_judge(plan, asked=asked, budget=budget, tracing=tracing))
    if not isinstance(cast("object", named), Judge):
        said = f"judge={named!r:.80} is neither a name nor a Judge"
        raise UsageError(f"{said}; several names stand in one text, with commas")
    if plan.max_calls is not None or plan.max_cost is not None:
        raise UsageError(
            "max_calls and max_cost are for judges by name; others count for themselves"
        )
    unheard = [name for name in ("base_url", "embedding_model") if getattr(plan, name) is not None]
    if unheard and not isinstance(named, RouterJudge):  # which says who compares texts, and where
        raise UsageError(
            f"{' and '.join(unheard)}: for judges by name; one given as an object is asked as it "
            "is, also how alike texts are; leave that out, or name the judge"
        )
    return tracing.judge(named)


def evaluate(data: Data, **options: Unpack[Options]) -> Run:
    """Evaluate samples, from a caller without an event loop of its own or with one.

    Runs in a thread's own loop, so it also works in a notebook. `data` is a file, what `load` read
    of one, samples, or mappings of their fields. `Options` has all options; most
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
        ready = Preflight.of(metrics, dataset, judge=judge, target=target, every=every)
        ready.check_requested(plan)
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
            rows = (
                self._rows() if self.target else score_retrieval_in_batches(self._rows(), ranking)
            )
            unwatched = self.target is None and self.tracing is UNTRACED
            if unwatched and len(ranking) == len(self.metrics):
                for number, row in enumerate(rows):
                    if number % BATCH == 0:
                        await asyncio.sleep(0)  # else nothing could end the run before its end
                    await self._keep(row)
                return
            source: Iterable[Row] | AsyncIterable[Row] = self._affordable(rows)
            concurrency = self.plan.concurrency
            if self._asks:
                await stack.enter_async_context(self.judge)
            if self.target is not None:
                await stack.enter_async_context(self._ready(self.target))
                answered = ask_target(
                    source,
                    self.target,
                    wanted=self.wanted,
                    every=self.every,
                    concurrency=concurrency,
                )
                source = await stack.enter_async_context(answered)
            watched = partial(self.tracing.scorer, manifest=self.manifest)
            scored = await stack.enter_async_context(
                score_rows(
                    source, self.metrics, self.judge, concurrency=concurrency, around=watched
                )
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
        may_be_free = self.plan.claim_source == "sentences" and not self.target
        free = is_free(self.plan.judge) or (may_be_free and begins_free(self.plan.judge))
        return None if free and self.plan.embedding_model is None else spent

    async def _keep(self, row: Row) -> None:
        await self.recording.record(row)
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


def _kept(options: Options) -> StoreOptions:
    """Return what the options say of where rows are kept."""
    names = StoreOptions.__annotations__.keys() & options.keys()
    return cast("StoreOptions", {name: options[name] for name in names})
