"""Exchange: one question that was asked, and what came back: a Reply or a Failure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeAlias, TypeVar

from ragstone.errors import CallError, Cause, JudgeError
from ragstone.types.claim import Verdict

# Usage: what answering cost, in calls, tokens and dollars.


@dataclass(frozen=True)
class Usage:
    """What answering cost.

    Attributes:
        calls: calls of a service, `retries` of them again; `cached` are answers from the cache.
        prompt_tokens: as the provider counts them, `cached_tokens` of them at its cache's price.
        completion_tokens: as the provider counts them, `reasoning_tokens` of them not shown.
        cost_usd: an estimate in US dollars; None where no price is known.
        local_calls: runs of a model on this machine, of `local_tokens`: free, and no `calls`.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0
    local_calls: int = 0
    local_tokens: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        unknown = self.cost_usd is None or more.cost_usd is None
        return Usage(
            self.calls + more.calls, self.cached + more.cached, self.retries + more.retries,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            self.cached_tokens + more.cached_tokens, self.reasoning_tokens + more.reasoning_tokens,
            None if unknown else (self.cost_usd or 0.0) + (more.cost_usd or 0.0),
            self.local_calls + more.local_calls, self.local_tokens + more.local_tokens,
        )  # fmt: skip


NOTHING_SPENT = Usage()


# CascadeStats: how many verdicts of a cheap judge went up to a dear one, and how far both agreed.


@dataclass(frozen=True)
class CascadeStats:
    """What a cascade did, in verdicts, and in calls.

    Attributes:
        verdicts: that were asked for.
        up: of them, those that the dear judge gave as the cheap one was not sure enough.
        control: of the others, those that were asked of both; the dear one's word counts.
        alike: of the control, those on which both said supported, or both did not.
        same: of the control, those on which both said the same.
        saved: calls of the dear judge that were not made, windows and re-asks not counted.
        unanswered: claims that went up and came back without a verdict, beside `verdicts`: the
            questions that they are of are failed, and so are the scores that hang on them.
    """

    verdicts: int = 0
    up: int = 0
    control: int = 0
    alike: int = 0
    same: int = 0
    saved: int = 0
    unanswered: int = 0

    def __add__(self, other: "CascadeStats") -> "CascadeStats":
        return CascadeStats(
            self.verdicts + other.verdicts,
            self.up + other.up,
            self.control + other.control,
            self.alike + other.alike,
            self.same + other.same,
            self.saved + other.saved,
            self.unanswered + other.unanswered,
        )


def added_up(parts: Iterable[CascadeStats | None]) -> CascadeStats | None:
    """Return the sum; None where there is nothing to add."""
    told = [part for part in parts if part is not None]
    return reduce(CascadeStats.__add__, told) if told else None


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A judge's validated answer to one question.

    Attributes:
        usage, attempts: what it cost, and how often the question was put, re-asks included.
        notes: what a reader of the numbers should know of how it came about.
        raw: the reply as the model wrote it; None where no model wrote one.
        final: False where a doubt stayed because asking again was cut short: not to be kept.
        cascade: what went up from a cheap judge to a dear one; None where there are no two.
    """

    value: T_co
    usage: Usage = NOTHING_SPENT
    notes: tuple[str, ...] = ()
    raw: str | None = None
    attempts: int = 1
    final: bool = True
    cascade: CascadeStats | None = None


@dataclass(frozen=True)
class PartialVerdict:
    """One item of a reply that could not be used whole, as it came.

    Attributes:
        number: the claim it says it is about, from 1; None if it does not say.
        written: the label as written.
        verdict: what could be read; None if the label is not one.
    """

    number: int | None
    written: str | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Failure:
    """Why there is no reply: the class of reason, the details in words, and what came back.

    Attributes:
        returned: the verdicts that did come, in order; a policy may make something of them.
        raw, attempts, usage, cascade: as a Reply's.
    """

    cause: Cause
    message: str
    returned: tuple[PartialVerdict, ...] = ()
    raw: str | None = None
    attempts: int = 1
    usage: Usage = NOTHING_SPENT
    cascade: CascadeStats | None = None

    @classmethod
    def of(cls, error: CallError) -> "Failure":
        """Return the failure that an error tells of, whole if it carries one."""
        if isinstance(error, JudgeFailureError):
            return error.failure
        usage = Usage(calls=error.tries, retries=max(0, error.tries - 1))
        return cls(error.cause, str(error), usage=usage)


class JudgeFailureError(JudgeError):
    """A JudgeError that carries the whole Failure."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.cause, failure.message)


Outcome: TypeAlias = Reply[T] | Failure
"""What asking gave."""


@dataclass(frozen=True)
class Exchange:
    """One question that was asked and what came back.

    Attributes:
        started_at: seconds since 1970.
        askers: how many metrics asked it; the judge was asked once.
        latency_ms: from asking to the answer, waits and re-asks included.
    """

    key: str
    kind: str
    outcome: Outcome[object]
    latency_ms: float
    started_at: float = 0.0
    askers: int = 1
