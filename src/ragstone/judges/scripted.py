"""A judge whose answers are written down beforehand: for tests, and for trying a metric out."""

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import BaseModel

from ragstone.errors import Cause, JudgeError, QuestionNotSupported
from ragstone.judges.base import Judge
from ragstone.questions import Failure, Question, Reply, Usage

T = TypeVar("T")


class ScriptedJudge(Judge):
    """Answers each kind of question from a table.

    `answers` maps a kind to its answer, or to a dict of question key to answer; an answer may
    be a Failure, which is raised. `asked` holds the questions in the order they came.
    """

    name = "scripted"
    description = "answers written down beforehand"

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = answers
        self.kinds = frozenset(answers)
        self.asked: list[BaseModel] = []

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Look the answer up."""
        if question.kind not in self.answers:
            raise QuestionNotSupported(f"the script has nothing for {question.kind}")
        self.asked.append(question)
        answer = self.answers[question.kind]
        if isinstance(answer, dict):
            by_key = cast("dict[str, object]", answer)
            answer = by_key.get(question.key, Failure(Cause.REFUSAL, "not in the script"))
        if isinstance(answer, Failure):
            raise JudgeError(answer.cause, answer.message)
        return question.reply(answer, Usage(calls=1))
