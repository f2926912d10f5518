"""SplitJudge: claims in batches, and contexts that are too long for one prompt in windows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import TypeVar, cast

from ragstone._internal.concurrency import gather
from ragstone._internal.sentences import split_sentences
from ragstone.errors import Cause
from ragstone.judges.base import Judge, JudgeWrapper, outcome_of, reply_of
from ragstone.types import questions
from ragstone.types.claim import BATCH, Evidence, FoundAnswer, Grade, Label, Verdict, Verdicts
from ragstone.types.questions import Question, VerifyClaims
from ragstone.types.reply import (
    NOTHING_SPENT,
    Failure,
    JudgeFailureError,
    Outcome,
    PartialVerdict,
    Reply,
)

T = TypeVar("T")
V = TypeVar("V")
E = TypeVar("E", Verdict, FoundAnswer)

SHARE = 0.5  # of a context window for contexts; claims, reply and estimation errors need the rest
MOST = 100  # grades in one reply: more may not fit into its token limit

_WIDE = re.compile(r"[^\x00-\u052f\u1e00-\u20cf]")  # scripts with about one token per character
# of a claim's verdicts, one per window, the first of these labels counts
_STRONGEST = (Label.SUPPORTED, Label.CONTRADICTED, Label.PARTIALLY_SUPPORTED, Label.NOT_ENOUGH_INFO)


def estimated_tokens(text: str) -> int:
    """Estimate a text's tokens: one per 4 characters, or per character in scripts like Chinese."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


@dataclass(frozen=True)
class Piece:
    text: str
    context: int  # its number
    start: int  # in the context


def windows_of(contexts: Sequence[str], room: int, *, most: int | None = None) -> list[list[Piece]]:
    """Return the contexts, or pieces of long ones, in windows of `room` tokens, `most` in each."""
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
    if estimated_tokens(context) <= room:
        return [Piece(context, number, 0)]
    begins = [sentence.start for sentence in split_sentences(context)[1:]]
    cuts, size = [0], 0
    for begin, end in pairwise([0, *begins, len(context)]):
        size += estimated_tokens(context[begin:end])
        # no text has more tokens than characters, so a long sentence is cut after `room` of them
        while size > room:
            cuts.append(begin if begin > cuts[-1] else cuts[-1] + room)
            size = estimated_tokens(context[cuts[-1] : min(end, cuts[-1] + 4 * room + 1)])
    ends = [*cuts[1:], len(context)]
    return [Piece(context[a:b], number, a) for a, b in zip(cuts, ends, strict=True)]


def even_batches(claims: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """Return as few batches as possible; their sizes differ by one at most."""
    number = -(-len(claims) // most)
    ends = [len(claims) * n // number for n in range(number + 1)]
    return [claims[start:end] for start, end in pairwise(ends)]


class SplitJudge(JudgeWrapper):
    """Asks questions that are too long for a prompt in parts, and joins the answers."""

    def __init__(self, judge: Judge, *, context_window: int) -> None:
        super().__init__(judge)
        self._context_window = context_window
        self._room = int(context_window * SHARE)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask the question; a JudgeFailureError has the verdicts of the parts that did not fail."""
        if isinstance(question, VerifyClaims):
            return cast("Reply[T]", await self._verified(question))
        if isinstance(question, questions.GradeContexts | questions.GradeSentences):
            return cast("Reply[T]", await self._graded(question))
        if isinstance(question, questions.FindAnswer):
            windows = windows_of(question.contexts, self._room)

            def first_found(replies: Sequence[FoundAnswer]) -> FoundAnswer:
                moved = map(_moved, replies, windows)
                return next((answer for answer in moved if answer.found), replies[0])

            note = f"the answer was sought in {len(windows)} windows"
            found = await self._in_windows(question, "contexts", windows, first_found, note)
            return cast("Reply[T]", found)
        rated: object = question
        if isinstance(rated, questions.RateResponse):
            texts = (rated.query, rated.response, rated.reference or "", *(rated.contexts or ()))
            tokens = sum(map(estimated_tokens, texts))
            if tokens > self._room:
                message = (
                    f"the texts to rate take about {tokens:,} tokens, more than half of the "
                    f"context window of {self._context_window:,}, and ratings cannot be split; no "
                    "call was made. If the model has a larger window, set context_window; "
                    "otherwise use fewer or shorter contexts"
                )
                raise JudgeFailureError(Failure(Cause.TRUNCATED, message, attempts=0))
        return await reply_of(self.judge, question)

    async def _graded(
        self, question: questions.GradeContexts | questions.GradeSentences
    ) -> Reply[tuple[Grade, ...]]:
        of_contexts = isinstance(question, questions.GradeContexts)
        texts = question.contexts if of_contexts else question.sentences
        if not texts:
            return question.reply(())
        windows = windows_of(texts, self._room, most=MOST)

        def joined(replies: Sequence[tuple[Grade, ...]]) -> tuple[Grade, ...]:
            grades: list[list[Grade]] = [[] for _ in texts]
            for window, part in zip(windows, replies, strict=True):
                for piece, grade in zip(window, part, strict=True):
                    grades[piece.context].append(grade)
            # a context longer than a window is relevant if one of its pieces is
            return tuple(next((each for each in some if each.relevant), some[0]) for some in grades)

        field = "contexts" if of_contexts else "sentences"
        notes = (f"the contexts were graded in {len(windows)} windows",) if of_contexts else ()
        return await self._in_windows(question, field, windows, joined, *notes)

    async def _in_windows(
        self,
        question: Question[V],
        field: str,
        windows: Sequence[Sequence[Piece]],
        join: Callable[[Sequence[V]], V],
        *notes: str,
    ) -> Reply[V]:
        if len(windows) == 1:
            return await reply_of(self.judge, question)
        texts = (tuple(piece.text for piece in window) for window in windows)
        outcomes = await _ask(self.judge, [question.varied(**{field: part}) for part in texts])
        outcome = join_outcomes(outcomes, join)
        if isinstance(outcome, Failure):
            raise JudgeFailureError(outcome)
        return replace(outcome, notes=(*outcome.notes, *notes))

    async def _verified(self, question: VerifyClaims) -> Reply[Verdicts]:
        if not question.claims:
            return question.reply(())
        windows = windows_of(question.contexts, self._room)
        size = question.batch_size
        batches = even_batches(question.claims, size)
        if len(windows) == 1 and len(batches) == 1:
            # one cache key, whatever the batch size
            single = question if size == BATCH else question.varied(batch_size=BATCH)
            return await reply_of(self.judge, single)
        outcomes = await gather(self._window(question, window, batches) for window in windows)
        outcome = join_outcomes(
            outcomes, lambda parts: tuple(map(_strongest, zip(*parts, strict=True)))
        )
        if isinstance(outcome, Reply):
            several = len(windows) > 1
            notes = (f"the contexts were judged in {len(windows)} windows",) if several else ()
            return replace(outcome, notes=(*outcome.notes, *notes))
        parts = [_partial(part) for part in outcomes]
        if len(parts) == 1:
            raise JudgeFailureError(replace(outcome, returned=parts[0]))
        numbered = [
            {
                item.number: item.verdict
                for item in items
                if item.number is not None and item.verdict
            }
            for items in parts
        ]
        returned: list[PartialVerdict] = []
        for number in sorted(set[int].intersection(*map(set, numbered))):
            strongest = _strongest([verdicts[number] for verdicts in numbered])
            returned.append(PartialVerdict(number, strongest.label, strongest))
        raise JudgeFailureError(replace(outcome, returned=tuple(returned)))

    async def _window(
        self, question: VerifyClaims, window: Sequence[Piece], batches: Sequence[tuple[str, ...]]
    ) -> Outcome[Verdicts]:
        texts = tuple(piece.text for piece in window)
        outcomes = await _ask(
            self.judge,
            [question.varied(claims=batch, contexts=texts, batch_size=BATCH) for batch in batches],
        )
        outcome = join_outcomes(
            outcomes,
            lambda parts: tuple(_moved(verdict, window) for part in parts for verdict in part),
        )
        if isinstance(outcome, Reply):
            return outcome
        returned: list[PartialVerdict] = []
        first = 0
        for part, batch in zip(outcomes, batches, strict=True):
            for item in _partial(part):
                number = None if item.number is None else item.number + first
                verdict = item.verdict and _moved(item.verdict, window)
                returned.append(replace(item, number=number, verdict=verdict))
            first += len(batch)
        return replace(outcome, returned=tuple(returned))


async def _ask(judge: Judge, parts: Sequence[Question[T]]) -> Sequence[Outcome[T]]:
    """Ask each question once; of equal ones, only the first has the usage."""
    once = {part.key: part for part in parts}
    found = await gather(outcome_of(judge, part) for part in once.values())
    outcomes = dict(zip(once, found, strict=True))
    again = {key: replace(outcome, usage=NOTHING_SPENT) for key, outcome in outcomes.items()}
    return [outcomes.pop(part.key, again[part.key]) for part in parts]


def join_outcomes(outcomes: Sequence[Outcome[T]], value: Callable[[Sequence[T]], V]) -> Outcome[V]:
    """Return a reply with the `value` of all replies, or the worst failure, with all raw texts."""

    def rank(failure: Failure) -> int:  # no answer is worse than one verdict too many
        if failure.cause is Cause.COUNT_MISMATCH:
            return 2
        return 3 if failure.returned else int(failure.cause is Cause.MALFORMED)

    usage = reduce(add, (outcome.usage for outcome in outcomes))
    raw = "\n\n".join(outcome.raw for outcome in outcomes if outcome.raw) or None
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    if failures:
        return replace(min(failures, key=rank), raw=raw, usage=usage)
    replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    return Reply(
        value([reply.value for reply in replies]),
        usage,
        tuple(dict.fromkeys(note for reply in replies for note in reply.notes)),
        raw=raw,
        attempts=max(reply.attempts for reply in replies),
        final=all(reply.final for reply in replies),
    )


def _strongest(verdicts: Sequence[Verdict]) -> Verdict:
    return min(verdicts, key=lambda verdict: _STRONGEST.index(verdict.label))


def _moved(verdict: E, window: Sequence[Piece]) -> E:
    if all(piece.start == 0 and piece.context == n for n, piece in enumerate(window)):
        return verdict

    def moved(item: Evidence) -> Evidence:
        piece = window[item.context]
        start, end = (None if at is None else at + piece.start for at in (item.start, item.end))
        return item.model_copy(update={"context": piece.context, "start": start, "end": end})

    return verdict.model_copy(update={"evidence": tuple(map(moved, verdict.evidence))})


def _partial(outcome: Outcome[Verdicts]) -> tuple[PartialVerdict, ...]:
    if isinstance(outcome, Failure):
        return outcome.returned
    return tuple(PartialVerdict(n, each.label, each) for n, each in enumerate(outcome.value, 1))
