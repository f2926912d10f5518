"""CachedJudge: a judge that is not asked again what it has answered before."""

import asyncio
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ragstone.errors import CallError, JudgeError
from ragstone.exchanges import JudgeFailureError, Reply
from ragstone.judges.around import AroundJudge
from ragstone.judges.base import Judge
from ragstone.judges.replies_file import Kept, RepliesFile
from ragstone.questions import TEXTS, Question
from ragstone.usage import Usage

T = TypeVar("T")

USAGE = TypeAdapter(Usage)


class CachedJudge(AroundJudge):
    """Keeps replies in a file, and takes them from there; several processes may share one file.

    A reply is kept under the question and the judge's identity, before it is given: the end of
    the process loses no more than the calls under way. Failures are not kept, nor is a judge's
    word that has no identity. Rows that ask the same at the same time make one call.
    """

    _replies: RepliesFile

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self._path = path
        self._under_way: dict[bytes, asyncio.Future[Reply[object] | CallError | None]] = {}

    async def __aenter__(self) -> Self:
        """Open the file and the judge within.

        Raises:
            UsageError: the file cannot be used.
        """
        self._replies = await RepliesFile.open(self._path)
        try:
            return await super().__aenter__()
        except BaseException:
            await self._replies.close()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the judge within, then the file when all that waits is written."""
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            await self._replies.close()

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Return the reply that is kept, or ask and keep the reply.

        Raises:
            JudgeError: there is no answer. Whoever waited for the same call is told the same, as
                the call had all its tries; only where it was broken off, the next one asks.
        """
        identity = self.judge.identity(question.kind)
        if identity is None:
            return await self.judge.answer(question)
        key = sha256(f"{question.key}\n{identity}".encode()).digest()
        while under_way := self._under_way.get(key):
            told = await asyncio.shield(under_way)
            if isinstance(told, CallError):
                raise _shared(told)
            if told:
                return _free(cast("Reply[T]", told))
        return self._find(key, question) or await self._ask(key, question)

    def _find(self, key: bytes, question: Question[T]) -> Reply[T] | None:
        kept = self._replies.find(key)
        if not kept:
            return None
        try:
            reply = question.reply(question.adapter().validate_json(kept.value))
            return _free(replace(reply, notes=TEXTS.validate_json(kept.notes), raw=kept.raw))
        except (ValidationError, JudgeError):  # an older version's idea of a reply
            return None

    async def _ask(self, key: bytes, question: Question[T]) -> Reply[T]:
        told: Reply[object] | CallError | None = None
        under_way = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            told = reply = await self.judge.answer(question)
            if kept := _kept(question, reply):
                await self._replies.keep(key, kept)
        except CallError as error:
            told = error
            raise
        else:
            return reply
        finally:
            del self._under_way[key]
            under_way.set_result(told)


def _kept(question: Question[T], reply: Reply[T]) -> Kept | None:
    """Return the reply as text; None if it is in doubt, was free, or holds half a character."""
    if not reply.final or not (reply.usage.calls or reply.usage.local_calls):
        return None
    try:
        if reply.raw is not None:
            reply.raw.encode()
        return Kept(
            value=question.adapter().dump_json(reply.value).decode(),
            notes=TEXTS.dump_json(reply.notes).decode(),
            raw=reply.raw,
            usage=USAGE.dump_json(reply.usage).decode(),
            kept_at=time.time(),
        )
    except ValueError:
        return None


def _free(reply: Reply[T]) -> Reply[T]:
    """Return the reply as one that cost nothing this time."""
    return Reply(reply.value, Usage(cached=1), reply.notes, reply.raw)


def _shared(error: CallError) -> CallError:
    """Return a failure as it is told to those who waited: it cost once."""
    if isinstance(error, JudgeFailureError):
        return JudgeFailureError(replace(error.failure, usage=Usage()))
    return JudgeError(error.cause, str(error))
