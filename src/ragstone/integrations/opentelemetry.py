"""OpenTelemetry: spans around samples, questions and model calls, and a log event for each score.

The names are those of its conventions for generative AI, and `ragstone.*` where they have none:
https://github.com/open-telemetry/semantic-conventions-genai
"""

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

from ragstone.errors import CallError, UsageError
from ragstone.evaluation.recorder import VERSION
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.judges.llm import model as llm
from ragstone.judges.llm.model import Embedder, Model, RowScorer, Tracing
from ragstone.types.config import Manifest
from ragstone.types.questions import Question
from ragstone.types.reply import Failure, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Sample

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

T = TypeVar("T")
Value: TypeAlias = str | int | float | bool | list[str]
Attributes: TypeAlias = Mapping[str, Value | None]

EVALUATION = "gen_ai.evaluation.result"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING = frozenset({"true", "1", "span_only", "span_and_event"})
_PROVIDERS = {  # our name -> the convention's
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
}


def _known(fields: Attributes) -> Mapping[str, Value]:
    return {name: value for name, value in fields.items() if value is not None}


def _usage_fields(usage: Usage) -> Attributes:
    return {
        "ragstone.usage.calls": usage.calls,
        "ragstone.usage.cached": usage.cached,
        "ragstone.usage.retries": usage.retries,
        "ragstone.usage.local_calls": usage.local_calls,
        "ragstone.usage.input_tokens": usage.prompt_tokens,
        "ragstone.usage.output_tokens": usage.completion_tokens,
        "ragstone.usage.cost_usd": usage.cost_usd,
    }


def _row_fields(row: Row, *, texts: bool) -> Attributes:
    sample, contexts = row.sample, row.sample.contexts
    fields = {
        **_usage_fields(row.usage),
        "ragstone.sample.questions": len(row.exchanges),
        "ragstone.target.latency_ms": row.latency_ms,
    }
    if texts:
        fields |= {
            "ragstone.sample.query": sample.query,
            "ragstone.sample.response": sample.response,
            "ragstone.sample.reference": sample.reference_cell,
            "ragstone.sample.contexts": None if contexts is None else [c.text for c in contexts],
        }
    return fields


def _model_fields(model: Model | Embedder, operation: str) -> dict[str, Value | None]:
    provider, _, name = model.name.partition(":")
    place = urlsplit(model.url)
    port = place.port or (80 if place.scheme == "http" else 443)
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": name,
        "server.address": place.hostname or None,
        "server.port": port if place.hostname else None,
    }


def _token_fields(usage: Usage) -> Attributes:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens or None,
        "gen_ai.usage.output_tokens": usage.completion_tokens or None,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
        "ragstone.usage.calls": usage.calls,
        "ragstone.usage.retries": usage.retries,
    }


def _message(role: str, text: str, **more: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}], **more}])


@contextmanager
def spanned(
    tracer: "Tracer", name: str, attributes: Attributes, *, client: bool = False
) -> Generator["Span", None, None]:
    """Errors are recorded by class or cause only, because their messages may quote a sample."""
    from opentelemetry.trace import SpanKind, StatusCode  # an extra

    with tracer.start_as_current_span(
        name,
        kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
        attributes=_known(attributes),
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


def _tell(span: "Span", outcome: Reply[T] | Failure) -> None:
    fields = {"ragstone.question.attempts": outcome.attempts, **_usage_fields(outcome.usage)}
    span.set_attributes(_known(fields))


class TracedJudge(JudgeWrapper):
    def __init__(self, judge: Judge, tracer: "Tracer") -> None:
        super().__init__(judge)
        self._tracer = tracer

    async def answer(self, question: Question[T]) -> Reply[T]:
        fields = {
            "ragstone.question.kind": question.kind,
            "ragstone.question.key": question.key,
            "ragstone.judge.name": self.name,
        }
        with spanned(self._tracer, f"ragstone {question.kind}", fields) as span:
            try:
                reply = await reply_of(self.judge, question)
            except CallError as error:
                _tell(span, Failure.of(error))
                raise
            _tell(span, reply)
            return reply


class TracedModel(Model):
    """Has a span around each completion, retries included."""

    def __init__(self, model: Model, tracer: "Tracer", *, texts: bool) -> None:
        self.name, self.identity, self.url = model.name, model.identity, model.url
        self._model, self._tracer, self._texts = model, tracer, texts
        self._parts = (model,)

    async def complete(self, prompt: llm.ModelPrompt) -> llm.Completion:
        fields = _model_fields(self._model, "chat")
        fields["gen_ai.request.max_tokens"] = prompt.max_tokens
        fields["gen_ai.output.type"] = "json"
        if self._texts:
            system = {"type": "text", "content": prompt.system}
            fields["gen_ai.system_instructions"] = json.dumps([system])
            fields["gen_ai.input.messages"] = _message("user", prompt.user)
        name = f"chat {fields['gen_ai.request.model']}"
        with spanned(self._tracer, name, fields, client=True) as span:
            completion = await self._model.complete(prompt)
            reason = "length" if completion.truncated else "stop"
            reason = reason if completion.refusal is None else "content_filter"
            span.set_attributes(_known(_token_fields(completion.usage)))
            span.set_attribute("gen_ai.response.finish_reasons", [reason])
            if self._texts:
                message = _message("assistant", completion.text, finish_reason=reason)
                span.set_attribute("gen_ai.output.messages", message)
            return completion


class TracedEmbedder(Embedder):
    """Has a span around each call for embeddings, retries included."""

    def __init__(self, embedder: Embedder, tracer: "Tracer") -> None:
        self.name, self.identity, self.url = embedder.name, embedder.identity, embedder.url
        self._embedder, self._tracer = embedder, tracer
        self._parts = (embedder,)

    async def embed(self, texts: Sequence[str]) -> tuple[llm.Vectors, Usage]:
        known = _model_fields(self._embedder, "embeddings")
        name = f"embeddings {known['gen_ai.request.model']}"
        with spanned(self._tracer, name, known, client=True) as span:
            vectors, usage = await self._embedder.embed(texts)
            span.set_attributes(_known(_token_fields(usage)))
            return vectors, usage


class OpenTelemetry(Tracing):
    """Makes spans and log events with the given providers, or with the program's global ones.

    A sample's span is a child of the caller's span, if there is one. A question's span is a child
    of its sample's, and a model call's span of its question's. A score is an event of the span that
    the sample was read from, if it was, and otherwise of the sample's. Spans and events include
    texts only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is set. Exporting is up to the
    providers.

    Raises:
        UsageError: the extra is not installed.
    """

    def __init__(
        self,
        tracer_provider: "TracerProvider | None" = None,
        logger_provider: "LoggerProvider | None" = None,
    ) -> None:
        try:
            from opentelemetry._logs import get_logger  # an extra
            from opentelemetry.trace import get_tracer
        except ImportError as error:
            raise UsageError(
                "OpenTelemetry needs an extra: pip install 'ragstone[otel]'"
            ) from error
        self._tracer = get_tracer("ragstone", VERSION, tracer_provider)
        self._logger = get_logger("ragstone", VERSION, logger_provider)
        self._texts = os.environ.get(CAPTURE, "").strip().lower() in _CAPTURING

    def scorer(self, score: RowScorer, manifest: Manifest) -> RowScorer:
        async def traced(row: Row) -> Row:
            fields = {
                "ragstone.run.id": manifest.run_id,
                "ragstone.sample.id": row.sample.id,
                "ragstone.sample.index": row.index,
            }
            with spanned(self._tracer, "ragstone sample", fields) as span:
                scored = await score(row)
                span.set_attributes(_known(_row_fields(scored, texts=self._texts)))
                self._report(scored, manifest.run_id)
                return scored

        return traced

    def _report(self, row: Row, run_id: str) -> None:
        context = _evaluated_span(row.sample)
        for name, score in row.scores.items():
            label = None if score.passed is None else "pass" if score.passed else "fail"
            fields: Attributes = {
                "gen_ai.evaluation.name": name,
                "ragstone.run.id": run_id,
                "ragstone.sample.id": row.sample.id,
                "ragstone.metric.state": score.state.value,
                "gen_ai.evaluation.score.value": score.value,
                "gen_ai.evaluation.score.label": label,
                "error.type": score.cause and score.cause.value,
                "ragstone.metric.fallback": score.fallback or None,
                "gen_ai.evaluation.explanation": score.reason if self._texts else None,
            }
            self._logger.emit(event_name=EVALUATION, attributes=_known(fields), context=context)

    def judge(self, judge: Judge) -> Judge:
        return TracedJudge(judge, self._tracer)

    def model(self, model: Model) -> Model:
        return TracedModel(model, self._tracer, texts=self._texts)

    def embedder(self, embedder: Embedder) -> Embedder:
        return TracedEmbedder(embedder, self._tracer)


def _evaluated_span(sample: Sample) -> "Context | None":
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    try:
        ids = [int(str(sample.tags[name]), 16) for name in ("trace_id", "span_id")]
    except (KeyError, ValueError):
        return None
    span = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(span)) if span.is_valid else None


def tracing_of_program() -> OpenTelemetry:
    """Use the program's own providers, such as those of `opentelemetry-instrument`."""
    made = OpenTelemetry()
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        raise UsageError(
            "OpenTelemetry is not set up, so nothing would be sent; install opentelemetry-distro "
            "and put opentelemetry-instrument before the command: "
            "opentelemetry-instrument ragstone run ... --otel"
        )
    return made
