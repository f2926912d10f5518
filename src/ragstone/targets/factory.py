"""Targets by name: a URL, a file that describes an API, or `module:function`."""

import asyncio
import inspect
import os
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, cast
from uuid import UUID

from ragstone._internal.concurrency import in_thread
from ragstone._internal.plugins import import_plugin, is_from_code
from ragstone._internal.rate_limit import RateLimiter
from ragstone._internal.secrets import remember
from ragstone._internal.text import message_of, public_url, quoted
from ragstone.errors import CallError, Cause, TargetError
from ragstone.targets.base import FIELDS, SETTINGS, Answer, Target, settings_of
from ragstone.targets.http import HttpTarget, malformed, parse_field
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import DEFAULT_API, Plan
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.sample import Sample

FIELD_OF: Mapping[str, str] = {  # name in a mapping -> Sample field
    **{name: name for name in FIELDS},
    **dict.fromkeys(("answer", "result", "output"), "response"),
    **dict.fromkeys(("context", "source_documents"), "contexts"),
}
_HISTORIES = ("chat_history", "history")
INPUTS = ("query", "question", "input", *_HISTORIES)  # what chains were given, and return too
_IDS = ("id", "doc_id", "document_id", "point_id", "doc_uri")  # of an id in documents' metadata


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
    """Return the method of a runnable, a query engine or a retriever; anything else as it is."""
    if isinstance(target, type):
        return target
    invoke = cast("Callable[..., object] | None", getattr(target, "ainvoke", None))
    if invoke is not None:
        inputs: list[str] = []
        with suppress(Exception):  # not every runnable can describe its input
            inputs = [*cast("Any", target).get_input_jsonschema().get("properties", ())]
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
    return getattr(target, "query", getattr(target, "retrieve", target))


def answer_fields(result: object) -> dict[str, object]:
    """Return the Sample fields in what a function returned, or raise a CallError."""
    if isinstance(result, str):
        return {"response": parse_field("response", result)}
    if hasattr(result, "source_nodes") and hasattr(result, "response"):  # LlamaIndex
        nodes = cast("Any", result)
        given: Mapping[object, object] = {"answer": nodes.response, "context": nodes.source_nodes}
    elif isinstance(content := getattr(result, "content", None), str):  # a message of LangChain
        given = {"answer": content}
    elif isinstance(result, Mapping):
        given = cast("Mapping[object, object]", result)
    elif isinstance(result, list) and all(map(_is_document, cast("list[object]", result))):
        given = {"context": cast("object", result)}
    else:
        kind = type(cast("object", result)).__name__
        raise malformed(f"returned {kind}, not text or a mapping")
    if unknown := ", ".join(repr(name) for name in given if name not in {*FIELD_OF, *INPUTS}):
        raise malformed(f"returned {unknown}; it may return {', '.join(FIELDS)}")
    names: dict[str, str] = {}
    for name, field in FIELD_OF.items():
        if given.get(name) is not None and names.setdefault(field, name) != name:
            both = f"returned both {names[field]!r} and {name!r}"
            raise malformed(f"{both}; return only one {field}")
    return {field: parse_field(field, _plain(given[name])) for field, name in names.items()}


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
    """Read a `Document` of LangChain or a `NodeWithScore` of LlamaIndex."""
    if node := getattr(item, "node", None):
        text, own, metadata = node.get_content(), node.node_id, node.metadata
    else:
        names = ("page_content", "id", "metadata")
        is_plain = isinstance(item, Mapping)
        text, own, metadata = (item.get(n) if is_plain else getattr(item, n, None) for n in names)
    known = cast("Mapping[str, object]", metadata or {})
    ids = {str(known[name]) for name in _IDS if known.get(name) is not None}
    # both libraries give random ids to texts without one, which no relevant id would match
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


Function = Callable[..., object] | Runnable | QueryEngine | Retriever
"""Takes any of GIVEN by name, or the query as its first argument. Returns the response, or a
mapping of response, contexts and ranking; sync or async."""

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
        call = TargetCall("function", (perf_counter() - start) * 1000, failure)
        absent = needed - fields.keys() - ({"ranking"} if "contexts" in fields else set[str]())
        fix = f"return a mapping of {', '.join(FIELDS)}"
        failures = {
            name: failure
            or Failure(Cause.MALFORMED, f"{self.name} returned no {name} (or None); {fix}")
            for name in absent
        }
        return Answer(fields, failures, (call,))

    async def _answer(self, sample: Sample) -> tuple[Mapping[str, object], Failure | None]:
        limit = asyncio.timeout(self._timeout)  # a sync function continues in its thread
        try:
            async with limit:
                result = await self._call(sample)
            return answer_fields(result), None
        except CallError as error:
            return {}, Failure(error.cause, f"{self.name}: {quoted(str(error))}")
        except BaseException as error:
            task = asyncio.current_task()
            if not is_from_code(error) or (task and task.cancelling() > limit.expired()):
                raise
            if limit.expired():
                late = f"{self.name}: no answer within {self._timeout:g} s; raise the timeout"
                return {}, Failure(Cause.TIMEOUT, late)
            raised = f"{self.name} raised {type(error).__name__}: {quoted(message_of(error))}"
            cause = Cause.UNREACHABLE if isinstance(error, OSError) else Cause.TARGET_ERROR
            return {}, Failure(cause, raised.removesuffix(": "))


def function_named(name: str) -> Function:
    """Import `module:function` or `path/to/file.py:function`, or raise a UsageError."""
    module, _, attribute = name.rpartition(":")
    try:
        found: object = attrgetter(attribute)(import_plugin(module))
    except AttributeError:
        found = None
    if not callable(as_function(found)):
        raise TargetError(f"{name}: {module} has no function {attribute!r}")
    return cast("Function", found)


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
        what = "a class whose objects" if inspect.isclass(function) else "an object that"
        raise TargetError(f"{name} is {what} cannot be called; add __call__")
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
        return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result

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
