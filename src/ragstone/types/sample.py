"""Sample: one row to evaluate, and the Context texts it holds."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, Field, FiniteFloat, field_validator

from ragstone._internal import fields
from ragstone._internal.text import closest, one_line, strip_controls

SUBSTITUTE_FIELDS: Mapping[str, str] = MappingProxyType(  # for a missing field, another
    {"ranking": "contexts", "reference_claims": "reference"}
)
Tags = fields.FrozenMap[str, fields.Figure]
NO_TAGS: Tags = MappingProxyType({})
_SEVERAL = AfterValidator(lambda given: given if len(given) > 1 else next(iter(given), None))


def describe_field(field: str) -> str:
    """Return a field's name with its substitute: `ranking (or contexts)`, or its usual column."""
    if field == "reference_claims":
        return "reference (or reference_claims)"
    more = {"relevance": "column point_ids", "ranking": "or contexts"}
    return f"{field} ({more[field]})" if field in more else field


class Context(fields.FrozenModel):
    """One retrieved text: what the generator saw, or one place of a ranking.

    `text` may be empty if only ids are known; `score` is the retriever's own, in its own unit.
    """

    text: str = ""
    id: fields.DocumentId | None = None
    score: Annotated[float | None, AfterValidator(fields.known)] = None


class Message(fields.FrozenModel):
    """A message before the query of a conversation."""

    role: Literal["user", "assistant"]
    content: str


def with_history(query: str, history: Sequence[Message] | None) -> str:
    """Return a query after the messages before it; the query itself without any."""
    if not history:
        return query
    before = "\n".join(f"{each.role}: {each.content}" for each in history)
    return f"The conversation before the query:\n{before}\n\nThe query:\n{query}"


def hash_texts(response: str | None, contexts: Iterable[str]) -> str:
    """Return short hashes of an answer and of its contexts, which show if they have changed."""
    texts = map(strip_controls, (response or "", "\n".join(contexts)))
    plain = (" ".join(text.split()).lstrip("'") for text in texts)  # as in a spreadsheet
    return "-".join(sha256(each.encode("utf-8", "replace")).hexdigest()[:10] for each in plain)


class Sample(fields.FrozenModel):
    """One row: what was asked, what came back, and what is known to be right.

    None is *missing* (not known); `""` and `()` are *empty* (known to be nothing).

    Attributes:
        id: unique in its data set.
        query: what the user asked; never blank.
        history: the messages before the query, if it is part of a conversation.
        response: what the system answered.
        contexts: the texts the generator saw, in order.
        ranking: what the retriever returned, best first, if that is not `contexts`.
        reference: the expected answer, or several accepted answers.
        reference_claims: facts that the answer must contain.
        relevance: document id -> grade (> 0 is relevant); IR calls this qrels.
        tags: any other column, by name, for grouping.
    """

    id: fields.NotBlank
    query: fields.NotBlank
    history: tuple[Message, ...] | None = None
    response: str | None = None
    contexts: tuple[Context, ...] | None = None
    ranking: tuple[Context, ...] | None = None
    reference: str | Annotated[tuple[fields.NotBlank, ...], _SEVERAL] | None = None
    reference_claims: tuple[str, ...] | None = None
    relevance: fields.FrozenMap[fields.DocumentId, FiniteFloat] | None = None
    tags: Tags = Field(default_factory=lambda: NO_TAGS)

    @property
    def text_hashes(self) -> str:
        """Hashes of the answer and of the contexts."""
        return hash_texts(self.response, [each.text for each in self.contexts or ()])

    @property
    def query_with_history(self) -> str:
        """The query as judges read it: after the history, if there is one."""
        return with_history(self.query, self.history)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The history and the query as messages of a chat, each with a role and content."""
        history = [{"role": each.role, "content": each.content} for each in self.history or ()]
        return [*history, {"role": "user", "content": self.query}]

    def value_or_substitute(self, field: str) -> object:
        """Return the value of a field, or of its substitute if it is missing."""
        own, other = getattr(self, field), SUBSTITUTE_FIELDS.get(field)
        return getattr(self, other) if own is None and other else own

    @property
    def ranked(self) -> tuple[Context, ...] | None:
        """What ranking metrics read: the ranking if there is one, else the contexts."""
        return self.contexts if self.ranking is None else self.ranking

    @property
    def graded_texts(self) -> tuple[str, tuple[Context, ...] | None]:
        """The texts that context precision grades, after their field: `ranking` or `contexts`.

        The ranking's, unless there is none, or only the contexts have text.
        """
        if self.ranking is None or (self.contexts and self.has_only_ids):
            return "contexts", self.contexts
        return "ranking", self.ranking

    @property
    def has_only_ids(self) -> bool:
        """Whether something was ranked, and none of it has text."""
        return bool(self.ranking) and not any(place.text.strip() for place in self.ranking or ())

    @property
    def ranked_ids(self) -> tuple[str, ...]:
        """The ids of what was ranked, best first; places without an id are left out."""
        return tuple(place.id for place in self.ranked or () if place.id is not None)

    @property
    def references(self) -> tuple[str, ...]:
        """The accepted answers; none if the reference is missing."""
        given = () if self.reference is None else self.reference
        return given if isinstance(given, tuple) else (given,)

    @property
    def closest_reference(self) -> str | None:
        """The accepted answer that is most like the response; without one, like the contexts."""
        if not isinstance(self.reference, tuple):
            return self.reference
        texts = "\n".join(place.text for place in self.contexts or self.ranking or ())
        return closest(self.reference, (self.response or "").strip() or texts)

    @property
    def reference_cell(self) -> str | None:
        """The reference as one text: several accepted answers are a JSON list."""
        given = self.reference
        return json.dumps(given, ensure_ascii=False) if isinstance(given, tuple) else given

    def reference_note(self, used: str | None = None, *, read: bool = True) -> tuple[str, ...]:
        """Return which of several accepted answers was used, if any was; usually the closest."""
        if not isinstance(self.reference, tuple) or not read:
            return ()
        used = used or self.closest_reference or ""
        number = self.reference.index(used) + 1
        return (f"accepted answer {number} of {len(self.reference)}: {one_line(used, 80)!r}",)

    @field_validator("relevance", mode="before")
    @classmethod
    def _each_id_once(cls, given: object) -> object:
        if isinstance(given, Mapping):
            names = [fields.document_id(name) for name in cast("Mapping[object, object]", given)]
            if len(set(names)) < len(names):
                raise ValueError("two of these ids are the same, such as 5 and '5'")
        return cast("object", given)
