"""PanelJudge: several judges' word on each claim or text, as most of them give it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TypeVar

from ragstone.cascaded import Cascaded, added_up
from ragstone.errors import Cause, UsageError
from ragstone.exchanges import Failure, JudgeFailureError, Outcome, Reply
from ragstone.judges.base import Judge, outcome_of
from ragstone.judges.several import AroundJudges, setup_of
from ragstone.judges.votes import VOTED, tally
from ragstone.messages import count
from ragstone.questions import Question
from ragstone.workers import together

T = TypeVar("T")


class PanelJudge(AroundJudges):
    """Asks all its judges to verify, grade or rate, and gives what most of them say.

    Where two labels have the most votes, the word is NOT_ENOUGH_INFO: the judges disagree. A
    verdict's confidence is the share of the votes that its label has. A tie of grades is not
    relevant, one on abstaining is none; of ratings the median counts. Everything else is asked of
    one judge, the next one if it does not answer, since all must judge the same claims.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise UsageError("a panel has no judges; name at least one")
        super().__init__(judges)
        self.name = _name(judges)
        self.description = (
            f"a panel of {len(judges)}; each claim gets the label that most of them give, each "
            "text the grade, or the median level"
        )
        limited = [judge.kinds for judge in judges if judge.kinds is not None]
        self.kinds = reduce(lambda some, more: some & more, limited) if limited else None

    def takes(self, kind: str) -> bool:
        """Tell whether all judges within take it."""
        return all(judge.takes(kind) for judge in self.judges)

    def identity(self, kind: str) -> str | None:
        """Name all judges within; None where one has no identity: its word may change."""
        found = [judge.identity(kind) for judge in self.judges]
        return json.dumps(found) if all(found) else None

    def setup(self, kind: str) -> str | None:
        """Name all judges within, one without identity by its name; None where none has one."""
        found = [setup_of(judge, kind) for judge in self.judges]
        named = [own or judge.name for own, judge in zip(found, self.judges, strict=True)]
        return json.dumps(named) if any(found) else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask all judges, or one of them, as the kind of question demands.

        Raises:
            JudgeFailureError: no more than half of the judges answered what is voted on, or nobody
                another question; with the first failure, and what all of it cost.
        """
        if question.kind in VOTED:
            return await self._voted(question)
        outcomes: list[Outcome[T]] = []
        for judge in self.judges:
            outcomes.append(await outcome_of(judge, question))
            if isinstance(reply := outcomes[-1], Reply):
                return self._told(outcomes, reply)
        raise self._unanswered(outcomes)

    async def _voted(self, question: Question[T]) -> Reply[T]:
        outcomes = await together(outcome_of(judge, question) for judge in self.judges)
        replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
        if len(replies) * 2 <= len(outcomes):
            raise self._unanswered(outcomes)
        counted = tally(question, [reply.value for reply in replies])
        reply = question.reply(counted.value)
        raws = [_headed(judge, outcome) for judge, outcome in self._numbered(outcomes)]
        written = "\n\n".join(raw for raw in raws if raw)
        told = self._told(outcomes, replace(reply, raw=written or None))
        return replace(told, notes=(*told.notes, *counted.notes))

    def _told(self, outcomes: Sequence[Outcome[T]], reply: Reply[T]) -> Reply[T]:
        """Return the reply with what all outcomes cost, and what is to be known of them."""
        notes: list[str] = []
        for judge, outcome in self._numbered(outcomes):
            if isinstance(outcome, Failure):
                notes.append(f"{judge} did not answer: {outcome.cause}: {outcome.message}")
            else:
                notes += [f"{judge}: {note}" for note in outcome.notes]
        return replace(
            reply,
            usage=reduce(add, (outcome.usage for outcome in outcomes)),
            notes=tuple(notes),
            attempts=sum(outcome.attempts for outcome in outcomes),
            cascade=added_up(
                replace(each, unanswered=0) for each in self._cascades(outcomes)
            ),  # the panel has answered all the same
        )

    def _cascades(self, outcomes: Sequence[Outcome[T]]) -> Iterable[Cascaded]:
        """Return what each cascade did; several votes of one are about the same verdicts.

        What one vote did not answer is not told of where another one did.
        """
        told: dict[str, Cascaded] = {}
        both = zip(self.judges, outcomes, strict=False)
        for judge, outcome in sorted(both, key=lambda each: isinstance(each[1], Failure)):
            if one := outcome.cascade:
                first = told.setdefault(judge.name, replace(one, saved=0))
                told[judge.name] = replace(first, saved=first.saved + one.saved)
        return told.values()

    def _unanswered(self, outcomes: Sequence[Outcome[T]]) -> JudgeFailureError:
        failures = [
            (judge, outcome)
            for judge, outcome in self._numbered(outcomes)
            if isinstance(outcome, Failure)
        ]
        judge, first = failures[0]
        cause = first.cause
        if cause is Cause.COUNT_MISMATCH:  # a policy would look for verdicts to count
            cause = Cause.MALFORMED
        judges = count(len(outcomes), "judge")
        of_how_many = f"{len(failures)} of the panel's {judges} did not answer"
        return JudgeFailureError(
            replace(
                first,
                cause=cause,
                message=f"{of_how_many}; {judge}: {first.message}",
                returned=(),  # one member's verdicts are not the panel's
                usage=reduce(add, (outcome.usage for outcome in outcomes)),
                attempts=sum(outcome.attempts for outcome in outcomes),
                cascade=added_up(self._cascades(outcomes)),
            )
        )

    def _numbered(self, outcomes: Sequence[Outcome[T]]) -> list[tuple[str, Outcome[T]]]:
        """Return the outcomes with the judges they are of, in words."""
        judges = [f"judge {n} ({judge.name})" for n, judge in enumerate(self.judges, 1)]
        return list(zip(judges, outcomes, strict=False))  # the first may have sufficed


def _name(judges: Sequence[Judge]) -> str:
    counts = Counter(judge.name for judge in judges)
    return ",".join(f"{n}*{name}" if n > 1 else name for name, n in counts.items())


def _headed(judge: str, outcome: Outcome[T]) -> str | None:
    return None if outcome.raw is None else f"{judge}:\n{outcome.raw}"
