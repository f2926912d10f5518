"""PanelJudge: several judges that take a vote."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TypeVar, cast

from ragstone._internal.concurrency import gather
from ragstone._internal.text import count
from ragstone.errors import Cause, UsageError
from ragstone.judges.base import Judge, outcome_of
from ragstone.types import questions
from ragstone.types.claim import FoundAnswer, Grade, Label, Rating, Verdict
from ragstone.types.questions import Question, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Outcome, Reply

T = TypeVar("T")

VOTED = "verify_claims grade_contexts grade_sentences detect_abstention find_answer rate_response"
"""The kinds of question that all judges of a panel answer."""


def tally(question: Question[T], values: Sequence[object]) -> tuple[object, tuple[str, ...]]:
    """Return the majority's answer, and notes on ties."""
    if isinstance(question, VerifyClaims):
        ballots = zip(*cast("Sequence[tuple[Verdict, ...]]", values), strict=True)
        return tuple(map(_verdict, ballots)), ()
    if isinstance(question, questions.DetectAbstention):
        abstains = _majority(cast("Sequence[bool]", values))
        note = "the judges disagree on whether the response abstains; treated as not abstaining"
        return bool(abstains), (note,) if abstains is None else ()
    if isinstance(question, questions.FindAnswer):
        votes = cast("Sequence[FoundAnswer]", values)
        found = _majority([vote.found for vote in votes])
        if found is not None:
            return next(vote for vote in votes if vote.found is found), ()
        note = "the judges disagree on whether the contexts have the answer; treated as not found"
        return FoundAnswer(found=False, split=True), (note,)
    if isinstance(question, questions.RateResponse):
        scale = [level for level, _ in question.levels]
        return _rating(cast("Sequence[Rating]", values), scale)
    return _grades(cast("Sequence[tuple[Grade, ...]]", values))


def _majority(votes: Sequence[bool]) -> bool | None:
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


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
        relevant = _majority([vote.relevant for vote in votes])
        if relevant is None:
            ties.append(f"text {number}")
            half = len(votes) // 2
            reason = f"the judges disagree: {half} relevant, {half} not"
            grades.append(Grade(relevant=False, reason=reason))
        else:
            grades.append(next(vote for vote in votes if vote.relevant is relevant))
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


class PanelJudge(Judge):
    """Asks all its judges to verify, grade or rate, and returns the majority's answer."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise UsageError("a panel has no judges; name at least one")
        self.judges = tuple(judges)
        self.tags = frozenset(tag for judge in self.judges for tag in judge.tags)
        self._parts = self.judges
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
        found = [judge.setup(kind) for judge in self.judges]
        named = [own or judge.name for own, judge in zip(found, self.judges, strict=True)]
        return json.dumps(named) if any(found) else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        if question.kind in VOTED.split():
            outcomes = await gather(outcome_of(judge, question) for judge in self.judges)
            replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
            if len(replies) * 2 <= len(outcomes):
                raise self._failure(outcomes)
            value, notes = tally(question, [reply.value for reply in replies])
            named = self._named(outcomes)
            raws = [f"{name}:\n{each.raw}" for name, each in named if each.raw is not None]
            reply = replace(question.reply(value), raw="\n\n".join(raws) or None)
            reply = self._joined(outcomes, reply)
            return replace(reply, notes=(*reply.notes, *notes))
        # one judge answers, or the next if it fails: all must judge the same claims
        outcomes: list[Outcome[T]] = []
        for judge in self.judges:
            outcomes.append(await outcome_of(judge, question))
            if isinstance(reply := outcomes[-1], Reply):
                return self._joined(outcomes, reply)
        raise self._failure(outcomes)

    def _joined(self, outcomes: Sequence[Outcome[T]], reply: Reply[T]) -> Reply[T]:
        notes: list[str] = []
        for judge, outcome in self._named(outcomes):
            if isinstance(outcome, Failure):
                notes.append(f"{judge} did not answer: {outcome.cause}: {outcome.message}")
            else:
                notes += [f"{judge}: {note}" for note in outcome.notes]
        return replace(
            reply,
            usage=reduce(add, (outcome.usage for outcome in outcomes)),
            notes=tuple(notes),
            attempts=sum(outcome.attempts for outcome in outcomes),
        )

    def _failure(self, outcomes: Sequence[Outcome[T]]) -> JudgeFailureError:
        named = self._named(outcomes)
        failures = [(judge, each) for judge, each in named if isinstance(each, Failure)]
        judge, first = failures[0]
        missing = f"{len(failures)} of the panel's {count(len(outcomes), 'judge')} did not answer"
        mismatch = first.cause is Cause.COUNT_MISMATCH  # a policy would count one judge's verdicts
        failure = replace(
            first,
            cause=Cause.MALFORMED if mismatch else first.cause,
            message=f"{missing}; {judge}: {first.message}",
            returned=(),
            usage=reduce(add, (outcome.usage for outcome in outcomes)),
            attempts=sum(outcome.attempts for outcome in outcomes),
        )
        return JudgeFailureError(failure)

    def _named(self, outcomes: Sequence[Outcome[T]]) -> list[tuple[str, Outcome[T]]]:
        judges = [f"judge {n} ({judge.name})" for n, judge in enumerate(self.judges, 1)]
        return list(zip(judges, outcomes, strict=False))  # the first one may have answered
