"""PanelJudge: the majority vote of several judges."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TypeVar, cast

from ragstone._internal.concurrency import gather
from ragstone._internal.text import count
from ragstone.errors import Cause, UsageError
from ragstone.judges.base import Judge, MultiJudge, Pending, outcome_of
from ragstone.types.claim import FoundAnswer, Grade, Label, Rating, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    FindAnswer,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import CascadeStats, Failure, JudgeFailureError, Outcome, Reply, sum_stats

T = TypeVar("T")

VOTED = frozenset(
    kind.kind
    for kind in (
        VerifyClaims,
        GradeContexts,
        GradeSentences,
        DetectAbstention,
        FindAnswer,
        RateResponse,
    )
)
"""The kinds of question that all judges of a panel answer."""


def tally(question: Question[T], values: Sequence[object]) -> tuple[object, tuple[str, ...]]:
    if isinstance(question, VerifyClaims):
        ballots = zip(*cast("Sequence[tuple[Verdict, ...]]", values), strict=True)
        return tuple(map(_verdict, ballots)), ()
    if isinstance(question, DetectAbstention):
        yes = sum(cast("Sequence[bool]", values))
        note = "the judges disagree on whether the response abstains; treated as not abstaining"
        return 2 * yes > len(values), (note,) if 2 * yes == len(values) else ()
    if isinstance(question, FindAnswer):
        votes = cast("Sequence[FoundAnswer]", values)
        yes = sum(vote.found for vote in votes)
        note = "the judges disagree on whether the contexts have the answer; treated as not found"
        if 2 * yes == len(votes):
            return FoundAnswer(found=False, split=True), (note,)
        return next(vote for vote in votes if vote.found == (2 * yes > len(votes))), ()
    if isinstance(question, RateResponse):
        scale = [level for level, _ in question.levels]
        return _rating(cast("Sequence[Rating]", values), scale)
    return _grades(cast("Sequence[tuple[Grade, ...]]", values))


def _verdict(votes: Sequence[Verdict]) -> Verdict:
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


def _grades(values: Sequence[tuple[Grade, ...]]) -> tuple[object, tuple[str, ...]]:
    grades: list[Grade] = []
    ties: list[str] = []
    for number, votes in enumerate(zip(*values, strict=True), 1):
        yes = sum(vote.relevant for vote in votes)
        if 2 * yes == len(votes):
            ties.append(f"text {number}")
            reason = f"the judges disagree: {yes} relevant, {yes} not"
            grades.append(Grade(relevant=False, reason=reason))
        else:
            grades.append(next(vote for vote in votes if vote.relevant == (2 * yes > len(votes))))
    note = f"the judges disagree on {', '.join(ties)}; treated as not relevant"
    return tuple(grades), (note,) if ties else ()


def _rating(votes: Sequence[Rating], scale: Sequence[int]) -> tuple[object, tuple[str, ...]]:
    levels, steps = sorted(vote.level for vote in votes), sorted(scale)
    apart = steps.index(levels[-1]) - steps.index(levels[0])
    note = f"the judges differ by {count(apart, 'level')}: {', '.join(map(str, levels))}"
    lower, upper = levels[(len(levels) - 1) // 2], levels[len(levels) // 2]
    if lower != upper:
        note += f"; treated as {lower}"
    first = next(vote for vote in votes if vote.level == lower)
    return first, (note,) if apart > 1 or lower != upper else ()


class PanelJudge(MultiJudge):
    """Asks all its judges to verify, grade or rate, and returns the majority's answer.

    A tie of labels is NOT_ENOUGH_INFO, a tie of grades not relevant, a tie on abstention no
    abstention; of ratings the median counts. A verdict's confidence is its label's share of the
    votes. Other questions go to one judge, or to the next if it fails: all must judge the same
    claims.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise UsageError("a panel has no judges; name at least one")
        super().__init__(judges)
        names = Counter(judge.name for judge in judges)
        self.name = ",".join(f"{n}*{name}" if n > 1 else name for name, n in names.items())
        self.description = (
            f"a panel of {len(judges)}; the majority decides labels and grades; "
            "ratings use the median level"
        )
        limited = [judge.kinds for judge in judges if judge.kinds is not None]
        self.kinds = reduce(lambda some, more: some & more, limited) if limited else None

    def takes(self, kind: str) -> bool:
        return all(judge.takes(kind) for judge in self.judges)

    def identity(self, kind: str) -> str | None:
        found = [judge.identity(kind) for judge in self.judges]
        return json.dumps(found) if all(found) else None

    def setup(self, kind: str) -> str | None:
        found = self.setups(kind)
        return json.dumps(found) if found else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask all judges, or one of them, depending on the kind of question.

        Raises:
            JudgeFailureError: no more than half of the judges answered what is voted on, or none
                another question; with the first failure and the usage of all.
        """
        outcomes: list[Outcome[T]] = []
        if question.kind not in VOTED:
            for judge in self.judges:
                outcomes.append(await outcome_of(judge, question))
                if isinstance(reply := outcomes[-1], Reply):
                    return self._joined(outcomes, reply)
                if isinstance(reply, Pending):
                    break
            raise self._failure(outcomes)
        outcomes = list(await gather(outcome_of(judge, question) for judge in self.judges))
        replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
        if len(replies) * 2 <= len(outcomes):
            raise self._failure(outcomes)
        value, notes = tally(question, [reply.value for reply in replies])
        raws = [
            f"{name}:\n{each.raw}" for name, each in self._named(outcomes) if each.raw is not None
        ]
        reply = replace(question.reply(value), raw="\n\n".join(raws) or None)
        reply = self._joined(outcomes, reply)
        return replace(reply, notes=(*reply.notes, *notes))

    def _joined(self, outcomes: Sequence[Outcome[T]], reply: Reply[T]) -> Reply[T]:
        notes: list[str] = []
        for judge, outcome in self._named(outcomes):
            if isinstance(outcome, Failure):
                notes.append(f"{judge} did not answer: {outcome.cause}: {outcome.message}")
            else:
                notes += [f"{judge}: {note}" for note in outcome.notes]
        answered = (replace(each, unanswered=0) for each in self._cascades(outcomes))
        return replace(
            reply,
            usage=reduce(add, (outcome.usage for outcome in outcomes)),
            notes=tuple(notes),
            attempts=sum(outcome.attempts for outcome in outcomes),
            cascade=sum_stats(answered),
        )

    def _failure(self, outcomes: Sequence[Outcome[T]]) -> JudgeFailureError:
        named = self._named(outcomes)
        failures = [(judge, each) for judge, each in named if isinstance(each, Failure)]
        judge, first = failures[0]
        judges = count(len(outcomes), "judge")
        message = (
            f"{len(failures)} of the panel's {judges} did not answer; {judge}: {first.message}"
        )
        mismatch = first.cause is Cause.COUNT_MISMATCH  # a policy would count one judge's verdicts
        return JudgeFailureError(
            replace(
                first,
                cause=Cause.MALFORMED if mismatch else first.cause,
                message=message,
                returned=(),
                usage=reduce(add, (outcome.usage for outcome in outcomes)),
                attempts=sum(outcome.attempts for outcome in outcomes),
                cascade=sum_stats(self._cascades(outcomes)),
            )
        )

    def _cascades(self, outcomes: Sequence[Outcome[T]]) -> Iterable[CascadeStats]:
        """Return the statistics of each cascade; several votes of one are on the same verdicts.

        What one vote did not answer is left out if another one did.
        """
        found: dict[str, CascadeStats] = {}
        both = zip(self.judges, outcomes, strict=False)
        for judge, outcome in sorted(both, key=lambda each: isinstance(each[1], Failure)):
            if one := outcome.cascade:
                first = found.setdefault(judge.name, replace(one, saved=0))
                found[judge.name] = replace(first, saved=first.saved + one.saved)
        return found.values()

    def _named(self, outcomes: Sequence[Outcome[T]]) -> list[tuple[str, Outcome[T]]]:
        judges = [f"judge {n} ({judge.name})" for n, judge in enumerate(self.judges, 1)]
        return list(zip(judges, outcomes, strict=False))  # the first one may have answered
