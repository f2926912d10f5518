"""Targets by name: a URL, a file that describes an API, or `module:function`."""

import asyncio
import inspect
import os
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import cast

from ragstone._internal.concurrency import in_thread
from ragstone._internal.http import Connection
from ragstone._internal.plugins import import_plugin, is_from_code
from ragstone._internal.rate_limit import Limits, RateLimiter
from ragstone._internal.secrets import remember
from ragstone._internal.text import message_of, public_url, quoted
from ragstone.errors import CallError, Cause, TargetError
from ragstone.targets.answers import QueryEngine, Retriever, Runnable, answer_fields, as_function
from ragstone.targets.base import FIELDS, Answer, Target, settings_used
from ragstone.targets.http import HttpTarget
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import DEFAULT_API, Plan
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.sample import Sample

Function = Callable[..., object] | Runnable | QueryEngine | Retriever
"""Takes any of GIVEN by name, or the query as its first argument. Returns the response, or a
mapping of response, contexts and ranking; sync or async."""

GIVEN = ("query", "messages", "sample", "k", "min_similarity", "threshold")
"""The parameter names that have a meaning."""


class FunctionTarget(Target):
    """Calls a function once per row; a sync one in a thread, so that rows run concurrently.

    A call fails after `timeout` seconds, but a sync function continues in its thread. `delay` is
    the time between the starts of two calls. An exception of the function fails its row.

    Raises:
        TargetError: the function has other required parameters.
    """

    gives = frozenset(FIELDS)

    def __init__(
        self,
        name: str,
        function: Function,
        *,
        k: int,
        min_similarity: float,
        timeout: float,
        delay: float = 0.0,
    ) -> None:
        self.name = name
        given = {"k": k, "min_similarity": min_similarity, "threshold": min_similarity}
        self._call, names = _caller(name, function, given)
        self.uses = settings_used(names) | {"delay", "timeout"}
        self.has_history = not {"messages", "sample"}.isdisjoint(names)
        self._timeout = timeout
        self._limiter = RateLimiter(delay)

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
        limit = asyncio.timeout(self._timeout)
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
                late = f"{self.name}: no answer within {self._timeout:g} s; raise --timeout"
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
    """Return a function that takes a sample, and the names of the parameters that it is given.

    A class is called once, for its instance.
    """
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
        signature = None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = signature.parameters.items() if signature else ()
    names = tuple(name for name, part in found if name in GIVEN and part.kind in kinds)
    # the first argument is the query, whatever it is called, if no named parameter has it
    first = not {"query", "messages", "sample"}.intersection(names)
    if signature:
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


_HOST = re.compile(
    r"[\w.-]*:\d+(/.*)?|www\..+|[\w-]+(\.[\w-]+)+/.*|[\w.-]+\.(ai|app|cloud|com|dev|io|net|org)"
)
"""A URL without its scheme."""
FILES = (".yaml", ".yml", ".json")
"""Endings of files that describe an API; JSON is YAML."""


def get_target(name: str | Function, plan: Plan, *, k: int) -> Target:
    """Return the target of a name, or of a Python function.

    Requests ask for `k` documents, with the plan's minimum similarity.
    """
    remember(os.environ)
    remember(name)
    if not isinstance(name, str):
        called = getattr(name, "__qualname__", type(name).__qualname__)
        return _function(called, name, plan, k)
    if name.lower().startswith(("http://", "https://")):
        if not re.match(r"https?://[^\s/?#]", fill_variables(name), re.IGNORECASE):
            raise TargetError(
                f"{quoted(name, 80)!r} has no host; write, for example, {DEFAULT_API}"
            )
        return _http(public_url(name), ApiDescription.standard(name), plan, k)
    if name.lower().endswith(FILES):
        return _http(name, ApiDescription.read(Path(name)), plan, k)
    shown = public_url(name)
    if _HOST.fullmatch(name):
        raise TargetError(f"{shown} is not a URL; did you mean http://{shown}?")
    if ":" in name and "://" not in name and "@" not in name:
        return _function(name, function_named(name), plan, k)
    near = f"; did you mean {shown}:FUNCTION?" if name.endswith(".py") else ""
    raise TargetError(
        f"{shown!r} is not a target; use a URL (http://...), a YAML or JSON file that describes an "
        f"API, or module:function{near}"
    )


def _function(name: str, function: Function, plan: Plan, k: int) -> Target:
    return FunctionTarget(
        name,
        function,
        k=k,
        min_similarity=plan.min_similarity,
        timeout=plan.timeout,
        delay=plan.delay,
    )


def _http(name: str, description: ApiDescription, plan: Plan, k: int) -> Target:
    connection = Connection(
        timeout=plan.timeout,
        limits=Limits(concurrency=plan.concurrency, retries=plan.retries, delay=plan.delay),
        verify_tls=description.verify_tls,
        proxy=fill_variables(description.proxy) if description.proxy else None,
    )
    return HttpTarget(
        name, description, connection=connection, k=k, min_similarity=plan.min_similarity
    )
