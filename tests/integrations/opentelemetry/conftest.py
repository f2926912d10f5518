"""Spans and log events kept in memory, by the SDK's own exporters."""

from collections.abc import Callable, Mapping

import pytest
from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

from ragstone.integrations.opentelemetry import CAPTURE, OpenTelemetry


class Kept:
    """Spans as a program's own tracer provider would have exported them."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._events = InMemoryLogRecordExporter()
        self.logs = LoggerProvider(shutdown_on_exit=False)
        self.logs.add_log_record_processor(SimpleLogRecordProcessor(self._events))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def events(self) -> tuple[ReadableLogRecord, ...]:
        return self._events.get_finished_logs()

    def scores(self) -> dict[str, Mapping[str, object]]:
        """Metric -> the attributes of its event, of one sample."""
        told = [event.log_record.attributes or {} for event in self.events]
        assert {event.log_record.event_name for event in self.events} == {
            "gen_ai.evaluation.result"
        }
        return {str(each["gen_ai.evaluation.name"]): each for each in told}

    def named(self, begin: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(begin)]

    def told(self, name: str) -> Mapping[str, object]:
        """The attributes of the one span of that name."""
        [span] = self.named(name)
        return span.attributes or {}

    def parent(self, span: ReadableSpan) -> ReadableSpan | None:
        ids = {each.context.span_id: each for each in self.spans if each.context}
        return ids.get(span.parent.span_id) if span.parent else None

    def everything(self) -> str:
        """All that would leave the process."""
        return "\n".join(each.to_json() for each in (*self.spans, *self.events))


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def tracing(telling: Callable[[str], OpenTelemetry]) -> OpenTelemetry:
    """Makes spans without texts."""
    return telling("")


@pytest.fixture
def telling(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], OpenTelemetry]:
    """Makes spans as the variable for texts says."""

    def make(value: str) -> OpenTelemetry:
        monkeypatch.setenv(CAPTURE, value)
        return OpenTelemetry(kept.provider, kept.logs)

    return make


@pytest.fixture
def of_the_program(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the providers that a program has once only, for this test."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    trace.set_tracer_provider(kept.provider)
    monkeypatch.setattr(_logs._internal, "_LOGGER_PROVIDER", kept.logs)
