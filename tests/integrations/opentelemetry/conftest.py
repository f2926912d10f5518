"""Spans kept in memory, by the SDK's own exporter."""

from collections.abc import Callable, Mapping

import pytest
from opentelemetry import trace
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

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

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
        return "\n".join(span.to_json() for span in self.spans)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def tracing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> OpenTelemetry:
    """Makes spans without texts."""
    monkeypatch.delenv(CAPTURE, raising=False)
    return OpenTelemetry(kept.provider)


@pytest.fixture
def telling(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], OpenTelemetry]:
    """Makes spans as the variable for texts says."""

    def make(value: str) -> OpenTelemetry:
        monkeypatch.setenv(CAPTURE, value)
        return OpenTelemetry(kept.provider)

    return make


@pytest.fixture
def of_the_program(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the tracer provider that a program has once only, for this test."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    trace.set_tracer_provider(kept.provider)
