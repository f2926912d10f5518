"""Testing a judge: its word on claims as they are, then on what they were changed into."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from itertools import takewhile
from operator import add

from ragstone.claims import Label, Verdict
from ragstone.exchanges import Outcome, Reply
from ragstone.judge_test.cases import Case, cases_of
from ragstone.judge_test.counts import Counts, Verdicts
from ragstone.judge_test.result import JudgeTest
from ragstone.judge_test.trials import copied_trial, first_trial, later_trials, unrelated_trial
from ragstone.judges.base import Judge, outcome_of
from ragstone.questions import VerifyClaims
from ragstone.samples import Sample
from ragstone.usage import NOTHING_SPENT, Usage
from ragstone.workers import working

_ASSUMED = Verdict(label=Label.SUPPORTED)


def planned(cases: Iterable[Case]) -> list[VerifyClaims]:
    """Return the questions that a test asks at most: fewer if not every claim is supported."""
    asked: dict[str, VerifyClaims] = {}
    for case in cases:
        first, unrelated = first_trial(case), unrelated_trial(case)
        later = later_trials(
            case,
            [_ASSUMED] * len(first.claims),
            unrelated=Verdict(label=Label.NOT_ENOUGH_INFO) if unrelated else None,
        )
        trials = (*((unrelated,) if unrelated else ()), *later)
        asked |= {each.key: each for each in (first, *(trial.question for trial in trials))}
    return list(asked.values())


async def foreseen(judge: Judge, questions: Iterable[VerifyClaims]) -> Usage:
    """Return what a judge takes for questions, one after another: for one that counts only."""
    async with judge:
        outcomes = [await outcome_of(judge, question) for question in questions]
    return reduce(add, (outcome.usage for outcome in outcomes), NOTHING_SPENT)


async def tried(
    judge: Judge,
    samples: Iterable[Sample],
    *,
    n: int,
    data: str,
    version: str,
    concurrency: int = 8,
) -> JudgeTest:
    """Test a judge on about `n` claims.

    A question that is not answered is counted as failed, and as nothing else.
    """
    testing = Testing(judge, cases_of(samples, n))
    await testing.finish(concurrency=concurrency)
    return testing.result(data=data, version=version)


class Testing:
    """A test of a judge under way: what came of it until now can be told at any time."""

    def __init__(self, judge: Judge, cases: Sequence[Case]) -> None:
        self._judge, self._cases = judge, cases
        self._counts = Counts()
        self._done = 0

    async def finish(
        self,
        *,
        concurrency: int,
        spent: Callable[[], str | None] = lambda: None,
        on_case: Callable[[int, int], None] | None = None,
    ) -> None:
        """Ask all that is to be asked; no sample is begun once something is `spent`.

        `on_case` is told how many samples are done, of how many.
        """
        cases = takewhile(lambda _: not spent(), enumerate(self._cases))
        async with (
            self._judge,
            working(cases, self._tried, concurrency=concurrency) as found,
        ):
            async for _ in found:
                self._done += 1
                if on_case:
                    on_case(self._done, len(self._cases))

    def result(self, *, data: str, version: str, stopped: str | None = None) -> JudgeTest:
        """Return what came of it until now.

        `stopped` is why it may have ended before its end: it has, if something was not asked.
        """
        counts = self._counts
        whole = self._done == len(self._cases) and not counts.unasked
        return JudgeTest(
            judge=self._judge.name,
            data=data,
            at=datetime.now(UTC),
            version=version,
            samples=counts.samples,
            claims=counts.claims,
            planned=sum(len(case.claims) for case in self._cases),
            supported=counts.supported,
            asked=counts.asked,
            failed=counts.failures,
            unasked=counts.unasked,
            stopped=None if whole else stopped or "it was not finished",
            why=counts.why,
            kinds=counts.kinds(),
            tried=counts.tried(),
            calls=counts.usage.calls,
            cost_usd=counts.usage.cost_usd,
            local_calls=counts.usage.local_calls,
        )

    async def _tried(self, numbered: tuple[int, Case]) -> None:
        """Ask all of a case, what waits for the first answers after them."""
        number, case = numbered
        counts = self._counts
        first = await self._asked(first_trial(case))
        counts.first(case, first)
        trial, unrelated = unrelated_trial(case), None
        if trial is not None:
            outcome = await self._asked(trial.question)
            counts.trial(number, case, trial, outcome)
            unrelated = outcome.value[0] if isinstance(outcome, Reply) else None
        if not isinstance(first, Reply):
            return
        if copied := copied_trial(case):
            counts.part(number, case, copied, first)
        for trial in later_trials(case, first.value, unrelated=unrelated):
            counts.trial(number, case, trial, await self._asked(trial.question))

    async def _asked(self, question: VerifyClaims) -> Outcome[Verdicts]:
        return await outcome_of(self._judge, question)
