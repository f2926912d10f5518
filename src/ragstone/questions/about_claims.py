"""Questions about claims: which there are, what contexts say of them, and the facts in a text."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, TypeAdapter

from ragstone.claims import Claim, Label, Verdict
from ragstone.errors import Cause
from ragstone.exchanges import Failure, JudgeFailureError, PartialVerdict, Reply
from ragstone.messages import count
from ragstone.questions.base import Question
from ragstone.usage import NOTHING_SPENT, Usage

BATCH = 20
"""Claims that are verified in one call, unless a metric says otherwise."""

CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(tuple[Claim, ...])
VERDICTS: TypeAdapter[tuple[Verdict, ...]] = TypeAdapter(tuple[Verdict, ...])
TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
TEXT: TypeAdapter[str] = TypeAdapter(str)


class ExtractClaims(Question[tuple[Claim, ...]]):
    """Which claims does this text make? The query is there to resolve what the text leaves out.

    With `by="sentences"` its sentences that state something are its claims, and no model is asked.
    """

    kind: ClassVar[str] = "extract_claims"

    query: str
    response: str
    by: Literal["judge", "sentences"] = "judge"

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[Claim, ...]]:
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

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[Verdict, ...]]:
        """Replies are verdicts, one a claim, in the claims' order."""
        return VERDICTS

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[Verdict, ...]]:
        """As every question's, and the count of verdicts must be the count of claims."""
        reply = super().reply(value, usage)
        if (came := len(reply.value)) != (due := len(self.claims)):
            said = f"{self.kind}: {count(came, 'verdict')} came back for {count(due, 'claim')}"
            returned = tuple(
                PartialVerdict(None, verdict.label, verdict) for verdict in reply.value
            )
            raise JudgeFailureError(Failure(Cause.COUNT_MISMATCH, said, returned, usage=usage))
        return reply


class ExtractTruths(Question[tuple[str, ...]]):
    """Which facts does this context state? The `limit` most important ones; None is all."""

    kind: ClassVar[str] = "extract_truths"

    context: str
    limit: Annotated[int, Field(ge=1)] | None = None

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[str, ...]]:
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

    @classmethod
    def adapter(cls) -> TypeAdapter[str]:
        """Replies are texts."""
        return TEXT
