"""SplitJudge: claims and sentences in batches, and contexts too long for a prompt in windows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TypeAlias, TypeVar, cast

from ragstone.claims import Evidence, Label, Verdict
from ragstone.errors import Cause
from ragstone.exchanges import Failure, JudgeFailureError, Outcome, PartialVerdict, Reply
from ragstone.judges.around import AroundJudge
from ragstone.judges.base import Judge
from ragstone.judges.grading import graded_in_parts
from ragstone.judges.parts import answered, joined
from ragstone.judges.tokens import estimated_tokens
from ragstone.judges.windows import Piece, windows_of
from ragstone.questions import (
    BATCH,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.workers import together

T = TypeVar("T")

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


class SplitJudge(AroundJudge):
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
