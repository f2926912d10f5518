"""18.8: no password or key reaches a message, a log, a report, the store, the cache or a span.

Every secret contains MARK, which no way of quoting changes. Many situations run; then each byte
that the program wrote is searched for the mark, as it is and in base64.
"""

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote
from urllib.request import urlopen
from zipfile import ZipFile, is_zipfile

import pytest
from tests.viewing import serve_in_background

import ragstone
from ragstone.errors import RagstoneError
from ragstone.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Answer = tuple[int, str | None, Mapping[str, str], bytes]
"""Status, reason, headers and body."""
Situation = tuple[Mapping[str, str], tuple[str, ...]]
"""Files, and the words of a command."""
MARK = "M4RK7F3A9C"
KEY = f"sk-+/=&<>%'\"\\{MARK}-zz"
"""A key with everything that texts quote: in JSON, URLs, HTML and Python."""
PLAIN = f"sk-proj-{MARK}-zz"
PASSWORD = quote(KEY, safe="")
ENCODED = [
    base64.b64encode(b"." * shift + MARK.encode())[4 * (shift > 0) :].rstrip(b"=")[:12]
    for shift in range(3)
]
"""How base64 writes the mark, at each of three offsets, without the parts of its neighbours."""
FORMS: Mapping[str, Callable[[str], str]] = {
    "raw": str,
    "json": json.dumps,
    "url": lambda text: quote(text, safe=""),
    "html": html.escape,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "repr": repr,
}
OUTPUTS = (
    *("--json", "out.json", "--rows", "rows.jsonl", "--claim-rows", "claims.csv"),
    *("--html", "out.html", "--markdown", "out.md", "--junit", "out.xml", "-o", "out.xlsx"),
)
ROWS = "".join(
    json.dumps({"query": f"What is {n}?", "response": f"{n} is red.", "contexts": ["All is red."]})
    + "\n"
    for n in range(2)
)


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler, bytes], Answer]) -> Iterator[str]:
    """Serve what a function returns for a request: status, reason, headers and body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, reason, headers, body = answer(self, sent)
            self.send_response(status, reason)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    for method in ("GET", "CONNECT"):
        setattr(Handler, f"do_{method}", Handler.do_POST)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@dataclass
class Echo:
    """A server that returns all it was sent: headers, path and body.

    The echo is, in a form, in a part of the reply: its reason, body or header, or a good reply.
    """

    url: str = ""
    status: int = 500
    part: str = "body"
    form: str = "raw"
    served: int = 0

    def set(self, status: int, part: str, form: str = "raw") -> None:
        self.status, self.part, self.form = status, part, form

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        sent = [value for name, value in request.headers.items() if name != "Content-Type"]
        kind, _, basic = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            sent.append(base64.b64decode(basic).decode())
        prompt = "chat" in request.path or "messages" in request.path
        if self.form != "base64":
            sent += [request.path, "" if prompt else body.decode("utf-8", "replace")]
        echo = FORMS[self.form](" ".join(sent))
        echo = echo.encode("ascii", "replace").decode().replace("\n", " ")
        self.served += MARK in echo or any(part.decode() in echo for part in ENCODED)
        if self.part == "good":
            return 200, None, {}, json.dumps(self.good(request.path, echo)).encode()
        names = ("Location", "Retry-After", "WWW-Authenticate") if self.part == "header" else ()
        bodies = {"body": echo, "error": json.dumps({"error": {"message": echo}})}
        reason = echo if self.part == "reason" else "Fault"
        return self.status, reason, dict.fromkeys(names, echo), bodies.get(self.part, "").encode()

    def good(self, path: str, echo: str) -> object:
        """Return a reply of the API at a path that has the echo in it."""
        if "chat/completions" in path:
            text = json.dumps({"claims": [{"text": echo}], "verdicts": echo})
            return {"choices": [{"message": {"content": text if "claims" in path else echo}}]}
        if "messages" in path:
            content = [{"type": "text", "text": echo}]
            return {"id": "1", "type": "message", "role": "assistant", "model": "m",
                    "content": content, "stop_reason": "end_turn", "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        item = {"point_id": echo, "text": echo, "score": 0.5}
        return {"response": f"It is {echo}.", "retrieved_chunks": [item], "results": [item]}


@pytest.fixture
def echo() -> Iterator[Echo]:
    state = Echo()
    with answering(state.answer) as state.url:
        yield state


@dataclass
class Search:
    """Looks for the mark in all that commands wrote."""

    folder: Path
    written: dict[str, bytes] = field(default_factory=dict)
    """Files of the test itself, as it wrote them."""

    def write(self, name: str, text: str) -> str:
        self.written[name] = text.encode()
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def clear(self) -> None:
        """Remove what commands wrote."""
        for path in self.folder.iterdir():
            if path.name not in self.written:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def places(self, outputs: Mapping[str, object]) -> list[str]:
        """Return where the mark is, with what is around it."""
        contents = {name: str(text).encode() for name, text in outputs.items()}
        for path in self.folder.rglob("*"):
            name = str(path.relative_to(self.folder))
            contents[f"name of {name}"] = name.encode()
            if path.is_file() and "__pycache__" not in name and name not in self.written:
                contents[name] = path.read_bytes()
                if is_zipfile(path):
                    with ZipFile(path) as parts:
                        contents |= {f"{name}/{one}": parts.read(one) for one in parts.namelist()}
        return [
            f"{name}: ...{content[max(0, at - 60) : at + 30]!r}"
            for name, content in contents.items()
            for form in (MARK.encode(), *ENCODED)
            for at in [content.find(form)]
            if at >= 0
        ]


@pytest.fixture
def search(tmp_path: Path) -> Search:
    found = Search(tmp_path)
    found.write("data.jsonl", ROWS)
    return found


def report(found: list[str]) -> None:
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


def set_all(monkeypatch: pytest.MonkeyPatch, names: str, value: str) -> None:
    for name in names.split():
        monkeypatch.setenv(name, value)


@pytest.fixture
def leaks(ragstone, search: Search, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run a command and all that shows what it stored; return where the mark is."""
    monkeypatch.setenv("LOG_LEVEL", "debug")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")

    def run(*words: str, shown: bool = True) -> list[str]:
        search.clear()
        said = {"command": ragstone(*words)}
        assert said["command"].err or said["command"].out
        if shown and (search.folder / ".ragstone" / "ragstone.db").exists():
            for number, more in enumerate((
                "runs list", "runs show last", "runs export last export.db",
                "report last -v --html again.html --rows again.csv", "resume last",
                "compare last last --html compared.html", "rescore last --html rescored.html",
            )):  # fmt: skip
                said[f"{number} {more}"] = ragstone(*more.split())
            with serve_in_background(".ragstone/ragstone.db") as url:
                said["pages"] = pages(url)
        return search.places(said)

    return run


def pages(url: str) -> str:
    """Return the pages of the viewer."""
    first = urlopen(url).read().decode()
    found = [first]
    for run in set(re.findall(r'href="(/runs/[^"?#/]+)"', first)):
        page = urlopen(url.rstrip("/") + run).read().decode()
        found.append(page)
        blocks: list[str] = re.findall(r'<script type="application/gzip"[^>]*>([^<]+)<', page)
        found += [gzip.decompress(base64.b64decode(block)).decode() for block in blocks]
    return "\n".join(found)


TARGET = """
base: "{url}"
headers: {{Authorization: "Bearer ${{OPENAI_API_KEY}}", X-Tenant: "${{SOME_WORD}}"}}
calls:
  ask:
    url: "{{base}}/ask/${{TENANT}}?api_key=${{RAG_KEY}}&q={{query}}"
    body: {{question: "{{query}}", password: "${{RAG_KEY}}"}}
    reply:
      response: response
      contexts: "retrieved_chunks[].{{id: point_id, text: text, score: score}}"
"""
ECHOED = [
    *((status, "reason", "raw") for status in (400, 401, 500)),
    *((400, "body", form) for form in FORMS),
    *((status, "error", "raw") for status in (200, 401, 404, 429)),
    *((status, "header", "raw") for status in (302, 503)),
    (200, "body", "raw"),
    *((200, "good", form) for form in FORMS),
]
"""Status, place and form of an echo."""
SHOWN = [(500, "reason", "raw"), (200, "good", "raw")]
"""After these, all commands show the run."""


@pytest.mark.parametrize("service", ["judge", "model", "target", "address"])
def test_18_8_what_a_server_echoes_is_nowhere(service: str, leaks, search, echo, monkeypatch):
    set_all(monkeypatch, "OPENAI_API_KEY ANTHROPIC_API_KEY RAG_KEY SOME_WORD", KEY)
    monkeypatch.setenv("TENANT", f"abc4ef{MARK}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", echo.url)
    search.write("target.yaml", TARGET.format(url=echo.url))
    place = echo.url.replace("//", f"//me:{PASSWORD}@")
    words = {
        "judge": ("--judge", "openai:gpt-4o-mini", "--base-url", f"{echo.url}/v1"),
        "model": ("--judge", "anthropic:claude-haiku-4-5"),
        "target": ("--target", "target.yaml"),
        "address": ("--target", f"{place}?token={PASSWORD}"),
    }[service]
    found: list[str] = []
    for case in ECHOED:
        echo.set(*case)
        before = echo.served
        left = leaks(*_JUDGED, *words, *OUTPUTS, shown=case in SHOWN)
        assert echo.served > before, case
        found += [f"{case}: {place}" for place in left]
    report(found)


BAD_URLS = (
    *("postgresql://me:p@{}@h/r", "postgresql:/me:{}@h/r", "postgresql//me:{}@h/r"),
    *("postgres:me:{}@h/r", "http:/u:{}@h", "https;//u:{}@h:1", "u:{}@h:80/x"),
    *("https://u:a/{}@h", "https://u:a?{}@h", "https://u:a#{}@h", "http://u:a b{}@h"),
    *("ftp://u:{}@h/x.yaml", "mysql://u:{}@h/r", "http://{}@[h/x", "http://u:{}@h:port/r"),
    *("http://h?api_key={}", "http://h/#token={}", "http://u:'{}'@h"),
    *("postgresql://h:1/r?password={}&sslmode=none", "host=h password={} dbname=r"),
    *("postgresql://u:{}@127.0.0.1:1/r", "http://u:{}@127.0.0.1:1/v1"),
)
_JUDGED = ("data.jsonl", "-m", "faithfulness", "--max-retries", "0")
PLACES = """
JUDGED --store {}
JUDGED --target {}
JUDGED --judge openai:m --base-url {}
JUDGED --judge openai:m,azure:m --base-url {}
JUDGED --judge {}
JUDGED --embedding-model {}
JUDGED --plugin {}
{}
rank --qrels {} --ranking {}
runs list --store {}
runs import {}
view --store {}
resume --store {}
compare last last --store {}
collect data.jsonl --target {} -o c.json
validate {}
judge test --judge openai:m --base-url {} --max-retries 0
demo --store {}
data.jsonl --policy {}
data.jsonl --k {}
"""


@pytest.mark.parametrize("line", PLACES.strip().splitlines())
def test_18_8_a_mistyped_url_is_nowhere(line: str, leaks, monkeypatch) -> None:
    set_all(monkeypatch, "OPENAI_API_KEY ANTHROPIC_API_KEY AZURE_OPENAI_API_KEY", "none")
    words = line.replace("JUDGED", " ".join(_JUDGED)).split()
    found: list[str] = []
    for url in BAD_URLS:
        given = [word.replace("{}", url.format(PLAIN)) for word in words]
        found += [f"{url}: {place}" for place in leaks(*given, shown=False)]
    report(found)


TARGETS = """
import os
import ragstone
from ragstone.errors import CallError, Cause
KEY = os.environ["OPENAI_API_KEY"]

@ragstone.register("leaking")
class Leaking(ragstone.Metric):
    "It raises."

    needs = ("response",)

    async def score(self, sample, ask):
        raise RuntimeError("cannot log in with " + KEY)

def raises(query):
    raise RuntimeError("cannot log in with " + KEY)

def refuses(query):
    raise CallError(Cause.UNREACHABLE, "x" * 250 + KEY)

def answers(query):
    return {"response": f"My key is {KEY}.", "contexts": [KEY], "ranking": [{"id": KEY}]}

def wrong(query):
    return {KEY: KEY}

class Raises:
    def __init__(self):
        raise RuntimeError(KEY)
"""
PROMPTFOO = """
prompts: ["{{{{query}}}}"]
{more}
defaultTest:
  assert: [{{type: context-faithfulness, threshold: 0.5, {grading}}}]
tests:
  - vars: {{query: q, context: It is red.}}
    providerOutput: It is red.
    {test}
"""
_CONFIG = f"{{apiKey: {PLAIN}, apiHeaders: {{Authorization: Bearer {PLAIN}, X-A: {PLAIN}}}}}"
_ECHO = "providers: [echo]"
_GRADER = f"provider: {{id: 'openai:m', config: {_CONFIG}}}"


def promptfoo(more: str = _ECHO, grading: str = "", test: str = "") -> Situation:
    text = PROMPTFOO.format(more=more, grading=grading, test=test)
    return {"promptfooconfig.yaml": text}, ("promptfooconfig.yaml",)


def of_target(**lines: str) -> Situation:
    call = {"url": '"http://127.0.0.1:1/{query}"', "reply": "{response: a, contexts: b}"} | lines
    text = "calls:\n  ask:\n" + "".join(f"    {name}: {line}\n" for name, line in call.items())
    return {"target.yaml": text}, (*_JUDGED, "--target", "target.yaml")


def of_settings(*lines: str) -> Situation:
    return {"ragstone.yaml": "\n".join(lines) + "\n"}, _JUDGED


_URL = f"http://u:{PLAIN}@127.0.0.1:1/v1?api_key={PLAIN}"
_MISTYPED = f"postgresql:/me:{'x' * 60}{PLAIN}@h/r"
_COLLECT = ("collect", "data.jsonl", "--target", "secret_collect.py:answers", "-o", "c.json")
SITUATIONS: dict[str, Situation] = {
    "a metric raises": (
        {"leaking_metric.py": TARGETS},
        ("data.jsonl", "-m", "leaking", "--plugin", "leaking_metric.py"),
    ),
    "a plugin raises": (
        {"raising.py": 'import os\nraise RuntimeError(os.environ["OPENAI_API_KEY"])\n'},
        (*_JUDGED, "--plugin", "raising.py"),
    ),
    "collect": ({"secret_collect.py": TARGETS}, _COLLECT),
    "a judge with options": ({}, (*_JUDGED, "--judge", f"openai:m,api_key={PLAIN}")),
    "a local judge with options": ({}, (*_JUDGED, "--judge", f"local:x,token={PLAIN}")),
    "a header in a setting": of_settings(
        f"headers: {{Authorization: Bearer {PLAIN}}}", f"api_key: {PLAIN}"
    ),
    "a variable": of_settings("store: postgresql://me:${OPENAI_API_KEY}@127.0.0.1:1/r"),
    "a wrong variable": of_settings("timeout: ${OPENAI_API_KEY}", "k: ${OPENAI_API_KEY}"),
    "a target's key in a header": of_target(headers="{X-Key: '${OPENAI_API_KEY}'}"),
    "a literal key": of_target(headers=f"{{Authorization: 'Bearer {PLAIN}'}}"),
    "a key in a URL": of_target(url='"http://127.0.0.1:1/${OPENAI_API_KEY}?token={query}"'),
    "a key as a method": of_target(method="${OPENAI_API_KEY}"),
    "a key as a header's name": of_target(headers=f"{{'api_key={PLAIN}': x}}"),
    "an invalid header": of_target(headers='{X-Key: "${OPENAI_API_KEY}\\u0000{query}"}'),
    "an invalid URL": of_target(url=f'"http://u:{PLAIN}@[/{{query}}"'),
    "promptfoo": promptfoo(grading=_GRADER),
    "promptfoo's two providers": promptfoo(
        grading=f"provider: {{id: 'openai:m', config: {{apiHeaders: {{A: {PLAIN}}}}}}}",
        test=f"assert: [{{type: context-recall, value: a, {_GRADER}}}]",
    ),
    "promptfoo's providers": promptfoo(more=f"providers: [{{id: 'openai:m', config: {_CONFIG}}}]"),
    "promptfoo's environment": promptfoo(
        more=f"providers: [echo]\nenv: {{OPENAI_API_KEY: {PLAIN}}}"
    ),
    "promptfoo's grading": promptfoo(more=f"providers: [echo]\ngrading: {_CONFIG}"),
}
for _name in ("raises", "refuses", "answers", "wrong", "Raises"):
    _file = f"secret_{_name}.py"
    _words = (*_JUDGED, "--target", f"{_file}:{_name}")
    SITUATIONS[f"a function {_name}"] = ({_file: TARGETS}, _words)
for _name in ("store", "target", "base_url", "judge", "data", "embedding_model", "plugin"):
    SITUATIONS[f"{_name} in ragstone.yaml"] = of_settings(f"{_name}: '{_URL}'")
for _name in ("store", "target", "base_url", "judge", "data", "policy", "k", "timeout"):
    SITUATIONS[f"mistyped {_name} in ragstone.yaml"] = of_settings(f"{_name}: '{_MISTYPED}'")


@pytest.mark.parametrize("name", SITUATIONS)
def test_18_8_a_secret_of_a_file_or_function_is_nowhere(name: str, leaks, search, monkeypatch):
    files, words = SITUATIONS[name]
    set_all(monkeypatch, "OPENAI_API_KEY ANTHROPIC_API_KEY", PLAIN)
    monkeypatch.setattr("ragstone._internal.plugins._logged", set())
    for file, text in files.items():
        search.write(file, text)
    found = leaks(*words)
    found += leaks(*words, "--dry-run") if words[0] != "collect" else []
    monkeypatch.delenv("LOG_LEVEL")
    monkeypatch.setattr("ragstone._internal.plugins._logged", set())
    report(found + leaks(*words))


def python(**options: object) -> Callable[[], object]:
    """Return an evaluation of the rows in Python."""
    rows = [json.loads(line) for line in ROWS.splitlines()]
    return lambda: ragstone.evaluate(rows, **{"metrics": "faithfulness", "retries": 0} | options)


def view(place: str) -> None:
    with serve_in_background(place):
        pass


def calls(url: str) -> Mapping[str, Callable[[], object]]:
    """Return calls in Python that raise, by name."""
    found = {
        "a judge": python(judge="openai:m", base_url=f"{url}/v1"),
        "an anthropic judge": python(judge="anthropic:m"),
        "an option": python(judge=f"openai:m,api_key={PLAIN}"),
        "a setting": python(timeout=f"http://u:{PLAIN}@h"),
    }
    for place in (template.format(PLAIN) for template in BAD_URLS):
        found[f"target {place}"] = python(target=place)
        for name in ("openai:m", "anthropic:m", "azure:m", "mistral:m"):
            if name == "openai:m" or "127.0.0.1" in place:
                found[f"base_url {place} of {name}"] = python(judge=name, base_url=place)
        found[f"store {place}"] = partial(Store.open, place)
        found[f"viewer {place}"] = partial(view, place)
    return found


@pytest.mark.parametrize("status", [401, 404])
def test_18_8_a_secret_is_in_no_traceback(status: int, search, echo: Echo, monkeypatch) -> None:
    monkeypatch.chdir(search.folder)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", echo.url)
    set_all(monkeypatch, "OPENAI_API_KEY ANTHROPIC_API_KEY AZURE_OPENAI_API_KEY", PLAIN)
    echo.set(status, "error")
    outputs: dict[str, str] = {}
    for name, call in calls(echo.url).items():
        try:
            result = call()
            outputs[name.replace(PLAIN, "KEY")] = str(result) + repr(result)
        except (RagstoneError, ValueError) as error:
            outputs[name.replace(PLAIN, "KEY")] = "".join(traceback.format_exception(error))
    sources = {name: re.sub(r"(?m)^    .*", "", text) for name, text in outputs.items()}
    assert len([text for text in outputs.values() if "Traceback" in text]) > len(BAD_URLS) * 3
    report(search.places(sources))


STREAM = """
calls:
  ask:
    url: "{url}/ask?q={{query}}"
    headers: {{X-Key: "${{OPENAI_API_KEY}}"}}
    stream: sse
    reply: {{response: text, contexts: contexts}}
"""


def test_18_8_a_key_in_pieces_of_a_stream_is_nowhere(leaks, search: Search, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLAIN)
    events = [{"text": PLAIN[:11]}, {"text": PLAIN[11:]}, {"contexts": [PLAIN]}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    with answering(lambda *_: (200, None, {}, body)) as url:
        search.write("stream.yaml", STREAM.format(url=url))
        report(leaks("data.jsonl", "-m", "faithfulness", "--target", "stream.yaml", *OUTPUTS))
    assert "[hidden]" in (search.folder / "rows.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("status", [200, 407])
def test_18_8_the_password_of_a_proxy_is_nowhere(status: int, leaks, search, echo, monkeypatch):
    place = echo.url.replace("//", f"//me:{PASSWORD}@")
    set_all(monkeypatch, "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy ALL_PROXY", place)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLAIN)
    target = f'proxy: "{place}"\nbase: "http://rag.invalid"\n' + of_target()[0]["target.yaml"]
    search.write("target.yaml", target.replace("http://127.0.0.1:1", "{base}"))
    found: list[str] = []
    for part in ("reason", "error", "good"):
        echo.set(status, part)
        for words in (
            ("--target", "target.yaml"),
            ("--judge", "anthropic:m", "--base-url", "http://judge.invalid"),
            ("--judge", "anthropic:m", "--base-url", "https://judge.invalid"),
            ("--judge", "local:hf:nobody/nothing"),
        ):
            found += leaks(*_JUDGED, *words, *OUTPUTS)
    assert echo.served > 4
    report(found)


EXPORTING = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from ragstone.__main__ import main

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(timeout=1)))
trace.set_tracer_provider(provider)
main()
"""


@pytest.mark.parametrize("part", ["good", "error", "reason"])
def test_18_8_no_secret_is_in_a_span(part: str, search: Search, echo: Echo, monkeypatch) -> None:
    set_all(monkeypatch, "OPENAI_API_KEY RAG_KEY SOME_WORD", KEY)
    monkeypatch.setenv("TENANT", f"abc4ef{MARK}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={PASSWORD}")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    search.write("target.yaml", TARGET.format(url=echo.url))
    echo.set(401, part)
    judge = ("--judge", "openai:m", "--base-url", f"{echo.url}/v1")
    spans: list[bytes] = []

    def keep(request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        spans.append(request.path.encode() + body)
        return 200, None, {}, b""

    outputs: dict[str, object] = {}
    with answering(keep) as receiver:
        for url in (receiver, echo.url.replace("//", f"//me:{PASSWORD}@")):
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
            for words in (judge, ("--target", "target.yaml"), ("--no-export",)):
                command = [sys.executable, "-c", EXPORTING, *_JUDGED, *words, "--otel"]
                pipes = {"capture_output": True, "text": True, "check": False}
                ended = subprocess.run(command, cwd=search.folder, **pipes)
                outputs[f"{len(outputs)}: {words[0]}"] = ended.stdout + ended.stderr
    assert spans
    report(search.places({**outputs, "spans": b"".join(spans).decode("latin-1")}))


def test_18_8_a_bug_shows_no_secret(leaks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLAIN)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(f"a bug at http://me:{PLAIN}@h with {PLAIN}")

    monkeypatch.setattr("ragstone.cli.commands.run.run_evaluation", fails)
    report(leaks("data.jsonl", "-m", "faithfulness"))
