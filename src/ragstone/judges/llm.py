"""LlmJudge: puts questions to a model as prompts, and reads what it writes."""

import json
import logging
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from ragstone.budget import Budget
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupported
from ragstone.judges.base import Judge
from ragstone.judges.coverage import sentences_asked_for
from ragstone.judges.forms import FORMS
from ragstone.judges.models.base import Completion, Model, ModelPrompt
from ragstone.judges.models.prices import Price
from ragstone.judges.prompts.prompt import PLACES, TAG, Prompt
from ragstone.judges.reading import SCHEMAS
from ragstone.judges.reading.json_text import whole
from ragstone.messages import one_line
from ragstone.questions import Failure, Question, Reply, Unanswered
from ragstone.usage import Usage

T = TypeVar("T")

MORE_ROOM = 4
"""How many times the tokens a reply gets on the re-ask, after the limit cut it."""

_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class _Attempt(Generic[T]):
    """What putting a question once gave: a reply, perhaps doubtful, or a failure."""

    reply: Reply[T] | None
    failure: Failure | None = None
    doubt: str | None = None

    @property
    def usage(self) -> Usage:
        told = self.reply or self.failure
        assert told is not None, "an attempt has one of both"
        return told.usage

    @property
    def wrong(self) -> str | None:
        """What was wrong with it, in words for a re-ask; None if nothing was."""
        return self.failure.message if self.failure else self.doubt


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
        shaped = (model.identity, strict_json, vote)
        self._identities = {
            kind: json.dumps([*shaped, prompt.fingerprint, SCHEMAS[kind]])
            for kind, prompt in self._prompts.items()
        }

    async def __aenter__(self) -> Self:
        """Open the connection to the model."""
        await self._model.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection to the model."""
        await self._model.__aexit__(kind, error, trace)

    def identity(self, kind: str) -> str | None:
        """Name the model, where it is, its options, the prompt and schema, how it is read."""
        return self._identities.get(kind)

    def prompt(self, question: Question[T]) -> ModelPrompt:
        """Return what the model is asked.

        Raises:
            QuestionNotSupported: no prompt puts that kind of question.
        """
        form = FORMS.get(question.kind)
        if form is None:
            raise QuestionNotSupported(f"the judge {self.name} has no prompt for {question.kind}")
        texts = form.texts(question)
        texts |= {f"{TAG}{name}": one_line(value, 200) for name, value in question.tags}
        system, user = self._prompts[question.kind].filled(texts)
        schema = form.schema(question)
        return ModelPrompt(system, user, schema, self._max_tokens)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Put the question to the model, and once more if the reply cannot be used.

        Raises:
            Unanswered: the model did not answer, or not so that it can be read.
            QuestionNotSupported: no prompt puts that kind of question.
            UsageError: the key was rejected, or the model does not exist.
        """
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self.prompt(question)
        first = await self._attempt(question, prompt)
        if first.reply and not first.doubt:
            return first.reply
        if first.failure and not _worth_asking_again(first.failure):
            raise Unanswered(first.failure)
        second = await self._attempt(question, _again(prompt, first))
        return _settled(first, second)

    async def _attempt(self, question: Question[T], prompt: ModelPrompt) -> _Attempt[T]:
        _log.debug("%s %s asks %s:\n%s\n%s", question.kind, question.key[:8], self.name,
                   prompt.system, prompt.user)  # fmt: skip
        try:
            completion = await self._model.complete(prompt)
        except CallError as error:
            return _Attempt(None, Failure.of(error))
        _log.debug("%s %s got:\n%s", question.kind, question.key[:8], completion.text)
        usage = self.priced(completion.usage)
        self._budget.pay(usage.cost_usd)
        raw = whole(completion.text)
        try:
            reply = question.reply(self._read(question, completion), usage)
        except JudgeError as error:
            return _Attempt(None, replace(Failure.of(error), usage=usage, raw=raw))
        reply = replace(reply, raw=raw)
        doubt = FORMS[question.kind].doubt(question, reply.value)
        return _Attempt(reply, doubt=doubt)

    def _read(self, question: Question[T], completion: Completion) -> object:
        if completion.refusal is not None:
            said = one_line(completion.refusal, 200)
            raise Unanswered(Failure(Cause.REFUSAL, f"the judge refused: {said}"))
        if completion.truncated:
            said = "the reply was cut by the token limit; --max-tokens gives it more"
            raise Unanswered(Failure(Cause.TRUNCATED, said))
        form = FORMS[question.kind]
        return form.read(completion.text, question, strict_json=self._strict_json)

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its cost; None where no price is known."""
        return replace(usage, cost_usd=self._price.cost(usage) if self._price else None)


_WORTH_ASKING_AGAIN = frozenset(
    {Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH}
)


def _worth_asking_again(failure: Failure) -> bool:
    """Tell whether a re-ask may mend it; a broken connection has had its tries already."""
    broken = failure.cause is Cause.TRUNCATED and failure.raw is None
    return failure.cause in _WORTH_ASKING_AGAIN and not broken


def _again(prompt: ModelPrompt, first: _Attempt[T]) -> ModelPrompt:
    """Return the prompt of the re-ask: it says what was wrong, and quotes nothing of the reply."""
    cut = first.failure is not None and first.failure.cause is Cause.TRUNCATED
    said = "A first reply could not be used: " + (
        "it was too long. Be brief." if cut else _RE_ASKS.get(_cause(first), _LACKING)
    )
    room = prompt.max_tokens * (MORE_ROOM if cut else 1)
    return replace(prompt, user=f"{prompt.user}\n\n{said}", max_tokens=room)


def _cause(attempt: _Attempt[T]) -> Cause | None:
    return attempt.failure.cause if attempt.failure else None


_LACKING = "it left sentences out that state something. Give the claims of every sentence."
_RE_ASKS: Mapping[Cause | None, str] = {
    Cause.REFUSAL: "it gave no answer. Answer in the form that is asked for; where nothing can be "
    "told, its labels and empty lists say so.",
    Cause.MALFORMED: "it had not the form that is asked for. Give nothing but the JSON.",
    Cause.COUNT_MISMATCH: "it had not exactly one verdict for each numbered claim. Give each claim "
    "one, by its number.",
}


def _settled(first: _Attempt[T], second: _Attempt[T]) -> Reply[T]:
    """Return the better of two attempts, at the price of both.

    Raises:
        Unanswered: neither is a reply.
    """
    usage = first.usage + second.usage
    best = second if second.reply and (not second.doubt or _fuller(second, first)) else first
    if best.reply:
        notes = (f"{best.doubt} (asked twice)",) if best.doubt else ()
        return replace(best.reply, usage=usage, notes=best.reply.notes + notes, attempts=2)
    assert second.failure is not None
    raise Unanswered(replace(second.failure, usage=usage, attempts=2))


def _fuller(one: _Attempt[T], other: _Attempt[T]) -> bool:
    """Tell whether one found more claims than the other."""
    found = [len(cast("Sized", a.reply.value)) if a.reply else -1 for a in (one, other)]
    return found[0] > found[1]
