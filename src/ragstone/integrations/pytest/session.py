"""The evaluations of one pytest session: shared judges, one budget, one event loop."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial, wraps
from pathlib import Path
from threading import RLock
from typing import NoReturn, ParamSpec, TypeVar, cast
from warnings import warn

import pytest

from ragstone._internal.concurrency import BackgroundLoop
from ragstone._internal.rate_limit import Budget
from ragstone.datasets.frames import Model
from ragstone.errors import RagstoneError, UnknownNameError, UsageError
from ragstone.evaluation.preflight import LLM_KEY, llm_reason, needing_llm, with_llm
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.evaluation.runner import plan_of as plan_of_options
from ragstone.integrations.pytest import SKIPPED
from ragstone.integrations.pytest.markers import (
    ROWS,
    keywords_of,
    merge_marks,
    plan_of,
    split_thresholds,
)
from ragstone.integrations.pytest.messages import WorkerReport, check, in_tests
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.judges.dry_run import LEAST
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.judges.offline import OfflineJudge
from ragstone.metrics import GROUPS, select
from ragstone.types.config import SETTINGS, JudgePlan, Plan
from ragstone.types.gate import FLAGS
from ragstone.types.questions import Question
from ragstone.types.reply import Reply
from ragstone.types.row import Row
from ragstone.types.sample import Sample

T = TypeVar("T")


class SharedJudge(JudgeWrapper):
    """Asks an open judge; entering and leaving it neither opens nor closes that judge."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self._parts = ()

    async def answer(self, question: Question[T]) -> Reply[T]:
        return await reply_of(self.judge, question)


JUDGE_FIELDS = {*JudgePlan.model_fields, "concurrency", "timeout", "retries"}
"""Fields of a plan that decide which judge is made."""


class JudgeNotConfiguredError(UsageError):
    """A judge exists, but its key, URL or extra is missing."""


class JudgePool:
    """Makes and opens each judge of a session once; thread-safe."""

    def __init__(self, root: Path, background: BackgroundLoop, budget: Budget) -> None:
        self._replies = root / REPLIES
        self._background = background
        self._budget = budget
        self._lock = RLock()
        self._named: dict[str, Judge] = {}
        self._open: dict[int, SharedJudge] = {}
        self._stack = AsyncExitStack()

    def named(self, plan: Plan) -> Judge:
        key = plan.model_dump_json(include=JUDGE_FIELDS)
        with self._lock:
            if key not in self._named:
                make_judge(plan, guess=LEAST)  # a dry run checks the name only
                try:
                    made = make_judge(plan, budget=self._budget, replies=self._replies)
                except UnknownNameError:
                    raise
                except UsageError as error:
                    raise JudgeNotConfiguredError(str(error)) from error
                self._named[key] = made
            return self._named[key]

    def is_named(self, judge: Judge) -> bool:
        return any(judge is made for made in self._named.values())

    def open(self, get_judge: Callable[[], Judge]) -> Judge:
        """Open a judge for the rest of the session.

        One thread at a time calls `get_judge`, because it may be a fixture.
        """
        __tracebackhide__ = True
        with self._lock:
            judge = get_judge()
            if id(judge) not in self._open:  # judges need not be hashable
                self._background.call(self._stack.enter_async_context(judge))
                self._open[id(judge)] = SharedJudge(judge)  # the reference keeps the id unique
            return self._open[id(judge)]

    def close(self) -> None:
        self._background.call(self._stack.aclose())


P = ParamSpec("P")

LIMITS = ("max_calls", "max_cost")
SESSION_OPTIONS: Mapping[str, str] = {
    "max_calls": "--rag-max-calls",
    "max_cost": "--rag-max-cost",
    "config": "--rag-config",
    "preset": "the file of --rag-config",
}
"""Options for the whole session -> where they are set."""
NAMED_ONLY = JudgePlan.model_fields.keys() - {"judge"}
"""Options that apply only to judges given by name."""
FACTORY_ONLY = ("base_url", "embedding_model")
"""Those of them that `evaluate` accepts only if it makes the judge itself."""


def _short_traceback(function: Callable[P, T]) -> Callable[P, T]:
    """Raise our own errors without internal frames, and with pytest's option names."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except RagstoneError as error:
            error.args = (in_tests(str(error)),)
            raise error.with_traceback(None) from None

    return call


class RagSession:
    """Evaluates samples for the tests of one session."""

    def __init__(self, config: pytest.Config) -> None:
        self._plan = plan_of(config)
        self._rows = config.stash.setdefault(ROWS, {})
        self._is_worker = hasattr(config, "workerinput")
        self._no_skip = bool(config.getoption("rag_no_skip") or config.getini("rag_no_skip"))
        self._budget = Budget(self._plan.max_calls, self._plan.max_cost)
        self._background = BackgroundLoop()
        self._judges = JudgePool(config.rootpath, self._background, self._budget)
        self._reports: list[str] = []
        self._announced = False

    def _base(self, options: Options) -> Plan:
        if "plan" in options:
            return options["plan"]
        return self._plan.model_copy(update={"target": None, "gates": (), "gates_on": "mean"})

    def _plan_for(self, options: Options) -> Plan:
        base = self._base(options)
        limited = "plan" in options and any(getattr(base, name) is not None for name in LIMITS)
        if given := {*(SESSION_OPTIONS.keys() & options.keys()), *(LIMITS if limited else ())}:
            where = ", ".join(f"{name} with {SESSION_OPTIONS[name]}" for name in sorted(given))
            raise UsageError(f"these apply to the whole session, not to one test: set {where}")
        limits = {name: getattr(self._plan, name) for name in LIMITS}
        return plan_of_options({**options, "plan": base.model_copy(update=limits)})

    @_short_traceback
    def judge(self) -> Judge:
        """Return the judge of the settings.

        If its key, URL or extra is missing, the test is skipped, or fails with `rag_no_skip`.
        """
        __tracebackhide__ = True
        return self._named(self._plan)

    @_short_traceback
    def options_of(self, marks: Iterable[pytest.Mark]) -> Options:
        return merge_marks(map(keywords_of, marks))

    @_short_traceback
    def split_thresholds(self, thresholds: Mapping[str, float | str], options: Options) -> Options:
        return split_thresholds(thresholds, self._plan_for(options).parameters)

    @_short_traceback
    def evaluate(
        self,
        sample: Sample | Model | Mapping[str, object],
        options: Options,
        *,
        judge: Callable[[], Judge] | None = None,
        allow_abstention: bool = False,
    ) -> Row:
        """Evaluate a sample; fail or skip the test if it misses a threshold.

        `judge` returns the judge to use if the options name none; the default is the settings'.
        With `allow_abstention`, a response that abstains passes, unless it is blank; the judge is
        asked about it if it misses a threshold.
        """
        __tracebackhide__ = True
        given = self._plan_for(options)
        plan = given if "judge" in options else with_llm(given)
        metrics = select(plan.metrics, **plan.parameters)
        asked: Judge = OfflineJudge()
        if any(metric.question_kinds for metric in metrics):
            asked = self._judges.open(partial(self._choose_judge, options, plan, judge))
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
        explicit = {name: name for name in options if name in SETTINGS}
        with_judge = cast("Options", {**others, "plan": base, "judge": asked, "explicit": explicit})
        data = self._rows.get(id(sample)) or [sample]
        if given.judge != plan.judge == asked.name and not self._announced:
            self._announced = True
            target = {name: options[name] for name in ("target",) if name in options}
            cost = Evaluation.estimate(data, **cast("Options", {**target, "plan": plan}))
            reason = f"{llm_reason(given)}: for this sample, {cost}"
            warn(f"{reason}. To avoid this, use --rag-judge offline.", stacklevel=2)
        run = self._background.call(Evaluation.prepare(data, **with_judge).run_async())
        self._reports.append(WorkerReport.of(run).model_dump_json())
        spent = None
        if run.counts.over_budget:
            reason = self._budget.spent or "the judge's own budget is spent"
            shared = "; each worker has its share of the limit" if self._is_worker else ""
            spent = f"{SKIPPED}{in_tests(reason)}{shared}"
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
            second = self._background.call(Evaluation.prepare(data, **also).run_async())
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
        if given is None and self._judges.is_named(judge):
            return self._named(plan)
        if unused := sorted(NAMED_ONLY & options.keys()):
            raise UsageError(
                f"{', '.join(unused)}: only for judges given by name; configure the Judge object "
                f"{judge.name} itself"
            )
        return judge

    def _named(self, plan: Plan) -> Judge:
        __tracebackhide__ = True
        try:
            return self._judges.named(plan)
        except JudgeNotConfiguredError as error:
            self._skip(in_tests(str(error)))

    def _skip(self, reason: str) -> NoReturn:
        __tracebackhide__ = True
        if self._no_skip:
            pytest.fail(f"{reason} (not skipped: rag_no_skip)", pytrace=False)
        pytest.skip(f"{SKIPPED}{reason}")

    def take_reports(self) -> list[str]:
        """Return the reports of samples evaluated since the last call, as JSON."""
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        self._judges.close()
        self._background.close()
