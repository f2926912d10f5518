"""The recipes of docs/recipes.md and docs/platforms.md with the real libraries and small models.

A library that is missing skips its tests: pip install 'ragstone[recipes]' has them all.
"""

import gc
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ragstone import evaluate
from ragstone.results.run import Run

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries
DOCS = Path(__file__).parents[2] / "docs"
TEXT = "The warranty is 24 months."
ROWS = [{"query": "How long is the warranty?", "relevance": [601]}]
MOST_LINES = 20  # of a recipe, without imports and blank lines

LANGCHAIN = f"""
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self

embeddings = DeterministicFakeEmbedding(size=8)
search = {{"name": "search", "args": {{"query": "warranty"}}, "id": "1"}}
asked = [AIMessage("", tool_calls=[search])] if AGENT else []
llm = Model(messages=iter([*asked, AIMessage({TEXT!r})]))
"""
LLAMA_INDEX = f"""
from llama_index.core import MockEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

class Model(CustomLLM):
    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, **_):
        return CompletionResponse(text={TEXT!r})

    def stream_complete(self, prompt, **_):
        yield CompletionResponse(text={TEXT!r}, delta={TEXT!r})

embeddings, llm = MockEmbedding(embed_dim=8), Model()
"""
HAYSTACK = f"""
from haystack import component
from haystack.dataclasses import ChatMessage

@component
class Generator:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        return {{"replies": [ChatMessage.from_assistant({TEXT!r})]}}

generator = Generator()
"""
FASTAPI = f"""
def search(query):
    return [{{"id": 601, "text": {TEXT!r}}}]

def answer(query, found):
    return found[0]["text"]
"""


def blocks(heading: str, page: str = "recipes.md") -> dict[str, str]:
    """Return the code under a heading: by the name of its file, or by its language."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    text = text.partition("\n## ")[0]
    found = re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    named = {re.match(r"# (\w+\.py)|", code)[1] or language: code for language, code in found}  # type: ignore[index]
    for code in named.values():
        lines = [line for line in code.splitlines() if not re.match(r"\s*$|from |import |#", line)]
        assert len(lines) <= MOST_LINES
    return named


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Write the files of a recipe, with these models, and return their folder."""
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(heading: str, models: str) -> str:
        for name, code in {**blocks(heading), "my_models.py": models}.items():
            (tmp_path / name).write_text(code, encoding="utf-8")
        return str(tmp_path)

    yield write
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "ragstone_user_")):
            del sys.modules[name]
    gc.collect()  # connections that LlamaIndex leaves open warn here


def check(run: Run, ids: tuple[str, ...] = ("601",)) -> None:
    [row] = run.rows
    assert (row.sample.response, row.failures) == (TEXT, {})
    assert tuple(context.id for context in row.sample.contexts or ()) == ids
    assert {name: score.value for name, score in row.scores.items()} == {
        "faithfulness": 1,
        "recall@5": 1,
    }


def run_of(target: str) -> Run:
    return evaluate(ROWS, metrics=["faithfulness", "recall"], target=target)


@pytest.mark.parametrize(("kind", "name"), [("a chain", "chain"), ("an agent", "agent")])
def test_langchain(recipe: Callable[..., str], kind: str, name: str) -> None:
    pytest.importorskip("langchain", reason="needs pip install langchain")
    models = f"AGENT = {name == 'agent'}\n{LANGCHAIN}"
    check(run_of(f"{recipe(f'LangChain: {kind}', models)}/my_rag.py:{name}"))


@pytest.mark.parametrize("name", ["engine", "chat"])
def test_llama_index(recipe: Callable[..., str], name: str) -> None:
    pytest.importorskip("llama_index.core", reason="needs pip install llama-index-core")
    check(run_of(f"{recipe('LlamaIndex', LLAMA_INDEX)}/my_rag.py:{name}"))


@pytest.mark.parametrize("name", ["my_rag.py:pipeline", "my_answer.py:answer"])
def test_haystack(recipe: Callable[..., str], name: str) -> None:
    pytest.importorskip("haystack", reason="needs pip install haystack-ai")
    check(run_of(f"{recipe('Haystack', HAYSTACK)}/{name}"))


def test_fastapi(recipe: Callable[..., str]) -> None:
    pytest.importorskip("fastapi", reason="needs pip install fastapi")
    uvicorn = pytest.importorskip("uvicorn")
    folder = recipe("FastAPI", FASTAPI)
    server = uvicorn.Server(uvicorn.Config("my_api:app", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    path = Path(folder, "rag.yaml")
    path.write_text(Path(folder, "yaml").read_text("utf-8").replace("8080", str(port)), "utf-8")
    try:
        check(run_of(str(path)))
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def openai_rag() -> Iterator[str]:
    """Return the URL of a chat API that answers with citations, as Azure OpenAI does."""
    citations = [{"filepath": "601", "content": TEXT}]
    message = {"role": "assistant", "content": TEXT, "context": {"citations": citations}}
    reply = json.dumps({"choices": [{"message": message}]}).encode()

    class Api(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = self.path == "/v1/chat/completions" and given["messages"][-1]["role"] == "user"
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_api_of_openais_protocol(
    openai_rag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "key")
    path = tmp_path / "rag.yaml"
    text = blocks("An OpenAI-compatible API")["yaml"]
    path.write_text(text.replace("http://localhost:8000", openai_rag), encoding="utf-8")
    check(run_of(str(path)))


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow", reason="needs pip install mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("ragstone")
    code = blocks("MLflow", "platforms.md")["py"].replace("openai:gpt-4o-mini", "offline")
    names: dict[str, object] = {}
    exec(compile(code, "platforms.md", "exec"), names)
    rows = [
        {"inputs": {"question": "q"}, "outputs": {"response": TEXT, "contexts": [TEXT]}},
        {"inputs": {"question": "q"}, "outputs": "no contexts"},
        {"inputs": {"question": "q"}, "outputs": {"response": TEXT, "contexts": 5}},
    ]
    found = mlflow.genai.evaluate(data=rows, scorers=[names["faithfulness"]])
    assert found.metrics == {"faithfulness/mean": 1.0}
    traces = mlflow.search_traces(return_type="list", run_id=found.run_id)
    given = [trace.info.assessments for trace in traces]
    assert sorted(len(row) for row in given) == [0, 1, 1]
    assert [bool(each.error) for row in given for each in row if each.error] == [True]
