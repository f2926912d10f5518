"""OpenTelemetry: a span per sample, and a log event per score.

The names are those of its conventions for generative AI, and `ragstone.*` where they have none:
https://github.com/open-telemetry/semantic-conventions-genai
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ragstone._internal.plugins import check_extra
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import VERSION
from ragstone.evaluation.scoring import RowScorer
from ragstone.types.config import Manifest
from ragstone.types.row import Row
from ragstone.types.sample import Sample

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.trace import TracerProvider

Value: TypeAlias = str | int | float | bool | list[str]
Attributes: TypeAlias = Mapping[str, Value | None]

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING = frozenset({"true", "1", "span_only", "span_and_event"})


def _known(fields: Attributes) -> Mapping[str, Value]:
    return {name: value for name, value in fields.items() if value is not None}


def _row_fields(row: Row, *, texts: bool) -> Attributes:
    sample, contexts, usage = row.sample, row.sample.contexts, row.usage
    fields = {
        "ragstone.usage.calls": usage.calls,
        "ragstone.usage.cached": usage.cached,
        "ragstone.usage.retries": usage.retries,
        "ragstone.usage.local_calls": usage.local_calls,
        "ragstone.usage.input_tokens": usage.prompt_tokens,
        "ragstone.usage.output_tokens": usage.completion_tokens,
        "ragstone.usage.cost_usd": usage.cost_usd,
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


class OpenTelemetry:
    """Makes spans and log events with the given providers, or with the program's global ones.

    A sample's span is a child of the caller's span, if there is one. A score is an event of the
    span that the sample was read from, if it was, and otherwise of the sample's. Spans and events
    include texts only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is set. Exporting is up
    to the providers.

    Raises:
        UsageError: the extra is not installed.
    """

    def __init__(
        self,
        tracer_provider: "TracerProvider | None" = None,
        logger_provider: "LoggerProvider | None" = None,
    ) -> None:
        check_extra("opentelemetry", "OpenTelemetry", "otel")
        from opentelemetry._logs import get_logger
        from opentelemetry.trace import get_tracer

        self._tracer = get_tracer("ragstone", VERSION, tracer_provider)
        self._logger = get_logger("ragstone", VERSION, logger_provider)
        self._texts = os.environ.get(CAPTURE, "").strip().lower() in _CAPTURING

    def __call__(self, score: RowScorer, manifest: Manifest) -> RowScorer:
        """Return a scorer that makes a span around each row, and an event of each score."""
        from opentelemetry.trace import StatusCode  # an extra

        async def traced(row: Row) -> Row:
            fields = {
                "ragstone.run.id": manifest.run_id,
                "ragstone.sample.id": row.sample.id,
                "ragstone.sample.index": row.index,
            }
            with self._tracer.start_as_current_span(
                "ragstone sample",
                attributes=fields,
                record_exception=False,  # its message may quote a sample
                set_status_on_exception=False,
            ) as span:
                try:
                    scored = await score(row)
                except BaseException as error:
                    span.set_attribute("error.type", type(error).__qualname__)
                    span.set_status(StatusCode.ERROR)
                    raise
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
            self._logger.emit(
                event_name="gen_ai.evaluation.result", attributes=_known(fields), context=context
            )


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
