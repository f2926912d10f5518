"""What functions return, as Sample fields; also the objects of LangChain and LlamaIndex.

Their objects are recognized by their attributes, so neither library is imported.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Protocol, cast
from uuid import UUID

from ragstone.errors import CallError, Cause
from ragstone.targets.base import FIELDS
from ragstone.targets.http import parse_field

FIELD_OF: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in FIELDS},
        **dict.fromkeys(("answer", "result", "output"), "response"),
        **dict.fromkeys(("context", "source_documents"), "contexts"),
    }
)
"""Name in a mapping -> Sample field."""
_HISTORIES = ("chat_history", "history")
INPUTS = ("query", "question", "input", *_HISTORIES)
"""Names of what chains were given, which they return too."""
_IDS = ("id", "doc_id", "document_id", "point_id", "doc_uri")
"""Names of an id in a document's metadata."""


class Runnable(Protocol):
    """A LangChain runnable, such as a chain or a retriever."""

    @property
    def ainvoke(self) -> Callable[..., object]: ...


class QueryEngine(Protocol):
    """A query engine of LlamaIndex."""

    @property
    def query(self) -> Callable[..., object]: ...


class Retriever(Protocol):
    """A retriever of LlamaIndex."""

    @property
    def retrieve(self) -> Callable[..., object]: ...


def as_function(target: object) -> object:
    """Return the method of a runnable, a query engine or a retriever; anything else as it is.

    A runnable that takes a mapping with one name for the query is given that, and the history if it
    has a name for it; one that takes `messages` instead is given the history with the query.
    """
    if isinstance(target, type):
        return target
    invoke = cast("Callable[..., object] | None", getattr(target, "ainvoke", None))
    if invoke is not None:
        inputs: list[str] = []
        with suppress(Exception):  # not every runnable can describe its input
            inputs = [*cast("Any", target).get_input_jsonschema().get("properties", ())]
        names = [name for name in inputs if name in INPUTS[:3]]
        histories = [name for name in inputs if name in _HISTORIES]

        def ask(query: str) -> object:
            return invoke({names[0]: query})

        def ask_next(query: str, messages: Sequence[object]) -> object:
            return invoke({names[0]: query, **dict.fromkeys(histories, messages[:-1])})

        def ask_all(messages: Sequence[object]) -> object:
            return invoke({"messages": messages})

        if not names and "messages" in inputs:
            return ask_all
        return invoke if len(names) != 1 else ask_next if histories else ask
    if callable(target):
        return target
    return getattr(target, "query", getattr(target, "retrieve", target))


def answer_fields(result: object) -> dict[str, object]:
    """Return the Sample fields in what a function returned.

    Raises:
        CallError: it cannot be read.
    """
    if isinstance(result, str):
        return {"response": parse_field("response", result)}
    if hasattr(result, "source_nodes") and hasattr(result, "response"):  # LlamaIndex
        nodes = cast("Any", result)
        given: Mapping[object, object] = {"answer": nodes.response, "context": nodes.source_nodes}
    elif isinstance(content := getattr(result, "content", None), str):  # a message of LangChain
        given = {"answer": content}
    elif isinstance(result, Mapping):
        given = cast("Mapping[object, object]", result)
    elif _are_documents(result):
        given = {"context": result}
    else:
        seen = f"returned {type(result).__name__}, not text or a mapping"
        raise CallError(Cause.MALFORMED, seen)
    if unknown := ", ".join(repr(name) for name in given if name not in {*FIELD_OF, *INPUTS}):
        seen = f"returned {unknown}; it may return {', '.join(FIELDS)}"
        raise CallError(Cause.MALFORMED, seen)
    names: dict[str, str] = {}
    for name, field in FIELD_OF.items():
        if given.get(name) is None:
            continue
        if field in names:
            seen = f"returned both {names[field]!r} and {name!r}; return only one {field}"
            raise CallError(Cause.MALFORMED, seen)
        names[field] = name
    return {field: parse_field(field, _plain(given[name])) for field, name in names.items()}


def _are_documents(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_document, cast("list[object]", value)))


def _is_document(item: object) -> bool:
    if isinstance(item, Mapping):  # as JSON
        return "page_content" in item
    return hasattr(item, "page_content") or hasattr(item, "node")


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [_document(item) if _is_document(item) else item for item in items]
    content = getattr(value, "content", None)
    return content if isinstance(content, str) else value


def _document(item: Any) -> Mapping[str, object]:
    """Return a `Document` of LangChain or a `NodeWithScore` of LlamaIndex as a mapping.

    Its id is the one in its metadata; it has none if there are several. Without one there, it is
    its own id, but not a random UUID: these libraries give such ids to texts without an id, and
    then no id would match the relevant ones.
    """
    if node := getattr(item, "node", None):
        text, own, metadata = node.get_content(), node.node_id, node.metadata
    else:
        names = ("page_content", "id", "metadata")
        is_plain = isinstance(item, Mapping)
        text, own, metadata = (item.get(n) if is_plain else getattr(item, n, None) for n in names)
    known = cast("Mapping[str, object]", metadata or {})
    ids = {str(known[name]) for name in _IDS if known.get(name) is not None}
    if not ids and own is not None and not _is_random(str(own)):
        ids = {str(own)}
    found = {"text": text, "id": ids.pop() if len(ids) == 1 else None}
    score: Any = getattr(cast("object", item), "score", None)
    return found if score is None else {**found, "score": float(score)}


def _is_random(name: str) -> bool:
    try:
        return UUID(name).version == 4
    except ValueError:
        return False
