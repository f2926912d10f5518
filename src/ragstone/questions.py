"""Question: what a judge can be asked. A question is a value, so it is asked once."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ragstone.claims import Claim, Verdict
from ragstone.errors import Cause, JudgeError
from ragstone.messages import faults

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(tuple[Claim, ...])
VERDICTS: TypeAdapter[tuple[Verdict, ...]] = TypeAdapter(tuple[Verdict, ...])


@dataclass(frozen=True)
class Usage:
    """What answering cost: calls made, answers from the cache, retries, and tokens."""

    calls: int = 0
    cached: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.cached + other.cached,
            self.retries + other.retries,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A judge's validated answer to one question, and what it cost."""

    value: T_co
    usage: Usage = Usage()


@dataclass(frozen=True)
class Failure:
    """Why there is no reply: the class of reason, and the details in words."""

    cause: Cause
    message: str


@dataclass(frozen=True)
class Exchange:
    """One question that was asked and what came back: exactly one of reply and failure."""

    key: str
    kind: str
    reply: Reply[object] | None
    failure: Failure | None
    latency_ms: float


class Question(BaseModel, ABC, Generic[T]):
    """What a judge can be asked; its reply has the type T.

    Fields are strings, numbers, tuples and nouns, never a Sample, so that equal questions have
    equal keys whatever row they come from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """SHA-256 of the kind and the fields that are not at their default."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        canonical = json.dumps([self.kind, fields], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @abstractmethod
    def adapter(self) -> TypeAdapter[T]:
        """Return the validator of this kind's replies."""

    def reply(self, value: object, usage: Usage = Usage()) -> Reply[T]:
        """Validate what a judge answered and make it this question's reply.

        Raises:
            JudgeError: the value has not the shape that this kind of question is answered in.
        """
        try:
            return Reply(self.adapter().validate_python(value), usage)
        except ValidationError as error:
            raise JudgeError(Cause.MALFORMED, f"{self.kind}: {faults(error)}") from error


class ExtractClaims(Question[tuple[Claim, ...]]):
    """Which claims does this text make? The query is there to resolve what the text leaves out."""

    kind: ClassVar[str] = "extract_claims"

    query: str
    response: str

    def adapter(self) -> TypeAdapter[tuple[Claim, ...]]:
        """Replies are claims, in the order of the text."""
        return CLAIMS


class VerifyClaims(Question[tuple[Verdict, ...]]):
    """What do these contexts say about each of these claims?"""

    kind: ClassVar[str] = "verify_claims"

    claims: tuple[str, ...]
    contexts: tuple[str, ...]

    def adapter(self) -> TypeAdapter[tuple[Verdict, ...]]:
        """Replies are verdicts, one a claim, in the claims' order."""
        return VERDICTS

    def reply(self, value: object, usage: Usage = Usage()) -> Reply[tuple[Verdict, ...]]:
        """As every question's, and the count of verdicts must be the count of claims."""
        reply = super().reply(value, usage)
        if (came := len(reply.value)) != (due := len(self.claims)):
            raise JudgeError(
                Cause.COUNT_MISMATCH, f"{self.kind}: {came} verdicts came back for {due} claims"
            )
        return reply
