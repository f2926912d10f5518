"""CascadeJudge: a fast judge first, a strong one for the verdicts it is not sure of."""

from dataclasses import replace
from hashlib import sha256
from itertools import compress
from typing import TypeAlias, TypeVar, cast

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import Judge, MultiJudge, outcome_of, reply_of
from ragstone.judges.spec import CASCADE
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import Question, VerifyClaims
from ragstone.types.reply import (
    CascadeStats,
    Failure,
    JudgeFailureError,
    Outcome,
    PartialVerdict,
    Reply,
)

T = TypeVar("T")

THRESHOLD, AUDIT_RATE = 0.8, 0.05

_Verdicts: TypeAlias = tuple[Verdict, ...]


class CascadeJudge(MultiJudge):
    """Verifies claims by a first judge, and by a second one if the first is not sure enough.

    A verdict without a confidence, or with one under `threshold`, is escalated. Of the other
    claims, a fraction of `audit_rate`, chosen by the claim's hash, is also sent to the second
    judge, whose verdicts count. Each verdict names its judge. Other questions go to the second
    judge if it takes them, else to the first.
    """

    def __init__(
        self,
        first: Judge,
        second: Judge,
        *,
        threshold: float = THRESHOLD,
        audit_rate: float = AUDIT_RATE,
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

    def identity(self, kind: str) -> str | None:
        known = all(judge.identity(kind) for judge in self.judges)
        return self.setup(kind) if known else None

    def setup(self, kind: str) -> str | None:
        if (found := self.setups(kind)) is None:
            return None
        return "\n".join([f"{CASCADE} {self._threshold:g} {self._audit_rate:g}", *found])

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question.

        Raises:
            JudgeFailureError: the second judge failed on an escalated claim, or the budget does
                not allow the audit: then the row has to be evaluated again.
            QuestionNotSupportedError: neither takes that kind of question.
        """
        if isinstance(question, VerifyClaims):
            return cast("Reply[T]", await self._verified(question))
        for judge in (self._second, self._first):
            if judge.takes(question.kind):
                return await reply_of(judge, question)
        raise QuestionNotSupportedError(f"no judge in {self.name} can answer {question.kind}")

    async def _verified(self, question: VerifyClaims) -> Reply[_Verdicts]:
        first = _signed(self._first, await outcome_of(self._first, question))
        escalated = [True] * len(question.claims)
        if isinstance(first, Reply):
            escalated = [
                each.confidence is None or each.confidence < self._threshold for each in first.value
            ]
        asked = [
            is_escalated or self._is_audited(claim)
            for is_escalated, claim in zip(escalated, question.claims, strict=True)
        ]
        second: Outcome[_Verdicts] | None = None
        if any(asked):
            some = question.varied(claims=tuple(compress(question.claims, asked)))
            part = question if all(asked) else some
            second = _signed(self._second, await outcome_of(self._second, part))
        usage = first.usage + second.usage if second else first.usage
        if isinstance(second, Failure) and (any(escalated) or second.cause is Cause.BUDGET):
            returned = _returned(first, second, escalated, asked)
            known = {item.number for item in returned if item.verdict}
            lost = sum(
                is_escalated and n not in known for n, is_escalated in enumerate(escalated, 1)
            )
            stats = CascadeStats(unanswered=lost)
            raise JudgeFailureError(replace(second, returned=returned, usage=usage, cascade=stats))

        notes: list[str] = []
        for judge, outcome in ((self._first, first), (self._second, second)):
            if isinstance(outcome, Failure):
                notes.append(f"{judge.name} did not answer: {outcome.cause}: {outcome.message}")
            elif outcome:
                notes += outcome.notes
        firsts = first.value if isinstance(first, Reply) else [None] * len(asked)
        later = iter(second.value if isinstance(second, Reply) else ())
        seconds = [next(later, None) if each else None for each in asked]
        verdicts = tuple(two or one for one, two in zip(firsts, seconds, strict=True))
        reply = question.reply(verdicts, usage)
        both = [
            (one.label, two.label)
            for one, two, is_escalated in zip(firsts, seconds, escalated, strict=True)
            if one and two and not is_escalated
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

    def _is_audited(self, claim: str) -> bool:
        digest = sha256(claim.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) < self._audit_rate * 2**64


def _signed(judge: Judge, outcome: Outcome[_Verdicts]) -> Outcome[_Verdicts]:
    def sign(verdict: Verdict) -> Verdict:
        return verdict.model_copy(update={"judge": verdict.judge or judge.name})

    if isinstance(outcome, Reply):
        return replace(outcome, value=tuple(map(sign, outcome.value)))
    items = (
        replace(each, verdict=each.verdict and sign(each.verdict)) for each in outcome.returned
    )
    return replace(outcome, returned=tuple(items))


def _returned(
    first: Outcome[_Verdicts], second: Failure, escalated: list[bool], asked: list[bool]
) -> tuple[PartialVerdict, ...]:
    """Return the returned verdicts by the numbers of all claims, the confident ones included.

    A policy counts what was returned: the second judge's part alone would be too few.
    """
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
