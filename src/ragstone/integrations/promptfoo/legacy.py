"""LegacyJudge: a model whose plain text is read as promptfoo 0.121.20 reads it."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from typing import TypeVar

from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone._internal.text import one_line
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.base import Judge
from ragstone.judges.llm.judge import sentences_asked_for
from ragstone.judges.llm.model import (
    Completion,
    Model,
    ModelPrompt,
    Price,
    paid_call,
    required_price,
)
from ragstone.judges.llm.openai import PROVIDERS, OpenAICompatibleModel, Provider
from ragstone.judges.llm.prompt import fenced, sections
from ragstone.judges.llm.replies import MARKER
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply

T = TypeVar("T")

UNSUPPORTED = tuple(  # settings of a plan that have no effect here
    "votes prompts strict_json verify claim_source allow_partial batch_size".split()
)
SCHEMA: Mapping[str, object] = {  # of the reply with the plain text, which may also come bare
    "title": "text",
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
_EACH = re.compile(r"verdict: (yes|no)")
_PLACE = re.compile(r"\{([a-z]+)\}")
PROMPTS = {ExtractClaims.kind: "statements", VerifyClaims.kind: "verdicts"}


class LegacyJudge(Judge):
    """Asks for statements, a line each, then for a yes or no on all of them; never again.

    The prompts are ragstone's own. A refusal, or a reply cut by the token limit, fails; promptfoo
    reads it as statements.
    """

    kinds = frozenset(PROMPTS)

    def __init__(
        self, model: Model, *, max_tokens: int, price: Price | None, budget: Budget
    ) -> None:
        self.name = model.name
        self.description = "an LLM; its replies are read as promptfoo 0.121.20 reads them"
        self._model, self._max_tokens = model, max_tokens
        self._price, self._budget = price, budget
        folder = files("ragstone.integrations.promptfoo").joinpath("legacy_prompts")
        self._texts: dict[str, tuple[str, str]] = {}
        for kind, name in PROMPTS.items():
            text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8")
            found = sections(text, ("system", "user"))
            self._texts[kind] = found["system"], found["user"]
        self._parts = (model,)

    def identity(self, kind: str) -> str | None:
        return json.dumps(["promptfoo", self._model.identity, self._max_tokens, *self._texts[kind]])

    async def answer(self, question: Question[T]) -> Reply[T]:
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        texts, (system, user) = fenced(_shown(question)), self._texts[question.kind]
        filled = _PLACE.sub(lambda match: texts[match[1]], user)
        prompt = ModelPrompt(system, filled, SCHEMA, self._max_tokens)
        paid = system, filled, json.dumps(SCHEMA)
        with paid_call(self._budget, self._price, paid, self._max_tokens) as call:
            try:
                completion = await self._model.complete(prompt)
            except CallError as error:
                raise JudgeFailureError(Failure.of(error)) from error
            cost = self._price.cost(completion.usage) if self._price else None
            if cost is not None:
                call.charge(cost)
        usage = replace(completion.usage, cost_usd=cost)
        try:
            text = _text(completion)
            if question.kind == ExtractClaims.kind:
                lines = (line.strip() for line in text.split("\n"))
                value: object = tuple(Claim(text=line) for line in lines if line)
            else:
                labels = {True: Label.SUPPORTED, False: Label.NOT_ENOUGH_INFO}
                value = tuple(Verdict(label=labels[backed]) for backed in verdicts_in(text))
            reply = question.reply(value, usage)
        except JudgeError as error:
            failure = replace(Failure.of(error), usage=usage, raw=completion.text)
            raise JudgeFailureError(failure) from error
        return replace(reply, raw=completion.text)


def legacy_judge(plan: Plan, budget: Budget) -> LegacyJudge:
    provider, name = legacy_model(plan)
    price = required_price(plan, plan.judge, provider.custom_url(plan.base_url))
    limits = Limits(
        concurrency=plan.concurrency,
        retries=plan.retries,
        rpm=plan.rpm,
        tpm=plan.tpm,
        budget=budget,
    )
    model = OpenAICompatibleModel(
        provider,
        name,
        caller=RetryingCaller(limits),
        timeout=plan.timeout,
        temperature=plan.temperature,
        base_url=plan.base_url,
    )
    return LegacyJudge(model, max_tokens=plan.max_tokens, price=price, budget=budget)


def legacy_model(plan: Plan) -> tuple[Provider, str]:
    provider, _, model = plan.judge.partition(":")
    if provider not in PROVIDERS or not model or "," in model:
        raise UsageError(
            f"promptfoo's own scoring supports one model of {', '.join(PROVIDERS)}, such as "
            f"judge=openai:gpt-4o-mini, but the judge is {plan.judge}; for other judges "
            "use preset=promptfoo-plan (RAGAS mode)"
        )
    usual = Plan()
    if given := [name for name in UNSUPPORTED if getattr(plan, name) != getattr(usual, name)]:
        raise UsageError(
            f"{', '.join(given)}: promptfoo's own scoring does not support this; remove it, "
            "or score in RAGAS mode (preset=promptfoo-plan)"
        )
    return PROVIDERS[provider], model


def _shown(question: Question[T]) -> dict[str, str]:
    if isinstance(question, ExtractClaims):
        return {"query": question.query, "response": question.response}
    if isinstance(question, VerifyClaims):
        contexts, statements = "\n\n".join(question.contexts), "\n".join(question.claims)
        return {"contexts": contexts, "statements": statements}
    raise QuestionNotSupportedError(f"promptfoo's own scoring does not ask {question.kind}")


def _text(completion: Completion) -> str:
    if completion.refusal is not None:
        raise JudgeError(Cause.REFUSAL, f"the judge refused: {one_line(completion.refusal, 200)}")
    if completion.truncated:
        cut = "the reply was cut off by the token limit; increase max_tokens"
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


def verdicts_in(reply: str) -> tuple[bool, ...]:
    """Read the texts between full stops after the first marker, True if one contains "yes".

    Without a marker, each follows `verdict: `.
    """
    text = reply.lower()
    if MARKER not in text:
        return tuple(found == "yes" for found in _EACH.findall(text))
    pieces = text.partition(MARKER)[2].split(".")
    return tuple("yes" in piece for piece in pieces if piece.strip())
