"""ScriptedJudge: prepared answers, for tests and for trying a metric."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from pydantic import BaseModel

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.types.questions import Question
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

T = TypeVar("T")


class ScriptedJudge(Judge):
    """Answers each kind of question from a table.

    `answers` maps a kind to its answer, to a dict of question key to answer, or to a function of
    the question that returns its answer. A Reply is returned as it is, a Failure is raised. Each
    answer takes `seconds`. `asked` is the list of questions, `under_way` counts those in progress.
    """

    description = "prepared answers"

    def __init__(
        self,
        answers: Mapping[str, object],
        *,
        name: str = "scripted",
        seconds: float = 0.0,
        identity: str | None = None,
    ) -> None:
        self.name = name
        self.answers = answers
        self.kinds = frozenset(answers)
        self.asked: list[BaseModel] = []
        self.under_way = 0
        self._seconds = seconds
        self._identity = identity

    def identity(self, kind: str) -> str | None:
        del kind
        return self._identity

    async def answer(self, question: Question[T]) -> Reply[T]:
        if question.kind not in self.answers:
            raise QuestionNotSupportedError(f"the script has no answer for {question.kind}")
        self.asked.append(question)
        self.under_way += 1
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self.under_way -= 1
        answer = self._look_up(question)
        if isinstance(answer, Failure):
            raise JudgeFailureError(answer)
        if isinstance(answer, Reply):
            return cast("Reply[T]", answer)
        return question.reply(answer, Usage(calls=1))

    def _look_up(self, question: Question[T]) -> object:
        answer = self.answers[question.kind]
        if callable(answer):
            return cast("Callable[[Question[T]], object]", answer)(question)
        if isinstance(answer, dict):
            by_key = cast("dict[str, object]", answer)
            return by_key.get(question.key, Failure(Cause.REFUSAL, "not in the script"))
        return answer
