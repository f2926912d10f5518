"""Judge: answers questions. One method and a name; to add power, wrap a judge in a judge."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self, TypeVar

from ragstone.questions import Question, Reply

T = TypeVar("T")


class Judge(ABC):
    """Answers questions, within `async with judge` where it needs to open something first.

    Attributes:
        name: what a plan calls it, such as `offline`.
        description: what it is, in words, for every report that rests on it.
        kinds: the kinds of question it takes, by name; None takes every kind.
        tags: the row's tags that its prompts name.
    """

    name: str
    description: str = ""
    kinds: frozenset[str] | None = None
    tags: frozenset[str] = frozenset()

    @abstractmethod
    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question, by `return question.reply(value)`.

        Raises:
            JudgeError: there is no answer to this question.
            QuestionNotSupported: this judge does not take that kind of question.
        """

    async def __aenter__(self) -> Self:
        """Open what answering needs."""
        return self

    async def __aexit__(  # noqa: B027 - most judges have nothing to close
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what was opened."""

    def takes(self, kind: str) -> bool:
        """Tell whether questions of that kind can be asked at all."""
        return self.kinds is None or kind in self.kinds

    def identity(self, kind: str) -> str | None:
        """Return all that shapes its replies to that kind beside the question itself.

        The model, where it is, its options and its prompt: what a reply is cached under. None
        where replies are not worth keeping.
        """
        del kind
        return None
