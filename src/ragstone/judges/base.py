"""Judge: answers questions. One method and a name; to add power, wrap a judge in a judge."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from ragstone._internal.lifecycle import AsyncResource
from ragstone.errors import CallError
from ragstone.types.questions import Question
from ragstone.types.reply import Failure, Outcome, Reply

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


# JudgeWrapper: a judge around a judge.


class JudgeWrapper(Judge):
    """A judge around a judge: is called as it is, takes what it takes, opens and closes it."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = judge.name
        self.description = judge.description
        self.kinds = judge.kinds
        self.tags = judge.tags
        self._parts = (judge,)

    def takes(self, kind: str) -> bool:
        """Tell whether the judge within takes it."""
        return self.judge.takes(kind)

    def identity(self, kind: str) -> str | None:
        """Return the identity of the judge within."""
        return self.judge.identity(kind)


# MultiJudge: a judge around several judges.


class MultiJudge(Judge):
    """Opens and closes the judges within, each once however often it is named.

    Its prompts name the tags that theirs name. It has no identity unless a subclass gives it one:
    what is kept is the replies of the judges within.
    """

    def __init__(self, judges: Iterable[Judge]) -> None:
        self.judges = tuple(judges)
        self.tags = frozenset(tag for judge in self.judges for tag in judge.tags)
        self._parts = self.judges

    def setup(self, kind: str) -> str | None:
        """Return what tells it from another set-up of the same name, for the record of a run.

        As its identity, but judges within that have none are there by their name: what is known
        of the others is not forgotten for that. Nothing may be kept under it.
        """
        return self.identity(kind)


def setup_of(judge: Judge, kind: str) -> str | None:
    """Return what tells a judge from another set-up of the same name; None if nothing does."""
    if isinstance(judge, JudgeWrapper):
        return setup_of(judge.judge, kind)
    return judge.setup(kind) if isinstance(judge, MultiJudge) else judge.identity(kind)
