"""Question: what a judge can be asked. A question is a value, so it is asked once."""

import hashlib
import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, Generic, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ragstone.errors import Cause, JudgeError, UnknownNameError
from ragstone.exchanges import Reply
from ragstone.messages import format_validation_errors
from ragstone.usage import NOTHING_SPENT, Usage

T = TypeVar("T")


class Question(BaseModel, ABC, Generic[T]):
    """What a judge can be asked; its reply has the type T.

    Fields are strings, numbers, tuples and nouns, never a Sample, so that equal questions have
    equal keys whatever row they come from. `tags` are those of the row's that the judge's
    prompts name, as (name, value) pairs; none as a rule.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]
    former_kind: ClassVar[str | None] = None
    """The name under which older runs stored this kind."""

    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Register a kind of question by its name and its former name."""
        super().__pydantic_init_subclass__(**kwargs)
        for name in ("kind", "former_kind"):
            if kind := cls.__dict__.get(name):
                _KINDS[kind] = cast("type[Question[object]]", cls)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the kind and of all fields that differ from their default."""
        return self._key(self.kind)

    @property
    def former_key(self) -> str | None:
        """The key that older runs stored this question under, if its kind had another name."""
        return self._key(self.former_kind) if self.former_kind else None

    def _key(self, kind: str) -> str:
        fields = self.model_dump(mode="json", exclude_defaults=True)
        canonical = json.dumps([kind, fields], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def varied(self, **update: object) -> Self:
        """Return the question with other values in some fields: another question."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate(fields | update)

    @classmethod
    @abstractmethod
    def adapter(cls) -> TypeAdapter[T]:
        """Return the validator of this kind's replies."""

    def reply(self, value: object, usage: Usage = NOTHING_SPENT) -> Reply[T]:
        """Validate what a judge answered and make it this question's reply.

        Raises:
            JudgeError: the value has not the shape that this kind of question is answered in.
        """
        try:
            return Reply(self.adapter().validate_python(value), usage)
        except ValidationError as error:
            raise JudgeError(
                Cause.MALFORMED, f"{self.kind}: {format_validation_errors(error)}"
            ) from error


_KINDS: dict[str, type[Question[object]]] = {}
"""Every kind of question by its name, those of plug-ins too."""


def adapter_of(kind: str) -> TypeAdapter[object]:
    """Return the validator of a kind's replies, so that stored ones can be read back.

    Raises:
        UnknownNameError: there is no such kind of question; a plug-in that makes it may be missing.
    """
    if kind not in _KINDS:
        raise UnknownNameError("kind of question", kind, _KINDS)
    return _KINDS[kind].adapter()
