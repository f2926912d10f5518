"""Questions about whole texts: of what use, how alike, how good, and an answer to what."""

from typing import Annotated, ClassVar, TypeVar

from pydantic import Field, TypeAdapter

from ragstone.errors import Cause, JudgeError
from ragstone.exchanges import Failure, JudgeFailureError, Reply
from ragstone.grades import GeneratedQueries, Grade, Rating
from ragstone.messages import count
from ragstone.questions.base import Question
from ragstone.usage import NOTHING_SPENT, Usage

T = TypeVar("T")
Cosine = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]

GRADES: TypeAdapter[tuple[Grade, ...]] = TypeAdapter(tuple[Grade, ...])
GENERATED_QUERIES: TypeAdapter[GeneratedQueries] = TypeAdapter(GeneratedQueries)
RATING: TypeAdapter[Rating] = TypeAdapter(Rating)
YES_OR_NO: TypeAdapter[bool] = TypeAdapter(bool)
COSINES: TypeAdapter[tuple[Cosine, ...]] = TypeAdapter(tuple[Cosine, ...])


class GradeContexts(Question[tuple[Grade, ...]]):
    """Is each of these contexts of use in arriving at this answer to the query?"""

    kind: ClassVar[str] = "grade_contexts"

    query: str
    answer: str
    contexts: tuple[str, ...]

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[Grade, ...]]:
        """Replies are grades, one a context, in the contexts' order."""
        return GRADES

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[Grade, ...]]:
        """As every question's, and the count of grades must be the count of contexts."""
        return _one_each(super().reply(value, usage), len(self.contexts), "grades", "contexts")


class GradeSentences(Question[tuple[Grade, ...]]):
    """Does each of these sentences matter to the query? No answer is given to go by."""

    kind: ClassVar[str] = "grade_sentences"

    query: str
    sentences: tuple[str, ...]

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[Grade, ...]]:
        """Replies are grades, one a sentence, in the sentences' order."""
        return GRADES

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[Grade, ...]]:
        """As every question's, and the count of grades must be the count of sentences."""
        return _one_each(super().reply(value, usage), len(self.sentences), "grades", "sentences")


class GenerateQueries(Question[GeneratedQueries]):
    """Which queries does this response answer? `count` of them, each worded differently."""

    kind: ClassVar[str] = "generate_queries"
    former_kind: ClassVar[str | None] = "guess_queries"

    response: str
    count: Annotated[int, Field(ge=1)]

    @classmethod
    def adapter(cls) -> TypeAdapter[GeneratedQueries]:
        """Replies are queries, and whether the response is noncommittal."""
        return GENERATED_QUERIES

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[GeneratedQueries]:
        """Also check that a committal response has `count` queries."""
        reply = super().reply(value, usage)
        if (came := len(reply.value.queries)) != self.count and not reply.value.noncommittal:
            said = f"{came} queries came back for the {self.count} asked for"
            raise JudgeFailureError(Failure(Cause.COUNT_MISMATCH, said, usage=usage))
        return reply


class DetectAbstention(Question[bool]):
    """Does this response say that it does not know, or will not answer, instead of answering?"""

    kind: ClassVar[str] = "detect_abstention"

    query: str
    response: str

    @classmethod
    def adapter(cls) -> TypeAdapter[bool]:
        """Replies are true for an abstention, false for an answer."""
        return YES_OR_NO


class TextSimilarity(Question[tuple[float, ...]]):
    """How similar in meaning is this text to each of the others? Cosines of embeddings."""

    kind: ClassVar[str] = "text_similarity"
    former_kind: ClassVar[str | None] = "compare_texts"

    text: str
    others: tuple[str, ...]

    @classmethod
    def adapter(cls) -> TypeAdapter[tuple[float, ...]]:
        """Replies are cosines in [-1, 1], one for each of the others, in their order."""
        return COSINES

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[float, ...]]:
        """As every question's, and the count of cosines must be the count of the others."""
        return _one_each(super().reply(value, usage), len(self.others), "cosines", "texts")


class RateResponse(Question[Rating]):
    """Which of these levels do the criteria give this response?

    `levels` are (number, what it means) pairs; contexts and reference are None where the criteria
    do not look at them.
    """

    kind: ClassVar[str] = "rate_response"

    criteria: str
    levels: tuple[tuple[int, str], ...]
    query: str
    response: str
    contexts: tuple[str, ...] | None = None
    reference: str | None = None

    @classmethod
    def adapter(cls) -> TypeAdapter[Rating]:
        """Replies are one level with the reason for it."""
        return RATING

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[Rating]:
        """As every question's, and the level must be one of the scale."""
        reply = super().reply(value, usage)
        scale = [level for level, _ in self.levels]
        if reply.value.level not in scale:
            said = f"{self.kind}: the level {reply.value.level} is none of {scale}"
            raise JudgeError(Cause.MALFORMED, said)
        return reply


def _one_each(reply: Reply[tuple[T, ...]], due: int, what: str, of: str) -> Reply[tuple[T, ...]]:
    if (came := len(reply.value)) != due:
        said = f"{count(came, what[:-1])} came back for {count(due, of[:-1])}"
        raise JudgeFailureError(Failure(Cause.COUNT_MISMATCH, said, usage=reply.usage))
    return reply
