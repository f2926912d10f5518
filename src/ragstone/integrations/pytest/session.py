"""The evaluations of one pytest session: marks as options, shared judges, messages, the summary.

All tests of a session share its judges, one budget and one event loop. Quoted texts come from
outside, so they are printed as lines without control characters.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import reduce, wraps
from inspect import signature
from itertools import chain
from operator import add
from pathlib import Path
from threading import RLock
from typing import NoReturn, ParamSpec, TypeVar, cast
from warnings import warn

import pytest

from ragstone._internal.concurrency import BackgroundLoop
from ragstone._internal.fields import FrozenModel
from ragstone._internal.rate_limit import Budget
from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import count, one_line
from ragstone.datasets import Dataset, load
from ragstone.datasets.frames import Model
from ragstone.errors import RagstoneError, UnknownNameError, UsageError
from ragstone.evaluation.config_file import Config, read_config
from ragstone.evaluation.preflight import LLM_KEY, llm_reason, needing_llm, with_llm
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.evaluation.runner import plan_of as plan_of_options
from ragstone.integrations.pytest import SKIPPED
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.judges.embeddings import compare_texts
from ragstone.judges.factory import LEAST, REPLIES, make_judge, reads_text
from ragstone.judges.offline import OfflineJudge
from ragstone.metrics import GROUPS, load_plugin, select
from ragstone.metrics.claim_checks import Check
from ragstone.reports.format import CAUSES, LABELS, decimal, dollars, interval
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import JudgePlan, Plan, Source
from ragstone.types.gate import FLAGS, GateResult
from ragstone.types.questions import Question
from ragstone.types.reply import Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, MetricInfo, Score, State

T = TypeVar("T")
P = ParamSpec("P")


# Marks as options: `rag`, `rag_dataset`, and metrics with their thresholds.

Parameters = Mapping[str, str | int | float | tuple[int, ...] | None]
Metrics = Mapping[str, object]
DEMANDS = ("fail_under", "fail_over")
KEYWORDS = ("metric", *sorted(Options.__annotations__.keys() - {"metrics"}))  # of the marker `rag`
_EXAMPLE = '@pytest.mark.rag(metric="faithfulness", fail_under=0.8)'


def keywords_of(mark: pytest.Mark) -> Mapping[str, object]:
    if mark.args:
        given = ", ".join(map(repr, mark.args))
        raise UsageError(f"the marker rag takes keyword arguments only: {_EXAMPLE}; got {given}")
    return mark.kwargs


def merge_marks(marks: Iterable[Mapping[str, object]]) -> Options:
    metrics: dict[str, None] = {}
    demands: dict[str, dict[str, object]] = {}
    others: dict[str, object] = {}
    for mark in marks:
        rest = dict(mark)
        given = rest.pop("metric", None)
        if unknown := sorted(rest.keys() - set(KEYWORDS)):
            raise UnknownNameError("keyword of the marker rag", unknown[0], KEYWORDS)
        names = cast("Sequence[str]", [given] if isinstance(given, str) else given)
        if not isinstance(names, list | tuple) or not names or not _are_names(names):
            raise UsageError(f"the marker rag needs a metric: {_EXAMPLE}")
        metrics |= dict.fromkeys(names)
        for demand in DEMANDS:
            if (value := rest.pop(demand, None)) is not None:
                demands.setdefault(demand, {}).update(dict.fromkeys(names, value))
        others |= rest
    if not metrics:
        return {}
    merged = {"metrics": list(metrics), **demands, **others}
    gates = [cast("object", merged.get(flag)) for flag in FLAGS]
    gated = {name for gate in gates if isinstance(gate, Mapping) for name in cast("Metrics", gate)}
    if idle := [name for name in metrics if name not in gated]:
        raise UsageError(
            f"no marker sets a threshold for {', '.join(idle)}: add fail_under= or fail_over="
        )
    return cast("Options", merged)


def _are_names(values: Iterable[object]) -> bool:
    return all(isinstance(name, str) for name in values)


def split_thresholds(thresholds: Mapping[str, float | str], parameters: Parameters) -> Options:
    given = cast("object", thresholds)
    if not isinstance(given, Mapping) or not thresholds or not _are_names(thresholds):
        raise UsageError('expected metrics with thresholds: {"faithfulness": 0.8}')
    under: dict[str, float | str] = {}
    over: dict[str, float | str] = {}
    for name, value in thresholds.items():
        higher = all(metric.higher_is_better for metric in select([name], **parameters))
        (under if higher else over)[name] = value
    return {"metrics": list(thresholds), "fail_under": under, "fail_over": over}


ROWS = pytest.StashKey[dict[int, Dataset]]()  # of `rag_dataset` files, by the `id()` of each sample


def samples_of_mark(mark: pytest.Mark, folder: Path, stash: pytest.Stash) -> tuple[Sample, ...]:
    try:
        given = signature(load).bind(*mark.args, **mark.kwargs).arguments
    except TypeError as error:
        raise pytest.Collector.CollectError(
            f'invalid marker: {error}; expected rag_dataset("answers.jsonl", sheet=None, '
            "header_row=None, columns=None, limit=None, sample=None, seed=0)"
        ) from None
    try:
        dataset = load(**{**given, "path": folder / given["path"]})
    except UsageError as error:
        raise pytest.Collector.CollectError(f"rag_dataset: {error}") from None
    # each row is a data set that knows which fields other rows have, and what failed
    known = dataset.contents.fields.union(chain.from_iterable(dataset.failures.values()))
    source = Source(name=dataset.source.name, rows=1, notes=dataset.source.notes)
    rows = stash.setdefault(ROWS, {})
    for index, sample in enumerate(dataset.samples):
        failures = {0: dataset.failures[index]} if index in dataset.failures else {}
        rows[id(sample)] = replace(
            dataset, samples=(sample,), source=source, failures=failures, known=known
        )
    return tuple(dataset.samples)


FIELDS = ("judge", "base_url", "max_cost", "max_calls")


def plan_of(config: pytest.Config) -> Plan:
    """Return the plan: options first, RAGSTONE_JUDGE, the ini file, then the file `rag_config`."""

    def setting(name: str) -> str:
        option = config.getoption(f"rag_{name}")
        environment = os.environ.get("RAGSTONE_JUDGE", "").strip() if name == "judge" else ""
        ini = str(config.getini(f"rag_{name}"))
        return str(option) if option is not None else environment or ini

    path = setting("config")
    file = read_config(config.rootpath / path) if path else Config()
    for module in file.plugins:
        load_plugin(module)
    given = {name: value for name in FIELDS if (value := setting(name))}
    worker = cast("Mapping[str, object]", getattr(config, "workerinput", {}))
    return worker_share(file.plan(given), worker)


def worker_share(plan: Plan, worker: Mapping[str, object]) -> Plan:
    """Return the plan with a worker's share of its limits; `worker` is xdist's `workerinput`.

    The first workers share the remainder; those with custom ids (`--tx popen//id=x`) get none.
    """
    count = cast("int", worker.get("workercount", 1))
    named = re.fullmatch(r"gw(\d+)", str(worker.get("workerid", "gw0")))
    number = int(named[1]) if named else count
    calls, cost = plan.max_calls, plan.max_cost
    return plan.model_copy(
        update={
            "max_calls": None if calls is None else calls // count + (number < calls % count),
            "max_cost": None if cost is None else cost / count,
        }
    )


# The message of a failed assertion, and the summary at the end of a session.


def evidence_of(sample: Sample, claim: JudgedClaim) -> list[str]:
    """Return the judge's quotes; without any, the sentence that is most like the claim."""
    whole = f"the {claim.against}"
    by_number = "context {}" if claim.against == "contexts" else whole
    if claim.evidence:
        doubt = " (quoted by the judge, but not found there)"
        return [
            f"evidence in {by_number.format(evidence.context + 1)}"
            f"{'' if evidence.verified else doubt}: {evidence.quote}"
            for evidence in claim.evidence
        ]
    check = Check("response", claim.against)
    sentences = [
        (number, sentence.text)
        for number, text in enumerate(check.sources(sample), 1)
        for sentence in split_sentences(text)
    ]
    if not sentences:
        return [check.no_sources_reason]
    similarity = compare_texts(claim.text, [text for _, text in sentences])
    best = max(range(len(similarity)), key=similarity.__getitem__)
    if not similarity[best]:
        return [f"nothing in {whole} is similar"]
    number, text = sentences[best]
    return [f"closest in {by_number.format(number)}: {text}"]


MAX_TEXT = 300  # characters of one quoted text
MAX_CLAIMS = 10
NOTES = ("explanation", "note")  # details of a score that are text


def failure_message(run: Run, missed: Sequence[GateResult]) -> str:
    sample = run.rows[0].sample
    lines: list[str] = []
    notes: dict[object, None] = {}
    unsupported: dict[tuple[str, str, str], JudgedClaim] = {}
    for gate in missed:
        score = run.rows[0].scores[gate.metric]
        reason = one_line(score.reason or "", MAX_TEXT)
        claims = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
        line = str(gate)
        if score.fallback:
            policy = run.metrics[gate.metric].policy
            line = f"{gate.metric} {score.value:.4f} was imputed by the policy {policy}"
            line += f" and never passes: {reason}"
        elif score.value is None:
            limit = f"{gate.op} {gate.threshold:g}"
            line = f"{gate.metric} is undefined, so {limit} cannot be checked: {reason}"
        elif score.claims:
            supported = len(score.claims) - len(claims)
            line += f" ({supported} of {count(len(score.claims), 'claim')} supported)"
        lines.append(line)
        notes |= dict.fromkeys(score.detail.get(name) for name in NOTES)
        unsupported |= {(claim.text, claim.against, claim.label): claim for claim in claims}
    lines.append(f"  query: {one_line(sample.query, MAX_TEXT)}")
    if run.manifest.judge:
        lines.append(f"  judge: {run.manifest.judge}")
    lines += [f"  note: {one_line(str(note), MAX_TEXT)}" for note in notes if note]
    for claim in [*unsupported.values()][:MAX_CLAIMS]:
        lines.append(f"  - {LABELS[claim.label]}: {one_line(claim.text, MAX_TEXT)}")
        if claim.reason:
            lines.append(f"    reason: {one_line(claim.reason, MAX_TEXT)}")
        lines += [f"    {one_line(each, MAX_TEXT)}" for each in evidence_of(sample, claim)]
    if len(unsupported) > MAX_CLAIMS:
        lines.append(f"  and {len(unsupported) - MAX_CLAIMS} more")
    return "\n".join(lines)


MAX_FAILURE_TEXT = 1000  # characters of a failure; servers can reply with whole pages


class ScoreMissingError(RagstoneError):
    """A score failed because the judge or the target did not answer."""


def check(run: Run, spent: str | None) -> None:
    """Return if a sample passes; `spent` is the reason to skip its test if the budget ran out."""
    __tracebackhide__ = True
    scores = run.rows[0].scores
    missed: list[GateResult] = []
    for gate in run.gates():
        score = scores[gate.metric]
        if score.state is State.FAILED:
            continue
        # an imputed score misses its gate, unless the budget is the reason: then the test skips
        if (spent is None) if score.fallback else (gate.passed is not True):
            missed.append(gate)
    if missed:
        raise AssertionError(failure_message(run, missed))
    if spent is not None:
        pytest.skip(spent)
    failures = [
        f"{name} has no score, {CAUSES[score.cause]}: "
        f"{one_line(score.reason or '', MAX_FAILURE_TEXT)}"
        for name, score in scores.items()
        if score.cause is not None
    ]
    if failures:
        raise ScoreMissingError("\n".join(failures))


class WorkerReport(FrozenModel):
    """The scores of one sample without their claims, and what else the summary needs."""

    judge: str | None
    metrics: dict[str, MetricInfo]
    scores: dict[str, Score]
    usage: Usage
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> "WorkerReport":
        bare = {"claims": (), "detail": NOTHING}
        source, scores = run.manifest.source, run.rows[0].scores
        return cls(
            judge=run.manifest.judge,
            metrics=dict(run.metrics),
            scores={name: score.model_copy(update=bare) for name, score in scores.items()},
            usage=run.usage(),
            notes=tuple(f"{source.name}: {note}" for note in source.notes),
        )


HEAD = ("metric", "mean", "95% interval", "scored", "undefined", "failed", "imputed")


def summary_lines(texts: Iterable[str], skipped: Iterable[str]) -> Iterator[str]:
    """Yield the summary of the tests' reports (JSON) and of the skip reasons."""
    reports = [WorkerReport.model_validate_json(text) for text in texts]
    if judges := sorted({report.judge for report in reports if report.judge is not None}):
        yield f"judge: {', '.join(judges)}"
    if reports:
        yield from _table(reports)
        usage = reduce(add, (report.usage for report in reports), Usage())
        if usage.local_calls:
            yield f"{count(usage.local_calls, 'call')} to a local model, free"
        if usage.calls or usage.cached:
            cached = f", {usage.cached:,} more from the cache" if usage.cached else ""
            price = usage.cost_usd
            cost = "price unknown" if price is None else f"about {dollars(price)}"
            yield f"{count(usage.calls, 'judge call')}{cached}, {cost}"
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        yield f"note: {one_line(note)}"
    for reason, number in Counter(text.removeprefix(SKIPPED) for text in skipped).most_common():
        yield f"{count(number, 'test')} skipped: {reason}"


def _table(reports: Sequence[WorkerReport]) -> Iterator[str]:
    infos: dict[str, MetricInfo] = {}
    summaries: dict[str, MetricSummaryBuilder] = {}
    for place, report in enumerate(reports):
        infos |= report.metrics
        for name, score in report.scores.items():
            summaries.setdefault(name, MetricSummaryBuilder()).add(score, place=place)
    rows: list[tuple[str, ...]] = [HEAD]
    for name, builder in summaries.items():
        low, high = infos[name].range
        summary = builder.summary(low=low, high=high)
        counts = (summary.scored, summary.undefined, summary.failed, summary.flagged)
        figures = (decimal(summary.mean), interval(summary.interval))
        rows.append((name, *figures, *(f"{number:,}" for number in counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])
    for name, builder in summaries.items():
        for cause, number in builder.causes.most_common():
            yield f"{name} failed, {CAUSES[cause]}: {number:,}"


# The session.


class SharedJudge(JudgeWrapper):
    """Asks an open judge; entering and leaving it neither opens nor closes that judge."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self._parts = ()

    async def answer(self, question: Question[T]) -> Reply[T]:
        return await reply_of(self.judge, question)


# fields of a plan that decide which judge is made
JUDGE_FIELDS = {*JudgePlan.model_fields, "policy", "concurrency", "timeout", "retries"}


LIMITS = ("max_calls", "max_cost")
SESSION_OPTIONS = {  # options for the whole session -> where they are set
    "max_calls": "--rag-max-calls",
    "max_cost": "--rag-max-cost",
    "config": "--rag-config",
    "preset": "the file of --rag-config",
}
NAMED_ONLY = JudgePlan.model_fields.keys() - {"judge"}  # they apply only to judges given by name
FACTORY_ONLY = ("base_url", "embedding_model")  # only if `evaluate` makes the judge


def _short_traceback(function: Callable[P, T]) -> Callable[P, T]:
    """Raise our own errors without internal frames."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except RagstoneError as error:
            raise error.with_traceback(None) from None

    return call


class RagSession:
    def __init__(self, config: pytest.Config) -> None:
        self._plan = plan_of(config)
        self._rows = config.stash.setdefault(ROWS, {})
        self._is_worker = hasattr(config, "workerinput")
        self._no_skip = bool(config.getoption("rag_no_skip") or config.getini("rag_no_skip"))
        self._budget = Budget(self._plan.max_calls, self._plan.max_cost)
        self._background = BackgroundLoop()
        self._replies = config.rootpath / REPLIES
        self._lock = RLock()
        self._made: dict[str, Judge] = {}
        self._open: dict[int, SharedJudge] = {}
        self._stack = AsyncExitStack()
        self._reports: list[str] = []
        self._announced = False

    def _base(self, options: Options) -> Plan:
        if "plan" in options:
            return options["plan"]
        return self._plan.model_copy(update={"target": None, "gates": (), "gates_on": "mean"})

    def _plan_for(self, options: Options) -> Plan:
        base = self._base(options)
        limited = "plan" in options and any(getattr(base, name) is not None for name in LIMITS)
        given = {*(SESSION_OPTIONS.keys() & options.keys()), *(LIMITS if limited else ())}
        if isinstance(options.get("config"), Mapping):  # settings of one test
            given.remove("config")
        if given:
            where = ", ".join(f"{name} with {SESSION_OPTIONS[name]}" for name in sorted(given))
            raise UsageError(f"these apply to the whole session, not to one test: set {where}")
        limits = {name: getattr(self._plan, name) for name in LIMITS}
        return plan_of_options({**options, "plan": base.model_copy(update=limits)})

    @_short_traceback
    def judge(self) -> Judge:
        __tracebackhide__ = True
        return self._named(self._plan)

    @_short_traceback
    def evaluate(
        self,
        sample: Sample | Model | Mapping[str, object],
        options: Options,
        *,
        marks: Iterable[pytest.Mark] = (),
        thresholds: Mapping[str, float | str] | None = None,
        judge: Callable[[], Judge] | None = None,
        allow_abstention: bool = False,
    ) -> Row:
        """Evaluate a sample; fail or skip the test if it misses a threshold.

        `judge` returns the judge to use if the options name none; the default is the settings'.
        """
        __tracebackhide__ = True
        options = {**merge_marks(map(keywords_of, marks)), **options}
        if thresholds is not None:
            parameters = self._plan_for(options).parameters
            options = {**split_thresholds(thresholds, parameters), **options}
        given = self._plan_for(options)
        plan = given if "judge" in options else with_llm(given)
        metrics = select(plan.metrics, **plan.parameters)
        asked: Judge = OfflineJudge()
        if any(metric.question_kinds for metric in metrics):
            with self._lock:  # one thread at a time: the judge may be a fixture
                asked = self._opened(self._choose_judge(options, plan, judge))
        named = [name for name in plan.metrics if name not in GROUPS]
        for metric in select(named, **plan.parameters):
            if unsupported := [kind for kind in metric.question_kinds if not asked.takes(kind)]:
                key = f", or set {LLM_KEY}" if needing_llm(plan) else ""
                self._skip(
                    f"{metric} needs {', '.join(unsupported)}, which the judge {asked.name} does "
                    f"not support; choose an LLM with --rag-judge or RAGSTONE_JUDGE{key}"
                )
        others = {name: value for name, value in options.items() if name not in FACTORY_ONLY}
        unset = dict.fromkeys((*LIMITS, *FACTORY_ONLY))
        base = self._base(options).model_copy(update={**unset, "judge": plan.judge})
        with_judge = cast(
            "Options", {**others, "plan": base, "judge": asked, "explicit": options.keys()}
        )
        data = self._rows.get(id(sample)) or [sample]
        if given.judge != plan.judge == asked.name and not self._announced:
            self._announced = True
            target = {name: options[name] for name in ("target",) if name in options}
            cost = Evaluation.estimate(data, **cast("Options", {**target, "plan": plan}))
            reason = f"{llm_reason(given)}: for this sample, {cost}"
            warn(f"{reason}. To avoid this, use --rag-judge offline.", stacklevel=2)
        run = self._background.call(Evaluation(data, **with_judge).run_async())
        self._reports.append(WorkerReport.of(run).model_dump_json())
        spent = None
        if run.counts.over_budget:
            reason = self._budget.spent or "the judge's own budget is spent"
            shared = "; each worker has its share of the limit" if self._is_worker else ""
            spent = f"{SKIPPED}{reason}{shared}"
        try:
            check(run, spent)
        except AssertionError:
            if not allow_abstention:
                raise
            if not (run.rows[0].sample.response or "").strip():
                raise AssertionError(
                    "the response is blank: it neither states nor declines anything, so "
                    "allow_abstention does not apply"
                ) from None
            for flag in FLAGS:
                with_judge.pop(flag, None)
            plan = base.model_copy(update={"gates": ()})
            also = cast("Options", {**with_judge, "plan": plan, "metrics": "abstention"})
            second = self._background.call(Evaluation(data, **also).run_async())
            self._reports.append(WorkerReport.of(second).model_dump_json())
            if not second.rows[0].scores["abstention"].detail.get("abstained"):
                raise
        return run.rows[0]

    def _choose_judge(
        self, options: Options, plan: Plan, fixture: Callable[[], Judge] | None
    ) -> Judge:
        __tracebackhide__ = True
        given = cast("object", options.get("judge"))
        if isinstance(given, str) or (given is None and (fixture is None or "plan" in options)):
            return self._named(plan)
        judge = fixture() if given is None and fixture else given
        if not isinstance(judge, Judge):
            raise UsageError(f"judge must be a name or a Judge, got {judge!r:.80}")
        if given is None and any(judge is made for made in self._made.values()):
            return self._named(plan)
        settings = options.get("config")
        names = {*options, *(settings if isinstance(settings, Mapping) else ())}
        if unused := sorted(NAMED_ONLY & names):
            raise UsageError(
                f"{', '.join(unused)}: only for judges given by name; configure the Judge object "
                f"{judge.name} itself"
            )
        return judge

    def _opened(self, judge: Judge) -> Judge:
        if id(judge) not in self._open:  # judges need not be hashable
            self._background.call(self._stack.enter_async_context(judge))
            self._open[id(judge)] = SharedJudge(judge)  # the reference keeps the id unique
        return self._open[id(judge)]

    def _named(self, plan: Plan) -> Judge:
        __tracebackhide__ = True
        key = f"{reads_text(plan)} {plan.model_dump_json(include=JUDGE_FIELDS)}"
        with self._lock:
            if key not in self._made:
                make_judge(plan, guess=LEAST)  # a dry run checks the name only
                try:
                    judge = make_judge(plan, budget=self._budget, replies=self._replies)
                except UnknownNameError:
                    raise
                except UsageError as error:  # its key, URL or extra is missing
                    self._skip(str(error))
                self._made[key] = judge
            return self._made[key]

    def _skip(self, reason: str) -> NoReturn:
        __tracebackhide__ = True
        if self._no_skip:
            pytest.fail(f"{reason} (not skipped: rag_no_skip)", pytrace=False)
        pytest.skip(f"{SKIPPED}{reason}")

    def take_reports(self) -> list[str]:
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        self._background.call(self._stack.aclose())
        self._background.close()
