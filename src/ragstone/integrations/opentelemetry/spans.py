"""Span attributes of samples, scores, questions and model calls."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from ragstone.errors import CallError
from ragstone.judges.llm.providers.base import Completion, Embedder, Model, ModelPrompt
from ragstone.types.reply import Usage
from ragstone.types.row import Row
from ragstone.types.score import Score

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


Value: TypeAlias = "str | int | float | bool | list[str]"
Attributes: TypeAlias = Mapping[str, Value]

EVALUATION = "gen_ai.evaluation.result"
"""The event of a score."""
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that makes instrumentations record texts."""
_CAPTURING = frozenset({"true", "1", "span_only", "span_and_event"})
_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "bedrock": "aws.bedrock",
        "gemini": "gcp.gemini",
        "google": "gcp.gemini",
        "mistral": "mistral_ai",
    }
)
"""Our name of a provider -> the convention's, where it has another."""
_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})


def texts_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether spans include the texts of samples, prompts and replies."""
    return environ.get(CAPTURE, "").strip().lower() in _CAPTURING


def of_row(row: Row, *, texts: bool) -> Attributes:
    """Return what is known of a sample that has been scored."""
    sample, usage = row.sample, row.usage
    told: dict[str, Value] = {**of_usage(usage), "ragstone.sample.questions": len(row.exchanges)}
    if row.latency_ms is not None:
        told["ragstone.target.latency_ms"] = row.latency_ms
    if texts:
        told["ragstone.sample.query"] = sample.query
        for name in ("response", "reference"):
            if (text := getattr(sample, name)) is not None:
                told[f"ragstone.sample.{name}"] = text
        if sample.contexts is not None:
            told["ragstone.sample.contexts"] = [context.text for context in sample.contexts]
    return told


def of_score(name: str, score: Score, *, texts: bool) -> Attributes:
    """Return the attributes of a score event; its reason may quote the judge and counts as text."""
    told: dict[str, Value] = {
        "gen_ai.evaluation.name": name,
        "ragstone.metric.state": score.state.value,
    }
    if score.value is not None:
        told["gen_ai.evaluation.score.value"] = score.value
    if score.passed is not None:
        told["gen_ai.evaluation.score.label"] = "pass" if score.passed else "fail"
    if score.cause is not None:
        told["error.type"] = score.cause.value
    if score.fallback:
        told["ragstone.metric.fallback"] = True
    if texts and score.reason is not None:
        told["gen_ai.evaluation.explanation"] = score.reason
    return told


def of_usage(usage: Usage) -> Attributes:
    """Return what answering cost, by our own names: those of models' calls are theirs to tell."""
    told: dict[str, Value] = {
        "ragstone.usage.calls": usage.calls,
        "ragstone.usage.cached": usage.cached,
        "ragstone.usage.retries": usage.retries,
        "ragstone.usage.local_calls": usage.local_calls,
        "ragstone.usage.input_tokens": usage.prompt_tokens,
        "ragstone.usage.output_tokens": usage.completion_tokens,
    }
    if usage.cost_usd is not None:
        told["ragstone.usage.cost_usd"] = usage.cost_usd
    return told


def of_model(model: Model | Embedder, operation: str) -> Attributes:
    """Return what is known of a model's call before it is made."""
    provider, _, name = model.name.partition(":")
    told: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": name,
    }
    place = urlsplit(model.url)
    if place.hostname:
        told["server.address"] = place.hostname
        told["server.port"] = place.port or _PORTS.get(place.scheme, 443)
    return told


def of_prompt(prompt: ModelPrompt, *, texts: bool) -> Attributes:
    """Return what a model is asked."""
    told: dict[str, Value] = {
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.output.type": "json",
    }
    if texts:
        told["gen_ai.system_instructions"] = json.dumps([_text(prompt.system)])
        told["gen_ai.input.messages"] = json.dumps([_message("user", prompt.user)])
    return told


def of_completion(completion: Completion, *, texts: bool) -> Attributes:
    """Return what a model wrote, and why it stopped."""
    reason = "length" if completion.truncated else "stop"
    if completion.refusal is not None:
        reason = "content_filter"
    told = {**of_tokens(completion.usage), "gen_ai.response.finish_reasons": [reason]}
    if texts:
        message = {**_message("assistant", completion.text), "finish_reason": reason}
        told["gen_ai.output.messages"] = json.dumps([message])
    return told


def of_tokens(usage: Usage) -> dict[str, Value]:
    """Return the token counts that a provider reported, by the convention's names.

    As there, all counts of a kind are part of its total.
    """
    counts = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    tokens: dict[str, Value] = {name: count for name, count in counts.items() if count}
    return {**tokens, "ragstone.usage.calls": usage.calls, "ragstone.usage.retries": usage.retries}


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [_text(text)]}


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


@contextmanager
def spanned(
    tracer: "Tracer", name: str, attributes: Attributes, *, client: bool = False
) -> Generator["Span", None, None]:
    """Wrap a block in a span; spans started inside are its children.

    Errors are recorded by class or cause only, because their messages may quote a sample.
    `client` marks a call to another process.
    """
    from opentelemetry.trace import SpanKind, StatusCode  # an extra

    with tracer.start_as_current_span(
        name,
        kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            known = isinstance(error, CallError)
            span.set_attribute("error.type", error.cause if known else type(error).__qualname__)
            span.set_status(StatusCode.ERROR)
            raise
