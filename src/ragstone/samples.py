"""Sample: one row to evaluate, and the Context texts it holds."""

import math
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, SupportsIndex, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainSerializer,
)

K = TypeVar("K")
V = TypeVar("V")


def _frozen(given: Mapping[K, V]) -> Mapping[K, V]:
    return MappingProxyType({_whole(name): value for name, value in given.items()})


def _whole(name: K) -> K:
    if not isinstance(name, str) or name.isascii():
        return name
    return type(name)(name.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


FrozenMap = Annotated[Mapping[K, V], AfterValidator(_frozen), PlainSerializer(dict)]
"""A mapping that is copied and wrapped read-only as it is validated.

Half a character in a name becomes U+FFFD: JSON has no names with halves in them.
"""


def _known(value: V) -> V | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Figure = Annotated[str | int | float | bool | None, AfterValidator(_known)]
"""A plain value to show beside a number; NaN and the infinities say nothing and become None."""


def document_id(value: object) -> str:
    """Return a document's id as text: `5`, `5.0` and `"5"` are the same id.

    Raises:
        ValueError: the value is blank, or is neither text nor a finite number.
    """
    if isinstance(value, str):
        if not (text := value.strip()):
            raise ValueError("a document id is blank")
        return text
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return str(operator.index(cast("SupportsIndex", value)))  # NumPy's whole numbers too
    if not isinstance(value, float):
        raise ValueError(f"{value!r} is not a document id (text or a number)")
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not a document id")
    return str(int(value) if value.is_integer() else value)


DocumentId = Annotated[str, BeforeValidator(document_id)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("this is blank")
    return text


NotBlank = Annotated[str, AfterValidator(_not_blank)]

Tags = FrozenMap[str, Figure]
NO_TAGS: Tags = MappingProxyType({})


class Context(BaseModel):
    """One retrieved text: what the generator saw, or one place of a ranking.

    `text` may be empty where only ids are known; `score` is the retriever's own, in its own unit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = ""
    id: DocumentId | None = None
    score: Annotated[float | None, AfterValidator(_known)] = None


class Sample(BaseModel):
    """One row: what was asked, what came back, and what is known to be right.

    None is *missing* (not known); `""` and `()` are *empty* (known to be nothing).

    Attributes:
        id: unique in its data set.
        query: what the user asked; never blank.
        response: what the system answered.
        contexts: the texts the generator saw, in order.
        ranking: what the retriever returned, best first, where that is not `contexts`.
        reference: the expected answer.
        reference_claims: facts that the answer must contain.
        relevance: document id -> grade (> 0 is relevant); IR calls this qrels.
        tags: any other column, by name, for grouping.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: NotBlank
    query: NotBlank
    response: str | None = None
    contexts: tuple[Context, ...] | None = None
    ranking: tuple[Context, ...] | None = None
    reference: str | None = None
    reference_claims: tuple[str, ...] | None = None
    relevance: FrozenMap[DocumentId, FiniteFloat] | None = None
    tags: Tags = Field(default_factory=lambda: NO_TAGS)

    @property
    def ranked(self) -> tuple[Context, ...] | None:
        """What ranking metrics read: the ranking where there is one, else the contexts."""
        return self.contexts if self.ranking is None else self.ranking

    @property
    def ranked_ids(self) -> tuple[str, ...]:
        """The ids of what was ranked, best first; one without an id gets one that is nobody's."""
        return tuple(
            f"\0{rank}" if context.id is None else context.id
            for rank, context in enumerate(self.ranked or ())
        )
