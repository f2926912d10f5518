"""Judges and models with a span around each question and each call."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ragstone.errors import CallError, UsageError
from ragstone.evaluation.fingerprint import VERSION
from ragstone.integrations.opentelemetry.spans import (
    EVALUATION,
    of_completion,
    of_model,
    of_prompt,
    of_row,
    of_score,
    of_tokens,
    of_usage,
    spanned,
    texts_wanted,
)
from ragstone.judges.base import Judge, JudgeWrapper
from ragstone.judges.instrumentation import Scorer, Tracing
from ragstone.judges.llm.providers.base import Completion, Embedder, Model, ModelPrompt, Vectors
from ragstone.types.config import Manifest
from ragstone.types.questions import Question
from ragstone.types.reply import Failure, Reply, Usage
from ragstone.types.row import Row

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as ExportingTracerProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider


T = TypeVar("T")


class TracedJudge(JudgeWrapper):
    """Has a span around each question, from asking to the answer, kept ones among them."""

    def __init__(self, judge: Judge, tracer: "Tracer") -> None:
        super().__init__(judge)
        self._tracer = tracer

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask the judge within, and tell what came of it; texts of neither."""
        told = {
            "ragstone.question.kind": question.kind,
            "ragstone.question.key": question.key,
            "ragstone.judge.name": self.name,
        }
        with spanned(self._tracer, f"ragstone {question.kind}", told) as span:
            try:
                reply = await self.judge.answer(question)
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
        told = {**known, **of_prompt(prompt, texts=self._texts)}
        name = f"chat {known['gen_ai.request.model']}"
        with spanned(self._tracer, name, told, client=True) as span:
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

    def scorer(self, score: Scorer, manifest: Manifest) -> Scorer:
        """Have a span around each row's scoring; its scores are events of the span."""

        async def traced(row: Row) -> Row:
            told = {
                "ragstone.run.id": manifest.run_id,
                "ragstone.sample.id": row.sample.id,
                "ragstone.sample.index": row.index,
            }
            with spanned(self._tracer, "ragstone sample", told) as span:
                scored = await score(row)
                if span.is_recording():
                    self._tell(span, scored)
                return scored

        return traced

    def _tell(self, span: "Span", row: Row) -> None:
        span.set_attributes(of_row(row, texts=self._texts))
        for name, score in row.scores.items():
            span.add_event(EVALUATION, of_score(name, score, texts=self._texts))

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
