"""Grading in parts: contexts, or sentences, as many at once as fit into a prompt and a reply."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from ragstone.exchanges import Failure, JudgeFailureError, Reply
from ragstone.grades import Grade
from ragstone.judges.base import Judge
from ragstone.judges.parts import answered, joined
from ragstone.judges.windows import Piece, windows_of
from ragstone.questions import GradeContexts, GradeSentences

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
