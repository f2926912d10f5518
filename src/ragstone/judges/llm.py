"""LlmJudge: puts questions to a model as prompts, and reads what it writes."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from ragstone.budget import Budget
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError
from ragstone.exchanges import Failure, JudgeFailureError, Reply
from ragstone.judges.attempts import Attempt, settled
from ragstone.judges.base import Judge
from ragstone.judges.by_sentence import sentences_asked_for
from ragstone.judges.forms import FORMS
from ragstone.judges.models.base import Completion, Model, ModelPrompt
from ragstone.judges.models.prices import Price
from ragstone.judges.prompts.again import again, source
from ragstone.judges.prompts.prompt import PLACES, TAG, Prompt
from ragstone.judges.reading import SCHEMAS, verdict_schema
from ragstone.judges.reading.json_text import whole
from ragstone.judges.tokens import estimated_tokens
from ragstone.messages import one_line
from ragstone.questions import Question
from ragstone.usage import Usage

T = TypeVar("T")

MORE_ROOM = 4
"""How many times the tokens a reply gets on the re-ask, after the limit cut it."""

_log = logging.getLogger("ragstone.judge")


class LlmJudge(Judge):
    """Asks a model; where the reply cannot be used, asks once more and says what was wrong.

    `vote` tells apart judges that are one model asked several times.
    """

    kinds = frozenset(FORMS)

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
        form = FORMS.get(question.kind)
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
        self._budget.pay(usage.cost_usd)
        raw = whole(completion.text)
        try:
            reply = question.reply(self._read(question, completion), usage)
        except JudgeError as error:
            return Attempt(replace(Failure.of(error), usage=usage, raw=raw))
        reply = replace(reply, raw=raw)
        doubt = FORMS[question.kind].doubt(question, reply.value)
        return Attempt(reply, doubt)

    def _read(self, question: Question[T], completion: Completion) -> object:
        if completion.refusal is not None:
            said = one_line(completion.refusal, 200)
            raise JudgeFailureError(Failure(Cause.REFUSAL, f"the judge refused: {said}"))
        if completion.truncated:
            said = "the reply was cut by the token limit; --max-tokens gives it more"
            raise JudgeFailureError(Failure(Cause.TRUNCATED, said))
        form = FORMS[question.kind]
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
