"""Traces as records: one per trace, with the query, the response and the documents of its spans.

Attributes follow OpenTelemetry's GenAI conventions or OpenInference's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ragstone._internal.fields import is_list, is_object
from ragstone.datasets.conversations import history_before, messages_in, one_turn
from ragstone.datasets.responses import error_message, failed_fields
from ragstone.datasets.table import Record, Unreadable
from ragstone.datasets.values import SEVERAL_TURNS, object_in, spelled
from ragstone.errors import Problem

T = TypeVar("T")
Values = Mapping[str, object]
_DEEPEST = 50
_OUTCOME = ("status", "events")  # the parts of an exported span with its outcome
_CODES = ("status_code", "status.status_code", "status.code")
_ERRORS = ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR", "2")  # codes of errors, in capitals
_WHY = ("status_message", "status.description", "status.message", "attributes.error.type")


@dataclass(frozen=True)
class Span:
    row: int
    trace: str
    id: str
    parent: str | None
    attributes: Values
    error: str | None = None
    above: frozenset[str] = frozenset()  # the ids of its parent, its parent and so on

    @property
    def kind(self) -> str:
        given = self.attributes
        kind = given.get("openinference.span.kind", given.get("gen_ai.operation.name"))
        return str(kind).casefold()


def spans_in(record: Record) -> Iterator[Span]:
    values = record.values
    if "resourceSpans" in values or "scopeSpans" in values:
        resources = _objects(values["resourceSpans"]) if "resourceSpans" in values else [values]
        scopes = (scope for each in resources for scope in _objects(each.get("scopeSpans")))
        exported = (span for scope in scopes for span in _objects(scope.get("spans")))
        for place, span in enumerate(exported):
            yield Span(
                record.row,
                str(span.get("traceId", "")),
                str(span.get("spanId") or f"{record.row}.{place}"),
                str(span["parentSpanId"]) if span.get("parentSpanId") else None,
                dict(_pairs(span.get("attributes"))),
                _error(dict(_flat({name: span.get(name) for name in _OUTCOME}))),
            )
        return
    flat = dict(_flat(values))
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
    return [item for item in value if is_object(item)] if is_list(value) else []


def _pairs(attributes: object, depth: int = 0) -> Iterator[tuple[str, object]]:
    for pair in _objects(attributes):
        yield str(pair.get("key")), _value(pair.get("value"), depth)


def _value(value: object, depth: int) -> object:
    if not is_object(value) or depth > _DEEPEST:
        return None
    kind, content = next(iter(value.items()), ("", None))
    inner = content.get("values") if is_object(content) else None
    match kind:
        case "arrayValue":
            return [_value(item, depth + 1) for item in inner] if is_list(inner) else []
        case "kvlistValue":
            return dict(_pairs(inner, depth + 1))
        case "intValue" if isinstance(content, str) and content.isdecimal():
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
_INPUTS = ("gen_ai.input.messages", "input.value")
_OUTPUTS = ("gen_ai.output.messages", "output.value")
_MODELS = ("llm", "chat", "text_completion", "generate_content")
"""Kinds of spans that are calls of a model; their prompt is not a plain query."""
_SEARCHES = ("retriever", "retrieval")
_STEPS = (  # kinds of spans that are intermediate steps; their output is not an answer
    *_SEARCHES, "reranker", "embedding", "embeddings", "tool", "execute_tool", "guardrail",
    "evaluator", "prompt",
)  # fmt: skip
_ASKED = ("query", "question", "user_input", "input")
_ANSWERED = ("response", "answer", "output", "result")


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
    documents: list[dict[str, object]] = []
    for _, found in lists:
        before = [(each.get("id"), each.get("text")) for each in documents]
        documents += [each for each in found if (each.get("id"), each.get("text")) not in before]
    if lists:
        place = "contexts" if all("text" in each for each in documents) else "ranking"
        values[place] = documents

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
    names, inside = (_INPUTS, _ASKED) if field == "query" else (_OUTPUTS, _ANSWERED)
    for value in (span.attributes.get(name) for span in spans for name in names):
        if messages_in(value) is not None:
            found = one_turn(value, field)
        elif (parts := object_in(value)) is not None:
            found = next((text for n in inside if isinstance(text := parts.get(n), str)), None)
        else:
            found = value if isinstance(value, str | Unreadable) else None
        if found not in (None, ""):
            return found
    return None


def _documents(span: Span) -> list[dict[str, object]] | None:
    attributes = span.attributes
    used = (n for n in _DOCUMENTS if any(f"{key}.".startswith(f"{n}.") for key in attributes))
    if (name := next(used, None)) is None:
        return None
    if isinstance(found := spelled(attributes.get(name)), list):
        return [_document(item) for item in found]
    numbered: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        number, _, part = key.removeprefix(f"{name}.").partition(".")
        if key.startswith(f"{name}.") and number.isdecimal():
            numbered.setdefault(int(number), {})[part] = value
    return [_document(numbered.get(number, {})) for number in range(len(numbered))]


def _document(item: object) -> dict[str, object]:
    if not is_object(item):
        return {"text": item}
    inner = item.get("document")
    parts = inner if is_object(inner) else item
    plain = {name.removeprefix("document."): value for name, value in parts.items()}
    text = next((plain[name] for name in ("content", "text") if plain.get(name) is not None), None)
    found = {"text": text, "id": plain.get("id"), "score": plain.get("score")}
    return {name: value for name, value in found.items() if value is not None}
