"""Targets by name: a URL, a file that describes an API, or `module:function`."""

import os
import re
from pathlib import Path

from ragstone._internal.http import Connection
from ragstone._internal.rate_limit import Limits
from ragstone._internal.text import public_url, quoted
from ragstone.errors import TargetError
from ragstone.redaction import remember
from ragstone.targets.base import Target
from ragstone.targets.function import Function, FunctionTarget, function_named
from ragstone.targets.http import HttpTarget
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import DEFAULT_API, Plan

_HOST = re.compile(
    r"[\w.-]*:\d+(/.*)?|www\..+|[\w-]+(\.[\w-]+)+/.*|[\w.-]+\.(ai|app|cloud|com|dev|io|net|org)"
)
"""A URL without its scheme."""
FILES = (".yaml", ".yml", ".json")
"""Endings of files that describe an API; JSON is YAML."""


def get_target(name: str | Function, plan: Plan, *, k: int) -> Target:
    """Return the target of a name, or of a Python function.

    Requests ask for `k` documents, with the plan's minimum similarity.

    Raises:
        TargetError, InputError, UsageError: the name is not a usable target.
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
