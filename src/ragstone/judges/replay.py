"""ReplayJudge: gives again what a ledger holds, and asks nobody."""

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

    Where one question was asked several times, its first answer counts, and a failure only if
    there is no answer.
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
        """Give the recorded answer; a row's tags make no other question of it.

        Raises:
            JudgeFailureError: there was no answer then.
            QuestionNotSupportedError: the question was not asked then.
        """
        untagged = _untagged(question)
        was = self._recorded.get(untagged.key) or self._recorded.get(untagged.former_key or "")
        if was is None:
            raise QuestionNotSupportedError(
                f"the ledger holds no answer to this {question.kind} question; "
                "to score what rests on it takes a new run"
            )
        if isinstance(was, Failure):
            raise JudgeFailureError(replace(was, usage=NOTHING_SPENT))
        reply = question.reply(was.value)
        return replace(
            reply, notes=was.notes, raw=was.raw, attempts=was.attempts, cascade=was.cascade
        )


def _untagged(question: Question[T]) -> Question[T]:
    if not question.tags:
        return question
    return type(question).model_validate(question.model_dump(exclude={"tags"}))
