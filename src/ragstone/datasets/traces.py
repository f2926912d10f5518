"""Traces as records: one per trace, with the query, the response and the documents of its spans.

Attributes follow OpenTelemetry's GenAI conventions or OpenInference's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from ragstone._internal.documents import answer_of, read_document
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import plain_name
from ragstone.datasets.conversations import history_before, messages_in, one_turn
from ragstone.datasets.responses import error_message, failed_fields
from ragstone.datasets.table import Record, Unreadable
from ragstone.datasets.values import SEVERAL_TURNS, object_in, parsed_json, spelled
from ragstone.errors import Problem

T = TypeVar("T")
Values = Mapping[str, object]
_DEEPEST = 50
_OUTCOME = ("status", "events")  # the parts of an exported span with its outcome
_CODES = ("status_code", "status.status_code", "status.code")
_ERRORS = ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR", "2")  # codes of errors, in capitals
_KINDS = ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind")
_PROMPTS = re.compile(r"prompt_?(builder|template)", re.IGNORECASE)
_WHY = ("status_message", "status.description", "status.message", "attributes.error.type")


@dataclass(frozen=True)
class Span:
    row: int
    trace: str
    id: str
    parent: str | None
    attributes: Values
    error: str | None = None
    name: str = ""
    above: frozenset[str] = frozenset()  # the ids of its parent, its parent and so on

    @property
    def kind(self) -> str:
        if _PROMPTS.search(self.name):  # OpenInference marks them as models
            return "prompt"
        return str(next(filter(None, map(self.attributes.get, _KINDS)), None)).casefold()


def spans_in(record: Record) -> Iterator[Span]:
    [values] = _objects([record.values])
    if not values.keys().isdisjoint(("resourcespans", "scopespans", "traceid")):  # OTLP
        resources = _objects(values["resourcespans"]) if "resourcespans" in values else [values]
        scopes = (scope for each in resources for scope in _objects(each.get("scopespans")))
        exported = (span for scope in scopes for span in _objects(scope.get("spans")))
        for place, span in enumerate([values] if "traceid" in values else exported):
            given = span.get("attributes")
            yield Span(
                record.row,
                str(span.get("traceid", "")),
                str(span.get("spanid") or f"{record.row}.{place}"),
                str(span["parentspanid"]) if span.get("parentspanid") else None,
                dict(_flat(given) if is_object(given) else _pairs(given)),
                _error(dict(_flat({name: span.get(name) for name in _OUTCOME}))),
                str(span.get("name")),
            )
        return
    flat = dict(_flat(record.values))
    parent = flat.get("parent_id", flat.get("parent_span_id"))
    prefix = "attributes."
    attributes = {n.removeprefix(prefix): v for n, v in flat.items() if n.startswith(prefix)}
    if "span_kind" in flat:
        attributes.setdefault("openinference.span.kind", flat["span_kind"])
    yield Span(
        record.row,
        str(flat.get("context.trace_id", record.row)),
        str(flat.get("context.span_id", record.row)),
        None if parent is None else str(parent),
        attributes,
        _error(flat),
        str(flat.get("name")),
    )


def _error(flat: Values) -> str | None:
    if not any(str(flat.get(name)).upper() in _ERRORS for name in _CODES):
        return None
    events = [
        {**dict(_flat(event)), **dict(_pairs(event.get("attributes")))}
        for event in _objects(flat.get("events"))
    ]
    names = ("exception.message", "exception.type")
    thrown = [
        event.get(f"attributes.{name}", event.get(name)) for event in events for name in names
    ]
    messages = map(error_message, (*map(flat.get, _WHY), *thrown))
    return next(filter(None, messages), "the status of its span is error")


def _objects(value: object) -> list[Values]:
    """Return the objects in a list with their plain names, for OTLP in both of its spellings."""
    items = value if is_list(value) else []
    return [{plain_name(n): part for n, part in each.items()} for each in items if is_object(each)]


def _pairs(attributes: object, depth: int = 0) -> Iterator[tuple[str, object]]:
    for pair in _objects(attributes):
        yield str(pair.get("key")), _value(pair.get("value"), depth)


def _value(value: object, depth: int) -> object:
    if not is_object(value) or depth > _DEEPEST:
        return None
    kind, content = next((pair for pair in value.items() if pair[1] is not None), ("", None))
    inner = content.get("values") if is_object(content) else None
    match plain_name(kind):
        case "arrayvalue":
            return [_value(item, depth + 1) for item in inner] if is_list(inner) else []
        case "kvlistvalue":
            return dict(_pairs(inner, depth + 1))
        case "intvalue" if isinstance(content, str) and content.isdecimal():
            return int(content)
        case _:
            return content


def _flat(value: object, before: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    if is_object(value) and value and depth <= _DEEPEST:
        for name, part in value.items():
            yield from _flat(part, f"{before}.{name}" if before else str(name), depth + 1)
    elif value is not None:
        yield before, value


_QUERIES = ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query")
_DOCUMENTS = ("gen_ai.retrieval.documents", "retrieval.documents")
_INPUTS = ("gen_ai.input.messages", "input.value", "traceloop.entity.input")
_OUTPUTS = (
    "gen_ai.output.messages", "llm.output_messages", "output.value", "traceloop.entity.output",
)  # fmt: skip
_MODELS = ("llm", "chat", "text_completion", "generate_content")
"""Kinds of spans that are calls of a model; their prompt is not a plain query."""
_SEARCHES = ("retriever", "retrieval", "vector_db_retrieve")
_TOOLS = ("tool", "execute_tool")
_STEPS = (  # kinds of spans that are intermediate steps; their output is not an answer
    *_SEARCHES, *_TOOLS, "reranker", "embedding", "embeddings", "guardrail", "evaluator", "prompt",
)  # fmt: skip
_BUNDLES = ("str_or_query_bundle", "query_bundle", "query_str")  # of LlamaIndex
_ASKED = ("query", "question", "user_input", "input", "inputs", "message", *_BUNDLES)
_ANSWERED = ("response", "answer", "output", "outputs", "result")


def traces(records: Iterable[Record]) -> tuple[list[Record | Problem], tuple[str, ...]]:
    """Return a record for each trace with a query, in order, and a note on the others."""
    found: dict[str, list[Span]] = {}
    for record in records:
        for span in spans_in(record):
            found.setdefault(span.trace, []).append(span)
    made = [_record(trace, spans) for trace, spans in found.items()]
    asked: list[Record | Problem] = [each for each in made if each.values["query"] is not None]
    without = len(made) - len(asked)
    if made and not asked:
        seen = f"none of the {without} traces has a query"
        fix = f"record one of these span attributes: {', '.join((*_INPUTS, *_QUERIES))}"
        return [Problem(seen, fix, row=made[0].row)], ()
    return asked, (f"traces without a query, ignored: {without}",) if without else ()


def _record(trace: str, spans: Sequence[Span]) -> Record:
    ids = {span.id: span for span in spans}
    spans = [replace(span, above=_above(span, ids)) for span in spans]
    ordered = sorted(spans, key=lambda span: len(span.above))
    searches = [span for span in ordered if span.kind in _SEARCHES]
    texts = (span.attributes.get(name) for span in spans for name in _QUERIES)
    models = [span for span in ordered if span.kind in _MODELS]
    others = [span for span in ordered if span.kind not in (*_MODELS, *_STEPS)]
    asked, prompts = _outermost(others, _query_of), _outermost(models, _query_of)
    query = (
        _one(query for _, query in asked)
        or next((text for text in texts if isinstance(text, str) and text.strip()), None)
        or _first(searches, "query")
        or _one(query for _, query in prompts)
    )
    deepest = max((len(span.above) for span, _ in asked), default=len(spans))
    answering = [
        span
        for span in ordered
        if span.kind not in _STEPS
        and (span.kind in _MODELS or len(span.above) <= deepest or _query_of(span) == query)
    ]
    response = _first(answering, "response")
    values: dict[str, object] = {"id": trace, "query": query, "response": response}
    chats = (span.attributes.get(name) for span in ordered for name in _INPUTS)
    before = (history_before(chat) for chat in chats if one_turn(chat, "query") == query)
    values["history"] = next(filter(None, before), None)
    values |= {"trace_id": trace, "span_id": ordered[0].id}

    # A nested search returns the same documents; parallel searches may return duplicates.
    lists = _outermost(spans, _documents)
    documents: list[object] = []
    for _, found in lists:
        before = [_without_score(each) for each in documents]
        documents += [each for each in found if _without_score(each) not in before]
    if lists:
        have_texts = all("text" in _without_score(each) for each in documents)
        values["contexts" if have_texts else "ranking"] = documents

    # An outermost span that failed counts, unless another one has a response, as after a retry. The
    # error of an inner span counts if there is no response, or if the span is a search.
    erred = [span.error for span in ordered if span.error is not None]
    roots = [span for span in ordered if not span.above and span.kind not in _STEPS]
    failed = [span.error for span in roots if span.error is not None]
    if any(span.error is None and _first([span], "response") for span in roots):
        failed = []
    searched = next((span.error for span in searches if span.error is not None), None)
    errors: Mapping[str, str] = {}
    if failed or (erred and response is None):
        errors = failed_fields((failed or erred)[0])
    elif searched is not None:
        errors = {"contexts": searched, "ranking": searched}
    return Record(min(span.row for span in spans), values, errors)


def _without_score(item: object) -> dict[str, object]:
    parts = {"text": item} if (found := read_document(item)) is None else found
    return {name: part for name, part in parts.items() if name != "score"}


def _above(span: Span, ids: Mapping[str, Span]) -> frozenset[str]:
    seen: set[str] = set()
    while span.parent is not None and span.parent in ids and span.parent not in seen:
        span = ids[span.parent]
        seen.add(span.id)
    return frozenset(seen)


def _outermost(spans: Iterable[Span], value_of: Callable[[Span], T | None]) -> list[tuple[Span, T]]:
    found = {span.id: (span, value) for span in spans if (value := value_of(span)) is not None}
    outer = [(span, value) for span, value in found.values() if not found.keys() & span.above]
    return outer or list(found.values())


def _one(queries: Iterable[object]) -> object:
    found = list(dict.fromkeys(queries))
    return Unreadable(SEVERAL_TURNS) if len(found) > 1 else next(iter(found), None)


def _query_of(span: Span) -> object:
    return _first([span], "query")


def _first(spans: Iterable[Span], field: str) -> object:
    names = _INPUTS if field == "query" else _OUTPUTS
    given = (_listed(span.attributes, name) for span in spans for name in names)
    return next((text for value in given if (text := _text_in(value, field))), None)


def _text_in(value: object, field: str) -> object:
    """Return the query or the answer in an input or output, which may be an object."""
    if messages_in(value) is not None:
        return one_turn(value, field)
    if (parts := object_in(value)) is None:
        return value if isinstance(value, str | Unreadable) else None
    if field == "response" and (answer := answer_of(parts)) is not None:
        return answer.get("response")
    names = _ASKED if field == "query" else _ANSWERED
    inner = [parts[name] for name in names if name in parts]
    inner = inner or [part for part in parts.values() if is_object(part)]
    texts = (part if isinstance(part, str) else _text_in(part, field) for part in inner)
    return next(filter(None, texts), None)


def _listed(attributes: Values, name: str) -> object:
    """Return an attribute, which may be a list with one attribute for each part of an item."""
    found = attributes.get(name)
    if isinstance(found, str) and name.startswith("traceloop."):
        with suppress(ValueError):
            return parsed_json(found)
    numbered: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        number, _, part = key.removeprefix(f"{name}.").partition(".")
        if key.startswith(f"{name}.") and number.isdecimal():
            part = part.removeprefix("message.")
            numbered.setdefault(int(number), {})[part] = value
    return [numbered.get(number, {}) for number in range(len(numbered))] if numbered else found


def _documents(span: Span) -> list[object] | None:
    for name in _DOCUMENTS:
        if (found := spelled(_listed(span.attributes, name))) is not None:
            return found if is_list(found) else None
    is_search = span.kind in _SEARCHES or "retriev" in span.name.casefold()
    if not is_search and span.kind not in _TOOLS:
        return None
    output = next(filter(None, (_listed(span.attributes, name) for name in _OUTPUTS)), None)
    parts = object_in(output)
    if is_search:
        found = parts.get("documents") if parts else spelled(output)
    else:  # a tool of LangChain
        found = _artifact(parts)
    found = [object_in(item) for item in found] if is_list(found) else None
    if found is None or None in found:
        return None
    return [*found] if is_search or all("text" in (read_document(d) or {}) for d in found) else None


def _artifact(message: object, depth: int = 0) -> object:
    """Return what a tool returned beside its text, such as documents."""
    if not is_object(message) or depth > _DEEPEST:
        return None
    inner = (_artifact(part, depth + 1) for part in message.values())
    return message.get("artifact") or next(filter(None, inner), None)
