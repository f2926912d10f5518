"""Transcript: the exchanges about one sample. Each question is asked once, however many ask it."""

import asyncio
from time import perf_counter
from typing import TypeVar, cast

from ragstone.errors import CallError, JudgeError
from ragstone.judges.base import Judge
from ragstone.questions import Exchange, Failure, Question, Reply, Usage

T = TypeVar("T")


class Transcript:
    """Asks one judge about one sample, and keeps what came back in the order it was asked."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._asked: dict[str, asyncio.Task[Exchange]] = {}

    async def ask(self, question: Question[T]) -> T:
        """Return the answer; an equal question, asked or under way, is not asked again.

        Raises:
            JudgeError: the judge did not answer.
            QuestionNotSupported: the judge does not take that kind of question.
        """
        key = question.key
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(self._exchange(key, question))
        exchange = await asyncio.shield(self._asked[key])
        if exchange.reply is None:
            assert exchange.failure is not None
            raise JudgeError(exchange.failure.cause, exchange.failure.message)
        return cast("T", exchange.reply.value)

    async def _exchange(self, key: str, question: Question[T]) -> Exchange:
        start = perf_counter()
        reply: Reply[T] | None = None
        failure: Failure | None = None
        try:
            reply = await self._judge.answer(question)
        except CallError as error:
            failure = Failure(error.cause, str(error))
        return Exchange(
            key=key,
            kind=question.kind,
            reply=reply,
            failure=failure,
            latency_ms=(perf_counter() - start) * 1000,
        )

    async def close(self) -> None:
        """Cancel what is still under way and wait until it has ended."""
        for task in self._asked.values():
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was asked and came back so far."""
        done = [task for task in self._asked.values() if task.done() and not task.cancelled()]
        return tuple(task.result() for task in done if task.exception() is None)

    @property
    def usage(self) -> Usage:
        """What the replies cost together."""
        replies = [exchange.reply for exchange in self.exchanges if exchange.reply]
        return sum((reply.usage for reply in replies), Usage())
