"""`ragstone init`: what it writes can be run, and replaces nothing."""

import json
import re
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

from ragstone.evaluation.config_file import read_config
from ragstone.types.config import SETTINGS, Plan, settings_schema


def next_command(out: str) -> list[str]:
    """Return the words of the printed command."""
    return shlex.split(out.rpartition("Next: ")[2])


def test_the_printed_command_works_as_it_is(ragstone: Command) -> None:
    made = ragstone("init")
    assert made.code == 0
    name, *words = next_command(made.out)
    assert name == "ragstone"
    said = ragstone(*words)
    assert said.code == 0, said.err
    assert re.search(r"faithfulness +0\.50 ", said.out)
    assert Path("report.html").stat().st_size > 10_000


def test_an_api_is_called_as_its_file_describes(ragstone, demo_url: str, monkeypatch) -> None:
    made = ragstone("init", "my evaluation", "--target", demo_url)
    assert made.code == 0, made.err
    words = next_command(made.out)
    assert words[:4] == ["cd", "my evaluation", "&&", "ragstone"]
    monkeypatch.chdir("my evaluation")
    said = ragstone(*words[4:], "-v")
    assert said.code == 0, said.err
    assert re.search(r"Target +rag_api.yaml: 6 calls, 0 failed", said.out)
    assert "rag_api.yaml is a template: edit it to fit your API, or let --ask write it" in made.out


class GermanApi(BaseHTTPRequestHandler):
    """An API whose names are in no table."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        passage = {"dok": {"nr": 7}, "auszug": "Der Filter hält 6 Monate.", "relevanz": 0.9}
        reply: object = {"fehler": "eingabe.frage fehlt"}
        if asked := body.get("eingabe", {}).get("frage"):
            found = {"antwort": {"text": "Der Filter hält 6 Monate."}, "fundstellen": [passage]}
            reply = {"frage": asked, "ergebnis": found}
        status = 403 if self.headers["X-Mandant"] != "acme" else 200 if asked else 400
        status = {"query": 200, "question": 500}.get("".join(body), status)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def german_api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), GermanApi) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v2/ask"
        server.shutdown()


BODY = '{"eingabe": {"frage": "{query}", "anzahl": "{k}"}}'
ASK = ("--ask", 'Wie lange hält der "Filter"?')
HERE = "http://127.0.0.1:9"


def test_one_question_is_asked_and_its_reply_described(ragstone, german_api, monkeypatch) -> None:
    monkeypatch.setenv("MANDANT", "acme")
    monkeypatch.delenv("RAGSTONE_TRUST")  # `init` trusts what it wrote
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("state").absolute()))
    header = ("--header", "X-Mandant=${MANDANT}")
    made = ragstone("init", "--target", german_api, *ASK, *header, "--body", BODY)
    assert made.code == 0, made.err
    path = "ergebnis.fundstellen[].{id: dok.nr, text: auszug, score: relevanz}"
    assert f"contexts  {path}\n" in made.out
    written = Path("rag_api.yaml").read_text(encoding="utf-8")
    assert "X-Mandant: ${MANDANT}" in written
    said = ragstone(*next_command(made.out)[1:])
    assert said.code == 0, said.err
    assert re.search(r"faithfulness +1\.0", said.out)


def test_every_try_is_told_and_nothing_written(ragstone: Command, german_api: str) -> None:
    said = ragstone("init", "--target", german_api, *ASK, "--header", "X-Mandant=acme")
    assert said.code == 3
    assert '{"query": "{query}"}: the reply has no answer that can be recognized: ' in said.err
    assert 'returned 400 Bad Request: {"fehler": "eingabe.frage fehlt"}' in said.err
    assert "Nothing was written. Send what your API expects" in said.err
    assert not list(Path().iterdir())


@each_case(
    ("target", "words", "message"),
    [
        (HERE, ["--body", BODY], "--ask needs --target URL, and --body and --header need --ask"),
        (HERE, [*ASK, "--header", "X-Api-Key=abc-123-def"], "--header contains a key, which is"),
        (HERE, [*ASK, "--body", '{"a": 1}'], "--body does not contain the question"),
        ("https://me:abc-123-def@rag.example", [], "contains a password or key, which is not"),
    ],
)
def test_a_request_that_cannot_be_made(ragstone, target: str, words: list[str], message) -> None:
    said = ragstone("init", "--target", target, *words)
    assert said.refuses(message)
    assert "abc-123-def" not in said.err
    assert not list(Path().iterdir())


def test_comments_are_the_declared_settings_with_their_defaults(ragstone: Command) -> None:
    ragstone("init")
    text = Path("ragstone.yaml").read_text(encoding="utf-8")
    for setting in SETTINGS.values():
        key = setting.keys[0] if setting.name == "columns" else setting.name
        written = re.search(rf"^#?{key}: ", text, re.MULTILINE)
        assert bool(written) == (setting.common or setting.name == "data"), key
    schema = Path(text.splitlines()[0].rpartition("$schema=")[2])
    assert json.loads(schema.read_text(encoding="utf-8")) == settings_schema()

    # Without the lines that have placeholders, all defaults together change nothing.
    placeholder = re.compile(r"^#\w+: .*\b[A-Z]{4,}.*\n", re.MULTILINE)
    all_set = re.sub(r"^#(?=\w+: )", "", placeholder.sub("", text), flags=re.MULTILINE)
    Path("all.yaml").write_text(all_set, encoding="utf-8")
    made = read_config("all.yaml")
    assert made.plan() == Plan(metrics=made.plan().metrics)


def test_existing_files_stay_as_they_are(ragstone: Command) -> None:
    for there in ("ragstone.yaml", "answers.csv"):
        Path(there).write_text("mine", encoding="utf-8")
        assert ragstone("init").refuses(f"{there} already exists; name another folder")
        assert [path.name for path in Path().iterdir()] == [there]
        assert Path(there).read_text(encoding="utf-8") == "mine"
        Path(there).unlink()
