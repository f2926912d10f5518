"""Exchange: one question that was asked, and what came back: a Reply or a Failure."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ragstone.cascaded import Cascaded
from ragstone.claims import Verdict
from ragstone.errors import CallError, Cause, JudgeError
from ragstone.usage import NOTHING_SPENT, Usage

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
    cascade: Cascaded | None = None


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
    cascade: Cascaded | None = None

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
