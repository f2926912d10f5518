"""SplitJudge: claims and sentences in batches, and contexts too long for a prompt in windows."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import TypeAlias, TypeVar, cast

from ragstone._internal.concurrency import together
from ragstone._internal.sentences import split_sentences
from ragstone.errors import Cause
from ragstone.judges.base import Judge, JudgeWrapper, outcome_of
from ragstone.types.claim import Evidence, Grade, Label, Verdict
from ragstone.types.questions import (
    BATCH,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import (
    Failure,
    JudgeFailureError,
    Outcome,
    PartialVerdict,
    Reply,
    Usage,
    added_up,
)

T = TypeVar("T")


# Parts: one question put to a judge as several, and what their answers come to.

V = TypeVar("V")


async def answered(
    judge: Judge, parts: Iterable[Question[T]]
) -> tuple[Sequence[Outcome[T]], Usage]:
    """Ask all parts at once, equal ones once; return what each gave, and what all of it cost."""
    asked = list(parts)
    once = {part.key: part for part in asked}
    found = await together(outcome_of(judge, part) for part in once.values())
    told = dict(zip(once, found, strict=True))
    return [told[part.key] for part in asked], reduce(add, (each.usage for each in found))


def joined(
    outcomes: Sequence[Outcome[T]], value: Callable[[Sequence[T]], V], usage: Usage
) -> Outcome[V]:
    """Return what the parts come to: a reply with the `value` of theirs, else the worst failure.

    Either has all that was written, and what all of it cost; what came back is the failed part's.
    """
    raw = "\n\n".join(outcome.raw for outcome in outcomes if outcome.raw) or None
    if failed := _worst(outcomes):
        return replace(failed, raw=raw, usage=usage)
    replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    return Reply(
        value([reply.value for reply in replies]),
        usage,
        tuple(dict.fromkeys(note for reply in replies for note in reply.notes)),
        raw=raw,
        attempts=max(reply.attempts for reply in replies),
        final=all(reply.final for reply in replies),
        cascade=added_up(reply.cascade for reply in replies),
    )


def _worst(outcomes: Sequence[Outcome[T]]) -> Failure | None:
    """Return the failure that leaves the least to go by; None if there is none.

    A part that was not answered at all weighs more than one with a verdict too many.
    """

    def rank(failure: Failure) -> int:
        if failure.cause is Cause.COUNT_MISMATCH:
            return 2
        return 3 if failure.returned else int(failure.cause is Cause.MALFORMED)

    return min((each for each in outcomes if isinstance(each, Failure)), key=rank, default=None)


# Tokens: how many a text may take, without any model's tokenizer.

_WIDE = re.compile(r"[^\x00-\u052f\u1e00-\u20cf]")
"""Characters of scripts in which a token is about one of them."""


def estimated_tokens(text: str) -> int:
    """Estimate a text's tokens: 4 characters each, but 1 in scripts such as Chinese.

    An estimate for plans and budgets: off by a tenth for English prose, more for other texts.
    """
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


# Window: contexts, and pieces of those that are too long, that fit into one prompt together.


@dataclass(frozen=True)
class Piece:
    """A part of a context: its number and where in it the part begins."""

    text: str
    context: int
    start: int


def windows_of(contexts: Sequence[str], room: int, *, most: int | None = None) -> list[list[Piece]]:
    """Return the contexts, and pieces of those that are too long, in windows of `room` tokens.

    No window holds more than `most` of them.
    """
    windows: list[list[Piece]] = [[]]
    left = room
    for number, context in enumerate(contexts):
        for piece in pieces_of(context, number, room):
            size = estimated_tokens(piece.text)
            if windows[-1] and (size > left or len(windows[-1]) == most):
                windows.append([])
                left = room
            windows[-1].append(piece)
            left -= size
    return windows


def pieces_of(context: str, number: int, room: int) -> list[Piece]:
    """Cut a context between sentences; one sentence that is too long, between characters."""
    if estimated_tokens(context) <= room:
        return [Piece(context, number, 0)]
    begins = [sentence.start for sentence in split_sentences(context)[1:]]
    cuts, size = [0], 0
    for begin, end in pairwise([0, *begins, len(context)]):
        size += estimated_tokens(context[begin:end])
        while size > room:
            cuts.append(begin if begin > cuts[-1] else cuts[-1] + room)
            size = estimated_tokens(context[cuts[-1] : min(end, cuts[-1] + 4 * room + 1)])
    ends = [*cuts[1:], len(context)]
    return [Piece(context[a:b], number, a) for a, b in zip(cuts, ends, strict=True)]


# Grading in parts: contexts, or sentences, as many at once as fit into a prompt and a reply.

MOST = 100
"""Grades in one reply: more may not fit into the tokens that a reply gets."""

Grades: TypeAlias = tuple[Grade, ...]


async def graded_in_parts(
    judge: Judge, question: GradeContexts | GradeSentences, room: int
) -> Reply[Grades]:
    """Have contexts or sentences graded; where they are too many or too long together, in parts.

    What is longer than `room` tokens by itself is graded in pieces, and relevant if one of them is.

    Raises:
        JudgeFailureError: a part was not graded.
    """
    of_contexts = isinstance(question, GradeContexts)
    texts = question.contexts if of_contexts else question.sentences
    if not texts:
        return question.reply(())
    windows = windows_of(texts, room, most=MOST)
    if len(windows) == 1:
        return await judge.answer(question)
    outcomes, usage = await answered(judge, (_part(question, window) for window in windows))

    def of_all(parts: Sequence[Grades]) -> Grades:
        grades: list[list[Grade]] = [[] for _ in texts]
        for window, part in zip(windows, parts, strict=True):
            for piece, grade in zip(window, part, strict=True):
                grades[piece.context].append(grade)
        return tuple(map(_best, grades))

    whole = joined(outcomes, of_all, usage)
    if isinstance(whole, Failure):
        raise JudgeFailureError(whole)
    notes = [f"the contexts were graded in {len(windows)} windows"] if of_contexts else []
    return replace(whole, notes=(*whole.notes, *notes))


def _part(
    question: GradeContexts | GradeSentences, window: Sequence[Piece]
) -> GradeContexts | GradeSentences:
    texts = tuple(piece.text for piece in window)
    if isinstance(question, GradeContexts):
        return question.varied(contexts=texts)
    return question.varied(sentences=texts)


def _best(pieces: Sequence[Grade]) -> Grade:
    """Return the first grade that says relevant, else the first."""
    return next((grade for grade in pieces if grade.relevant), pieces[0])


SHARE = 0.5
"""The share of a context window that contexts may fill: claims, reply and errors need the rest."""

_STRONGEST = (
    Label.SUPPORTED,
    Label.CONTRADICTED,
    Label.PARTIALLY_SUPPORTED,
    Label.NOT_ENOUGH_INFO,
)
"""Which window's verdict counts where several judge one claim: the first that any gave."""

_Verdicts: TypeAlias = tuple[Verdict, ...]
_Outcome = Outcome[_Verdicts]


class SplitJudge(JudgeWrapper):
    """Puts what is too long to the judge within in parts that fit, all at once; joins the answers.

    A claim is put to every window of the contexts: supported in one is supported, else
    contradicted in one is contradicted. A context is graded in one window, or, where it is longer
    than that, in pieces: relevant if one of them is. A response is rated by all of its texts at
    once, or, where they do not fit, not at all.
    """

    def __init__(self, judge: Judge, *, context_window: int) -> None:
        super().__init__(judge)
        self._context_window = context_window
        self._room = int(context_window * SHARE)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask in parts where that is needed.

        Raises:
            JudgeFailureError: a part was not answered; its failure holds what came back to the
                others. Or the texts of a rating are too long to be rated together.
            QuestionNotSupportedError: the judge within does not take that kind of question.
        """
        if isinstance(question, VerifyClaims):
            return cast("Reply[T]", await self._verified(question))
        if isinstance(question, GradeContexts | GradeSentences):
            return cast("Reply[T]", await graded_in_parts(self.judge, question, self._room))
        self._check_room(question)
        return await self.judge.answer(question)

    def _check_room(self, question: object) -> None:
        """Refuse to have rated what does not fit: a server that cuts it may say nothing of that.

        Raises:
            JudgeFailureError: the texts take more tokens than there is room for.
        """
        if not isinstance(question, RateResponse):
            return
        texts = (question.query, question.response, question.reference or "")
        tokens = sum(map(estimated_tokens, (*texts, *(question.contexts or ()))))
        if tokens > self._room:
            said = (
                f"the texts to rate take about {tokens:,} tokens, more than half of the context "
                f"window of {self._context_window:,}, and cannot be rated in parts; nobody was "
                "asked. If the model takes more, say so with --context-window; else give fewer or "
                "shorter contexts"
            )
            raise JudgeFailureError(Failure(Cause.TRUNCATED, said, attempts=0))

    async def _verified(self, question: VerifyClaims) -> Reply[_Verdicts]:
        if not question.claims:
            return question.reply(())
        windows = windows_of(question.contexts, self._room)
        size = question.batch_size
        batches = [question.claims[at : at + size] for at in range(0, len(question.claims), size)]
        if len(windows) == 1 and len(batches) == 1:
            # kept under one key, whatever the size
            whole = question if size == BATCH else question.varied(batch_size=BATCH)
            return await self.judge.answer(whole)
        outcomes = await together(self._batch(question, window, batches) for window in windows)
        usage = reduce(add, (outcome.usage for outcome in outcomes))
        all_told = joined(outcomes, _strongest_of_each, usage)
        if isinstance(all_told, Failure):
            returned = _combined([_listed(outcome) for outcome in outcomes])
            raise JudgeFailureError(replace(all_told, returned=returned))
        several = len(windows) > 1
        notes = [f"the contexts were judged in {len(windows)} windows"] if several else []
        return replace(all_told, notes=(*all_told.notes, *notes))

    async def _batch(
        self,
        question: VerifyClaims,
        window: Sequence[Piece],
        batches: Sequence[tuple[str, ...]],
    ) -> _Outcome:
        """Put all batches of claims to one window."""
        texts = tuple(piece.text for piece in window)
        outcomes, usage = await answered(
            self.judge,
            (question.varied(claims=batch, contexts=texts, batch_size=BATCH) for batch in batches),
        )

        def in_a_row(parts: Sequence[_Verdicts]) -> _Verdicts:
            return tuple(_placed(verdict, window) for part in parts for verdict in part)

        all_told = joined(outcomes, in_a_row, usage)
        if isinstance(all_told, Failure):
            returned = _returned(outcomes, [len(batch) for batch in batches], window)
            return replace(all_told, returned=returned)
        return all_told


def _strongest(verdicts: Sequence[Verdict]) -> Verdict:
    return min(verdicts, key=lambda verdict: _STRONGEST.index(verdict.label))


def _strongest_of_each(windows: Sequence[_Verdicts]) -> _Verdicts:
    return tuple(_strongest(verdicts) for verdicts in zip(*windows, strict=True))


def _placed(verdict: Verdict, window: Sequence[Piece]) -> Verdict:
    """Return the verdict with its evidence's places in the whole contexts."""
    if all(piece.start == 0 and piece.context == n for n, piece in enumerate(window)):
        return verdict
    evidence = tuple(_moved(item, window) for item in verdict.evidence)
    return verdict.model_copy(update={"evidence": evidence})


def _moved(item: Evidence, window: Sequence[Piece]) -> Evidence:
    piece = window[item.context]
    start = None if item.start is None else item.start + piece.start
    end = None if item.end is None else item.end + piece.start
    return item.model_copy(update={"context": piece.context, "start": start, "end": end})


def _returned(
    outcomes: Sequence[_Outcome], sizes: Sequence[int], window: Sequence[Piece]
) -> tuple[PartialVerdict, ...]:
    """Return what came back in all batches, numbered and placed as in the whole question."""
    items: list[PartialVerdict] = []
    first = 0
    for outcome, size in zip(outcomes, sizes, strict=True):
        for item in _listed(outcome):
            number = None if item.number is None else item.number + first
            verdict = item.verdict and _placed(item.verdict, window)
            items.append(replace(item, number=number, verdict=verdict))
        first += size
    return tuple(items)


def _listed(outcome: _Outcome) -> tuple[PartialVerdict, ...]:
    if isinstance(outcome, Failure):
        return outcome.returned
    return tuple(PartialVerdict(n, each.label, each) for n, each in enumerate(outcome.value, 1))


def _combined(windows: Sequence[tuple[PartialVerdict, ...]]) -> tuple[PartialVerdict, ...]:
    """Return, of several windows, the claims' strongest verdicts where every window gave one."""
    if len(windows) == 1:
        return windows[0]
    numbered = [{item.number: item for item in items if item.verdict} for items in windows]
    shared = set[int | None].intersection(*map(set, numbered))
    found: list[PartialVerdict] = []
    for number in sorted(number for number in shared if number is not None):
        verdicts = [each[number].verdict for each in numbered]
        strongest = _strongest([verdict for verdict in verdicts if verdict])
        found.append(PartialVerdict(number, strongest.label, strongest))
    return tuple(found)
