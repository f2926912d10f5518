"""Attempt: what putting a question to a model once gave, and what two of them come to."""

from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from ragstone.errors import Cause
from ragstone.exchanges import Failure, JudgeFailureError, Outcome, Reply
from ragstone.judges.prompts.again import INCOMPLETE

T = TypeVar("T")

_MENDABLE = frozenset({Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH})


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """A reply, perhaps with a doubt about what it leaves out, or a failure."""

    outcome: Outcome[T]
    doubt: str | None = None

    @property
    def reply(self) -> Reply[T] | None:
        """The reply, if there is one."""
        return self.outcome if isinstance(self.outcome, Reply) else None

    @property
    def reason(self) -> str | None:
        """Why the question should be put again; None where that would fix nothing.

        A broken connection had its tries already: only what was read can be written better.
        """
        if isinstance(self.outcome, Reply):
            return INCOMPLETE if self.doubt else None
        unread = self.outcome.cause is Cause.TRUNCATED and self.outcome.raw is None
        return str(self.outcome.cause) if self.outcome.cause in _MENDABLE and not unread else None


def settled(first: Attempt[T], second: Attempt[T]) -> Reply[T]:
    """Return the better of two attempts, at the price of both.

    Raises:
        JudgeFailureError: neither is a reply. Where the second one got none at all, what came back
            to the first counts.
    """
    usage = first.outcome.usage + second.outcome.usage
    best = second if second.reply and (not second.doubt or _fuller(second, first)) else first
    if best.reply is None:
        raise JudgeFailureError(replace(_failure(first, second), usage=usage, attempts=2))
    final = second.reply is not None or second.reason is not None
    notes = best.reply.notes
    if best.doubt:
        how = "asked twice" if final else "asking again was cut short"
        notes = (*notes, f"{best.doubt} ({how})")
    return replace(best.reply, usage=usage, notes=notes, attempts=2, final=final)


def _failure(first: Attempt[T], second: Attempt[T]) -> Failure:
    assert isinstance(first.outcome, Failure)
    assert isinstance(second.outcome, Failure)
    if second.reason is not None:
        return second.outcome
    said = f"{first.outcome.message}; asking again failed: {second.outcome.message}"
    return replace(first.outcome, message=said)


def _fuller(one: Attempt[T], other: Attempt[T]) -> bool:
    """Tell whether one found more claims than the other: only claims are doubted."""
    found = [len(cast("Sized", each.reply.value)) if each.reply else -1 for each in (one, other)]
    return found[0] > found[1]
