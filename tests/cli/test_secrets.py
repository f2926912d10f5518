"""18.8: no password or key reaches a message, a log, a report, the store, the cache or a span.

Every secret contains MARK, which no way of quoting changes. Many situations run; then each byte
that the program wrote is searched for the mark, as it is and in base64.
"""

import base64
import html
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote
from urllib.request import urlopen
from zipfile import ZipFile, is_zipfile

import pytest

from ragstone.reports.viewer.server import serve_in_background

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
            body = self.rfile.read(size).decode()
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
                "runs list", "runs show last", "runs export last -o export.jsonl",
                "report last -v --html again.html --rows again.csv", "resume last",
                "compare last last --html compared.html", "rescore last --html rescored.html",
            )):  # fmt: skip
                said[f"{number} {more}"] = ragstone(*more.split())
            with serve_in_background(".ragstone/ragstone.db") as url:
                said["pages"] = pages(url)
        return search.places(said)

    return run


def pages(url: str) -> str:
    """Return the pages of the viewer and their data."""
    first = urlopen(url).read().decode()
    found = [first]
    for run in set(re.findall(r'href="(/runs/[^"?#/]+)"', first)):
        for path in ("", "/live.json", "/rows.json", "/rows/0.json", "/rows/1.json"):
            try:
                found.append(urlopen(url.rstrip("/") + run + path).read().decode())
            except OSError as error:
                found.append(str(error))
    return "\n".join(found)


TARGET = """
base: "{url}"
headers: {{Authorization: "Bearer ${{OPENAI_API_KEY}}", X-Tenant: "${{SOME_WORD}}"}}
calls:
  ask:
    url: "{{base}}/ask?api_key=${{RAG_KEY}}&q={{query}}"
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
