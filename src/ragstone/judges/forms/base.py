"""Form: how one kind of question is put to a model, and how its reply is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from ragstone.judges.reading import SCHEMAS

Q = TypeVar("Q")


class Form(ABC, Generic[Q]):
    """How one kind of question is put and read."""

    kind: ClassVar[str]

    @abstractmethod
    def texts(self, question: Q) -> dict[str, str]:
        """Return what goes into the prompt's places, the sample's texts fenced."""

    def chosen(self, question: Q) -> dict[str, str]:
        """Return the options of the prompt that are chosen, each with its number or ""."""
        del question
        return {}

    @abstractmethod
    def read(self, text: str, question: Q, *, strict_json: bool) -> object:
        """Read a reply.

        Raises:
            JudgeFailureError: it cannot be read.
        """

    def schema(self, question: Q) -> Mapping[str, object]:
        """Return the JSON schema that the reply should have."""
        del question
        return SCHEMAS[self.kind]

    def doubt(self, question: Q, value: object) -> str | None:
        """Return what a reply that was read may lack, for the one re-ask; None if nothing."""
        del question, value
        return None


def numbered_texts(texts: Iterable[str]) -> str:
    """Return contexts as they are, each with its number before it."""
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1))


def numbered_lines(texts: Iterable[str]) -> str:
    """Return a numbered line for each text, whatever breaks it has."""
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))
