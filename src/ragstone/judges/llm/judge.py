"""LlmJudge: puts questions to a model as prompts, and reads what it writes."""

import json
import logging
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import one_line
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.parsing.json import whole
from ragstone.judges.llm.parsing.schemas import SCHEMAS, verdict_schema
from ragstone.judges.llm.prompt import INCOMPLETE, PLACES, TAG, Prompt, again, source
from ragstone.judges.llm.providers.base import Completion, Model, ModelPrompt
from ragstone.judges.llm.providers.pricing import Price
from ragstone.judges.llm.tasks import TASKS
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question
from ragstone.types.reply import Failure, JudgeFailureError, Outcome, Reply, Usage

T = TypeVar("T")


# Attempt: what putting a question to a model once gave, and what two of them come to.

_MENDABLE = frozenset({Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH})


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """A reply, perhaps with a doubt about what it leaves out, or a failure."""

    outcome: Outcome[T]
    doubt: str | None = None

    @property
    def reply(self) -> Reply[T] | None:
        """The reply, if there is one."""
        return self.outcome if isinstance(self.outcome, Reply) else None

    @property
    def reason(self) -> str | None:
        """Why the question should be put again; None where that would fix nothing.

        A broken connection had its tries already: only what was read can be written better.
        """
        if isinstance(self.outcome, Reply):
            return INCOMPLETE if self.doubt else None
        unread = self.outcome.cause is Cause.TRUNCATED and self.outcome.raw is None
        return str(self.outcome.cause) if self.outcome.cause in _MENDABLE and not unread else None


def settled(first: Attempt[T], second: Attempt[T]) -> Reply[T]:
    """Return the better of two attempts, at the price of both.

    Raises:
        JudgeFailureError: neither is a reply. Where the second one got none at all, what came back
            to the first counts.
    """
    usage = first.outcome.usage + second.outcome.usage
    best = second if second.reply and (not second.doubt or _fuller(second, first)) else first
    if best.reply is None:
        raise JudgeFailureError(replace(_failure(first, second), usage=usage, attempts=2))
    final = second.reply is not None or second.reason is not None
    notes = best.reply.notes
    if best.doubt:
        how = "asked twice" if final else "asking again was cut short"
        notes = (*notes, f"{best.doubt} ({how})")
    return replace(best.reply, usage=usage, notes=notes, attempts=2, final=final)


def _failure(first: Attempt[T], second: Attempt[T]) -> Failure:
    assert isinstance(first.outcome, Failure)
    assert isinstance(second.outcome, Failure)
    if second.reason is not None:
        return second.outcome
    said = f"{first.outcome.message}; asking again failed: {second.outcome.message}"
    return replace(first.outcome, message=said)


def _fuller(one: Attempt[T], other: Attempt[T]) -> bool:
    """Tell whether one found more claims than the other: only claims are doubted."""
    found = [len(cast("Sized", each.reply.value)) if each.reply else -1 for each in (one, other)]
    return found[0] > found[1]


# Claims by sentence: the answer to a question that wants no model asked.


def sentences_asked_for(question: object) -> tuple[Claim, ...] | None:
    """Return the claims of a question that wants sentences for claims; None for any other."""
    if isinstance(question, ExtractClaims) and question.by == "sentences":
        return extract_claims(question.response)
    return None


MORE_ROOM = 4
"""How many times the tokens a reply gets on the re-ask, after the limit cut it."""

_log = logging.getLogger("ragstone.judge")


class LlmJudge(Judge):
    """Asks a model; where the reply cannot be used, asks once more and says what was wrong.

    `vote` tells apart judges that are one model asked several times.
    """

    kinds = frozenset(TASKS)

    def __init__(
        self,
        model: Model,
        *,
        prompts: Mapping[str, Prompt] | None = None,
        strict_json: bool = False,
        max_tokens: int = 4096,
        price: Price | None = None,
        budget: Budget | None = None,
        vote: int = 1,
    ) -> None:
        self.name = model.name
        place = f" at {model.place}" if model.place else ""
        self.description = f"an LLM{place}; its verdicts are opinions, not facts"
        self._model = model
        self._prompts = {kind: Prompt.of(kind) for kind in PLACES} | dict(prompts or {})
        self.tags = frozenset(tag for prompt in self._prompts.values() for tag in prompt.tags)
        self._strict_json = strict_json
        self._max_tokens = max_tokens
        self._price = price
        self._budget = budget or Budget()
        shaped = (model.identity, strict_json, vote, source(), verdict_schema(partial=True))
        self._identities = {
            kind: json.dumps([*shaped, prompt.fingerprint, SCHEMAS[kind]])
            for kind, prompt in self._prompts.items()
        }
        self._parts = (model,)

    def identity(self, kind: str) -> str | None:
        """Name the model, where it is, its options, the prompt and schema, how it is read."""
        return self._identities.get(kind)

    def prompt(self, question: Question[T]) -> ModelPrompt:
        """Return what the model is asked.

        Raises:
            QuestionNotSupportedError: no prompt puts that kind of question.
        """
        form = TASKS.get(question.kind)
        if form is None:
            raise QuestionNotSupportedError(
                f"the judge {self.name} has no prompt for {question.kind}"
            )
        texts = form.texts(question)
        texts |= {f"{TAG}{name}": one_line(value, 200) for name, value in question.tags}
        system, user = self._prompts[question.kind].filled(texts, form.chosen(question))
        schema = form.schema(question)
        return ModelPrompt(system, user, schema, self._max_tokens)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Put the question to the model, and once more if the reply cannot be used.

        Raises:
            JudgeFailureError: the model did not answer, or not so that it can be read.
            QuestionNotSupportedError: no prompt puts that kind of question.
            UsageError: the key was rejected, or the model does not exist.
        """
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self.prompt(question)
        first = await self._attempt(question, prompt)
        if (reason := first.reason) is not None:
            return settled(first, await self._attempt(question, _again(prompt, reason)))
        if isinstance(first.outcome, Failure):
            raise JudgeFailureError(first.outcome)
        return first.outcome

    async def _attempt(self, question: Question[T], prompt: ModelPrompt) -> Attempt[T]:
        _log.debug("%s %s asks %s:\n%s\n%s", question.kind, question.key[:8], self.name,
                   prompt.system, prompt.user)  # fmt: skip
        try:
            completion = await self._model.complete(prompt)
        except CallError as error:
            return Attempt(Failure.of(error))
        _log.debug("%s %s got:\n%s", question.kind, question.key[:8], completion.text)
        usage = self.priced(completion.usage, prompt, completion.text)
        self._budget.charge(usage.cost_usd)
        raw = whole(completion.text)
        try:
            reply = question.reply(self._read(question, completion), usage)
        except JudgeError as error:
            return Attempt(replace(Failure.of(error), usage=usage, raw=raw))
        reply = replace(reply, raw=raw)
        doubt = TASKS[question.kind].doubt(question, reply.value)
        return Attempt(reply, doubt)

    def _read(self, question: Question[T], completion: Completion) -> object:
        if completion.refusal is not None:
            said = one_line(completion.refusal, 200)
            raise JudgeFailureError(Failure(Cause.REFUSAL, f"the judge refused: {said}"))
        if completion.truncated:
            said = "the token limit cut the reply; raise it with --max-tokens"
            raise JudgeFailureError(Failure(Cause.TRUNCATED, said))
        form = TASKS[question.kind]
        return form.read(completion.text, question, strict_json=self._strict_json)

    def priced(self, usage: Usage, prompt: ModelPrompt, text: str) -> Usage:
        """Return the usage with its cost; None where no price is known.

        Where the server tells no tokens, those that the texts may take are priced: a budget holds
        there too.
        """
        if self._price is None:
            return replace(usage, cost_usd=None)
        told = usage
        if not usage.prompt_tokens and not usage.completion_tokens:
            told = replace(
                usage,
                prompt_tokens=estimated_tokens(prompt.system + prompt.user),
                completion_tokens=estimated_tokens(text),
            )
        return replace(usage, cost_usd=self._price.cost(told))


def _again(prompt: ModelPrompt, reason: str) -> ModelPrompt:
    """Return the prompt of the re-ask: it says what was wrong."""
    room = MORE_ROOM if reason == Cause.TRUNCATED else 1
    user = f"{prompt.user}\n\n{again(reason)}"
    return replace(prompt, user=user, max_tokens=prompt.max_tokens * room)
