"""Judges of several judges: PanelJudge takes a vote, CascadeJudge asks the fast one first."""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from itertools import compress
from operator import add
from typing import TypeVar, cast

from ragstone._internal.concurrency import gather
from ragstone._internal.text import count
from ragstone.errors import Cause, QuestionNotSupportedError, UsageError
from ragstone.judges.base import Judge, outcome_of, reply_of
from ragstone.judges.spec import CASCADE
from ragstone.types import questions
from ragstone.types.claim import FoundAnswer, Grade, Label, Rating, Verdict, Verdicts
from ragstone.types.questions import Question, VerifyClaims
from ragstone.types.reply import (
    CascadeStats,
    Failure,
    JudgeFailureError,
    Outcome,
    PartialVerdict,
    Reply,
    sum_stats,
)

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


class MultiJudge(Judge):
    def __init__(self, judges: Iterable[Judge]) -> None:
        self.judges = tuple(judges)
        self.tags = frozenset(tag for judge in self.judges for tag in judge.tags)
        self._parts = self.judges

    @abstractmethod
    def joined(self, identities: Sequence[str]) -> str:
        """Return what identifies judges with these identities, asked together."""

    def identity(self, kind: str) -> str | None:
        found = [judge.identity(kind) for judge in self.judges]
        known = [identity for identity in found if identity]
        return self.joined(known) if len(known) == len(found) else None

    def setup(self, kind: str) -> str | None:
        found = [judge.setup(kind) for judge in self.judges]
        named = [own or judge.name for own, judge in zip(found, self.judges, strict=True)]
        return self.joined(named) if any(found) else None


class PanelJudge(MultiJudge):
    """Asks all its judges to verify, grade or rate, and returns the majority's answer."""

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

    def joined(self, identities: Sequence[str]) -> str:
        return json.dumps(identities)

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
        missing = f"{len(failures)} of the panel's {count(len(outcomes), 'judge')} did not answer"
        mismatch = first.cause is Cause.COUNT_MISMATCH  # a policy would count one judge's verdicts
        failure = replace(
            first,
            cause=Cause.MALFORMED if mismatch else first.cause,
            message=f"{missing}; {judge}: {first.message}",
            returned=(),
            usage=reduce(add, (outcome.usage for outcome in outcomes)),
            attempts=sum(outcome.attempts for outcome in outcomes),
            cascade=sum_stats(self._cascades(outcomes)),
        )
        return JudgeFailureError(failure)

    def _cascades(self, outcomes: Sequence[Outcome[T]]) -> Iterable[CascadeStats]:
        # several votes of one cascade are on the same verdicts: one that succeeded counts
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


class CascadeJudge(MultiJudge):
    """Verifies claims by a first judge, and by a second one if the first is not sure enough."""

    def __init__(
        self, first: Judge, second: Judge, *, threshold: float = 0.8, audit_rate: float = 0.05
    ) -> None:
        super().__init__((first, second))
        self._first, self._second = first, second
        self._threshold, self._audit_rate = threshold, audit_rate
        self.name = f"{CASCADE}:{first.name}+{second.name}"
        self.description = (
            f"a cascade: verdicts come from {first.name} if its confidence is at least "
            f"{threshold:g}, otherwise from {second.name}; both judge {audit_rate:.0%} of the "
            "confident ones, for comparison"
        )
        if first.kinds is not None and second.kinds is not None:
            self.kinds = frozenset(filter(self.takes, first.kinds | second.kinds))

    def takes(self, kind: str) -> bool:
        needed = all if kind == VerifyClaims.kind else any
        return needed(judge.takes(kind) for judge in self.judges)

    def joined(self, identities: Sequence[str]) -> str:
        return "\n".join([f"{CASCADE} {self._threshold:g} {self._audit_rate:g}", *identities])

    async def answer(self, question: Question[T]) -> Reply[T]:
        if isinstance(question, VerifyClaims):
            return cast("Reply[T]", await self._verified(question))
        for judge in (self._second, self._first):
            if judge.takes(question.kind):
                return await reply_of(judge, question)
        raise QuestionNotSupportedError(f"no judge in {self.name} can answer {question.kind}")

    async def _verified(self, question: VerifyClaims) -> Reply[Verdicts]:
        first = _signed(self._first, await outcome_of(self._first, question))
        escalated = [True] * len(question.claims)
        if isinstance(first, Reply):
            escalated = [
                each.confidence is None or each.confidence < self._threshold for each in first.value
            ]
        # the second judge also verifies a share of the others, the same ones in every run
        hashes = (sha256(claim.encode("utf-8", "surrogatepass")) for claim in question.claims)
        audited = [int.from_bytes(h.digest()[:8]) < self._audit_rate * 2**64 for h in hashes]
        asked = [above or also for above, also in zip(escalated, audited, strict=True)]
        second: Outcome[Verdicts] = Reply(())
        if any(asked):
            part = question
            if not all(asked):
                part = question.varied(claims=tuple(compress(question.claims, asked)))
            second = _signed(self._second, await outcome_of(self._second, part))
        usage = first.usage + second.usage
        if isinstance(second, Failure) and (any(escalated) or second.cause is Cause.BUDGET):
            returned = _returned(first, second, escalated, asked)
            known = {item.number for item in returned if item.verdict}
            lost = sum(above and n not in known for n, above in enumerate(escalated, 1))
            stats = CascadeStats(unanswered=lost)
            raise JudgeFailureError(replace(second, returned=returned, usage=usage, cascade=stats))

        notes: list[str] = []
        for judge, outcome in ((self._first, first), (self._second, second)):
            if isinstance(outcome, Failure):
                notes.append(f"{judge.name} did not answer: {outcome.cause}: {outcome.message}")
            else:
                notes += outcome.notes
        firsts = first.value if isinstance(first, Reply) else [None] * len(asked)
        later = iter(second.value if isinstance(second, Reply) else ())
        seconds = [next(later, None) if each else None for each in asked]
        verdicts = tuple(two or one for one, two in zip(firsts, seconds, strict=True))
        reply = question.reply(verdicts, usage)
        both = [
            (one.label, two.label)
            for one, two, above in zip(firsts, seconds, escalated, strict=True)
            if one and two and not above
        ]
        size = question.batch_size
        stats = CascadeStats(
            verdicts=len(asked),
            escalated=sum(escalated),
            audited=len(both),
            agreed_supported=sum((a is Label.SUPPORTED) == (b is Label.SUPPORTED) for a, b in both),
            agreed_label=sum(a is b for a, b in both),
            saved=-(-len(asked) // size) - -(-sum(asked) // size),
        )
        raw, final = (second.raw, second.final) if isinstance(second, Reply) else (None, True)
        return replace(reply, notes=tuple(notes), raw=raw, final=final, cascade=stats)


def _signed(judge: Judge, outcome: Outcome[Verdicts]) -> Outcome[Verdicts]:
    def sign(verdict: Verdict) -> Verdict:
        return verdict.model_copy(update={"judge": verdict.judge or judge.name})

    if isinstance(outcome, Reply):
        return replace(outcome, value=tuple(map(sign, outcome.value)))
    items = (
        replace(each, verdict=each.verdict and sign(each.verdict)) for each in outcome.returned
    )
    return replace(outcome, returned=tuple(items))


def _returned(
    first: Outcome[Verdicts], second: Failure, escalated: list[bool], asked: list[bool]
) -> tuple[PartialVerdict, ...]:
    # by the numbers of all claims: a policy would count the second judge's part as too few
    if not second.returned and second.cause is not Cause.COUNT_MISMATCH:
        return ()
    numbers = [number for number, each in enumerate(asked, 1) if each]
    found: dict[int, list[PartialVerdict]] = {}
    for position, item in enumerate(second.returned, 1):
        number = item.number or position
        if number > len(numbers):  # one verdict too many
            number += len(asked) - len(numbers)
        elif number > 0:
            number = numbers[number - 1]
        found.setdefault(number, []).append(replace(item, number=number))
    for number, is_escalated in enumerate(escalated, 1):
        if isinstance(first, Reply) and not is_escalated and number not in found:
            verdict = first.value[number - 1]
            found[number] = [PartialVerdict(number, verdict.label, verdict)]
    return tuple(item for number in sorted(found) for item in found[number])
