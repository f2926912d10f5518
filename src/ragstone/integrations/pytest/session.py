"""RagSession: what the tests of one pytest session ask, and what becomes of them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial, wraps
from pathlib import Path
from threading import RLock, Thread
from typing import NoReturn, ParamSpec, TypeVar, cast

import pytest

from ragstone._internal.rate_limit import Budget
from ragstone.errors import RagstoneError, UnknownNameError, UsageError
from ragstone.evaluation.runner import Options, evaluate_async
from ragstone.evaluation.runner import plan_of as plan_of_options
from ragstone.integrations.pytest.markers import ROWS, joined, plan_of, said_by, sided
from ragstone.integrations.pytest.messages import check, in_tests
from ragstone.integrations.pytest.plugin import SKIPPED
from ragstone.integrations.pytest.summary import Told
from ragstone.judges.base import Judge, JudgeWrapper
from ragstone.judges.dry_run import LEAST
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.judges.offline import OfflineJudge
from ragstone.metrics import GROUPS, select
from ragstone.results.run import Run
from ragstone.types.config import JudgePlan, Plan
from ragstone.types.questions import Question
from ragstone.types.reply import Reply
from ragstone.types.row import Row
from ragstone.types.sample import Sample

T = TypeVar("T")


# LentJudge: a judge that is open already, and stays open when whoever asks it leaves.


class LentJudge(JudgeWrapper):
    """Asks the judge within, and neither opens nor closes it."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self._parts = ()

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return what the judge within answers."""
        return await self.judge.answer(question)


# Background: an event loop in a thread of its own, for as long as a pytest session.


class Background:
    """Runs coroutines in one loop, whether or not the thread that calls has a loop of its own.

    What is opened in one call can so be used in the next.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="ragstone", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[object, object, T]) -> T:
        """Wait for a coroutine, and cancel it where the wait is broken off, as by Ctrl-C."""
        __tracebackhide__ = True
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """End what is still under way, and the loop."""
        self.call(_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _ended() -> None:
    under_way = asyncio.all_tasks() - {asyncio.current_task()}
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


# OpenedJudges: the judges of one pytest session, each made and opened once.

SHAPING = {*JudgePlan.model_fields, "concurrency", "timeout", "retries"}
"""Fields of a plan that a judge is made of."""


class JudgeNotConfiguredError(UsageError):
    """A judge is named rightly, and lacks its key, its place or its extra here."""


class OpenedJudges:
    """Makes and opens judges for a session, also where its tests ask from several threads.

    All share one budget; the replies of all are kept in one place of the folder `root`, wherever
    a test works.
    """

    def __init__(self, root: Path, background: Background, budget: Budget) -> None:
        self._replies = root / REPLIES
        self._background = background
        self._budget = budget
        self._lock = RLock()
        self._named: dict[str, Judge] = {}
        self._open: dict[int, LentJudge] = {}
        self._stack = AsyncExitStack()

    def named(self, plan: Plan) -> Judge:
        """Return the judge that a plan names, asked as the plan says.

        Raises:
            JudgeNotConfiguredError: it cannot be asked here.
            UsageError: there is no such judge, or no price for the limit that was set.
        """
        key = plan.model_dump_json(include=SHAPING)
        with self._lock:
            if key not in self._named:
                make_judge(plan, guess=LEAST)  # one that asks nobody wants but a right name
                try:
                    made = make_judge(plan, budget=self._budget, replies=self._replies)
                except UnknownNameError:
                    raise
                except UsageError as error:
                    raise JudgeNotConfiguredError(str(error)) from error
                self._named[key] = made
            return self._named[key]

    def is_named(self, judge: Judge) -> bool:
        """Tell whether a judge was made here, of a plan."""
        return any(judge is made for made in self._named.values())

    def opened(self, give: Callable[[], Judge]) -> Judge:
        """Open the judge that a function gives, for the rest of the session.

        The function is called by one thread at a time, as it may be a fixture that makes a judge.
        """
        __tracebackhide__ = True
        with self._lock:
            judge = give()
            if id(judge) not in self._open:  # by its id: it need not be hashable
                self._background.call(self._stack.enter_async_context(judge))
                self._open[id(judge)] = LentJudge(judge)  # it holds the judge: its id stays its own
            return self._open[id(judge)]

    def close(self) -> None:
        """Close the judges."""
        self._background.call(self._stack.aclose())


P = ParamSpec("P")

LIMITS = ("max_calls", "max_cost")
ONCE: Mapping[str, str] = {
    "max_calls": "--rag-max-calls",
    "max_cost": "--rag-max-cost",
    "config": "--rag-config",
    "preset": "the file of --rag-config",
}
"""Options that hold for a whole session -> where they are said."""
ASKING = JudgePlan.model_fields.keys() - {"judge"}
"""Options that say how a judge with a name is asked."""
MADE = ("base_url", "embedding_model")
"""Those of them that an evaluation takes only where it makes the judge itself."""


def _plainly(function: Callable[P, T]) -> Callable[P, T]:
    """Show in a test's traceback what our own errors say, in its words, and not the way to them."""

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
    """Evaluates samples for tests, with judges that are opened once and share one budget."""

    def __init__(self, config: pytest.Config) -> None:
        self._plan = plan_of(config)
        self._rows = config.stash.setdefault(ROWS, {})
        self._is_worker = hasattr(config, "workerinput")
        self._no_skip = bool(config.getoption("rag_no_skip") or config.getini("rag_no_skip"))
        self._budget = Budget(self._plan.max_calls, self._plan.max_cost)
        self._background = Background()
        self._judges = OpenedJudges(config.rootpath, self._background, self._budget)
        self._told: list[str] = []

    def _base(self, options: Options) -> Plan:
        """Return the plan that a test's options are joined to.

        The settings' own target and gates are not for tests.
        """
        if "plan" in options:
            return options["plan"]
        return self._plan.model_copy(update={"target": None, "gates": (), "gates_on": "mean"})

    def _joined(self, options: Options) -> Plan:
        """Return all that a test and the settings say; the limits are the settings'.

        Raises:
            UsageError: an option does not exist, is out of its range, or is not for one test.
        """
        base = self._base(options)
        limited = "plan" in options and any(getattr(base, name) is not None for name in LIMITS)
        if said := [*(ONCE.keys() & options.keys()), *(LIMITS if limited else ())]:
            told = ", ".join(f"{name} by {ONCE[name]}" for name in sorted({*said}))
            raise UsageError(f"not for one test, but said once for the session: {told}")
        limits = {name: getattr(self._plan, name) for name in LIMITS}
        return plan_of_options({**options, "plan": base.model_copy(update=limits)})

    @_plainly
    def judge(self) -> Judge:
        """Return the judge that the settings name.

        The test is skipped where the judge wants a key, a place or an extra that is not there;
        where the settings forbid that, it fails.

        Raises:
            UsageError: there is no such judge, or no price for the limit that was set.
        """
        __tracebackhide__ = True
        return self._named(self._plan)

    @_plainly
    def marked(self, marks: Iterable[pytest.Mark]) -> Options:
        """Return what the marks `rag` of a test come to, the nearest last."""
        return joined(map(said_by, marks))

    @_plainly
    def sided(self, marks: Mapping[str, float | str], options: Options) -> Options:
        """Return metrics and marks as options: what is asked at least, and what at most."""
        return sided(marks, self._joined(options).parameters)

    @_plainly
    def held(
        self,
        sample: Sample | Mapping[str, object],
        options: Options,
        *,
        judge: Callable[[], Judge] | None = None,
    ) -> Row:
        """Evaluate a sample, and fail or skip the test where it does not reach its marks.

        `judge` gives the judge that is asked where the options name none; without it that is the
        settings'.

        Raises:
            AssertionError: a mark was not reached.
            ScoreMissingError: the judge did not answer.
            UsageError: what was asked cannot be done.
        """
        __tracebackhide__ = True
        plan = self._joined(options)
        metrics = select(plan.metrics, **plan.parameters)
        asked: Judge = OfflineJudge()
        if any(metric.question_kinds for metric in metrics):
            asked = self._judges.opened(partial(self._meant, options, plan, judge))
        if said := _not_taken(asked, plan):
            self._skip(said)
        others = {name: value for name, value in options.items() if name not in MADE}
        made = self._base(options).model_copy(update=dict.fromkeys((*LIMITS, *MADE)))
        given = cast("Options", {**others, "plan": made, "judge": asked})
        data = self._rows.get(id(sample)) or [sample]
        run = self._background.call(evaluate_async(data, **given))
        self._told.append(Told.of(run).model_dump_json())
        check(run, self._spent(run))
        return run.rows[0]

    def _meant(self, options: Options, plan: Plan, own: Callable[[], Judge] | None) -> Judge:
        """Return the judge that a test means: by name, asked as the plan says, or as an object."""
        __tracebackhide__ = True
        said = cast("object", options.get("judge"))
        if isinstance(said, str) or (said is None and (own is None or "plan" in options)):
            return self._named(plan)
        judge = own() if said is None and own else said
        if not isinstance(judge, Judge):
            raise UsageError(f"judge={judge!r:.80} is neither a name nor a Judge")
        if said is None and self._judges.is_named(judge):
            return self._named(plan)
        if unheard := sorted(ASKING & options.keys()):
            told = f"{', '.join(unheard)}: for judges by name"
            raise UsageError(f"{told}; {judge.name} was given as an object, and is asked as it is")
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

    def _spent(self, run: Run) -> str | None:
        """Return why a question was not asked as the budget was spent; None if all were."""
        if not run.tally.over_budget:
            return None
        spent = self._budget.spent or "the judge's own budget is spent"
        shared = "; each worker has its part of the limit" if self._is_worker else ""
        return f"{SKIPPED}{in_tests(spent)}{shared}"

    def take(self) -> list[str]:
        """Return what was evaluated since this was last asked, each sample as text."""
        told, self._told = self._told, []
        return told

    def close(self) -> None:
        """Close the judges."""
        self._judges.close()
        self._background.close()


def _not_taken(judge: Judge, plan: Plan) -> str | None:
    """Return that a metric is named which asks what the judge does not answer; None if none is."""
    named = [name for name in plan.metrics if name not in GROUPS]
    for metric in select(named, **plan.parameters):
        strange = [kind for kind in metric.question_kinds if not judge.takes(kind)]
        if strange:
            said = f"the judge {judge.name} does not answer {', '.join(strange)}, which {metric}"
            return f"{said} asks; name an LLM with --rag-judge or RAGSTONE_JUDGE"
    return None
