"""Judge: answers questions. One method and a name; to add power, wrap a judge in a judge."""

from abc import ABC, abstractmethod
from typing import TypeVar

from ragstone.questions import Question, Reply

T = TypeVar("T")


class Judge(ABC):
    """Answers questions.

    Attributes:
        name: what a plan calls it, such as `offline`.
        description: what it is, in words, for every report that rests on it.
        kinds: the kinds of question it takes, by name; None takes every kind.
    """

    name: str
    description: str = ""
    kinds: frozenset[str] | None = None

    @abstractmethod
    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question, by `return question.reply(value)`.

        Raises:
            JudgeError: there is no answer to this question.
            QuestionNotSupported: this judge does not take that kind of question.
        """

    def takes(self, kind: str) -> bool:
        """Tell whether questions of that kind can be asked at all."""
        return self.kinds is None or kind in self.kinds
