"""Questions: what a judge can be asked, and how its replies are validated."""

import hashlib
import json
from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError

from ragstone._internal.fields import FrozenModel
from ragstone._internal.text import count, format_validation_errors
from ragstone.errors import Cause, JudgeError, UnknownNameError
from ragstone.types import claim
from ragstone.types.reply import (
    NOTHING_SPENT,
    Failure,
    JudgeFailureError,
    PartialVerdict,
    Reply,
    Usage,
)

T = TypeVar("T")


class Question(FrozenModel, ABC, Generic[T]):
    """What a judge can be asked; its reply has the type T.

    Fields are never a Sample, so that equal questions have equal keys in all rows.
    """

    kind: ClassVar[str]
    # what a reply has one entry each for: the field, and the name of the entries
    one_each: ClassVar[tuple[str, str] | None] = None

    tags: tuple[tuple[str, str], ...] = ()  # the row's, if prompts of the judge use them

    @classmethod
    def __class_getitem__(cls, reply_type: object) -> Any:
        return GenericAlias(cls, reply_type)

    def __init_subclass__(
        cls, *, kind: str = "", one_each: tuple[str, str] | None = None, **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind, cls.one_each = kind, one_each
        if "kind" in vars(cls):
            _KINDS[cls.kind] = cast("type[Question[object]]", cls)

    @cached_property
    def key(self) -> str:
        fields = self.model_dump(mode="json", exclude_defaults=True)
        canonical = json.dumps([self.kind, fields], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def varied(self, **update: object) -> Self:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate(fields | update)

    @classmethod
    @cache
    def adapter(cls) -> TypeAdapter[T]:
        (base,) = cast("Any", cls).__orig_bases__
        return TypeAdapter(base.__args__[0])

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[T]:
        try:
            reply = Reply(self.adapter().validate_python(value), usage)
        except ValidationError as error:
            seen = f"{self.kind}: {format_validation_errors(error)}"
            raise JudgeError(Cause.MALFORMED, seen) from error
        if self.one_each:
            of, name = self.one_each
            entries, due = cast("Sequence[object]", reply.value), len(getattr(self, of))
            if len(entries) != due:
                seen = f"got {count(len(entries), name[:-1])} for {count(due, of[:-1])}"
                given = (each for each in entries if isinstance(each, claim.Verdict))
                returned = tuple(PartialVerdict(None, each.label, each) for each in given)
                raise JudgeFailureError(Failure(Cause.COUNT_MISMATCH, seen, returned, usage=usage))
        return reply


_KINDS: dict[str, type[Question[object]]] = {}
TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def adapter_of(kind: str) -> TypeAdapter[object]:
    if kind not in _KINDS:
        raise UnknownNameError("kind of question", kind, _KINDS)
    return _KINDS[kind].adapter()


Cosine = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]


class GradeContexts(
    Question[tuple[claim.Grade, ...]], kind="grade_contexts", one_each=("contexts", "grades")
):
    """Is each of these contexts useful for arriving at this answer to the query?"""

    query: str
    answer: str
    contexts: tuple[str, ...]


class GradeSentences(
    Question[tuple[claim.Grade, ...]], kind="grade_sentences", one_each=("sentences", "grades")
):
    """Is each of these sentences relevant to the query? No answer is given."""

    query: str
    sentences: tuple[str, ...]


class GenerateQueries(Question[claim.GeneratedQueries], kind="generate_queries"):
    """Which queries does this response answer? `count` of them, each worded differently."""

    response: str
    count: Annotated[int, Field(ge=1)]

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[claim.GeneratedQueries]:
        reply = super().reply(value, usage)
        if (came := len(reply.value.queries)) != self.count and not reply.value.noncommittal:
            seen = f"got {came} queries instead of {self.count}"
            raise JudgeFailureError(Failure(Cause.COUNT_MISMATCH, seen, usage=usage))
        return reply


class DetectAbstention(Question[bool], kind="detect_abstention"):
    """Does this response decline to answer, or state that it does not know?"""

    query: str
    response: str


BY_SPELLING = "compares spelling, not meaning, without an embedding_model"


class TextSimilarity(
    Question[tuple[Cosine, ...]], kind="text_similarity", one_each=("others", "cosines")
):
    """How similar in meaning is this text to each of the others? Cosines of embeddings."""

    text: str
    others: tuple[str, ...]


class RateResponse(Question[claim.Rating], kind="rate_response"):
    """Which of these levels, (number, meaning), does this response reach, by the criteria?"""

    criteria: str
    levels: tuple[tuple[int, str], ...]
    query: str
    response: str
    contexts: tuple[str, ...] | None = None
    reference: str | None = None

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[claim.Rating]:
        reply = super().reply(value, usage)
        scale = [level for level, _ in self.levels]
        if reply.value.level not in scale:
            text = f"{self.kind}: the level {reply.value.level} is not in {scale}"
            raise JudgeError(Cause.MALFORMED, text)
        return reply


class ExtractClaims(Question[tuple[claim.Claim, ...]], kind="extract_claims"):
    """Which claims does this text make? With `by="sentences"`, its declarative sentences."""

    query: str
    response: str
    by: Literal["judge", "sentences"] = "judge"


class VerifyClaims(
    Question[tuple[claim.Verdict, ...]], kind="verify_claims", one_each=("claims", "verdicts")
):
    """Do these contexts support each claim? A model reads `batch_size` claims at once.

    The contexts are about the `query` that the claims answer.
    """

    query: str = ""
    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    partial: bool = False
    batch_size: Annotated[int, Field(ge=1)] = claim.BATCH


class ExtractTruths(Question[tuple[str, ...]], kind="extract_truths"):
    """Which facts does this context state? The `limit` most important ones; None is all."""

    context: str
    limit: Annotated[int, Field(ge=1)] | None = None

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[tuple[str, ...]]:
        reply = super().reply(value, usage)
        return replace(reply, value=reply.value[: self.limit])


class Explain(Question[str], kind="explain"):
    """What do these verdicts mean for the response, in one or two sentences?"""

    claims: tuple[str, ...]
    labels: tuple[claim.Label, ...]
    reasons: tuple[str, ...]


class FindAnswer(Question[claim.FoundAnswer], kind="find_answer"):
    """Do these contexts answer the query? Together or one alone, but completely."""

    query: str
    contexts: tuple[str, ...]


class WriteQuestions(Question[tuple[claim.DraftQuestion, ...]], kind="write_questions"):
    """Which test questions can be asked about these passages? At most `count` of them.

    `single` needs one passage, `multi` and `compare` need all of them, and `unanswerable` is on
    their subject, but they do not answer it. `brief` describes who asks, in the user's own words.
    """

    passages: tuple[str, ...]
    type: Literal["single", "multi", "compare", "unanswerable"]
    count: Annotated[int, Field(ge=1)] = 1
    brief: str = ""
    language: str = ""
    avoid: tuple[str, ...] = ()
