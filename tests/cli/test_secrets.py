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


@dataclass
class Echo:
    """A server that returns all it was sent: headers, path and body.

    Attributes:
        status: of its replies.
        part: where the echo is: the reason phrase, the body, a header, or a good reply.
        form: how the echo is quoted.
    """

    url: str = ""
    status: int = 500
    part: str = "body"
    form: str = "raw"
    served: int = 0

    def set(self, status: int, part: str, form: str = "raw") -> None:
        self.status, self.part, self.form = status, part, form

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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"] or 0)
            body = self.rfile.read(size).decode("utf-8", "replace")
            sent = [value for name, value in self.headers.items() if name != "Content-Type"]
            basic = self.headers.get("Authorization", "").removeprefix("Basic ")
            if basic != self.headers.get("Authorization", "Basic "):
                sent.append(base64.b64decode(basic).decode())
            prompt = "chat" in self.path or "messages" in self.path
            if state.form != "base64":
                sent += [self.path, "" if prompt else body]
            echo = FORMS[state.form](" ".join(sent))
            echo = echo.encode("ascii", "replace").decode().replace("\n", " ")
            state.served += MARK in echo or any(part.decode() in echo for part in ENCODED)
            if state.part == "good":
                self.send_response(200)
                body = json.dumps(state.good(self.path, echo))
            else:
                reason = echo if state.part == "reason" else "Fault"
                self.send_response(state.status, reason)
                body = {"body": echo, "error": json.dumps({"error": {"message": echo}})}.get(
                    state.part, ""
                )
            if state.part == "header":
                for name in ("Location", "Retry-After", "WWW-Authenticate"):
                    self.send_header(name, echo)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            self.do_POST()

        def do_CONNECT(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()


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
SERVICES = ("judge", "model", "target", "address")


@pytest.mark.parametrize("service", SERVICES)
def test_18_8_what_a_server_echoes_is_nowhere(
    service: str, leaks, search: Search, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "RAG_KEY", "SOME_WORD"):
        monkeypatch.setenv(name, KEY)
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
        options = ("-m", "faithfulness", "--max-retries", "0", *words, *OUTPUTS)
        left = leaks("data.jsonl", *options, shown=case in SHOWN)
        assert echo.served > before, case
        found += [f"{case}: {place}" for place in left]
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


BAD_URLS = (
    *("postgresql://me:p@{}@h/r", "postgresql:/me:{}@h/r", "postgresql//me:{}@h/r"),
    *("postgres:me:{}@h/r", "http:/u:{}@h", "http//u:{}@h", "https;//u:{}@h:1", "u:{}@h:80/x"),
    *("https://u:a/{}@h", "https://u:a?{}@h", "https://u:a#{}@h", "http://u:a b{}@h"),
    *("ftp://u:{}@h/x.yaml", "mysql://u:{}@h/r", "http://{}@[h/x", "http://u:{}@h:port/r"),
    *("HTTP:///u:{}@h", "http://h?api_key={}", "http://h/#token={}", "http://u:'{}'@h"),
    *("postgresql://h:1/r?password={}&sslmode=none", "host=h password={} dbname=r"),
    *("postgresql://u:{}@127.0.0.1:1/r", "http://u:{}@127.0.0.1:1/v1"),
)
ONCE = ("--max-retries", "0")
PLACES = (
    ("data.jsonl", "-m", "faithfulness", "--store", "{}"),
    ("data.jsonl", "-m", "faithfulness", "--target", "{}"),
    ("data.jsonl", "-m", "faithfulness", "--target", "{}", "--dry-run"),
    ("data.jsonl", "-m", "faithfulness", "--api-url", "{}", "--no-store"),
    ("data.jsonl", "-m", "faithfulness", "--judge", "openai:m", "--base-url", "{}", *ONCE),
    ("data.jsonl", "-m", "faithfulness", "--judge", "openai:m", "--base-url", "{}", "--dry-run"),
    ("data.jsonl", "-m", "faithfulness", "--judge", "anthropic:m", "--base-url", "{}", *ONCE),
    ("data.jsonl", "-m", "faithfulness", "--judge", "openai:m,azure:m", "--base-url", "{}"),
    ("data.jsonl", "-m", "faithfulness", "--judge", "{}"),
    ("data.jsonl", "-m", "faithfulness", "--judge", "offline,{}"),
    ("data.jsonl", "-m", "faithfulness", "--embedding-model", "{}", *ONCE),
    ("data.jsonl", "-m", "faithfulness", "--plugin", "{}"),
    ("data.jsonl", "-m", "faithfulness", "--config", "{}"),
    ("{}",), ("run", "{}"), ("data.jsonl", "{}"), ("rank", "--qrels", "{}", "--ranking", "{}"),
    ("runs", "list", "--store", "{}"), ("runs", "show", "last", "--store", "{}"),
    ("runs", "import", "{}"), ("runs", "export", "last", "--store", "{}"),
    ("runs", "show", "last", "--store", "{}"), ("view", "--store", "{}"),
    ("resume", "--store", "{}"),
    ("compare", "last", "last", "--store", "{}"), ("runs", "rescore", "last", "--store", "{}"),
    ("collect", "data.jsonl", "--target", "{}", "-o", "c.json"), ("validate", "{}"),
    ("validate", "{}", "-o", "out.jsonl"),
    ("judge", "test", "--judge", "openai:m", "--base-url", "{}", *ONCE),
    ("demo", "--store", "{}"), ("data.jsonl", "--store", "{}", "--no-store"),
    ("data.jsonl", "-m", "{}"), ("data.jsonl", "--policy", "{}"), ("data.jsonl", "--k", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_18_8_a_mistyped_url_is_nowhere(
    words: tuple[str, ...], leaks, ragstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "none")
    found: list[str] = []
    for url in BAD_URLS:
        given = [word.replace("{}", url.format(PLAIN)) for word in words]
        found += [f"{url}: {place}" for place in leaks(*given, shown=False)]
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


METRIC = """
import os
import ragstone

@ragstone.register("leaking")
class Leaking(ragstone.Metric):
    "It raises."

    needs = ("response",)

    async def score(self, sample, ask):
        raise RuntimeError("cannot log in with " + os.environ["OPENAI_API_KEY"])
"""
TARGETS = """
import os
from ragstone.errors import CallError, Cause
KEY = os.environ["OPENAI_API_KEY"]

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
providers: [echo]
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
_GRADER = f"provider: {{id: 'openai:m', config: {_CONFIG}}}"
_JUDGED = ("data.jsonl", "-m", "faithfulness", "--max-retries", "0")


def promptfoo(more: str = "", grading: str = "", test: str = "") -> dict[str, str]:
    return {"promptfooconfig.yaml": PROMPTFOO.format(more=more, grading=grading, test=test)}


def of_target(**lines: str) -> dict[str, str]:
    call = {"url": '"http://127.0.0.1:1/{query}"', "reply": "{response: a, contexts: b}"} | lines
    text = "calls:\n  ask:\n" + "".join(f"    {name}: {line}\n" for name, line in call.items())
    return {"target.yaml": text}


SITUATIONS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "a metric raises": (
        {"leaking_metric.py": METRIC},
        ("data.jsonl", "-m", "leaking", "--plugin", "leaking_metric.py"),
    ),
    "a plugin raises": (
        {"raising.py": 'import os\nraise RuntimeError(os.environ["OPENAI_API_KEY"])\n'},
        (*_JUDGED, "--plugin", "raising.py"),
    ),
    **{
        f"a function {name}": (
            {f"secret_{name}.py": TARGETS},
            (*_JUDGED, "--target", f"secret_{name}.py:{name}"),
        )
        for name in ("raises", "refuses", "answers", "wrong", "Raises")
    },
    "collect": (
        {"secret_collect.py": TARGETS},
        ("collect", "data.jsonl", "--target", "secret_collect.py:answers", "-o", "c.json"),
    ),
    "a judge with options": ({}, (*_JUDGED, "--judge", f"openai:m,api_key={PLAIN}")),
    "a judge with two options": (
        {},
        (*_JUDGED, "--judge", f"openai:m,token={PLAIN},token={PLAIN}"),
    ),
    "a local judge with options": ({}, (*_JUDGED, "--judge", f"local:x,token={PLAIN}")),
    "a header in a setting": (
        {"ragstone.yaml": f"headers: {{Authorization: Bearer {PLAIN}}}\napi_key: {PLAIN}\n"},
        _JUDGED,
    ),
    **{
        f"{name} in ragstone.yaml": ({"ragstone.yaml": f"{name}: '{url}'\n"}, _JUDGED)
        for name in ("store", "target", "base_url", "judge", "data", "embedding_model", "plugin")
        for url in [f"http://u:{PLAIN}@127.0.0.1:1/v1?api_key={PLAIN}"]
    },
    **{
        f"mistyped {name} in ragstone.yaml": ({"ragstone.yaml": f"{name}: '{url}'\n"}, _JUDGED)
        for name in ("store", "target", "base_url", "judge", "data", "policy", "k", "timeout")
        for url in [f"postgresql:/me:{'x' * 60}{PLAIN}@h/r"]
    },
    "a variable in ragstone.yaml": (
        {"ragstone.yaml": "store: postgresql://me:${OPENAI_API_KEY}@127.0.0.1:1/r\n"},
        _JUDGED,
    ),
    "a wrong variable in ragstone.yaml": (
        {"ragstone.yaml": "timeout: ${OPENAI_API_KEY}\nk: ${OPENAI_API_KEY}\n"},
        _JUDGED,
    ),
    **{
        f"a target with {name}": (of_target(**lines), (*_JUDGED, "--target", "target.yaml"))
        for name, lines in {
            "a key in a header": {"headers": "{X-Key: '${OPENAI_API_KEY}'}"},
            "a literal key": {"headers": f"{{Authorization: 'Bearer {PLAIN}'}}"},
            "a key in its URL": {"url": '"http://127.0.0.1:1/${OPENAI_API_KEY}?token={query}"'},
            "a key as its method": {"method": "${OPENAI_API_KEY}"},
            "a literal method": {"method": f"Bearer {PLAIN}"},
            "a key as a header's name": {"headers": f"{{'api_key={PLAIN}': x}}"},
            "an invalid header": {"headers": '{X-Key: "${OPENAI_API_KEY}\\u0000{query}"}'},
            "an invalid URL": {"url": f'"http://u:{PLAIN}@[/{{query}}"'},
            "a wrong URL": {"url": f'"http:/u:{PLAIN}@h/{{query}}"'},
            "a list": {"headers": f"[Bearer {PLAIN}]"},
        }.items()
    },
    "promptfoo": (promptfoo(grading=_GRADER), ("promptfooconfig.yaml",)),
    "promptfoo's two providers": (
        promptfoo(
            grading=f"provider: {{id: 'openai:m', config: {{apiHeaders: {{A: {PLAIN}}}}}}}",
            test=f"assert: [{{type: context-recall, value: a, {_GRADER}}}]",
        ),
        ("promptfooconfig.yaml",),
    ),
    "promptfoo's key": (
        promptfoo(grading=_GRADER.replace("apiHeaders", "temperature: 0, a")),
        ("promptfooconfig.yaml",),
    ),
    "promptfoo's providers": (
        {
            "promptfooconfig.yaml": promptfoo()["promptfooconfig.yaml"].replace(
                "[echo]", f"[{{id: 'openai:m', config: {_CONFIG}}}]"
            )
        },
        ("promptfooconfig.yaml",),
    ),
    "promptfoo's environment": (
        promptfoo(more=f"env: {{OPENAI_API_KEY: {PLAIN}}}"),
        ("promptfooconfig.yaml",),
    ),
    "promptfoo's grading": (promptfoo(more=f"grading: {_CONFIG}"), ("promptfooconfig.yaml",)),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_18_8_a_secret_of_a_file_or_function_is_nowhere(
    name: str, leaks, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, words = SITUATIONS[name]
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, PLAIN)
    monkeypatch.setattr("ragstone._internal.plugins._logged", set())
    for file, text in files.items():
        search.write(file, text)
    found = leaks(*words)
    found += leaks(*words, "--dry-run") if words[0] != "collect" else []
    monkeypatch.delenv("LOG_LEVEL")
    monkeypatch.setattr("ragstone._internal.plugins._logged", set())
    found += leaks(*words)
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


def python(**options: object) -> Callable[[], object]:
    """Return an evaluation of the rows in Python."""
    rows = [json.loads(line) for line in ROWS.splitlines()]
    return lambda: ragstone.evaluate(rows, **{"metrics": "faithfulness", "retries": 0} | options)


def calls(url: str) -> Mapping[str, Callable[[], object]]:
    """Return calls in Python that raise, by name."""
    model = {"judge": "openai:m", "base_url": f"{url}/v1"}
    anthropic = {"judge": "anthropic:m"}
    bad = [template.format(PLAIN) for template in BAD_URLS]
    return {
        "a judge": python(**model),
        "an anthropic judge": python(**anthropic),
        "an option": python(judge=f"openai:m,api_key={PLAIN}"),
        "a setting": python(timeout=f"http://u:{PLAIN}@h"),
        **{f"target {place}": python(target=place) for place in bad},
        **{f"base_url {place}": python(judge="openai:m", base_url=place) for place in bad},
        **{f"base_url {place} of {name}": python(judge=name, base_url=place)
           for place in bad[-2:] for name in ("anthropic:m", "azure:m", "mistral:m")},
        **{f"store {place}": partial(Store.open, place) for place in bad},
        **{f"viewer {place}": partial(shown, place) for place in bad},
    }  # fmt: skip


def shown(place: str) -> None:
    with serve_in_background(place):
        pass


@pytest.mark.parametrize("status", [401, 404])
def test_18_8_a_secret_is_in_no_traceback(
    status: int, search: Search, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(search.folder)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", echo.url)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(variable, PLAIN)
    echo.set(status, "error")
    outputs: dict[str, str] = {}
    for name, call in calls(echo.url).items():
        try:
            result = call()
            outputs[name.replace(PLAIN, "KEY")] = str(result) + repr(result)
        except (RagstoneError, ValueError) as error:
            outputs[name.replace(PLAIN, "KEY")] = "".join(traceback.format_exception(error))
    sources = {name: re.sub(r"(?m)^    .*", "", text) for name, text in outputs.items()}
    found = search.places(sources)
    assert len([text for text in outputs.values() if "Traceback" in text]) > len(BAD_URLS) * 3
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


STREAM = """
calls:
  ask:
    url: "{url}/ask?q={{query}}"
    headers: {{X-Key: "${{OPENAI_API_KEY}}"}}
    stream: sse
    reply: {{response: text, contexts: contexts}}
"""


def test_18_8_a_key_in_pieces_of_a_stream_is_nowhere(
    leaks, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLAIN)
    events = [{"text": PLAIN[:11]}, {"text": PLAIN[11:]}, {"contexts": [PLAIN]}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    with answering(lambda *_: (200, body)) as url:
        search.write("stream.yaml", STREAM.format(url=url))
        assert not leaks("data.jsonl", "-m", "faithfulness", "--target", "stream.yaml", *OUTPUTS)
    assert "[hidden]" in (search.folder / "rows.jsonl").read_text(encoding="utf-8")


@contextmanager
def answering(answer: Callable[[str, bytes], tuple[int, bytes]]) -> Iterator[str]:
    """Serve what a function returns for a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, body = answer(self.path, sent)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("status", [200, 407])
def test_18_8_the_password_of_a_proxy_is_nowhere(
    status: int, leaks, search: Search, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = echo.url.replace("//", f"//me:{PASSWORD}@")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, place)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLAIN)
    target = f'proxy: "{place}"\nbase: "http://rag.invalid"\n' + of_target()["target.yaml"]
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
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


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


@pytest.mark.slow
@pytest.mark.parametrize("part", ["good", "error", "reason"])
def test_18_8_no_secret_is_in_a_span(
    part: str, search: Search, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "RAG_KEY", "SOME_WORD"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("TENANT", f"abc4ef{MARK}")
    search.write("target.yaml", TARGET.format(url=echo.url))
    echo.set(401, part)
    judge = ("--judge", "openai:m", "--base-url", f"{echo.url}/v1")
    spans: list[bytes] = []

    def keep(path: str, body: bytes) -> tuple[int, bytes]:
        spans.append(path.encode() + body)
        return 200, b""

    outputs: dict[str, object] = {}
    with answering(keep) as receiver:
        for url in (receiver, echo.url.replace("//", f"//me:{PASSWORD}@")):
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={PASSWORD}")
            monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
            for words in (judge, ("--target", "target.yaml"), ("--no-export",)):
                command = [sys.executable, "-c", EXPORTING, *_JUDGED, *words, "--otel"]
                ended = subprocess.run(
                    command, cwd=search.folder, capture_output=True, text=True, check=False
                )
                outputs[f"{len(outputs)}: {words[0]}"] = ended.stdout + ended.stderr
    found = search.places({**outputs, "spans": b"".join(spans).decode("latin-1")})
    assert spans
    assert not found, f"{len(found)} leaks\n" + "\n".join(found[:60])


def test_18_8_a_bug_shows_no_secret(leaks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLAIN)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(f"a bug at http://me:{PLAIN}@h with {PLAIN}")

    monkeypatch.setattr("ragstone.cli.commands.run.run_evaluation", fails)
    assert not leaks("data.jsonl", "-m", "faithfulness")
