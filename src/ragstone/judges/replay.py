"""ReplayJudge: the recorded answers of an earlier run."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.types.questions import Question
from ragstone.types.reply import NOTHING_SPENT, Exchange, Failure, JudgeFailureError, Outcome, Reply

T = TypeVar("T")


class ReplayJudge(Judge):
    """Answers from recorded exchanges, and fails as they did; nothing is spent.

    If a question was asked several times, its first answer counts, else its first failure.
    """

    name = "replay"
    description = "the recorded answers of an earlier run"

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._recorded: dict[str, Outcome[object]] = {}
        for exchange in exchanges:
            known = self._recorded.get(exchange.key)
            if known is None or (
                isinstance(known, Failure) and isinstance(exchange.outcome, Reply)
            ):
                self._recorded[exchange.key] = exchange.outcome

    async def answer(self, question: Question[T]) -> Reply[T]:
        if question.tags:
            question = question.varied(tags=())
        outcome = self._recorded.get(question.key)
        if outcome is None:
            raise QuestionNotSupportedError(
                f"the transcript has no answer to this {question.kind} question; "
                "scores that need it require a new run"
            )
        if isinstance(outcome, Failure):
            raise JudgeFailureError(replace(outcome, usage=NOTHING_SPENT))
        return replace(
            question.reply(outcome.value),
            notes=outcome.notes,
            raw=outcome.raw,
            attempts=outcome.attempts,
            cascade=outcome.cascade,
        )
