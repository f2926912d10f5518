"""Question: what a judge can be asked. A question is a value, so it is asked once."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ragstone.claims import Claim, Label, Verdict
from ragstone.errors import CallError, Cause, JudgeError
from ragstone.messages import faults
from ragstone.usage import NOTHING_SPENT, Usage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BATCH = 20
"""Claims that are verified in one call, unless a metric says otherwise."""

CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(tuple[Claim, ...])
VERDICTS: TypeAdapter[tuple[Verdict, ...]] = TypeAdapter(tuple[Verdict, ...])
TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
TEXT: TypeAdapter[str] = TypeAdapter(str)


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A judge's validated answer to one question.

    Attributes:
        usage: what it cost.
        notes: what a reader of the numbers should know of how it came about.
        raw: the reply as the model wrote it; None where no model wrote one.
        attempts: how often the question was put, re-asks included.
        final: False where a doubt stayed because asking again was cut short: not to be kept.
    """

    value: T_co
    usage: Usage = NOTHING_SPENT
    notes: tuple[str, ...] = ()
    raw: str | None = None
    attempts: int = 1
    final: bool = True


@dataclass(frozen=True)
class Returned:
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
        raw, attempts, usage: as a Reply's.
    """

    cause: Cause
    message: str
    returned: tuple[Returned, ...] = ()
    raw: str | None = None
    attempts: int = 1
    usage: Usage = NOTHING_SPENT

    @classmethod
    def of(cls, error: CallError) -> "Failure":
        """Return the failure that an error tells of, whole if it carries one."""
        if isinstance(error, Unanswered):
            return error.failure
        usage = Usage(calls=error.tries, retries=max(0, error.tries - 1))
        return cls(error.cause, str(error), usage=usage)


class Unanswered(JudgeError):
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
        latency_ms: from asking to the answer, waits and re-asks included.
    """

    key: str
    kind: str
    outcome: Outcome[object]
    latency_ms: float
    started_at: float = 0.0


class Question(BaseModel, ABC, Generic[T]):
    """What a judge can be asked; its reply has the type T.

    Fields are strings, numbers, tuples and nouns, never a Sample, so that equal questions have
    equal keys whatever row they come from. `tags` are those of the row's that the judge's
    prompts name, as (name, value) pairs; none as a rule.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]

    tags: tuple[tuple[str, str], ...] = ()

    @cached_property
    def key(self) -> str:
        """SHA-256 of the kind and the fields that are not at their default."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        canonical = json.dumps([self.kind, fields], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def varied(self, **update: object) -> Self:
        """Return the question with other values in some fields: another question."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate(fields | update)

    @abstractmethod
    def adapter(self) -> TypeAdapter[T]:
        """Return the validator of this kind's replies."""

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[T]:
        """Validate what a judge answered and make it this question's reply.

        Raises:
            JudgeError: the value has not the shape that this kind of question is answered in.
        """
        try:
            return Reply(self.adapter().validate_python(value), usage)
        except ValidationError as error:
            raise JudgeError(Cause.MALFORMED, f"{self.kind}: {faults(error)}") from error


class ExtractClaims(Question[tuple[Claim, ...]]):
    """Which claims does this text make? The query is there to resolve what the text leaves out.

    With `by="sentences"` its sentences that state something are its claims, and no model is asked.
    """

    kind: ClassVar[str] = "extract_claims"

    query: str
    response: str
    by: Literal["judge", "sentences"] = "judge"

    def adapter(self) -> TypeAdapter[tuple[Claim, ...]]:
        """Replies are claims, in the order of the text."""
        return CLAIMS


class VerifyClaims(Question[tuple[Verdict, ...]]):
    """What do these contexts say about each of these claims?

    With `partial`, PARTIALLY_SUPPORTED may be the answer; at most `batch_size` claims are put to
    a model at once.
    """

    kind: ClassVar[str] = "verify_claims"

    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    partial: bool = False
    batch_size: Annotated[int, Field(ge=1)] = BATCH

    def adapter(self) -> TypeAdapter[tuple[Verdict, ...]]:
        """Replies are verdicts, one a claim, in the claims' order."""
        return VERDICTS

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[Verdict, ...]]:
        """As every question's, and the count of verdicts must be the count of claims."""
        reply = super().reply(value, usage)
        if (came := len(reply.value)) != (due := len(self.claims)):
            said = f"{self.kind}: {came} verdicts came back for {due} claims"
            returned = tuple(Returned(None, verdict.label, verdict) for verdict in reply.value)
            raise Unanswered(Failure(Cause.COUNT_MISMATCH, said, returned, usage=usage))
        return reply


class ExtractTruths(Question[tuple[str, ...]]):
    """Which facts does this context state? The `limit` most important ones; None is all."""

    kind: ClassVar[str] = "extract_truths"

    context: str
    limit: Annotated[int, Field(ge=1)] | None = None

    def adapter(self) -> TypeAdapter[tuple[str, ...]]:
        """Replies are facts, in the order of the text."""
        return TEXTS


class Explain(Question[str]):
    """What do these verdicts say of the response, in a sentence or two?

    `reasons` are the verdicts' own, "" where one has none.
    """

    kind: ClassVar[str] = "explain"

    claims: tuple[str, ...]
    labels: tuple[Label, ...]
    reasons: tuple[str, ...]

    def adapter(self) -> TypeAdapter[str]:
        """Replies are texts."""
        return TEXT
