"""OpenTelemetry: a span around each sample, question and model call, and its attributes."""

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

from ragstone.errors import CallError, UsageError
from ragstone.evaluation.fingerprint import VERSION
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.judges.instrumentation import RowScorer, Tracing
from ragstone.judges.llm.providers.base import Completion, Embedder, Model, ModelPrompt, Vectors
from ragstone.types.config import Manifest
from ragstone.types.questions import Question
from ragstone.types.reply import Failure, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.score import Score

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as ExportingTracerProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider


T = TypeVar("T")
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
    fields: dict[str, Value] = {**of_usage(usage), "ragstone.sample.questions": len(row.exchanges)}
    if row.latency_ms is not None:
        fields["ragstone.target.latency_ms"] = row.latency_ms
    if texts:
        fields["ragstone.sample.query"] = sample.query
        for name in ("response", "reference"):
            if (text := getattr(sample, name)) is not None:
                fields[f"ragstone.sample.{name}"] = text
        if sample.contexts is not None:
            fields["ragstone.sample.contexts"] = [context.text for context in sample.contexts]
    return fields


def of_score(name: str, score: Score, *, texts: bool) -> Attributes:
    """Return the attributes of a score event; its reason may quote the judge and counts as text."""
    fields: dict[str, Value] = {
        "gen_ai.evaluation.name": name,
        "ragstone.metric.state": score.state.value,
    }
    if score.value is not None:
        fields["gen_ai.evaluation.score.value"] = score.value
    if score.passed is not None:
        fields["gen_ai.evaluation.score.label"] = "pass" if score.passed else "fail"
    if score.cause is not None:
        fields["error.type"] = score.cause.value
    if score.fallback:
        fields["ragstone.metric.fallback"] = True
    if texts and score.reason is not None:
        fields["gen_ai.evaluation.explanation"] = score.reason
    return fields


def of_usage(usage: Usage) -> Attributes:
    """Return the usage as ragstone.usage.* attributes; model spans have the standard names."""
    fields: dict[str, Value] = {
        "ragstone.usage.calls": usage.calls,
        "ragstone.usage.cached": usage.cached,
        "ragstone.usage.retries": usage.retries,
        "ragstone.usage.local_calls": usage.local_calls,
        "ragstone.usage.input_tokens": usage.prompt_tokens,
        "ragstone.usage.output_tokens": usage.completion_tokens,
    }
    if usage.cost_usd is not None:
        fields["ragstone.usage.cost_usd"] = usage.cost_usd
    return fields


def of_model(model: Model | Embedder, operation: str) -> Attributes:
    """Return what is known of a model's call before it is made."""
    provider, _, name = model.name.partition(":")
    fields: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": name,
    }
    place = urlsplit(model.url)
    if place.hostname:
        fields["server.address"] = place.hostname
        fields["server.port"] = place.port or _PORTS.get(place.scheme, 443)
    return fields


def of_prompt(prompt: ModelPrompt, *, texts: bool) -> Attributes:
    """Return what a model is asked."""
    fields: dict[str, Value] = {
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.output.type": "json",
    }
    if texts:
        fields["gen_ai.system_instructions"] = json.dumps([_text(prompt.system)])
        fields["gen_ai.input.messages"] = json.dumps([_message("user", prompt.user)])
    return fields


def of_completion(completion: Completion, *, texts: bool) -> Attributes:
    """Return what a model wrote, and why it stopped."""
    reason = "length" if completion.truncated else "stop"
    if completion.refusal is not None:
        reason = "content_filter"
    fields = {**of_tokens(completion.usage), "gen_ai.response.finish_reasons": [reason]}
    if texts:
        message = {**_message("assistant", completion.text), "finish_reason": reason}
        fields["gen_ai.output.messages"] = json.dumps([message])
    return fields


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


class TracedJudge(JudgeWrapper):
    """Has a span around each question, from asking to the answer, kept ones among them."""

    def __init__(self, judge: Judge, tracer: "Tracer") -> None:
        super().__init__(judge)
        self._tracer = tracer

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask the judge within, and tell what came of it; texts of neither."""
        fields = {
            "ragstone.question.kind": question.kind,
            "ragstone.question.key": question.key,
            "ragstone.judge.name": self.name,
        }
        with spanned(self._tracer, f"ragstone {question.kind}", fields) as span:
            try:
                reply = await reply_of(self.judge, question)
            except CallError as error:
                failure = Failure.of(error)
                span.set_attribute("ragstone.question.attempts", failure.attempts)
                span.set_attributes(of_usage(failure.usage))
                raise
            span.set_attribute("ragstone.question.attempts", reply.attempts)
            span.set_attributes(of_usage(reply.usage))
            return reply


class TracedModel(Model):
    """Has a span around each completion, retries included."""

    def __init__(self, model: Model, tracer: "Tracer", *, texts: bool) -> None:
        self.name, self.identity, self.url = model.name, model.identity, model.url
        self._model, self._tracer, self._texts = model, tracer, texts
        self._parts = (model,)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete one prompt by the model within, and tell its tokens."""
        known = of_model(self._model, "chat")
        fields = {**known, **of_prompt(prompt, texts=self._texts)}
        name = f"chat {known['gen_ai.request.model']}"
        with spanned(self._tracer, name, fields, client=True) as span:
            completion = await self._model.complete(prompt)
            span.set_attributes(of_completion(completion, texts=self._texts))
            return completion


class TracedEmbedder(Embedder):
    """Has a span around each call for embeddings, retries included."""

    def __init__(self, embedder: Embedder, tracer: "Tracer") -> None:
        self.name, self.identity, self.url = embedder.name, embedder.identity, embedder.url
        self._embedder, self._tracer = embedder, tracer
        self._parts = (embedder,)

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Embed texts by the model within, and tell its tokens."""
        known = of_model(self._embedder, "embeddings")
        name = f"embeddings {known['gen_ai.request.model']}"
        with spanned(self._tracer, name, known, client=True) as span:
            vectors, usage = await self._embedder.embed(texts)
            span.set_attributes(of_tokens(usage))
            return vectors, usage


NEEDS = "OpenTelemetry needs an extra: pip install 'ragstone[otel]'"


class OpenTelemetry(Tracing):
    """Makes spans with the given tracer provider, or with the program's global one.

    A sample's span is a child of the caller's span, if there is one. A question's span is a child
    of its sample's, and a model call's span of its question's. Spans include texts only if
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is set. Exporting is up to the provider.

    Raises:
        UsageError: the extra is not installed.
    """

    def __init__(self, tracer_provider: "TracerProvider | None" = None) -> None:
        try:
            from opentelemetry.trace import get_tracer  # an extra
        except ImportError as error:
            raise UsageError(NEEDS) from error
        self._tracer = get_tracer("ragstone", VERSION, tracer_provider)
        self._texts = texts_wanted(os.environ)

    def scorer(self, score: RowScorer, manifest: Manifest) -> RowScorer:
        """Have a span around each row's scoring; its scores are events of the span."""

        async def traced(row: Row) -> Row:
            fields = {
                "ragstone.run.id": manifest.run_id,
                "ragstone.sample.id": row.sample.id,
                "ragstone.sample.index": row.index,
            }
            with spanned(self._tracer, "ragstone sample", fields) as span:
                scored = await score(row)
                if span.is_recording():
                    span.set_attributes(of_row(scored, texts=self._texts))
                    for name, each in scored.scores.items():
                        span.add_event(EVALUATION, of_score(name, each, texts=self._texts))
                return scored

        return traced

    def judge(self, judge: Judge) -> Judge:
        """Have a span around each question."""
        return TracedJudge(judge, self._tracer)

    def model(self, model: Model) -> Model:
        """Have a span around each prompt that a model is put."""
        return TracedModel(model, self._tracer, texts=self._texts)

    def embedder(self, embedder: Embedder) -> Embedder:
        """Have a span around each call for embeddings."""
        return TracedEmbedder(embedder, self._tracer)


# Exporting spans from the command line: to the endpoint that the user names, or not at all.

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The environment variables that name where spans go; the first one goes before."""
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_OURS = "http/protobuf"


@contextmanager
def exporting(environ: Mapping[str, str]) -> Generator[OpenTelemetry, None, None]:
    """Make spans inside the block, and flush them at its end.

    An existing tracer provider, as from `opentelemetry-instrument`, is used unchanged. The
    standard OTEL_* variables set everything else.

    Raises:
        UsageError: the extra is not installed, no endpoint is set, or its protocol is unsupported.
    """
    try:
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider  # an extra
    except ImportError as error:
        raise UsageError(NEEDS) from error
    if not isinstance(get_tracer_provider(), ProxyTracerProvider):
        yield OpenTelemetry()
        return
    provider = _provider(environ)
    try:
        yield OpenTelemetry(provider)
    finally:
        provider.shutdown()


def _provider(environ: Mapping[str, str]) -> "ExportingTracerProvider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise UsageError(NEEDS) from error
    if not any(environ.get(name, "").strip() for name in ENDPOINTS):
        raise UsageError(
            f"--otel needs an endpoint: set {ENDPOINTS[1]}, such as http://localhost:4318"
        )
    for name in _PROTOCOLS:
        if (protocol := environ.get(name, "").strip() or _OURS) != _OURS:
            raise UsageError(f"{name}={protocol}: only {_OURS} is supported; unset it")
    named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    provider = TracerProvider(
        resource=Resource.create({} if named else {"service.name": "ragstone"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
