import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

ROWS = [
    {"id": f"a{n}", "query": "Q?", "response": f"It is {n} m.", "contexts": [f"It is {n} m."]}
    for n in range(3)
]


class Receiver:
    """What an OTLP/HTTP endpoint of loopback was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.requests: list[ExportTraceServiceRequest] = []
        self.logs: list[ExportLogsServiceRequest] = []

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def events(self) -> list[LogRecord]:
        return [
            record
            for request in self.logs
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    @property
    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for request in self.requests
            for each in request.resource_spans
            for attribute in each.resource.attributes
            if attribute.key == "service.name"
        }


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.paths.append(self.path)
            received.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path == "/v1/logs":
                received.logs.append(ExportLogsServiceRequest.FromString(body))
            else:
                received.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Receiver(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield received
        server.shutdown()


@pytest.fixture
def rows(tmp_path: Path) -> str:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return "rows.jsonl"


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "RAGSTONE_OTEL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_SERVICE_NAME",
        "OTEL_RESOURCE_ATTRIBUTES",
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_run_sends_its_spans_where_it_is_told_to(
    ragstone, rows: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=me")
    said = ragstone("run", rows, "-m", "faithfulness", "--no-export", "--otel")
    assert said.code == 0, said.err
    assert set(receiver.paths) == {"/v1/traces", "/v1/logs"}
    assert {headers["x-tenant"] for headers in receiver.headers} == {"me"}
    assert receiver.services == {"ragstone"}
    samples = {span.span_id: span for span in receiver.spans if span.name == "ragstone sample"}
    assert len(samples) == 3
    asked = [span.parent_span_id for span in receiver.spans if span.span_id not in samples]
    assert sorted(asked) == sorted([*samples] * 2)
    assert not any(span.events for span in receiver.spans)
    assert {event.event_name for event in receiver.events} == {"gen_ai.evaluation.result"}
    assert {event.span_id for event in receiver.events} == samples.keys()
    told = {each.key: each.value for each in receiver.events[0].attributes}
    assert told["gen_ai.evaluation.name"].string_value == "faithfulness"
    assert told["gen_ai.evaluation.score.value"].double_value == 1.0


def test_resume_sends_spans_too(
    ragstone,
    rows: str,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{receiver.url}/mine")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    argued = ("--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0")
    open_recorder = ragstone("run", rows, "-m", "faithfulness", "--no-export", *argued)
    assert open_recorder.code == 3
    assert receiver.paths == []
    monkeypatch.setenv("RAGSTONE_OTEL", "1")
    again = ragstone("resume", "last", "--retry-failed", "--no-export")
    assert again.code == 3
    assert set(receiver.paths) == {"/mine", "/v1/logs"}
    assert receiver.services == {"nightly"}
    assert {span.name for span in receiver.spans if span.name.startswith("chat")} == {"chat m"}


def test_an_endpoint_alone_sends_nothing(
    ragstone, rows: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    assert ragstone("run", rows, "-m", "faithfulness", "--no-export").code == 0
    assert receiver.paths == []


def test_without_an_endpoint_nothing_is_run(ragstone, rows: str, tmp_path: Path) -> None:
    said = ragstone("run", rows, "-m", "faithfulness", "--otel")
    assert said.code == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT, such as http://localhost:4318" in said.err
    assert not (tmp_path / ".ragstone").exists()


@pytest.mark.parametrize("kind", ["TRACES", "LOGS"])
def test_only_what_has_an_endpoint_is_sent(
    ragstone, rows: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = f"/v1/{kind.lower()}"
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{kind}_ENDPOINT", receiver.url + path)
    said = ragstone("run", rows, "-m", "faithfulness", "--no-export", "--otel")
    assert said.code == 0, said.err
    assert set(receiver.paths) == {path}


def test_another_protocol_is_refused(
    ragstone, rows: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    said = ragstone("run", rows, "-m", "faithfulness", "--otel")
    assert said.code == 2
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=grpc" in said.err


def test_an_endpoint_that_is_not_there_costs_no_score(
    ragstone, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    said = ragstone("run", rows, "-m", "faithfulness", "--no-export", "--otel")
    assert said.code == 0
    assert "faithfulness" in said.out.lower()


@pytest.mark.parametrize(
    "statement",
    [
        "import ragstone, ragstone.evaluation.runner, ragstone.cli.commands.run",
        "import ragstone.integrations.opentelemetry, ragstone.integrations.pytest.plugin",
    ],
)
def test_unused_it_is_not_imported(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "ragstone" in said
    assert not [name for name in said if name.partition(".")[0] == "opentelemetry"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, rows: str) -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        f"sys.argv = ['ragstone', 'run', {rows!r}, '-m', 'faithfulness', '--otel']\n"
        "from ragstone.__main__ import main; main()"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert said.returncode == 2
    assert "pip install 'ragstone[otel]'" in said.stderr
