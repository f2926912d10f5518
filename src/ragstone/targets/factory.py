"""Targets by name: a URL, a YAML file that describes an API, or `module:function`."""

import re
from pathlib import Path

from ragstone._internal.http import Connection
from ragstone._internal.rate_limit import Limits
from ragstone._internal.text import public_url
from ragstone.errors import TargetError
from ragstone.targets.base import Target
from ragstone.targets.function import Function, FunctionTarget, function_named
from ragstone.targets.http import HttpTarget
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import Plan


def get_target(name: str | Function, plan: Plan, *, k: int) -> Target:
    """Return the target of a name, or of a Python function.

    Requests ask for `k` documents, with the plan's minimum similarity.

    Raises:
        TargetError, InputError, UsageError: the name is not a usable target.
    """
    if not isinstance(name, str):
        called = getattr(name, "__qualname__", type(name).__qualname__)
        return _function(called, name, plan, k)
    if name.lower().startswith(("http://", "https://")):
        return _http(public_url(name), ApiDescription.standard(name), plan, k)
    if name.lower().endswith((".yaml", ".yml")):
        return _http(name, ApiDescription.read(Path(name)), plan, k)
    shown = public_url(name)
    if re.fullmatch(r"[\w.-]*:\d+(/.*)?", name):
        raise TargetError(f"{shown} is not a URL; did you mean http://{shown}?")
    if ":" in name and "://" not in name:
        return _function(name, function_named(name), plan, k)
    raise TargetError(
        f"{shown!r} is not a target; use a URL (http://...), a YAML file or module:function"
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
