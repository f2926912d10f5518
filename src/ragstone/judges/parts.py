"""Parts: one question put to a judge as several, and what their answers come to."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import TypeVar

from ragstone.errors import Cause
from ragstone.exchanges import Failure, Outcome
from ragstone.judges.base import Judge, outcome_of
from ragstone.questions import Question
from ragstone.usage import Usage
from ragstone.workers import together

T = TypeVar("T")


async def answered(
    judge: Judge, parts: Iterable[Question[T]]
) -> tuple[Sequence[Outcome[T]], Usage]:
    """Ask all parts at once, equal ones once; return what each gave, and what all of it cost."""
    asked = list(parts)
    once = {part.key: part for part in asked}
    found = await together(outcome_of(judge, part) for part in once.values())
    told = dict(zip(once, found, strict=True))
    return [told[part.key] for part in asked], reduce(add, (each.usage for each in found))


def worst(outcomes: Sequence[Outcome[T]]) -> Failure | None:
    """Return the failure that leaves the least to go by; None if there is none.

    A part that was not answered at all weighs more than one with a verdict too many.
    """

    def rank(failure: Failure) -> int:
        if failure.cause is Cause.COUNT_MISMATCH:
            return 2
        return 3 if failure.returned else int(failure.cause is Cause.MALFORMED)

    return min((each for each in outcomes if isinstance(each, Failure)), key=rank, default=None)


def written(outcomes: Sequence[Outcome[T]]) -> str | None:
    """Return what the model wrote to all parts; None if nothing."""
    return "\n\n".join(outcome.raw for outcome in outcomes if outcome.raw) or None
