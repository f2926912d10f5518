"""LlmJudge: puts questions to a model as prompts, and parses its replies."""

import json
import logging
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar, cast

from ragstone._internal.concurrency import parse
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import one_line
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.llm import prompt as prompting
from ragstone.judges.llm.model import Completion, Model, ModelPrompt, Price, paid_call, priced
from ragstone.judges.llm.prompt import TASKS, Prompt
from ragstone.judges.llm.replies import RawReply, storable
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question
from ragstone.types.reply import Failure, JudgeFailureError, Outcome, Reply, Usage

T = TypeVar("T")

LONGEST_REPLY = 200_000  # characters, which are parsed in less than half a second
MORE_ROOM = 4  # factor on the token limit of a retry after the limit cut the reply

_FIXABLE = frozenset({Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH})
_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class Attempt(Generic[T]):
    outcome: Outcome[T]
    doubt: str | None = None  # what the reply seems to leave out

    @property
    def reason(self) -> str | None:
        """Why to ask again; None if that cannot help: connections were retried already."""
        if isinstance(self.outcome, Reply):
            return prompting.INCOMPLETE if self.doubt else None
        cut_off = self.outcome.cause is Cause.TRUNCATED and self.outcome.raw is None
        return str(self.outcome.cause) if self.outcome.cause in _FIXABLE and not cut_off else None


def better_reply(first: Attempt[T], second: Attempt[T]) -> Reply[T]:
    usage = first.outcome.usage + second.outcome.usage
    one, two = first.outcome, second.outcome
    if isinstance(one, Failure) and isinstance(two, Failure):
        failure = two
        if second.reason is None:
            failure = replace(one, message=f"{one.message}; asking again failed: {two.message}")
        raise JudgeFailureError(replace(failure, usage=usage, attempts=2))
    best, doubt = (one, first.doubt) if isinstance(one, Reply) else (two, second.doubt)
    if isinstance(one, Reply) and isinstance(two, Reply):  # only claims are doubted
        fuller = len(cast("Sized", two.value)) > len(cast("Sized", one.value))
        if fuller or not second.doubt:
            best, doubt = two, second.doubt
    assert isinstance(best, Reply)
    final = isinstance(two, Reply) or second.reason is not None
    notes = best.notes
    if doubt:
        notes = (*notes, f"{doubt} ({'asked twice' if final else 'asking again failed'})")
    return replace(best, usage=usage, notes=notes, attempts=2, final=final)


def sentences_asked_for(question: object) -> tuple[Claim, ...] | None:
    if isinstance(question, ExtractClaims) and question.by == "sentences":
        return extract_claims(question.response)
    return None


class LlmJudge(Judge):
    """Asks a model; if the reply cannot be used, asks once more and states what was wrong."""

    kinds = frozenset(TASKS)

    def __init__(
        self,
        model: Model,
        *,
        prompts: Mapping[str, Prompt] | None = None,
        legacy_text: bool = False,
        max_tokens: int = 4096,
        price: Price | None = None,
        budget: Budget | None = None,
        vote: int = 1,
    ) -> None:
        self.name = model.name
        at = f" at {model.url}" if model.url else ""
        self.description = f"an LLM{at}; its verdicts are opinions, not facts"
        self._model, self._max_tokens, self._legacy_text = model, max_tokens, legacy_text
        self._price, self._budget = price, budget or Budget()
        self._prompts = {kind: Prompt.of(kind) for kind in TASKS} | dict(prompts or {})
        self.tags = frozenset(tag for prompt in self._prompts.values() for tag in prompt.tags)
        retry, schema = prompting.built_in("retry"), prompting.verdict_schema(partial=True)
        common = (model.identity, legacy_text, vote, retry, schema)
        self._identities = {
            kind: json.dumps([*common, prompt.fingerprint, TASKS[kind].schema(None)])
            for kind, prompt in self._prompts.items()
        }
        self._parts = (model,)

    def identity(self, kind: str) -> str | None:
        return self._identities.get(kind)

    def prompt(self, question: Question[T]) -> ModelPrompt:
        task = TASKS.get(question.kind)
        if task is None:
            raise QuestionNotSupportedError(
                f"the judge {self.name} has no prompt for {question.kind}"
            )
        texts = task.texts(question)
        tags = {f"{prompting.TAG}{name}": one_line(value, 200) for name, value in question.tags}
        filled = self._prompts[question.kind].filled({**texts, **tags}, task.options(question))
        return ModelPrompt(*filled, task.schema(question), self._max_tokens)

    async def answer(self, question: Question[T]) -> Reply[T]:
        if (sentences := sentences_asked_for(question)) is not None:
            return question.reply(sentences)
        prompt = self.prompt(question)
        first = await self._attempt(question, prompt)
        if (reason := first.reason) is not None:
            room = MORE_ROOM if reason == Cause.TRUNCATED else 1
            user = f"{prompt.user}\n\n{prompting.retry_text(reason)}"
            again = replace(prompt, user=user, max_tokens=prompt.max_tokens * room)
            return better_reply(first, await self._attempt(question, again))
        if isinstance(first.outcome, Failure):
            raise JudgeFailureError(first.outcome)
        return first.outcome

    async def _attempt(self, question: Question[T], prompt: ModelPrompt) -> Attempt[T]:
        _log.debug("%s %s asks %s:\n%s\n%s", question.kind, question.key[:8], self.name,
                   prompt.system, prompt.user)  # fmt: skip
        texts = prompt.system, prompt.user, json.dumps(prompt.schema)
        with paid_call(self._budget, self._price, texts, prompt.max_tokens) as call:
            try:
                completion = await self._model.complete(prompt)
            except CallError as error:
                return Attempt(Failure.of(error))
            usage = self.priced(completion.usage, prompt, completion.text)
            call.charge(usage.cost_usd)
        _log.debug("%s %s got:\n%s", question.kind, question.key[:8], completion.text)
        raw = storable(completion.text[: LONGEST_REPLY + 1])  # a longer one is never parsed
        try:
            value = await parse(completion.text, partial(self._parsed, question, completion))
            reply = question.reply(value, usage)
        except JudgeError as error:
            return Attempt(replace(Failure.of(error), usage=usage, raw=raw))
        return Attempt(replace(reply, raw=raw), TASKS[question.kind].doubt(question, reply.value))

    def _parsed(self, question: Question[T], completion: Completion) -> object:
        if completion.refusal is not None:
            cause = Cause.REFUSAL
            message = f"the judge refused: {one_line(completion.refusal, 200)}"
        elif completion.truncated:
            cause = Cause.TRUNCATED
            message = "the reply was cut off, usually by the token limit; increase max_tokens"
        elif (length := len(completion.text)) > LONGEST_REPLY:  # parsing would block other calls
            cause = Cause.MALFORMED
            message = f"the reply has {length:,} characters; at most {LONGEST_REPLY:,} are read"
        else:
            task = TASKS[question.kind]
            shown = tuple(task.texts(question).values())
            return task.parse(RawReply(completion.text, shown, self._legacy_text), question)
        raise JudgeFailureError(Failure(cause, message))

    def priced(self, usage: Usage, prompt: ModelPrompt, reply: str = "") -> Usage:
        return priced(usage, self._price, [prompt.system + prompt.user], reply)
