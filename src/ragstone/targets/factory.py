"""Targets by name: a URL, a file that describes an API, or `module:function`."""

import asyncio
import inspect
import os
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, cast, get_type_hints

from ragstone._internal.concurrency import in_thread
from ragstone._internal.documents import answer_of, read_document
from ragstone._internal.fields import is_object
from ragstone._internal.plugins import describe_exception, import_plugin, is_from_code
from ragstone._internal.rate_limit import RateLimiter
from ragstone._internal.secrets import remember
from ragstone._internal.text import public_url, quoted
from ragstone.errors import CallError, Cause, TargetError
from ragstone.targets.base import FIELDS, SETTINGS, Answer, Target, settings_of
from ragstone.targets.http import HttpTarget, joined, malformed, parse_field
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import DEFAULT_API, Plan
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.sample import Sample

FIELD_OF: Mapping[str, str] = {  # name in a mapping -> Sample field
    **{name: name for name in FIELDS},
    **dict.fromkeys(("answer", "result", "output"), "response"),
    **dict.fromkeys(("context", "documents", "source_documents", "source_nodes"), "contexts"),
}
_HISTORIES = ("chat_history", "history")
INPUTS = ("query", "question", "input", *_HISTORIES)  # what chains were given, and return too
# inputs of a pipeline's components that are the query
_QUERIES = ("query", "question", "input", "text", "prompt")


def as_function(target: object) -> object:
    """Return the method of a runnable, a query engine or a retriever; anything else as it is."""
    if isinstance(target, type):
        return target
    invoke = cast("Callable[..., object] | None", getattr(target, "ainvoke", None))
    if invoke is not None:
        inputs: Collection[str] = ()
        with suppress(Exception):  # a graph's state; not every runnable can describe its input
            inputs = get_type_hints(cast("Any", target).builder.input_schema)
        with suppress(Exception):
            inputs = cast("Any", target).get_input_jsonschema().get("properties", ())
        if "config" in inspect.signature(invoke).parameters:
            invoke = partial(_with_documents, invoke)
        names = [name for name in inputs if name in INPUTS[:3]]
        histories = [name for name in inputs if name in _HISTORIES]
        # one that takes `messages` instead of a query is given the history with the query

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
    if hasattr(target, "walk") and hasattr(target, "inputs"):
        return _run_of(target)
    if hasattr(target, "chat") and hasattr(target, "reset") and not hasattr(target, "query"):
        return _chat_of(target)
    return getattr(target, "query", getattr(target, "retrieve", target))


class _Retrieved:
    """A callback of LangChain that keeps the documents of its outermost retrievers."""

    run_inline, raise_error = True, False

    def __init__(self) -> None:
        self.documents: dict[object, tuple[object, list[object]]] = {}  # by the id of a search

    def __getattr__(self, name: str) -> object:
        if name.startswith("ignore_"):
            return name != "ignore_retriever"
        raise AttributeError(name)

    def on_retriever_start(self, *_: object, **_more: object) -> None:
        pass

    on_retriever_error = on_retriever_start

    def on_retriever_end(
        self, found: list[object], *, run_id: object, parent_run_id: object, **_: object
    ) -> None:
        inner = [run for run, (parent, _) in self.documents.items() if parent == run_id]
        for run in inner:
            del self.documents[run]
        self.documents[run_id] = parent_run_id, found


async def _with_documents(invoke: Callable[..., Any], given: object) -> object:
    """Invoke a chain; if it returns a text alone, add the documents that it retrieved."""
    retrieved = _Retrieved()
    result: object = await invoke(given, config={"callbacks": [retrieved]})
    found = [document for _, each in retrieved.documents.values() for document in each]
    if retrieved.documents and {*_named_fields(result)} == {"response"}:
        return result, found
    return result


def _run_of(pipeline: Any) -> Callable[[str], object]:
    """Return a function that runs a pipeline of Haystack, and returns all components' outputs."""
    asked: dict[str, list[str]] = {}
    for component, inputs in pipeline.inputs().items():
        for name, about in inputs.items():
            if name in _QUERIES:
                asked.setdefault(component, []).append(name)
            elif about["is_mandatory"]:
                seen = f"the pipeline also needs the input {name} of {component}"
                raise TargetError(f"{seen}; use a function that calls its run")
    components = {name for name, _ in pipeline.walk()}

    def run(query: str) -> object:
        data = {component: dict.fromkeys(names, query) for component, names in asked.items()}
        return pipeline.run(data, include_outputs_from=components)

    return run


def _chat_of(engine: Any) -> Callable[[str], object]:
    """Return a function that asks a chat engine of LlamaIndex, whose memory rows do not share."""
    lock = Lock()

    def chat(query: str) -> object:
        with lock:
            engine.reset()
            return engine.chat(query)

    return chat


def answer_fields(result: object, relevant: Collection[str] = ()) -> dict[str, object]:
    """Return the Sample fields in what a function returned, or raise a CallError."""
    fields = _named_fields(result)
    return {field: parse_field(field, value, relevant) for field, value in fields.items()}


def _named_fields(result: object) -> Mapping[str, object]:
    if isinstance(result, str):
        return {"response": result}
    if isinstance(result, tuple) and len(pair := cast("tuple[object, ...]", result)) == 2:
        return {**_named_fields(pair[0]), "contexts": pair[1]}
    if isinstance(result, list) and all(map(_is_document, items := cast("list[object]", result))):
        return {"contexts": items}
    value = cast("object", result)
    given: Mapping[str, object] = value if is_object(value) else {}
    if (found := answer_of(value)) is None:
        if not is_object(value):
            raise malformed(f"returned {type(value).__name__}, not text or a mapping")
        if unknown := ", ".join(repr(n) for n in given if n not in {*FIELD_OF, *INPUTS}):
            raise malformed(f"returned {unknown}; it may return {', '.join(FIELDS)}")
    names: dict[str, str] = {}
    for name, field in FIELD_OF.items():
        if given.get(name) is not None and names.setdefault(field, name) != name:
            both = f"returned both {names[field]!r} and {name!r}"
            raise malformed(f"{both}; return only one {field}")
    fields = {**(found or {}), **{field: given[name] for field, name in names.items()}}
    response = fields.get("response")
    inner = None if response is None or isinstance(response, str) else answer_of(response)
    if inner is not None:
        fields = {**inner, **fields, "response": inner.get("response")}
    return {field: value for field, value in fields.items() if value is not None}


def _is_document(item: object) -> bool:
    if answer_of(item) or (is_object(item) and not FIELD_OF.keys().isdisjoint(item)):
        return False
    return isinstance((read_document(item) or {}).get("text"), str)


def _merged(pieces: Iterable[object]) -> Mapping[str, object]:
    """Return the fields in a stream: the texts of its pieces joined, and their documents."""
    texts: list[str] = []
    fields: dict[str, list[object]] = {}
    for piece in pieces:
        for field, value in _named_fields([piece] if _is_document(piece) else piece).items():
            parsed = parse_field(field, value)
            if isinstance(parsed, str):
                texts.append(parsed)
            else:
                fields.setdefault(field, []).extend(cast("Sequence[object]", value))
    return {**fields, "response": joined(texts, "yield only the new text")} if texts else fields


Function = object
"""A callable, or an object of LangChain, LlamaIndex or Haystack that answers a query.

A callable takes any of GIVEN by name, or the query as its first argument. It returns the response,
or a mapping of response, contexts and ranking; sync or async.
"""

GIVEN = ("query", "messages", "sample", "k", "min_similarity", "threshold")  # with a meaning


class FunctionTarget(Target):
    """Calls a function once per row; a sync one in a thread, so that rows run concurrently."""

    gives = frozenset(FIELDS)

    def __init__(self, name: str, function: Function, plan: Plan, *, k: int) -> None:
        self.name = name
        self._call, names = _caller(name, function, settings_of(plan, k))
        sent = {used for name, used in SETTINGS.items() if name in names}
        self.uses = frozenset(sent | {"delay", "timeout"})
        self.has_history = not {"messages", "sample"}.isdisjoint(names)
        self._timeout = plan.timeout
        self._limiter = RateLimiter(plan.delay)

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        await self._limiter.turn()
        start = perf_counter()
        fields, failure = await self._answer(sample)
        duration = (perf_counter() - start) * 1000
        absent = needed - fields.keys() - ({"ranking"} if "contexts" in fields else set[str]())
        fix = f"return a mapping of {', '.join(FIELDS)}"
        failures = {
            name: failure
            or Failure(Cause.MALFORMED, f"{self.name} returned no {name} (or None); {fix}")
            for name in absent
        }
        if fields.keys().isdisjoint(needed):  # nothing that it returned can be used
            failure = failure or next(iter(failures.values()), None)
        return Answer(fields, failures, (TargetCall("function", duration, failure),))

    async def _answer(self, sample: Sample) -> tuple[Mapping[str, object], Failure | None]:
        limit = asyncio.timeout(self._timeout)  # a sync function continues in its thread
        try:
            async with limit:
                result = await self._call(sample)
            return answer_fields(result, sample.relevance or ()), None
        except CallError as error:
            return {}, Failure(error.cause, f"{self.name}: {quoted(str(error))}")
        except BaseException as error:
            task = asyncio.current_task()
            if not is_from_code(error) or (task and task.cancelling() > limit.expired()):
                raise
            if limit.expired():
                late = f"{self.name}: no answer within {self._timeout:g} s; raise the timeout"
                return {}, Failure(Cause.TIMEOUT, late)
            cause = Cause.UNREACHABLE if isinstance(error, OSError) else Cause.TARGET_ERROR
            return {}, Failure(cause, describe_exception(self.name, error))


def function_named(name: str) -> Function:
    """Import `module:function` or `path/to/file.py:function`, or raise a UsageError."""
    module, _, attribute = name.rpartition(":")
    try:
        found: object = attrgetter(attribute)(import_plugin(module))
    except AttributeError:
        found = None
    if found is None:
        raise TargetError(f"{name}: {module} has no function {attribute!r}")
    return found


def _caller(
    name: str, function: Function, given: Mapping[str, object]
) -> tuple[Callable[[Sample], Awaitable[object]], Collection[str]]:
    """Return a function of a sample, and the names of the parameters that it is given."""
    made: object = function
    if inspect.isclass(function):
        try:
            made = function()
        except Exception as error:
            raise TargetError(f"{name}() raised {type(error).__name__}: {error}") from error
    called = as_function(made)
    if not callable(called):
        raise TargetError(
            f"{name} is an object of type {type(made).__name__}, which cannot be called; use a "
            "function, or an object with __call__, ainvoke, query, retrieve or chat, such as "
            "index.as_query_engine() or store.as_retriever()"
        )
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # a builtin without a signature
        query = inspect.Parameter("query", inspect.Parameter.POSITIONAL_ONLY)
        signature = inspect.Signature([query])
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parts = signature.parameters.values()
    names = [part.name for part in parts if part.name in GIVEN and part.kind in kinds]
    # the first argument is the query, whatever it is called, if no named parameter has it
    first = not {"query", "messages", "sample"}.intersection(names)
    try:
        signature.bind(*[""] * first, **dict.fromkeys(names))
    except TypeError as error:
        raise TargetError(
            f"{name} cannot be called: {error}; its parameters may be {', '.join(GIVEN)}, "
            "or one for the query"
        ) from error

    async def call(sample: Sample) -> object:
        known = {**given, "query": sample.query, "messages": sample.messages, "sample": sample}
        bound = partial(called, *[sample.query] * first, **{name: known[name] for name in names})
        # an async function only makes its coroutine here: that never blocks the loop
        result = bound() if inspect.iscoroutinefunction(called) else await in_thread(bound)
        if inspect.isawaitable(result):
            result = await cast("Awaitable[object]", result)
        streams = "Streaming" in type(result).__name__  # of LlamaIndex
        stream: object = getattr(result, "response_gen", None) if streams else result
        if isinstance(stream, AsyncIterator):
            pieces = [piece async for piece in cast("AsyncIterator[object]", stream)]
        elif isinstance(stream, Iterator):
            pieces = await in_thread(partial(list[object], cast("Iterator[object]", stream)))
        else:
            return result
        return {"contexts": getattr(result, "source_nodes", None), **_merged(pieces)}

    return call, names


_HOST = re.compile(  # a URL without its scheme
    r"[\w.-]*:\d+(/.*)?|www\..+|[\w-]+(\.[\w-]+)+/.*|[\w.-]+\.(ai|app|cloud|com|dev|io|net|org)"
)
FILES = (".yaml", ".yml", ".json")  # endings of files that describe an API; JSON is YAML


def get_target(name: str | Function, plan: Plan, *, k: int) -> Target:
    remember(os.environ)
    remember(name)
    if not isinstance(name, str):
        called = getattr(name, "__qualname__", type(name).__qualname__)
        return FunctionTarget(called, name, plan, k=k)
    if name.lower().startswith(("http://", "https://")):
        if not re.match(r"https?://[^\s/?#]", fill_variables(name), re.IGNORECASE):
            raise TargetError(
                f"{quoted(name, 80)!r} has no host; write, for example, {DEFAULT_API}"
            )
        return HttpTarget(public_url(name), ApiDescription.standard(name), plan, k=k)
    if name.lower().endswith(FILES):
        return HttpTarget(name, ApiDescription.read(Path(name)), plan, k=k)
    shown = public_url(name)
    if _HOST.fullmatch(name):
        raise TargetError(f"{shown} is not a URL; did you mean http://{shown}?")
    if ":" in name and "://" not in name and "@" not in name:
        return FunctionTarget(name, function_named(name), plan, k=k)
    near = f"; did you mean {shown}:FUNCTION?" if name.endswith(".py") else ""
    raise TargetError(
        f"{shown!r} is not a target; use a URL (http://...), a YAML or JSON file that describes an "
        f"API, or module:function{near}"
    )
