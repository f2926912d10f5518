"""LlmJudge: puts questions to a model as prompts, and parses its replies."""

import json
import logging
import re
from collections import Counter
from collections.abc import Mapping
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
from ragstone.judges.llm.prompt import TASKS, Prompt, longest_reply
from ragstone.judges.llm.replies import RawReply, has_thoughts, storable
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question
from ragstone.types.reply import Failure, JudgeFailureError, Outcome, Reply, Usage

T = TypeVar("T")
Claims = tuple[Claim, ...]

SAME_FAILURES = 5  # of the first questions, after which the run stops
LONGEST_REPLY = 200_000  # characters, which are parsed in less than half a second
MORE_ROOM = 4  # factor on the token limit of a retry after the limit cut the reply

_FIXABLE = frozenset({Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH})
_VARIES = re.compile(r"""'[^']*'|"[^"]*"|\b[0-9a-f-]{6,}\b|\d+""")  # in messages of one failure
_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class Attempt(Generic[T]):
    outcome: Outcome[T]
    omitted: tuple[str, ...] = ()  # sentences that the reply seems to leave out
    invented: str | None = None  # a claim that is not in the response

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The lists that the text for the retry contains."""
        if self.invented:
            return {"invented": (self.invented,)}
        if not self.omitted:
            return {}
        value = self.outcome.value if isinstance(self.outcome, Reply) else ()
        listed = tuple(claim.text for claim in cast("Claims", value))
        return {"listed": listed or ("(none)",), "omitted": self.omitted}

    @property
    def reason(self) -> str | None:
        """Why to ask again; None if that cannot help: connections were retried already."""
        if isinstance(self.outcome, Reply):
            return prompting.INCOMPLETE if self.omitted else None
        if self.invented:
            return prompting.INVENTED
        cut_off = self.outcome.cause is Cause.TRUNCATED and self.outcome.raw is None
        return str(self.outcome.cause) if self.outcome.cause in _FIXABLE and not cut_off else None


def joined(first: Attempt[T], second: Attempt[T]) -> Reply[T]:
    """Return what both replies give together, or raise the failure."""
    usage = first.outcome.usage + second.outcome.usage
    one, two = first.outcome, second.outcome
    if isinstance(one, Reply):  # asked only for the claims of the sentences that it left out
        note = f"no claim was found in: {' '.join(first.omitted)}"
        if not isinstance(two, Reply):
            notes = (*one.notes, f"{note} (asking again failed)")
            return replace(
                one, usage=usage, notes=notes, attempts=2, final=second.reason is not None
            )
        listed = cast("Claims", one.value)
        known = {_bare(claim.text) for claim in listed}
        more = [each for each in cast("Claims", two.value) if _bare(each.text) not in known]
        notes = one.notes if more else (*one.notes, f"{note} (asked twice)")
        value, raw = cast("T", (*listed, *more)), f"{one.raw}\n\n{two.raw}"
        return replace(one, value=value, usage=usage, notes=notes, attempts=2, raw=raw)
    if isinstance(two, Reply):
        notes = (f"no claim was found in: {' '.join(second.omitted)}",) if second.omitted else ()
        return replace(two, usage=usage, notes=(*two.notes, *notes), attempts=2)
    failure = two
    if second.reason is None:
        failure = replace(one, message=f"{one.message}; asking again failed: {two.message}")
    raise JudgeFailureError(replace(failure, usage=usage, attempts=2))


def _bare(text: str) -> str:
    return text.casefold().strip(" .!")


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
        bounded: bool = True,
        gives_up: bool = True,
    ) -> None:
        """Make a judge.

        `bounded` replies have room for what their form allows, unless the model thinks. It
        `gives_up` if the first questions of a kind fail in the same way.
        """
        self.name = model.name
        at = f" at {model.url}" if model.url else ""
        self.description = f"an LLM{at}; its verdicts are opinions, not facts"
        self._model, self._max_tokens, self._legacy_text = model, max_tokens, legacy_text
        self._price, self._budget = price, budget or Budget()
        self._budget.judges.add(self.name)
        self._bounded, self._gives_up = bounded, gives_up
        self._failures = Counter[tuple[str, Cause, str]]()  # before the first answer of a kind
        self._prompts = {kind: Prompt.of(kind) for kind in TASKS} | dict(prompts or {})
        self.tags = frozenset(tag for prompt in self._prompts.values() for tag in prompt.tags)
        common = (model.identity, legacy_text, vote, prompting.built_in("retry"))
        self._identities = {
            kind: json.dumps([*common, prompt.fingerprint])
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
        prompt = self._prompts[question.kind]
        system, user = prompt.filled({**texts, **tags}, task.options(question))
        return ModelPrompt(system, user.strip(), task.schema(question), self._max_tokens)

    async def answer(self, question: Question[T]) -> Reply[T]:
        if (sentences := sentences_asked_for(question)) is not None:
            return question.reply(sentences)
        try:
            reply = await self._asked(question)
        except JudgeFailureError as error:
            raise JudgeFailureError(self._noted(question, error.failure)) from None
        self._budget.answered.add(question.kind)
        return reply

    async def _asked(self, question: Question[T]) -> Reply[T]:
        prompt = self.prompt(question)
        first = await self._attempt(question, self._limited(prompt))
        if (reason := first.reason) is not None:
            room = MORE_ROOM if reason == Cause.TRUNCATED else 1
            user = f"{prompt.user}\n\n{prompting.retry_text(reason, **first.lists)}"
            limit = self._limited(prompt).max_tokens * room
            second = await self._attempt(question, replace(prompt, user=user, max_tokens=limit))
            return joined(first, second)
        if isinstance(first.outcome, Failure):
            raise JudgeFailureError(first.outcome)
        return first.outcome

    def _limited(self, prompt: ModelPrompt) -> ModelPrompt:
        """Bound the reply by its form, so that a model that repeats itself is stopped early."""
        if not self._bounded:
            return prompt
        return replace(prompt, max_tokens=min(prompt.max_tokens, longest_reply(prompt.schema)))

    def _noted(self, question: Question[T], failure: Failure) -> Failure:
        """Return a failure that names its question; stop a run whose calls are all in vain."""
        if failure.cause in _FIXABLE:
            failure = replace(failure, message=f"{failure.message} ({question.kind})")
        is_first = question.kind not in self._budget.answered and len(self._budget.judges) == 1
        is_call = failure.usage.calls and failure.cause is not Cause.BUDGET
        if self._gives_up and is_first and is_call:
            same = question.kind, failure.cause, _VARIES.sub("", failure.message)
            self._failures[same] += 1
            if self._failures[same] == SAME_FAILURES:
                self._budget.stop(
                    f"the judge {self.name} failed {SAME_FAILURES} times in the same way and "
                    f"answered nothing: {failure.message}"
                )
        return failure

    async def _attempt(self, question: Question[T], prompt: ModelPrompt) -> Attempt[T]:
        _log.debug("%s %s asks %s:\n%s\n%s", question.kind, question.key[:8], self.name,
                   prompt.system, prompt.user)  # fmt: skip
        texts = prompt.system, prompt.user, json.dumps(prompt.schema)
        with paid_call(self._budget, self._price, texts, prompt.max_tokens) as call:
            try:
                completion = await self._model.complete(prompt)
            except CallError as error:
                if error.cause is Cause.BUDGET and error.status is not None:
                    self._budget.stop(str(error))
                return Attempt(Failure.of(error))
            if completion.thinks or has_thoughts(completion.text) or not completion.text.strip():
                self._bounded = False
            usage = self.priced(completion.usage, prompt, completion.text)
            call.charge(usage.cost_usd)
        _log.debug("%s %s got:\n%s", question.kind, question.key[:8], completion.text)
        raw = storable(completion.text[: LONGEST_REPLY + 1])  # a longer one is never parsed
        try:
            value = await parse(
                completion.text, partial(self._parsed, question, completion, prompt.max_tokens)
            )
            reply = question.reply(value, usage)
        except JudgeError as error:
            failure = replace(Failure.of(error), usage=usage, raw=raw)
            claim = error.claim if isinstance(error, prompting.InventedClaimError) else None
            return Attempt(failure, invented=claim)
        return Attempt(replace(reply, raw=raw), TASKS[question.kind].omitted(question, reply.value))

    def _parsed(self, question: Question[T], completion: Completion, limit: int) -> object:
        if completion.refusal is not None:
            cause = Cause.REFUSAL
            message = f"the judge refused: {one_line(completion.refusal, 200)}"
        elif completion.truncated:
            cause = Cause.TRUNCATED
            message = f"the reply was cut off, usually by the limit of {limit:,} tokens"
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
