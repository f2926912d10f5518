"""The registry: metrics by name, and parsing of names with parameters."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TypeVar, cast, dataclass_transform

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from ragstone._internal import plugins
from ragstone._internal.fields import metric_name
from ragstone._internal.text import format_validation_errors
from ragstone.errors import InputError, Problem, UnknownNameError, UsageError
from ragstone.metrics.base import FAMILIES, NAME, Metric

M = TypeVar("M", bound=Metric)

GROUP = "ragstone.metrics"  # the entry point group of installed packages with metrics
OURS = "ragstone"

_SPEC = re.compile(rf"(?P<name>{NAME.pattern})(?:@(?P<k>\d+))?(?::(?P<policy>[a-z][a-z-]*))?")
BUILT_IN: Mapping[str, Sequence[str]] = MappingProxyType(  # module, imported on use -> metrics
    {
        "citations": ("citation_precision", "citation_recall"),
        "claims": (
            *("faithfulness", "context_recall", "claim_recall", "claim_precision"),
            *("hallucinated_claims", "hallucination", "noise_sensitivity"),
        ),
        "contexts": ("context_precision", "context_utilization", "context_relevance"),
        "responses": (
            *("answer_correctness", "answer_similarity", "abstention", "response_relevancy"),
        ),
        "retrieval": (
            *("hit", "recall", "precision", "f1", "mrr", "map", "ndcg", "r_precision", "bpref"),
        ),
        "text": ("bleu", "chrf", "rouge_l", "exact_match", "contains"),
    }
)
_HOMES = {name: module for module, names in BUILT_IN.items() for name in names}
_metrics: dict[str, type[Metric]] = {}
_loaded: set[EntryPoint] = set()
_packages: dict[type[Metric], str] = {}


@dataclass_transform(frozen_default=True)
def register(name: str, *, replace: bool = False) -> Callable[[type[M]], type[M]]:
    """Register a Metric subclass under a name and make it a frozen dataclass; a decorator.

    Reports use `label`, or the name if there is none.

    Raises:
        UsageError: the name has other characters than lower case letters, digits and `_`, or is
            taken (unless `replace`), or the class is incomplete or has an unknown family.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"invalid metric name {name!r}; use lower case letters, digits and _")

    def decorate(cls: type[M]) -> type[M]:
        _import_built_in(name)
        taken = _metrics.get(name)
        home = f"{taken.__module__}.{taken.__qualname__}" if taken else ""
        if taken and not replace and home != f"{cls.__module__}.{cls.__qualname__}":
            raise UsageError(
                f"a metric named {name!r} already exists ({home}); choose another name, or "
                "register(..., replace=True)"
            )
        if cls.family not in FAMILIES:
            raise UsageError(f"{name}: family {cls.family!r}; it must be {' or '.join(FAMILIES)}")
        missing = sorted(cls.__abstractmethods__) if isabstract(cls) else []
        missing += [attribute for attribute in cls.must_define if not hasattr(cls, attribute)]
        if missing:
            names = ", ".join(missing)
            raise UsageError(f"{name}: the class {cls.__name__} does not define {names}")
        cls.name, cls.label = name, getattr(cls, "label", name)
        # the decorator returns the same class, but pydantic declares another type
        made = cast("type[M]", dataclass(frozen=True)(cls))
        _metrics[name] = made
        return made

    return decorate


def _import_built_in(name: str) -> None:
    if name in _HOMES:
        import_module(f"{__package__}.{_HOMES[name]}")


@cache
def _installed() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _load_installed() -> None:
    for point in _installed():
        if point in _loaded:
            continue
        _loaded.add(point)  # before loading: the package may use the registry itself
        before = dict(_metrics)
        try:
            found = plugins.load_entry_point(point)
            if not isinstance(found, ModuleType) and found not in _metrics.values():
                reason = "it is neither a module nor a class with @register(NAME)"
                raise plugins.entry_point_error(point, reason)
        except UsageError:
            _loaded.discard(point)
            raise
        new = [cls for name, cls in _metrics.items() if before.get(name) is not cls]
        _packages.update(dict.fromkeys(new, plugins.package_of(point)))


def load_plugin(name: str) -> None:
    """Register custom metrics from a Python module, FILE.py, or rubrics in FILE.yaml.

    Raises:
        UsageError: it does not exist or cannot be imported or read, or a name is taken.
        InputError: a file of rubrics is invalid; lists all problems.
    """
    _load_installed()  # first, so that `replace=True` works for installed metrics
    if not name.lower().endswith(plugins.FILES[1:]):
        plugins.import_plugin(name)
        return
    from ragstone.metrics.rubric import rubric_metric, rubrics_in

    problems: list[Problem] = []
    for rubric in rubrics_in(Path(name)):
        try:
            register(rubric.name)(rubric_metric(rubric, Path(name).resolve()))
        except UsageError as error:
            problems.append(Problem(str(error)))
    if problems:
        raise InputError(name, problems)


def origin(name: str) -> str:
    """Return where a metric comes from: `ragstone`, its package, or its file or module."""
    cls = find(name)
    assert cls is not None
    if cls in _packages:
        return _packages[cls]
    if cls.__module__.partition(".")[0] == OURS:
        return OURS
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return str(file or cls.__module__)


def find(name: str) -> type[Metric] | None:
    """Return the class of a metric; None if there is no metric of that name."""
    _load_installed()
    _import_built_in(name)
    return _metrics.get(name)


def custom() -> list[str]:
    """Return the names of the metrics of plugins and of installed packages."""
    _load_installed()
    return [name for name in _metrics if origin(name) != OURS]


def registered() -> Mapping[str, type[Metric]]:
    """Return all metrics by name: those of ragstone, then others in the order of registration."""
    _load_installed()
    for name in _HOMES:
        _import_built_in(name)
    return {name: _metrics[name] for name in (*_HOMES, *_metrics) if name in _metrics}


def get(spec: str, **defaults: str | int | float | None) -> Metric:
    """Parse a name with parameters, such as `precision@5`; upper and lower case are the same.

    `NAME[@K][:POLICY][,PARAMETER=VALUE ...]`; `defaults` fill the parameters of those names that
    the metric has and the name does not set.

    Raises:
        UnknownNameError: there is no metric of that name.
        UsageError: the parameters are not the metric's, or out of range; or as `registered`.
    """
    head, *rest = metric_name(spec).split(",")
    match = _SPEC.fullmatch(head)
    cls = find(match["name"]) if match else None
    if match is None or cls is None:
        name = match["name"] if match else head
        raise UnknownNameError("metric", name, registered())
    assert is_dataclass(cls)
    known = {field.name for field in fields(cls)}
    given = {key: match[key] for key in ("k", "policy") if match[key] is not None}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{spec!r}: {part!r} is not PARAMETER=VALUE")
        key = key.strip()
        if key in given:
            raise UsageError(f"{spec!r} sets {key} twice; remove one")
        given[key] = value.strip()
    if unknown := given.keys() - known:
        raise UsageError(
            f"{spec!r}: {match['name']} has no parameter {', '.join(sorted(unknown))}; "
            f"it has: {', '.join(sorted(known)) or 'none'}"
        )
    filled = {key: value for key, value in defaults.items() if key in known} | given
    try:
        return cls(**filled)
    except ValidationError as error:
        raise UsageError(f"{spec!r}: {format_validation_errors(error)}") from error
