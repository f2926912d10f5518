"""PanelJudge: several judges' word on each claim or text, as most of them give it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeVar, cast

from ragstone._internal.concurrency import together
from ragstone._internal.text import count
from ragstone.errors import Cause, UsageError
from ragstone.judges.base import Judge, MultiJudge, outcome_of, setup_of
from ragstone.types.claim import Grade, Label, Rating, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import CascadeStats, Failure, JudgeFailureError, Outcome, Reply, added_up

T = TypeVar("T")


# Votes: what several judges' words on one question come to.

VOTED = frozenset(
    kind.kind
    for kind in (VerifyClaims, GradeContexts, GradeSentences, DetectAbstention, RateResponse)
)
"""The kinds of question on which all judges of a panel are asked: all judge the same texts."""


@dataclass(frozen=True)
class Tally:
    """What the votes come to, and what is to be said of it."""

    value: object
    notes: tuple[str, ...] = ()


def tally(question: Question[T], values: Sequence[object]) -> Tally:
    """Count the judges' words on a question that is voted on."""
    if isinstance(question, VerifyClaims):
        ballots = zip(*cast("Sequence[tuple[Verdict, ...]]", values), strict=True)
        return Tally(tuple(map(_verdict, ballots)))
    if isinstance(question, DetectAbstention):
        return _abstention(cast("Sequence[bool]", values))
    if isinstance(question, RateResponse):
        scale = [level for level, _ in question.levels]
        return _rating(cast("Sequence[Rating]", values), scale)
    return _grades(cast("Sequence[tuple[Grade, ...]]", values))


def _verdict(votes: Sequence[Verdict]) -> Verdict:
    """Return the label with the most votes; where two have them, NOT_ENOUGH_INFO."""
    counts = Counter(vote.label for vote in votes)
    most = max(counts.values())
    winners = [label for label, count in counts.items() if count == most]
    if len(winners) == 1:
        first = next(vote for vote in votes if vote.label is winners[0])
        return first.model_copy(update={"confidence": most / len(votes)})
    split = ", ".join(f"{counts[label]} {label}" for label in Label if counts[label])
    return Verdict(
        label=Label.NOT_ENOUGH_INFO,
        reason=f"the judges disagree: {split}",
        confidence=counts[Label.NOT_ENOUGH_INFO] / len(votes),
    )


def _grades(values: Sequence[tuple[Grade, ...]]) -> Tally:
    """Return, number by number, what most judges say; a tie is not relevant."""
    grades: list[Grade] = []
    ties: list[str] = []
    for number, votes in enumerate(zip(*values, strict=True), 1):
        yes = sum(vote.relevant for vote in votes)
        if 2 * yes == len(votes):
            ties.append(str(number))
            reason = f"the judges disagree: {yes} relevant, {yes} not"
            grades.append(Grade(relevant=False, reason=reason))
        else:
            grades.append(next(vote for vote in votes if vote.relevant == (2 * yes > len(votes))))
    said = f"the judges disagree on {', '.join(ties)}, taken as not relevant"
    return Tally(tuple(grades), (said,) if ties else ())


def _abstention(votes: Sequence[bool]) -> Tally:
    """Return what most judges say; a tie is no abstention."""
    said = "the judges disagree on whether it abstains, taken as not abstaining"
    return Tally(2 * sum(votes) > len(votes), (said,) if 2 * sum(votes) == len(votes) else ())


def _rating(votes: Sequence[Rating], scale: Sequence[int]) -> Tally:
    """Return the median level, the lower of two in the middle."""
    levels = sorted(vote.level for vote in votes)
    steps = sorted(scale)
    apart = steps.index(levels[-1]) - steps.index(levels[0])
    said = f"the judges differ by {apart} level{'s' * (apart > 1)}: {', '.join(map(str, levels))}"
    lower, upper = levels[(len(levels) - 1) // 2], levels[len(levels) // 2]
    if lower != upper:
        said += f", taken as {lower}"
    first = next(vote for vote in votes if vote.level == lower)
    return Tally(first, (said,) if apart > 1 or lower != upper else ())


class PanelJudge(MultiJudge):
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

    def _cascades(self, outcomes: Sequence[Outcome[T]]) -> Iterable[CascadeStats]:
        """Return what each cascade did; several votes of one are about the same verdicts.

        What one vote did not answer is not told of where another one did.
        """
        told: dict[str, CascadeStats] = {}
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
