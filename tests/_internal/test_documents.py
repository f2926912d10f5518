"""Documents of other libraries as their objects dump them; all ids and texts are made up."""

import json
from types import SimpleNamespace
from uuid import UUID

import pytest

from ragstone._internal.documents import answer_of, opened, read_document

RANDOM, HASH = "9f0c2b1e-6d3a-4c58-8f11-2b7a4e90c3d5", "5a4fa402" * 8
LANGCHAIN = {"id": RANDOM, "page_content": "t", "type": "Document"}
NODE = {"id_": RANDOM, "text": "t", "metadata": {}, "class_name": "TextNode"}
HAYSTACK = {"id": HASH, "content": "t", "blob": None, "score": 0.5, "embedding": None}


def source(name: str) -> dict[str, object]:
    return {"relationships": {"1": {"node_id": name, "class_name": "RelatedNodeInfo"}}}


@pytest.mark.parametrize(
    ("document", "name", "score"),
    [
        (LANGCHAIN | {"metadata": {"source": "a.pdf", "page": 3}}, "a.pdf", None),
        (LANGCHAIN | {"metadata": {"source": "a.pdf"}, "id": "own"}, "own", None),
        ({"pageContent": "t", "metadata": {"doc_id": "a"}}, "a", None),
        ({"lc": 1, "id": ["a", "b"], "kwargs": LANGCHAIN | {"id": "own"}}, "own", None),
        ({"node": NODE | source("101"), "score": 0.5, "class_name": "NodeWithScore"}, "101", 0.5),
        (NODE | {"id_": "chunk-1"} | source("101"), "chunk-1", None),
        (NODE | {"metadata": {"file_name": "a.md"}} | source(RANDOM), "a.md", None),
        (HAYSTACK | {"meta": {"point_id": 102}}, "102", 0.5),
        (HAYSTACK | {"meta": {"source_id": HASH, "file_path": "a/b.md"}}, "a/b.md", 0.5),
        ({"document.id": RANDOM, "document.content": "t", "document.score": 1,
          "document.metadata": json.dumps({"point_id": 7})}, "7", 1),
        ({"id": RANDOM, "text": "t", "score": 0.5}, RANDOM, 0.5),  # our form: as it is given
        ({"text": "t", "metadata": {"id": "a", "doc_id": "b"}}, None, None),
    ],
)  # fmt: skip
def test_a_document_has_the_id_that_its_author_gave(document, name, score) -> None:
    parts = {"text": "t", "id": name, "score": score}
    assert read_document(document) == {n: part for n, part in parts.items() if part is not None}


@pytest.mark.parametrize("value", [None, "text", 5, RANDOM, UUID(RANDOM), object(), [1, 2], dict])
def test_other_values_stay_as_they_are(value: object) -> None:
    assert opened(value) == value
    assert read_document(value) is None
    assert answer_of(value) is None


AI = SimpleNamespace(content=[{"type": "text", "text": "yes"}], type="ai", id="run-1")
ASKED = {"role": "user", "content": "q"}


@pytest.mark.parametrize(
    ("value", "response", "contexts"),
    [
        (AI, "yes", None),
        (SimpleNamespace(choices=[SimpleNamespace(message=AI)]), "yes", None),
        ({"response": "yes", "source_nodes": [NODE], "metadata": {}}, "yes", [NODE]),
        ({"llm": {"replies": ["ChatMessage(_role='assistant')"]}}, None, None),
        ({"messages": [{"role": "tool", "content": "old"}, ASKED, {"role": "tool", "content": "t"},
                       {"role": "system", "content": "s"}, AI]}, "yes", ["t"]),
    ],
)  # fmt: skip
def test_what_libraries_return_has_an_answer(value, response, contexts) -> None:
    found = answer_of(value)
    assert found is not None
    assert (found["response"], found.get("contexts")) == (response, contexts)


def test_other_mappings_have_none() -> None:
    reply = SimpleNamespace(content=b"{}", text="{}", status_code=200)  # of an HTTP client
    for value in ({}, {"llm": {"text": "x"}}, {"prompt": ["x"]}, reply):
        assert answer_of(value) is None
