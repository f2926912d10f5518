"""CascadeJudge: a cheap judge first, a dear one only where the cheap one is not sure."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import compress
from typing import TypeVar, cast

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import Judge, MultiJudge, outcome_of, setup_of
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

MARK, CONTROL = 0.8, 0.05
"""The confidence that a verdict needs to stay, and the share of those that is asked of both."""

_Verdicts = tuple[Verdict, ...]


class CascadeJudge(MultiJudge):
    """Has claims verified by a cheap judge, and by a dear one where that is not sure enough.

    A verdict whose confidence is under `mark`, or that has none, is asked of the dear judge, and
    so is a `control` share of the others, chosen by the claim's hash: the same claims each time.
    On what both judged, the dear one's word counts. A verdict names the judge that gave it. All
    other questions have no confidence to go by: the dear judge answers them if it takes them.
    """

    def __init__(
        self, cheap: Judge, dear: Judge, *, threshold: float = MARK, control: float = CONTROL
    ) -> None:
        super().__init__((cheap, dear))
        self._cheap, self._dear = cheap, dear
        self._mark, self._control = threshold, control
        self.name = f"{CASCADE}:{cheap.name}+{dear.name}"
        self.description = (
            f"a cascade: verdicts by {cheap.name} where its confidence is at least {threshold:g}, "
            f"else by {dear.name}; {control:.0%} of the sure ones by both, to compare"
        )
        if cheap.kinds is not None and dear.kinds is not None:
            self.kinds = frozenset(filter(self.takes, cheap.kinds | dear.kinds))

    def takes(self, kind: str) -> bool:
        """Tell whether one of them takes it, and of claims to verify both."""
        needed = all if kind == VerifyClaims.kind else any
        return needed(judge.takes(kind) for judge in self.judges)

    def identity(self, kind: str) -> str | None:
        """Name both judges, the mark and the share; None where one has no identity."""
        known = all(judge.identity(kind) for judge in self.judges)
        return self.setup(kind) if known else None

    def setup(self, kind: str) -> str | None:
        """Name both judges, one without identity by its name; None where neither has one."""
        found = [setup_of(judge, kind) for judge in self.judges]
        if not any(found):
            return None
        cheap, dear = (own or judge.name for own, judge in zip(found, self.judges, strict=True))
        return f"{CASCADE} {self._mark:g} {self._control:g}\n{cheap}\n{dear}"

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question.

        Raises:
            JudgeFailureError: a verdict had to come from the dear judge, and it did not answer; or
                the budget does not allow the control: then the row is to be done again.
            QuestionNotSupportedError: neither takes that kind of question.
        """
        if isinstance(question, VerifyClaims):
            return cast("Reply[T]", await self._verified(question))
        for judge in (self._dear, self._cheap):
            if judge.takes(question.kind):
                return await judge.answer(question)
        raise QuestionNotSupportedError(f"no judge of {self.name} answers {question.kind}")

    async def _verified(self, question: VerifyClaims) -> Reply[_Verdicts]:
        cheap = await outcome_of(self._cheap, question)
        ups = [True] * len(question.claims)
        if isinstance(cheap, Reply):
            ups = [each.confidence is None or each.confidence < self._mark for each in cheap.value]
        asked = [
            up or self._in_control(claim) for up, claim in zip(ups, question.claims, strict=True)
        ]
        if not any(asked):
            return self._told(question, cheap, None, ups, asked)
        claims = tuple(compress(question.claims, asked))
        whole = question if all(asked) else question.varied(claims=claims)
        return self._told(question, cheap, await outcome_of(self._dear, whole), ups, asked)

    def _in_control(self, claim: str) -> bool:
        digest = sha256(claim.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) < self._control * 2**64

    def _told(
        self,
        question: VerifyClaims,
        cheap: Outcome[_Verdicts],
        dear: Outcome[_Verdicts] | None,
        ups: Sequence[bool],
        asked: Sequence[bool],
    ) -> Reply[_Verdicts]:
        """Join what both said, the dear one's word first, with what it cost and how they agree."""
        usage = cheap.usage + dear.usage if dear else cheap.usage
        if isinstance(dear, Failure) and (any(ups) or dear.cause is Cause.BUDGET):
            came = self._returned(dear, cheap, ups, asked)
            given = {item.number for item in came if item.verdict}
            lost = CascadeStats(
                unanswered=sum(up and n not in given for n, up in enumerate(ups, 1))
            )
            raise JudgeFailureError(replace(dear, returned=came, usage=usage, cascade=lost))
        notes: list[str] = []
        for judge, outcome in ((self._cheap, cheap), (self._dear, dear)):
            if isinstance(outcome, Failure):
                notes.append(f"{judge.name} did not answer: {outcome.cause}: {outcome.message}")
            elif outcome:
                notes += outcome.notes
        first = _by(self._cheap, cheap) if isinstance(cheap, Reply) else [None] * len(ups)
        answered = isinstance(dear, Reply)
        above = iter(_by(self._dear, dear) if answered else ())
        second = [next(above, None) if each else None for each in asked]
        verdicts = [b or a for a, b in zip(first, second, strict=True)]
        reply = question.reply(tuple(verdicts), usage)
        both = [(a, b) for a, b, up in zip(first, second, ups, strict=True) if a and b and not up]
        size = question.batch_size
        told = CascadeStats(
            verdicts=len(ups),
            up=sum(ups),
            control=len(both),
            alike=sum(_backed(a) == _backed(b) for a, b in both),
            same=sum(a.label is b.label for a, b in both),
            saved=-(-len(ups) // size) - -(-sum(asked) // size),
        )
        raw, final = (dear.raw, dear.final) if isinstance(dear, Reply) else (None, True)
        return replace(reply, notes=tuple(notes), raw=raw, final=final, cascade=told)

    def _returned(
        self,
        dear: Failure,
        cheap: Outcome[_Verdicts],
        ups: Sequence[bool],
        asked: Sequence[bool],
    ) -> tuple[PartialVerdict, ...]:
        """Return what came back, by the numbers of all claims: the sure verdicts are among it.

        A policy counts what came: the dear judge's part alone would be too few.
        """
        if not dear.returned and dear.cause is not Cause.COUNT_MISMATCH:
            return ()
        places = [number for number, each in enumerate(asked, 1) if each]
        found: list[tuple[int, PartialVerdict]] = []
        for place, item in enumerate(dear.returned, 1):
            number = item.number or place
            if number > len(places):  # a verdict too many
                number += len(asked) - len(places)
            elif number > 0:
                number = places[number - 1]
            verdict = item.verdict and _named(self._dear, item.verdict)
            found.append((number, replace(item, number=number, verdict=verdict)))
        came = {number for number, _ in found}
        for number, up in enumerate(ups, 1):
            if isinstance(cheap, Reply) and not up and number not in came:
                sure = _named(self._cheap, cheap.value[number - 1])
                found.append((number, PartialVerdict(number, sure.label, sure)))
        return tuple(item for _, item in sorted(found, key=lambda each: each[0]))


def _by(judge: Judge, reply: Reply[_Verdicts]) -> list[Verdict]:
    return [_named(judge, each) for each in reply.value]


def _named(judge: Judge, verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"judge": verdict.judge or judge.name})


def _backed(verdict: Verdict) -> bool:
    return verdict.label is Label.SUPPORTED
