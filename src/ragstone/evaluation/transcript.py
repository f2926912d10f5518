"""Transcript: all judge questions about one sample; each is asked once for all metrics."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from time import perf_counter, time
from types import MappingProxyType
from typing import TypeVar, cast

from ragstone.judges.base import Judge, outcome_of
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.questions import ExtractClaims, Question
from ragstone.types.reply import Exchange, Failure, JudgeFailureError, Reply, Usage

T = TypeVar("T")
NO_TAGS: Mapping[str, object] = MappingProxyType({})


class Transcript:
    """Asks one judge about one sample and records the replies in the order of the questions.

    `tags` are the sample's; the judge sees those that its prompts name.
    """

    def __init__(self, judge: Judge, tags: Mapping[str, object] = NO_TAGS) -> None:
        self._judge = judge
        named = ((name, tags.get(name)) for name in sorted(judge.tags))
        self._tags = tuple((name, "" if tag is None else str(tag)) for name, tag in named)
        self._asked: dict[str, asyncio.Task[Exchange]] = {}
        self._askers = Counter[str]()

    async def ask(self, question: Question[T]) -> T:
        """Return the answer; equal questions share one call."""
        return (await self.reply(question)).value

    async def reply(self, question: Question[T]) -> Reply[T]:
        """Return the reply with its usage and notes; see `ask`."""
        key = question.key
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(self._exchange(key, question))
        outcome = (await asyncio.shield(self._asked[key])).outcome
        if isinstance(outcome, Failure):
            raise JudgeFailureError(outcome)
        return cast("Reply[T]", outcome)

    def join(self, question: Question[T]) -> None:
        """Count one more metric that asks this question."""
        self._askers[question.key] += 1

    async def _exchange(self, key: str, question: Question[T]) -> Exchange:
        started_at, start = time(), perf_counter()
        asked = question.varied(tags=self._tags) if self._tags else question
        outcome = await outcome_of(self._judge, asked)
        return Exchange(
            key=key,
            kind=question.kind,
            outcome=outcome,
            latency_ms=(perf_counter() - start) * 1000,
            started_at=started_at,
        )

    async def close(self) -> None:
        """Cancel running calls and wait until they have ended."""
        left = [task for task in self._asked.values() if task.cancel()]  # False if it has ended
        await asyncio.gather(*left, return_exceptions=True)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All finished exchanges."""
        done = [task for task in self._asked.values() if task.done() and not task.cancelled()]
        finished = [task.result() for task in done if task.exception() is None]
        return tuple(replace(each, askers=max(1, self._askers[each.key])) for each in finished)

    @property
    def usage(self) -> Usage:
        """The total usage, including failed calls."""
        return reduce(add, (exchange.outcome.usage for exchange in self.exchanges), Usage())


class MetricAsker:
    """Asks a transcript for one metric, and collects the notes on the replies.

    `keys` are the questions' keys. `no_claims` becomes true if the judge found no claims in a
    response that seems to make statements.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.keys = set[str]()
        self.notes: dict[str, None] = {}
        self.no_claims = False

    async def __call__(self, question: Question[T]) -> T:
        """Return the answer; see `Transcript.ask`."""
        if question.key not in self.keys:
            self.keys.add(question.key)
            self._transcript.join(question)
        reply = await self._transcript.reply(question)
        self.notes |= dict.fromkeys(reply.notes)
        if isinstance(question, ExtractClaims) and not reply.value:
            self.no_claims = self.no_claims or bool(extract_claims(question.response))
        return reply.value
