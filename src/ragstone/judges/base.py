"""Judge: answers questions. To add a capability, wrap a judge in a judge.

ReplayJudge answers from a transcript, ScriptedJudge from a table: for rescoring, and for tests.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel

from ragstone._internal.concurrency import AsyncResource
from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone.errors import CallError, Cause, QuestionNotSupportedError, RagstoneError
from ragstone.types.questions import Question
from ragstone.types.reply import (
    NOTHING_SPENT,
    Exchange,
    Failure,
    JudgeFailureError,
    Outcome,
    Reply,
    Usage,
)

T = TypeVar("T")
V = TypeVar("V")


class Judge(AsyncResource, ABC):
    """Answers questions, within `async with judge` if it has resources to open.

    Attributes:
        name: its name in a plan, such as `offline`; by default the name of its class.
        description: what it is, for reports.
        kinds: the kinds of question that it takes; None for every kind.
        tags: the row's tags that its prompts use.
    """

    name: str = ""
    description: str = ""
    kinds: frozenset[str] | None = None
    tags: frozenset[str] = frozenset()

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if not cls.name and "name" not in cls.__annotations__:
            cls.name = cls.__name__

    @abstractmethod
    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question, by `return question.reply(value)`, or raise a JudgeError."""

    def takes(self, kind: str) -> bool:
        """Return whether it takes questions of that kind."""
        return self.kinds is None or kind in self.kinds

    def identity(self, kind: str) -> str | None:
        """Return what affects its replies: model, options, prompt. None to cache nothing."""
        del kind
        return None

    def setup(self, kind: str) -> str | None:
        """Return the identity for a run's record, also of a judge whose replies are not cached."""
        return self.identity(kind)


CALLS: ContextVar[asyncio.Semaphore | None] = ContextVar("CALLS", default=None)
"""Bounds the calls of judges that are not ours; a judge inside such a judge is part of its call."""


async def outcome_of(judge: Judge, question: Question[T]) -> Outcome[T]:
    """Return a judge's reply, or its failure as a value; QuestionNotSupportedError is raised."""
    if not is_builtin(judge) and (calls := CALLS.get()):
        async with calls:
            token = CALLS.set(None)
            try:
                return await outcome_of(judge, question)
            finally:
                CALLS.reset(token)
    spent = None
    try:
        reply = await judge.answer(question)
        if not is_builtin(judge) and isinstance(cast("object", reply), Reply):
            spent = reply.usage
            reply = replace(reply, value=question.reply(reply.value).value)
    except CallError as error:
        return replace(Failure.of(error), usage=spent) if spent else Failure.of(error)
    except RagstoneError:
        raise
    except BaseException as error:
        if is_builtin(judge) or not is_from_code(error):
            raise  # a bug in ragstone, or Ctrl-C
        return Failure(Cause.JUDGE_ERROR, describe_exception("the judge", error))
    if isinstance(cast("object", reply), Reply):
        return reply
    message = f"the judge returned a {type(reply).__name__}; return question.reply(value)"
    return Failure(Cause.JUDGE_ERROR, message)


async def reply_of(judge: Judge, question: Question[T]) -> Reply[T]:
    """Return the reply of a judge inside another; its failure is a JudgeError."""
    if is_builtin(judge):
        return await judge.answer(question)
    outcome = await outcome_of(judge, question)
    if isinstance(outcome, Failure):
        raise JudgeFailureError(outcome)
    return outcome


class JudgeWrapper(Judge):
    """A judge around a judge, with its name, kinds, tags and identity."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = _typed(judge.name, str) or type(judge).__name__
        self.description = _typed(judge.description, str) or ""
        self.kinds = judge.kinds if isinstance(judge.kinds, Set) else None
        self.tags = frozenset(judge.tags)
        self._parts = (judge,)

    def judge_for(self, kind: str) -> Judge:
        """Return the judge that answers questions of that kind."""
        del kind
        return self.judge

    def takes(self, kind: str) -> bool:
        """Return whether the judge for that kind takes it."""
        return self.judge_for(kind).takes(kind)

    def identity(self, kind: str) -> str | None:
        """Return the identity of the judge for that kind; None if not a text."""
        return _typed(self.judge_for(kind).identity(kind), str)

    def setup(self, kind: str) -> str | None:
        """Return the setup of the judge for that kind; None if not a text."""
        return _typed(self.judge_for(kind).setup(kind), str)


def _typed(value: object, of: type[V]) -> V | None:
    return value if isinstance(value, of) else None


class RouterJudge(JudgeWrapper):
    """Asks the judge in `routes` for a kind of question, else `default`, whose name it has."""

    def __init__(self, routes: Mapping[str, Judge], default: Judge) -> None:
        super().__init__(default)
        self._routes = dict(routes)
        parts = [self.description]
        for kind, judge in sorted(routes.items()):
            what = f" ({judge.description})" if judge.description else ""
            parts.append(f"{kind} by {judge.name}{what}")
        self.description = "; ".join(filter(None, parts))
        self.tags = self.tags.union(*(judge.tags for judge in routes.values()))
        self._parts = (default, *routes.values())
        if self.kinds is not None:
            self.kinds = frozenset(filter(self.takes, self.kinds | routes.keys()))

    def judge_for(self, kind: str) -> Judge:
        """Return the judge in `routes`, else the default."""
        return self._routes.get(kind, self.judge)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask the judge for that kind."""
        return await reply_of(self.judge_for(question.kind), question)


class ReplayJudge(Judge):
    """Answers from recorded exchanges, the first answer to a question, else its first failure."""

    name = "replay"
    description = "the recorded answers of an earlier run"

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._recorded: dict[str, Outcome[object]] = {}
        for exchange in exchanges:
            known = self._recorded.setdefault(exchange.key, exchange.outcome)
            if isinstance(known, Failure) and isinstance(exchange.outcome, Reply):
                self._recorded[exchange.key] = exchange.outcome

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return the recorded answer, or raise the recorded failure."""
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
        )


class ScriptedJudge(Judge):
    """Answers each kind of question from a table, and lists the questions in `asked`.

    `answers` maps a kind to its answer, to a dict of question key to answer, or to a function of
    the question that returns its answer. A Reply is returned as it is, a Failure is raised.
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
        """Return the same identity for any kind."""
        del kind
        return self._identity

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return the prepared answer."""
        if question.kind not in self.answers:
            raise QuestionNotSupportedError(f"the script has no answer for {question.kind}")
        self.asked.append(question)
        self.under_way += 1
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self.under_way -= 1
        answer = self.answers[question.kind]
        if callable(answer):
            answer = answer(question)
        elif isinstance(answer, dict):
            by_key = cast("dict[str, object]", answer)
            answer = by_key.get(question.key, Failure(Cause.REFUSAL, "not in the script"))
        if isinstance(answer, Failure):
            raise JudgeFailureError(answer)
        if isinstance(answer, Reply):
            return cast("Reply[T]", answer)
        return question.reply(answer, Usage(calls=1))
