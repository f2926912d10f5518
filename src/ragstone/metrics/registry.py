"""The registry: metrics by name, and names with parameters read back into metrics."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from inspect import isabstract
from typing import TypeVar, cast, dataclass_transform

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from ragstone.errors import UnknownName, UsageError
from ragstone.messages import faults
from ragstone.metrics.base import FAMILIES, Metric

M = TypeVar("M", bound=Metric)

_SPEC = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:@(?P<k>\d+))?(?::(?P<policy>[a-z][a-z-]*))?")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_metrics: dict[str, type[Metric]] = {}


@dataclass_transform(frozen_default=True)
def register(name: str, *, replace: bool = False) -> Callable[[type[M]], type[M]]:
    """Make a Metric subclass a frozen dataclass and known under a name, as a decorator.

    A class without a `label` is called by its name in reports too.

    Raises:
        UsageError: the name is not lower case letters, digits and `_`, or is taken (`replace`
            takes it over), or the class leaves something out or is of an unknown family.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no metric name; use lower case letters, digits and _")

    def enter(cls: type[M]) -> type[M]:
        taken = _metrics.get(name)
        if taken and not replace and _home(taken) != _home(cls):
            raise UsageError(
                f"a metric named {name!r} exists already ({'.'.join(_home(taken))}); choose "
                " another name, or register(..., replace=True)"
            )
        if cls.family not in FAMILIES:
            raise UsageError(f"{name}: family {cls.family!r}; it must be {' or '.join(FAMILIES)}")
        if isabstract(cls):
            left = ", ".join(sorted(cls.__abstractmethods__))
            raise UsageError(f"{name}: the class {cls.__name__} does not write {left}")
        cls.name, cls.label = name, getattr(cls, "label", name)
        # pydantic types its decorator's result as its own protocol; it returns the class it got
        made = cast("type[M]", dataclass(frozen=True)(cls))
        _metrics[name] = made
        return made

    return enter


def _home(cls: type[Metric]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def registered() -> Mapping[str, type[Metric]]:
    """Return all metrics by name, in the order they were registered."""
    return dict(_metrics)


def get(spec: str, **defaults: str | int | float | None) -> Metric:
    """Return the metric that a name with parameters stands for, such as `precision@5`.

    `NAME[@K][:POLICY][,PARAMETER=VALUE ...]`; `defaults` fill the parameters of those names that
    the metric has and the name does not say.

    Raises:
        UnknownName: there is no metric of that name.
        UsageError: the parameters are not the metric's, or out of range.
    """
    head, *rest = spec.split(",")
    match = _SPEC.fullmatch(head)
    if not match or match["name"] not in _metrics:
        raise UnknownName("metric", match["name"] if match else head, _metrics)
    cls = _metrics[match["name"]]
    assert is_dataclass(cls)
    known = {field.name for field in fields(cls)}
    said = {key: match[key] for key in ("k", "policy") if match[key] is not None}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{spec!r}: {part!r} is no PARAMETER=VALUE")
        if key.strip() in said:
            raise UsageError(f"{spec!r} says {key.strip()} twice; leave one out")
        said[key.strip()] = value.strip()
    if strange := said.keys() - known:
        raise UsageError(
            f"{spec!r}: {match['name']} has no parameter {', '.join(sorted(strange))}; "
            f"it has: {', '.join(sorted(known)) or 'none'}"
        )
    filled = {key: value for key, value in defaults.items() if key in known} | said
    try:
        return cls(**filled)
    except ValidationError as error:
        raise UsageError(f"{spec!r}: {faults(error)}") from error
