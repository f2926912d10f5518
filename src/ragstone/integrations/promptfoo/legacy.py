"""LegacyJudge: a model whose plain text is read as promptfoo 0.121.20 reads it."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from typing import TypeVar

from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone._internal.text import one_line
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.base import Judge
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.judges.llm.judge import sentences_asked_for
from ragstone.judges.llm.prompt import fenced, sections
from ragstone.judges.llm.providers.base import Completion, Model, ModelPrompt
from ragstone.judges.llm.providers.openai import PROVIDERS, OpenAICompatibleModel, Provider
from ragstone.judges.llm.providers.pricing import Price, price_of
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply

T = TypeVar("T")

UNHEEDED = (
    "votes",
    "prompts",
    "strict_json",
    "verify",
    "claim_source",
    "allow_partial",
    "batch_size",
)
"""Settings of a plan that this way of asking has not."""

SCHEMA: Mapping[str, object] = {
    "title": "text",
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
"""Models reply in JSON on the wire; the plain text is its `text`. Bare text is accepted too."""

_PLACE = re.compile(r"\{([a-z]+)\}")
_PROMPTS = {ExtractClaims.kind: "statements", VerifyClaims.kind: "verdicts"}


class LegacyJudge(Judge):
    """Asks for statements, a line each, then for a yes or no on all of them; never again.

    Verdicts that are fewer or more than the statements fail as a count mismatch, with all that
    came back: the policy makes the number. The prompts are ragstone's own. What the provider marks
    as a refusal, or as cut by the token limit, fails; promptfoo reads it as statements.
    """

    kinds = frozenset(_PROMPTS)

    def __init__(
        self,
        model: Model,
        *,
        max_tokens: int = 4096,
        price: Price | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.name = model.name
        self.description = "an LLM; its replies are read as promptfoo 0.121.20 reads them"
        self._model = model
        self._max_tokens = max_tokens
        self._price = price
        self._budget = budget or Budget()
        self._texts = {kind: _prompt(name) for kind, name in _PROMPTS.items()}
        self._parts = (model,)

    def identity(self, kind: str) -> str | None:
        """Name the model, its options, its room, the prompt, and that it is read this way."""
        shaped = (self._model.identity, self._max_tokens, *self._texts[kind])
        return json.dumps(["promptfoo", *shaped])

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Put the question to the model, once.

        Raises:
            JudgeFailureError: there is no text, or not one verdict for each statement.
            QuestionNotSupportedError: it is about neither statements nor verdicts.
        """
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self._asked(question)
        try:
            completion = await self._model.complete(prompt)
        except CallError as error:
            raise JudgeFailureError(Failure.of(error)) from error
        cost = self._price.cost(completion.usage) if self._price else None
        self._budget.charge(cost)
        usage = replace(completion.usage, cost_usd=cost)
        try:
            reply = question.reply(_read(question, _text(completion)), usage)
        except JudgeError as error:
            failure = replace(Failure.of(error), usage=usage, raw=completion.text)
            raise JudgeFailureError(failure) from error
        return replace(reply, raw=completion.text)

    def _asked(self, question: Question[T]) -> ModelPrompt:
        texts = fenced(_shown(question))
        system, user = self._texts[question.kind]
        filled = _PLACE.sub(lambda match: texts[match[1]], user)
        return ModelPrompt(system, filled, SCHEMA, self._max_tokens)


def legacy_judge(plan: Plan, budget: Budget, tracing: Tracing = UNTRACED) -> LegacyJudge:
    """Return the judge of a plan whose `judge` is one model that speaks OpenAI's protocol.

    `tracing` watches the model.

    Raises:
        UsageError: it is another one, its key is missing, no price is known of it and the cost is
            limited, or the plan sets what this way has not.
    """
    place, model = legacy_model(plan)
    price = price_of(plan.judge, place.custom_url(plan.base_url))
    if plan.max_cost is not None and price is None:
        raise UsageError(
            f"the price of {plan.judge} is unknown, so --max-cost cannot be enforced; "
            "use --max-calls"
        )
    limits = Limits(
        concurrency=plan.concurrency,
        retries=plan.retries,
        rpm=plan.rpm,
        tpm=plan.tpm,
        budget=budget,
    )
    asked = OpenAICompatibleModel(
        place,
        model,
        caller=RetryingCaller(limits),
        timeout=plan.timeout,
        temperature=plan.temperature,
        base_url=plan.base_url,
    )
    watched = tracing.model(asked)
    return LegacyJudge(watched, max_tokens=plan.max_tokens, price=price, budget=budget)


def legacy_model(plan: Plan) -> tuple[Provider, str]:
    """Return who serves the model of a plan, and its name there.

    Raises:
        UsageError: it is not one model of a known place, or the plan sets what this way has not.
    """
    provider, _, model = plan.judge.partition(":")
    if provider not in PROVIDERS or not model or "," in model:
        raise UsageError(
            f"promptfoo's own scoring supports one model of {', '.join(PROVIDERS)}, such as "
            f"--judge openai:gpt-4o-mini, but the judge is {plan.judge}; for other judges "
            "use --preset promptfoo-plan (RAGAS mode)"
        )
    usual = Plan()
    if said := [name for name in UNHEEDED if getattr(plan, name) != getattr(usual, name)]:
        raise UsageError(
            f"{', '.join(said)}: promptfoo's own scoring does not support this; remove it, "
            "or score in RAGAS mode (--preset promptfoo-plan)"
        )
    return PROVIDERS[provider], model


def _prompt(name: str) -> tuple[str, str]:
    file = files("ragstone.integrations.promptfoo").joinpath("legacy_prompts", f"{name}.md")
    found = sections(file.read_text(encoding="utf-8"), ("system", "user"))
    return found["system"], found["user"]


def _shown(question: Question[T]) -> dict[str, str]:
    if isinstance(question, ExtractClaims):
        return {"query": question.query, "response": question.response}
    if isinstance(question, VerifyClaims):
        contexts, statements = "\n\n".join(question.contexts), "\n".join(question.claims)
        return {"contexts": contexts, "statements": statements}
    raise QuestionNotSupportedError(f"promptfoo's own scoring does not ask {question.kind}")


def _text(completion: Completion) -> str:
    """Return what the model wrote: the reply, or the `text` of its JSON.

    Raises:
        JudgeError: there is none, or it was refused or cut. promptfoo fails empty replies too.
    """
    if completion.refusal is not None:
        raise JudgeError(Cause.REFUSAL, f"the judge refused: {one_line(completion.refusal, 200)}")
    if completion.truncated:
        cut = "the reply was cut off by the token limit; increase it with --max-tokens"
        raise JudgeError(Cause.TRUNCATED, cut)
    text: object = completion.text
    with suppress(ValueError, RecursionError):
        match json.loads(completion.text):
            case {"text": written, **others} if not others:
                text = written
            case _:
                pass
    if not isinstance(text, str):
        raise JudgeError(Cause.MALFORMED, f"its text is of type {type(text).__name__}")
    if not text:
        raise JudgeError(Cause.MALFORMED, "the judge's reply is empty")
    return text


def _read(question: Question[T], text: str) -> object:
    if isinstance(question, ExtractClaims):
        return tuple(Claim(text=line.strip()) for line in statements_in(text))
    labels = {True: Label.SUPPORTED, False: Label.NOT_ENOUGH_INFO}
    return tuple(Verdict(label=labels[backed]) for backed in verdicts_in(text))


MARKER = "final verdict for each statement in order:"
"""Case-insensitive prefix of the verdicts; without it, each follows `verdict: `."""
INSUFFICIENT = "Insufficient Information"
"""Case-sensitive marker of a reply that found no relevant context."""

_EACH = re.compile(r"verdict: (yes|no)")
_NUMBER = re.compile(r"[0-9]+[.)]")
_STOP = re.compile(r"(?<=[.!?])\s+")
_TAG = re.compile(r"\[(not )?attributed\]")


def statements_in(reply: str) -> tuple[str, ...]:
    """Return the statements of a reply: its lines that are not blank, as they are."""
    return tuple(line for line in reply.split("\n") if line.strip())


def verdicts_in(reply: str) -> tuple[bool, ...]:
    """Return the verdicts of a reply; True means supported.

    After the first marker, each text between two full stops is a verdict: yes if it contains
    "yes" anywhere.
    """
    text = reply.lower()
    if MARKER not in text:
        return tuple(found == "yes" for found in _EACH.findall(text))
    pieces = text.partition(MARKER)[2].split(".")
    return tuple("yes" in piece for piece in pieces if piece.strip())


def faithfulness(statements: int, verdicts: Sequence[bool]) -> float:
    """Return 1 minus the share of statements with a "no" or without a verdict.

    Extra verdicts count too. The minimum is 0; without statements it is 0.
    """
    if not statements:
        return 0.0
    unsupported = verdicts.count(False) + max(0, statements - len(verdicts))
    return max(0.0, 1 - unsupported / statements)


def context_recall(reply: str) -> float:
    """Return the share of a reply's tagged lines that are attributed; 0 without tagged lines.

    A line with both tags is not attributed.
    """
    tagged = [tags for line in reply.split("\n") if (tags := _TAG.findall(line.lower()))]
    return sum(not any(tags) for tags in tagged) / len(tagged) if tagged else 0.0


def context_relevance(reply: str, context: str | Sequence[str]) -> float:
    """Return the distinct extracts of a reply over the units of the context; at most 1.

    The units of a list are its texts. The units of a text are its lines, or its sentences if it
    has one line; the reply is split the same way. A bare number such as `2.` is not a unit.
    Extracts are not checked against the context.
    """
    if not isinstance(context, str):
        units, found = len(context), statements_in(reply)
    else:
        by_line = len(statements_in(context)) > 1
        units = len(_sentences_in(context))
        found = statements_in(reply) if by_line else _sentences_in(reply)
    if INSUFFICIENT in reply or not units:
        return 0.0
    return min(len(set(found)), units) / units


def _sentences_in(text: str) -> tuple[str, ...]:
    """Return the lines of a text, or the sentences of a single line."""
    lines = statements_in(text)
    parts = _STOP.split(lines[0].strip()) if len(lines) == 1 else lines
    return tuple(part for part in parts if not _NUMBER.fullmatch(part.strip()))


def answer_relevance(cosines: Sequence[float]) -> float:
    """Return the mean similarity of the generated queries to the query; it may be negative."""
    return math.fsum(cosines) / len(cosines)
