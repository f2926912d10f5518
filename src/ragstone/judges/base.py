"""Judge: answers questions. One method and a name; to add power, wrap a judge in a judge."""

from abc import ABC, abstractmethod
from typing import TypeVar

from ragstone.errors import CallError
from ragstone.exchanges import Failure, Outcome, Reply
from ragstone.opened import AsyncResource
from ragstone.questions import Question

T = TypeVar("T")


class Judge(AsyncResource, ABC):
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
            QuestionNotSupportedError: this judge does not take that kind of question.
        """

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


async def outcome_of(judge: Judge, question: Question[T]) -> Outcome[T]:
    """Return what a judge answers, a failure as a value.

    Raises:
        QuestionNotSupportedError: the judge does not take that kind of question.
    """
    try:
        return await judge.answer(question)
    except CallError as error:
        return Failure.of(error)
