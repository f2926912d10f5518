"""OpenedJudges: the judges of one pytest session, each made and opened once."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from threading import RLock

from ragstone.budget import Budget
from ragstone.errors import UnknownNameError, UsageError
from ragstone.integrations.pytest.background import Background
from ragstone.integrations.pytest.lent_judge import LentJudge
from ragstone.judges.base import Judge
from ragstone.judges.counting import LEAST
from ragstone.judges.making import REPLIES, make_judge
from ragstone.plan import JudgePlan, Plan

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
