"""Exchange: one question, and its outcome: a Reply or a Failure."""

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from ragstone.errors import CallError, Cause, JudgeError
from ragstone.types.claim import Verdict


@dataclass(frozen=True)
class Usage:
    """What answering cost."""

    calls: int = 0  # of a service, including `retries`
    cached: int = 0  # answers from the cache
    retries: int = 0
    prompt_tokens: int = 0  # including `cached_tokens`, which cost less
    completion_tokens: int = 0  # including `reasoning_tokens` and both kinds of prediction tokens
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0  # an estimate; None if no price is known
    local_calls: int = 0  # of a model on this machine, with `local_tokens`: free, not in `calls`
    local_tokens: int = 0
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0
    reused_tokens: int = 0  # of the `cached` answers when they were made; in no other count

    def __add__(self, more: "Usage") -> "Usage":
        pairs = zip(vars(self).values(), vars(more).values(), strict=True)
        totals: list[Any] = [None if None in pair else sum(pair) for pair in pairs]
        return Usage(*totals)


NOTHING_SPENT = Usage()


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A judge's validated answer to one question, and what it cost."""

    value: T_co
    usage: Usage = NOTHING_SPENT
    notes: tuple[str, ...] = ()
    raw: str | None = None  # as the model wrote it
    attempts: int = 1
    final: bool = True  # if not, asking again was cut short: it must not be cached


@dataclass(frozen=True)
class PartialVerdict:
    """One item of a reply that could not be used as a whole."""

    number: int | None  # its claim's, from 1
    written: str | None
    verdict: Verdict | None  # None if the label, as `written`, is not one


@dataclass(frozen=True)
class Failure:
    cause: Cause
    message: str
    returned: tuple[PartialVerdict, ...] = ()  # a policy may use them
    raw: str | None = None
    attempts: int = 1
    usage: Usage = NOTHING_SPENT

    @classmethod
    def of(cls, error: CallError) -> "Failure":
        if isinstance(error, JudgeFailureError):
            return error.failure
        usage = Usage(calls=error.tries, retries=max(0, error.tries - 1))
        return cls(error.cause, str(error), usage=usage)


class JudgeFailureError(JudgeError):
    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.cause, failure.message)


Outcome: TypeAlias = Reply[T] | Failure


@dataclass(frozen=True)
class Exchange:
    key: str
    kind: str
    outcome: Outcome[object]
    latency_ms: float  # including waits and retries
    started_at: float = 0.0  # seconds since 1970
    askers: int = 1  # metrics that asked it
