"""All metrics by name, the groups, and the selection of metrics by names."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass

from ragstone._internal.fields import base_name, metric_name
from ragstone.errors import UnknownNameError
from ragstone.metrics.base import FAMILIES, Ask, Metric
from ragstone.metrics.registry import (
    custom,
    find,
    get,
    load_plugin,
    register,
    registered,
)
from ragstone.types.score import MetricInfo

__all__ = [
    "FAMILIES",
    "GROUPS",
    "Ask",
    "Metric",
    "catalogue",
    "get",
    "load_plugin",
    "register",
    "select",
]

GROUPS = ("all", "all_retrieval", "all_generation", "all_judged")

# The built-in metrics of the groups `all`, `all_retrieval` and `all_generation`, which custom
# metrics join. All others run by name, so that a group always has the same metrics.
DOCUMENTED = (
    *("hit", "recall", "precision", "f1", "mrr"),
    *("faithfulness", "response_relevancy", "context_precision"),
)


def catalogue() -> Mapping[str, MetricInfo]:
    """Return the description of every metric by name, in the order of reports."""
    found = registered()
    infos = {name: found[name].info() for name in (*DOCUMENTED, *found)}
    return dict(sorted(infos.items(), key=lambda item: FAMILIES.index(item[1].family)))


def select(
    names: Sequence[str], **defaults: str | int | float | tuple[int, ...] | None
) -> tuple[Metric, ...]:
    """Return the metrics of metric and group names, in any case.

    `defaults` fill parameters not set in a name. Several values of `k` give one metric each, if the
    name has a cut-off and does not set it.
    Duplicate metrics are removed.

    Raises:
        UnknownNameError: a name is neither a metric nor a group.
        UsageError: a name's parameters are not the metric's, or out of range.
    """
    k = defaults.get("k")
    single = {key: value for key, value in defaults.items() if not isinstance(value, tuple)}
    fillings = [single | {"k": one} for one in k] if isinstance(k, tuple) else [single]
    found: dict[str, Metric] = {}
    for name in map(metric_name, names):
        bare = base_name(name)
        members = _members(name) if name in GROUPS else [name]
        if name not in GROUPS and find(bare) is None:
            raise UnknownNameError("metric", bare, [*catalogue(), *GROUPS])
        for each in members:
            for filling in fillings:
                metric = get(each, **filling)
                found.setdefault(str(metric), metric)
    return tuple(found.values())


def _members(group: str) -> list[str]:
    if group == "all_judged":
        found = {name: cls for name in catalogue() if (cls := find(name)) and cls.asks}
    else:
        families = FAMILIES if group == "all" else (group.removeprefix("all_"),)
        names = (*DOCUMENTED, *custom())
        found = {name: cls for name in names if (cls := find(name)) and cls.family in families}
    usable: list[str] = []
    for name, cls in found.items():
        assert is_dataclass(cls)
        if all(
            it.default is not MISSING or it.default_factory is not MISSING for it in fields(cls)
        ):
            usable.append(name)  # metrics with required parameters belong to no group
    return sorted(usable, key=lambda name: FAMILIES.index(found[name].family))
