import pytest
from opentelemetry import trace

from ragstone.errors import UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.integrations.opentelemetry.tracing import exporting

SAMPLE = {"query": "Q?", "response": "It is red.", "contexts": ["It is red."]}


@pytest.mark.usefixtures("of_the_program")
def test_a_provider_that_is_set_up_is_used_and_left_as_it_is(kept) -> None:
    with exporting({}) as tracing:
        evaluate([SAMPLE], metrics="faithfulness", tracing=tracing)
    with trace.get_tracer("host").start_as_current_span("afterwards"):
        pass
    assert [span.name for span in kept.spans][-2:] == ["ragstone sample", "afterwards"]


def test_nothing_is_exported_where_no_endpoint_is_named() -> None:
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_ENDPOINT"), exporting({}):
        pass


def test_no_provider_is_left_behind() -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    before = trace.get_tracer_provider()
    with exporting(named):
        assert trace.get_tracer_provider() is before
    assert trace.get_tracer_provider() is before
