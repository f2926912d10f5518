"""`evaluate`: loads data, asks the target, scores rows and records them."""

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast
from warnings import warn

from ragstone._internal.concurrency import gc_frozen, run_sync
from ragstone._internal.notebook import NotebookProgress, in_notebook
from ragstone._internal.rate_limit import RETRIES, Budget
from ragstone._internal.text import count
from ragstone.datasets import Dataset, load, samples_of
from ragstone.datasets.choice import Answers
from ragstone.datasets.columns import unused_columns
from ragstone.datasets.frames import Frame, Model, TestCases, rows_of, without_texts
from ragstone.errors import TargetError, UnknownNameError, UsageError
from ragstone.evaluation import config_file, preflight, scoring, workers
from ragstone.evaluation.recorder import Recorder, StoreOptions, make_manifest, settings_key
from ragstone.judges.base import Judge, RouterJudge
from ragstone.judges.factory import LEAST, make_judge
from ragstone.metrics import Metric, load_plugin, select
from ragstone.metrics.retrieval import RankingMetric
from ragstone.results.calibration import load_calibration
from ragstone.results.grouping import INDEPENDENT
from ragstone.results.run import Run, RunInterruptedError
from ragstone.store.codec import RowIndexSet, decode_row
from ragstone.targets.base import Target
from ragstone.targets.factory import Function, get_target
from ragstone.types.config import SETTINGS, Manifest, Plan
from ragstone.types.gate import FLAGS, Gate, gate
from ragstone.types.row import Row
from ragstone.types.sample import Sample

Data = str | Path | Dataset | Frame | TestCases | Iterable[Sample | Model | Mapping[str, object]]
"""A file, the result of `load`, a data frame, a data set of ragas or deepeval, or rows: samples,
mappings of their fields, or Pydantic models."""


class ScoringOptions(TypedDict, total=False):
    """The options that decide how rows are scored.

    `metrics` may be one name, several, or Metric objects; `plugin` one or several modules or files
    with metrics; `k` one or several cut-offs. `judge` may be a name or an object.
    `model="gpt-4o-mini"` is short for `judge="openai:gpt-4o-mini"`. Rarer settings come from
    `config`: a file, or a mapping such as `{"temperature": 0.7}` with the names of the file's keys.
    `plan` sets all of them.
    """

    metrics: str | Metric | Sequence[str | Metric]
    plugin: str | Path | Sequence[str | Path]
    k: int | Sequence[int]
    config: str | Path | Mapping[str, object]
    preset: str
    policy: str
    verify: str
    judge: str | Judge
    model: str
    base_url: str
    embedding_model: str
    prompts: Mapping[str, str]
    judge_headers: Mapping[str, str]
    judge_body: Mapping[str, object]
    cache: bool
    columns: Mapping[str, str]
    concurrency: int
    timeout: float
    retries: int
    plan: Plan


class PublicOptions(ScoringOptions, StoreOptions, total=False):
    """The options of `evaluate`: those of `ScoringOptions`, and those below.

    `target` may be a name, an object, or a function. `fail_under` and `fail_over` are
    metric -> threshold, `min_coverage` is metric -> minimum share of scored rows. `on_row` is
    called with each finished row and the number of rows, `on_progress` with whether a score of it
    failed and that number, which takes less time with several workers. `on_notice` is called with
    messages before the first row; without it, those about options without effect are warnings.
    Rows are stored only if `store` is set. `executor` scores the rows, `workers` shards of them at
    a time; it may be any `concurrent.futures.Executor` whose processes can import ragstone.
    """

    min_similarity: float
    max_calls: int
    max_cost: float
    target: str | Target | Function
    limit: int
    sample: int
    sheet: str
    header_row: int
    workers: int
    executor: Executor
    delay: float
    fail_under: Mapping[str, float | str]
    fail_over: Mapping[str, float | str]
    min_coverage: Mapping[str, float | str]
    gates_on: Literal["mean", "interval", "corrected"]
    calibration: str
    max_failure_rate: float
    fail_fast: bool
    on_row: Callable[[Row, int], None]
    on_progress: Callable[[bool, int], None]
    on_notice: Callable[[str], None]


class Options(PublicOptions, total=False):
    """The options of an Evaluation: also those of the command line and of integrations.

    `explicit` has the names of the settings that were given; `resume` needs `reports`. With
    `compared`, the run is compared with another, so it takes no answers of an earlier one.
    """

    compared: bool
    explicit: Collection[str]
    reports: Mapping[str, str]
    tracing: scoring.Tracing


_TYPES: Mapping[str, tuple[Any, str]] = {
    "metrics": ((str, Metric, Iterable), "a name, a Metric, or several of them"),
    "plugin": ((str, Path, Sequence), "a module or file with metrics, or several of them"),
    "config": ((str, Path, Mapping), "the path of a config file, or a mapping of settings"),
    "scored": ((str, Path), "the path of a folder"),
    "preset": ((str,), "the name of a preset"),
    "model": ((str,), "the name of a model, such as gpt-4o-mini"),
    "prompts": ((Mapping,), "a mapping of question kind to file"),
    "judge_headers": ((Mapping,), "a mapping of names to texts"),
    "judge_body": ((Mapping,), "a mapping of names to values"),
    "columns": ((Mapping,), "a mapping of field to column"),
    **dict.fromkeys(FLAGS, ((Mapping,), "a mapping such as {'faithfulness': 0.8}")),
    "plan": ((Plan,), "a Plan"),
    **dict.fromkeys(("on_row", "on_progress", "on_notice"), ((Callable,), "a function")),
    "explicit": ((Collection,), "names of settings"),
    "tracing": ((Callable,), "an OpenTelemetry"),
    "executor": ((Executor,), "a concurrent.futures.Executor"),
    **dict.fromkeys(("compared", "fresh", "transcript", "retry_failed"), (bool, "True or False")),
}


def _check_types(options: Options | ScoringOptions) -> None:
    for name in sorted(options.keys() - Options.__annotations__.keys()):
        if name in SETTINGS:
            raise UsageError(
                f"{name} is a setting without an argument of its own; pass config={{{name!r}: ...}}"
            )
        if argument := config_file.OTHER_KEYS.get(name):
            raise UsageError(
                f"there is no option of evaluate named {name!r}; in Python, use {argument!r}"
            )
        raise UnknownNameError("option of evaluate", name, Options.__annotations__)
    for name, value in options.items():
        types, description = _TYPES.get(name, (object, ""))
        if not isinstance(value, types):
            raise UsageError(f"{name} must be {description}, got {value!r:.80}")
    store = cast("object", options.get("store"))
    if not isinstance(store, str | Path | bool | None):
        from ragstone.store import Store  # it loads SQLAlchemy

        if not isinstance(store, Store):
            raise UsageError(f"store must be a Store, a path, a URL or True, got {store!r:.80}")
    if isinstance(metrics := cast("object", options.get("metrics")), Mapping):
        raise UsageError(  # its thresholds would be lost
            "metrics must be names, without thresholds; pass those as "
            f"fail_under={dict(cast('Mapping[str, object]', metrics))!r:.80} "
            "(fail_over= if lower is better)"
        )


def plan_of(options: Options | ScoringOptions) -> Plan:
    """Return the plan of the options; they override the settings of `plan` or `config`."""
    _check_types(options)
    given: dict[str, Any] = dict(options)
    if "model" in given:
        if "judge" in given:
            raise UsageError("model and judge are the same setting; pass one of them")
        given["judge"] = config_file.model_names(given.pop("model"))
    source = options.get("config", {})
    files = {"preset"} if isinstance(source, Mapping) else {"config", "preset"}
    if "plan" in options and (both := sorted(options.keys() & files)):
        raise UsageError(f"plan= contains all settings; remove {' and '.join(both)}")
    if isinstance(source, Mapping):
        config = config_file.Config(config_file.settings_of(source))
    else:
        config = config_file.read_config(source)
    plugins = options.get("plugin", ())
    for module in (*config.plugins, *([plugins] if isinstance(plugins, str | Path) else plugins)):
        load_plugin(str(module))

    objects = {name for name in ("judge", "target") if not isinstance(given.get(name), str)}
    settings = {name: given[name] for name in given.keys() & Plan.model_fields.keys() - objects}
    if "metrics" in options:
        metrics = options["metrics"]
        several = [metrics] if isinstance(metrics, str | Metric) else metrics
        names = (each.spelled if isinstance(each, Metric) else each for each in several)
        settings["metrics"] = tuple(names)
    gates: list[Gate] = []
    for name, demand in FLAGS.items():
        gates += [gate(f"{metric}={of}", *demand) for metric, of in given.get(name, {}).items()]
    if "plan" not in options:
        return config.plan({**settings, "gates": tuple(gates)}, preset_name=options.get("preset"))
    base = options["plan"]
    set_there = {name: value for name, value in base if name in base.model_fields_set}
    set_there |= config.settings
    return Plan.of({**set_there, **settings, "gates": (*base.gates, *gates)})


def explicit_settings(options: Options | ScoringOptions) -> Collection[str]:
    """Return the names of all options that were given, also those in a mapping of settings."""
    given = {name for name, value in options.items() if value is not None}
    if isinstance(config := options.get("config"), Mapping):
        given |= config_file.settings_of(config).keys()
    return options.get("explicit", given)


def load_data(data: Data, plan: Plan, answers: Answers) -> Dataset:
    """Load a file or take samples; a loaded data set is returned as it is."""
    if isinstance(data, Dataset):
        reading = ("sheet", "header_row", "columns", "limit", "sample")
        if ignored := [name for name in reading if getattr(plan, name)]:
            raise UsageError(f"the data is already loaded; pass {' and '.join(ignored)} to load()")
        return data
    if isinstance(data, str | Path):
        return load(data, answers=answers, **plan.reading, **plan.selection)
    if isinstance(cast("object", data), Mapping) or hasattr(data, "model_dump"):
        split = "; pass one of its splits" if hasattr(data, "column_names") else ""
        fix = split or "; pass a list of rows: evaluate([row])"
        raise UsageError(f"data is {'several data sets' if split else 'a single row'}{fix}")
    rows = data if (read := rows_of(data)) is None else read
    if not isinstance(rows, Iterable):
        raise UsageError(f"data must be a file, a data frame or rows, got {data!r:.80}")
    for name, what in ("sheet", "sheets"), ("header_row", "header"):
        if (value := getattr(plan, name)) is not None:
            raise UsageError(f"samples in memory have no {what}; remove {name}={value!r}")
    return samples_of(rows, columns=plan.columns, answers=answers, **plan.selection)


def judge_of(
    options: Options | ScoringOptions, plan: Plan, budget: Budget, *, metrics: Sequence[Metric]
) -> Judge:
    """Return the judge for these metrics, built from its name or given as an object."""
    named = options.get("judge", plan.judge)
    if isinstance(named, str):
        asked = [metric.question_kinds for metric in metrics]
        return make_judge(plan, asked=asked, budget=budget)
    if not isinstance(cast("object", named), Judge):
        raise UsageError(
            f"judge must be a name or a Judge, got {named!r:.80}; "
            "separate several names with commas in one string"
        )
    if plan.max_calls is not None or plan.max_cost is not None:
        raise UsageError("max_calls and max_cost apply only to judges given by name")
    ignored = [name for name in ("base_url", "embedding_model") if getattr(plan, name) is not None]
    if ignored and not isinstance(named, RouterJudge):  # it has a judge for text similarity
        raise UsageError(
            f"{' and '.join(ignored)}: only for judges given by name; configure the Judge object"
        )
    texts = cast("list[object]", [named.name, named.description])  # of a mock, they are mocks
    return named if all(isinstance(each, str) for each in texts) else RouterJudge({}, named)


def _worker_setup(
    options: Options, plan: Plan, judge: Judge, metrics: Sequence[Metric], *, calls_target: bool
) -> workers.WorkerSetup | None:
    if "executor" in options:
        if "workers" not in plan.model_fields_set:
            raise UsageError("set workers for an executor: how many parts it scores at once")
    elif plan.workers == 1:
        return None
    if not any(metric.question_kinds for metric in metrics):
        return None
    if "tracing" in options:
        raise UsageError("otel traces a single process; remove it, or workers")
    own = None if isinstance(options.get("judge", plan.judge), str) else judge
    folder = None if "executor" in options else str(Path.cwd())
    return workers.WorkerSetup.of(
        plan, metrics, judge=own, calls_target=calls_target, folder=folder
    )


def _notify(on_notice: Callable[[str], None] | None, notices: Iterable[str]) -> None:
    if on_notice is not None:
        for notice in notices:
            on_notice(notice)


def _how_read(
    dataset: Dataset, target: Target | None, wanted: Collection[str], *, every: bool
) -> list[str]:
    """Return a notice on how the columns were read, and what the target replaces; [] if none."""
    counts, lines = dataset.contents.counts, dataset.source.reading
    gives = target.gives if target and every and "response" in wanted else ()
    new = {*wanted, *(name for name in gives if name == "contexts")}
    replaced = [f"{of} ({count(counts[of], 'row')})" for of in sorted(new & counts.keys())]
    if lines and target and replaced:
        lines.append(f"  {target.name} replaces {', '.join(replaced)}")
    if lines:
        lines += [
            f"  {words}" for words in unused_columns(dataset.contents.fields, dataset.contents.tags)
        ]
    return ["\n".join((f"Read {dataset.source.name}:", *lines))] if lines else []


def _target_of(
    options: Options, plan: Plan, dataset: Dataset, metrics: Sequence[Metric]
) -> tuple[Target | None, bool]:
    """Return the target, and whether it is asked for every row.

    Without a named target, the fallback is asked only for fields that no row has.
    """
    named = options.get("target", plan.target)
    target, every = named, named is not None
    if target is None and not dataset.collected:  # collected responses are complete
        target = plan.fallback_target
    if target is not None and not isinstance(target, Target):
        if not every and not preflight.lacks_fields(metrics, dataset):
            return None, False
        depth = max([*plan.cutoffs, *(getattr(metric, "k", 0) for metric in metrics)])
        target = get_target(target, plan, k=depth)
    return target, every


def _recorder_of(
    options: Options, manifest: Manifest, metrics: Sequence[Metric], reusable: frozenset[str]
) -> tuple[Recorder, Sequence[str]]:
    recorder, notices = Recorder(manifest, metrics), ()
    if options.get("store") not in (None, False):
        from ragstone.evaluation.resume import open_recorder  # it loads SQLAlchemy

        recorder, notices = open_recorder(manifest, metrics, options, reusable=reusable)
    elif "resume" in options:
        raise UsageError("resume= needs the store that contains the run; set store=")
    plan = manifest.plan
    if plan.calibration and any(gate.of == "corrected" for gate in plan.gates):
        problem = load_calibration(plan.calibration).of_another_run(recorder.manifest)
        if problem and ("resume" not in options or "calibration" in explicit_settings(options)):
            raise UsageError(f"calibration {plan.calibration} decides no gate: {problem}")
    return recorder, notices


def evaluate(data: Data, **options: Unpack[PublicOptions]) -> Run:
    """Evaluate samples; works with and without a running event loop, for example in a notebook.

    In a notebook, a bar shows the progress of runs that take longer than a fraction of a second.

    `data` is a file, the result of `load`, samples, or mappings of their fields. `Options` lists
    all options. The most common are `metrics` (names, groups or Metric objects; default: all), `k`
    (5), `target` (URL, YAML file, module:function, a function, or a Target), `judge` ("offline",
    "openai:gpt-4o-mini", or a Judge), `policy`, `preset`, `max_calls`, `fail_under` and `config`.

    Raises:
        UsageError: an option or the data is invalid; nothing was scored.
        RunInterruptedError: Ctrl-C; its `run` has the finished rows.
    """
    if in_notebook() and not options.keys() & {"on_row", "on_progress"}:
        options["on_progress"] = NotebookProgress()
    return Evaluation(data, **options).run_in_thread()


async def evaluate_async(data: Data, **options: Unpack[PublicOptions]) -> Run:
    """Evaluate samples in the running event loop; see `evaluate`."""
    return await Evaluation(data, **options).run_async()


class Evaluation:
    """One evaluation, checked and ready to run.

    Attributes:
        every: whether the target is asked for every row, or only for missing fields.
        wanted: the Sample fields to ask the target for; empty if it is not asked.
        setup: what each worker is made from; None if this process scores the rows.
        finish: changes a scored row before it is recorded.
    """

    finish: Callable[[Row], Row] | None = None

    def __init__(self, data: Data, **options: Unpack[Options]) -> None:
        """Check everything that can be checked before the first call."""
        given = plan_of(options)
        plan = given if "judge" in options else preflight.with_llm(given)
        has_target = options.get("target", plan.target) is not None
        self.dataset = load_data(data, plan, "reference" if has_target else "ask")
        self.options = options
        dataset, tags = self.dataset, self.dataset.contents.tags
        self.given = without_texts(data, tags, dataset.places)
        if plan.cluster not in (None, INDEPENDENT, *tags):
            raise UnknownNameError("tag", plan.cluster or "", [INDEPENDENT, *tags])
        if isinstance(options.get("judge", plan.judge), str):
            answered = has_target or "response" in dataset.contents.fields
            plan = preflight.with_verdict(plan, dataset, answered=answered)
        metrics = select(plan.metrics, **plan.parameters)
        own_judge = "explicit" not in options and isinstance(options.get("judge"), Judge)
        explicit = explicit_settings(options)
        if not own_judge:
            preflight.check_judge_settings(explicit, plan)
        by_name = isinstance(options.get("judge", plan.judge), str)
        self.budget = Budget(plan.max_calls, plan.max_cost)
        judge = judge_of(options, plan, self.budget, metrics=metrics)
        named = plan
        if not by_name:
            plan = plan.model_copy(update={"judge": judge.name})

        target, self.every = _target_of(options, plan, dataset, metrics)
        ready = preflight.Preflight.compare(
            metrics, dataset, judge=judge, target=target, every=self.every
        )
        target = target if ready.wanted else None
        on_notice = options.get("on_notice")
        _notify(on_notice, _how_read(dataset, target, ready.wanted, every=self.every))
        ready.check(metrics, plan)
        if target is not None:
            target.check(dataset.samples)
        self.judge, self.target = judge, target
        self.metrics, self.wanted, self.unread = ready.metrics, ready.wanted, ready.unread
        setup = _worker_setup(options, named, judge, ready.metrics, calls_target=target is not None)
        reports = options.get("reports", {})
        manifest = make_manifest(
            plan, dataset=dataset, ready=ready, judge=judge, target=target, reports=reports
        )
        if "scored" in options and target is not None:
            raise UsageError("scored rows have their answers; remove scored, or the target")
        is_certain = target is not None and target.is_certain and bool(dataset.source.fingerprint)
        is_named = isinstance(options.get("target", plan.target), str)
        # gates and comparisons judge the system of now
        judges_now = bool(plan.gates) or options.get("compared", False)
        may_reuse = is_certain and is_named and not judges_now
        reusable = ready.wanted if may_reuse else frozenset[str]()
        recorder, notices = _recorder_of(options, manifest, ready.metrics, reusable)
        if len(recorder.answered) == len(dataset.samples):
            self.target = None

        idle = preflight.idle_settings(
            explicit, named, metrics=ready.metrics, target=target, own_judge=own_judge
        )
        idle += target.notes(dataset.samples) if target is not None else ()
        left = [n for n in range(len(dataset.samples)) if n not in recorder.done]
        if "judge" not in options and plan.judge != given.judge and left:
            cost = scoring.estimate_rows(
                plan, dataset.samples, ready.metrics, places=left, asks_target=bool(ready.wanted)
            )
            idle.append(f"{preflight.llm_reason(given)}: {cost}. To avoid this, use judge=offline.")
        if on_notice is None:
            for notice in idle:
                warn(notice, stacklevel=3)
        offline = preflight.offline_notices(ready.metrics, manifest.plan)
        _notify(on_notice, (*notices, *offline, *idle))
        self.scored = None
        if "scored" in options:
            key = settings_key(plan, judge, metrics)
            self.scored = workers.ScoredFiles(options["scored"], key)
        self.plan, self.recorder = manifest.plan, recorder
        self.breaker = scoring.CircuitBreaker(plan, ready.metrics, calls_target=target is not None)
        self.setup = setup and replace(setup, transcript=recorder.transcript)

    @classmethod
    def estimate(cls, data: Data, **options: Unpack[Options]) -> scoring.Estimate:
        """Estimate the judge usage of `evaluate` with the same options; no calls are made.

        The number of calls is exact if the claims of each response fit one batch (see `batch_size`)
        and no reply has to be requested again.
        """
        given = plan_of(options)
        plan = given if "judge" in options else preflight.with_llm(given)
        if not isinstance(options.get("judge", plan.judge), str):
            raise UsageError(
                "an estimate needs a judge given by name; the cost of custom judges is unknown"
            )
        objects = {
            **{name: each for name, each in options.items() if name in ("target", "on_notice")},
            "judge": make_judge(plan, guess=LEAST),
            "plan": plan.model_copy(update={"max_calls": None, "max_cost": None}),
            "explicit": explicit_settings(options),
        }
        made = cls(data, **cast("Options", objects))
        found = scoring.estimate_rows(
            plan, made.dataset.samples, made.metrics, asks_target=bool(made.wanted)
        )
        why = (preflight.llm_reason(given),) if plan.judge != given.judge else ()
        return replace(found, notes=(*why, *found.notes))

    async def run(self) -> None:
        """Evaluate every row. `result` works at any time, also after a cancellation."""
        async with AsyncExitStack() as stack:
            stack.enter_context(gc_frozen())
            await stack.enter_async_context(self.recorder)
            rows = await self._unfinished_rows()
            if self.target is None and self.setup is None:
                ranking = [each for each in self.metrics if isinstance(each, RankingMetric)]
                rows = scoring.score_retrieval_in_batches(rows, ranking)
                if "tracing" not in self.options and len(ranking) == len(self.metrics):
                    for number, row in enumerate(rows):
                        if number % scoring.BATCH == 0:
                            await asyncio.sleep(0)  # so that the task can be cancelled
                        await self._record(row)
                        if self.plan.fail_fast and self.breaker.is_open(row):
                            break
                    return
            if self.setup is None and any(metric.question_kinds for metric in self.metrics):
                await stack.enter_async_context(self.judge)
            source: scoring.Rows = takewhile(lambda _: not self._spent, rows)
            if self.target is not None:
                source = await self._ask_target(self.target, source, stack)
            if self.setup:
                await self._run_in_workers(self.setup, source, stack)
            else:
                await self._run_here(source, stack)

    async def _unfinished_rows(self) -> Iterable[Row]:
        """Return the rows to score, after recording those that were scored elsewhere."""
        samples, done, retried = self.dataset.samples, self.recorder.done, self.recorder.retried
        if self.scored:
            is_done = bytearray(number in done for number in range(len(samples)))
            cluster, transcript = self.plan.cluster, self.recorder.transcript
            for shard in self.scored.shards(
                samples, self.metrics, cluster=cluster, transcript=transcript, is_done=is_done
            ):
                await asyncio.sleep(0)  # so that the task can be cancelled
                await self._record_shard(shard)
            done = RowIndexSet(bytes(is_done))
        new = (n for n in range(len(samples)) if n not in done and n not in retried)
        answered = self.recorder.answered
        return (
            answered.get(index)
            or Row(index, samples[index], failures=self.dataset.failures.get(index, {}))
            for index in chain(new, retried)
        )

    async def _ask_target(
        self, target: Target, rows: Iterable[Row], stack: AsyncExitStack
    ) -> AsyncIterable[Row]:
        try:
            await stack.enter_async_context(target)
        except TargetError as error:
            if self.every:
                raise
            why = f"The target is needed because no row has {' or '.join(sorted(self.wanted))}"
            why += f"{self.unread}."
            raise TargetError(f"{error}\n{why}") from error
        answered = scoring.ask_target(
            rows,
            target,
            wanted=self.wanted,
            every=self.every,
            concurrency=self.plan.concurrency,
            answered=self.recorder.answered,
            texts=any("ranking" in x.needs and "relevance" not in x.needs for x in self.metrics),
        )
        return await stack.enter_async_context(answered)

    async def _run_here(self, rows: scoring.Rows, stack: AsyncExitStack) -> None:
        tracing, manifest = self.options.get("tracing"), self.recorder.manifest
        scored = scoring.score_rows(
            rows,
            self.metrics,
            self.judge,
            concurrency=self.plan.concurrency,
            around=None if tracing is None else lambda score: tracing(score, manifest),
        )
        finished = await stack.enter_async_context(scored)
        async for row in finished:
            await self._record(row)
            if self.breaker.is_open(row):
                for other in finished.waiting():
                    await self._record(other)
                break

    async def _run_in_workers(
        self, setup: workers.WorkerSetup, rows: scoring.Rows, stack: AsyncExitStack
    ) -> None:
        executor = self.options.get("executor")
        kind = "worker" if executor else "worker process"
        pool = workers.WorkerPool(setup, executor, kind, budget=self.budget)
        await stack.enter_async_context(pool)
        try:
            async with aclosing(pool.results(rows)) as shards:
                async for shard in shards:
                    await self._record_shard(shard)
                    if self.breaker.reason:
                        break
        finally:
            for shard in await pool.drain():
                await self._record_shard(shard)

    async def _record_shard(self, shard: workers.ScoredShard) -> None:
        RETRIES.count += shard.retries
        for log in shard.logs:
            logging.getLogger(log.name).handle(log)
        if self.finish:
            for each in shard.records:
                await self._record(decode_row(each.encoded))
        else:
            await self.recorder.record_shard(shard.records, shard.counted)
            due = self._due
            on_row, on_progress = self.options.get("on_row"), self.options.get("on_progress")
            for each, failed in zip(shard.records, shard.failed, strict=True):
                if on_row:
                    on_row(decode_row(each.encoded), due)
                if on_progress:
                    on_progress(failed, due)
        if shard.stopped:
            self.breaker.reason = shard.stopped

    async def run_async(self) -> Run:
        """Run in the running event loop, and return the run."""
        await self.run()
        return self.result()

    def run_in_thread(self) -> Run:
        """Run in a thread of its own; Ctrl-C raises RunInterruptedError with the rows so far."""
        try:
            run_sync(self.run)
        except KeyboardInterrupt:
            raise RunInterruptedError(self.result()) from None
        return self.result()

    def result(self) -> Run:
        """Return the run of all finished rows."""
        counts = self.recorder.counts
        unfinished = counts.rows < len(self.dataset.samples)
        stopped = self.budget.spent if counts.over_budget or (unfinished and self._spent) else None
        stopped = stopped or (self.breaker.reason if unfinished else None)
        run = self.recorder.run(partial=unfinished, stopped=stopped)
        if self.given is not None:
            places = [row.index for row in run.rows] if unfinished else range(counts.rows)
            run = replace(run, given=without_texts(self.given, counts.tags, places))
        return run

    async def _record(self, row: Row) -> None:
        row = self.finish(row) if self.finish else row
        await self.recorder.record(row)
        if on_row := self.options.get("on_row"):
            on_row(row, self._due)
        if on_progress := self.options.get("on_progress"):
            on_progress(row.has_failed, self._due)

    @property
    def _due(self) -> int:
        return len(self.dataset.samples) - len(self.recorder.done)

    @property
    def _spent(self) -> str | None:
        """Which budget is spent; None as long as the next row may be free."""
        spent = self.budget.spent
        return spent if spent and workers.each_row_costs(self.plan, self.metrics) else None
