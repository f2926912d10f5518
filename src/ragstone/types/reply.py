"""Exchange: one question, and its outcome: a Reply or a Failure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Generic, TypeAlias, TypeVar

from ragstone.errors import CallError, Cause, JudgeError
from ragstone.types.claim import Verdict


@dataclass(frozen=True)
class Usage:
    """What answering cost.

    Attributes:
        calls: calls of a service, including `retries`; `cached` are answers from the cache.
        prompt_tokens: as counted by the provider, including `cached_tokens` at the cache price.
        completion_tokens: as counted by the provider, including hidden `reasoning_tokens`.
        accepted_prediction_tokens, rejected_prediction_tokens: of a predicted output, as counted by
            the provider; part of `completion_tokens`.
        reused_tokens: tokens of the `cached` answers, paid when they were first made; in no other
            count.
        cost_usd: an estimate in US dollars; None if no price is known.
        local_calls: runs of a model on this machine, with `local_tokens`; free, not in `calls`.
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
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0
    reused_tokens: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        unknown = self.cost_usd is None or more.cost_usd is None
        return Usage(
            self.calls + more.calls, self.cached + more.cached, self.retries + more.retries,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            self.cached_tokens + more.cached_tokens, self.reasoning_tokens + more.reasoning_tokens,
            None if unknown else (self.cost_usd or 0.0) + (more.cost_usd or 0.0),
            self.local_calls + more.local_calls, self.local_tokens + more.local_tokens,
            self.accepted_prediction_tokens + more.accepted_prediction_tokens,
            self.rejected_prediction_tokens + more.rejected_prediction_tokens,
            self.reused_tokens + more.reused_tokens,
        )  # fmt: skip


NOTHING_SPENT = Usage()


@dataclass(frozen=True)
class CascadeStats:
    """How many verdicts of a cascade were escalated, and how often its judges agreed.

    Attributes:
        escalated: verdicts of the second judge because the first was not sure enough.
        audited: confident verdicts that were also asked of the second judge, whose verdicts count.
        agreed_supported: audited verdicts on which both agreed whether the claim is supported.
        agreed_label: audited verdicts with the same label.
        saved: calls of the second judge that were not made, without windows and retries.
        unanswered: escalated claims without a verdict, not in `verdicts`: their question failed.
    """

    verdicts: int = 0
    escalated: int = 0
    audited: int = 0
    agreed_supported: int = 0
    agreed_label: int = 0
    saved: int = 0
    unanswered: int = 0

    def __add__(self, other: "CascadeStats") -> "CascadeStats":
        return CascadeStats(*map(add, vars(self).values(), vars(other).values()))


def sum_stats(parts: Iterable[CascadeStats | None]) -> CascadeStats | None:
    found = [part for part in parts if part is not None]
    return reduce(add, found) if found else None


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A judge's validated answer to one question.

    Attributes:
        usage, attempts: what it cost, and how often the question was asked.
        raw: the reply as the model wrote it; None if no model wrote one.
        final: False if asking again was cut short, so that the reply must not be cached.
        cascade: how a cascade split the verdicts; None without a cascade.
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
    """One item of a reply that could not be used as a whole.

    Attributes:
        number: the number of its claim, from 1; None if it has none.
        written: the label as written.
        verdict: what could be read; None if the label is not one.
    """

    number: int | None
    written: str | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Failure:
    """Why there is no reply: the cause, the details, and what was returned.

    Attributes:
        returned: the verdicts that were returned, in order; a policy may use them.
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
"""The result of asking a question."""


@dataclass(frozen=True)
class Exchange:
    """One question and its outcome.

    Attributes:
        started_at: seconds since 1970.
        askers: the number of metrics that asked it; the judge was asked once.
        latency_ms: from the question to the answer, including waits and retries.
    """

    key: str
    kind: str
    outcome: Outcome[object]
    latency_ms: float
    started_at: float = 0.0
    askers: int = 1
