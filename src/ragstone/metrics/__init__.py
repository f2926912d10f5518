"""The catalogue: every metric by name, the groups, and what a list of names stands for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.errors import UnknownName, UsageError
from ragstone.metrics.base import FAMILIES, Ask, Metric
from ragstone.metrics.bpref import BPref
from ragstone.metrics.claim_metric import ClaimMetric
from ragstone.metrics.f1 import F1
from ragstone.metrics.faithfulness import Faithfulness
from ragstone.metrics.hit import Hit
from ragstone.metrics.map import MAP
from ragstone.metrics.mrr import MRR
from ragstone.metrics.ndcg import NDCG
from ragstone.metrics.planned import NOT_YET, PLANNED
from ragstone.metrics.precision import Precision
from ragstone.metrics.r_precision import RPrecision
from ragstone.metrics.ranking_metric import RankingMetric
from ragstone.metrics.recall import Recall
from ragstone.metrics.registry import get, register, registered
from ragstone.scores import MetricInfo

__all__ = [
    "F1",
    "GROUPS",
    "MAP",
    "MRR",
    "NDCG",
    "Ask",
    "BPref",
    "ClaimMetric",
    "Faithfulness",
    "Hit",
    "Metric",
    "Precision",
    "RPrecision",
    "RankingMetric",
    "Recall",
    "Selection",
    "catalogue",
    "get",
    "planned",
    "register",
    "select",
]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": FAMILIES,
    "all_retrieval": ("retrieval",),
    "all_generation": ("generation",),
}
"""Group name -> the families it stands for."""

BY_NAME_ONLY: tuple[type[Metric], ...] = (MAP, NDCG, RPrecision, BPref)
"""Metrics of this package that no group stands for: a group keeps the numbers it is known for."""

BUILT_IN: tuple[type[Metric], ...] = (
    *(Hit, Recall, Precision, F1, MRR),
    *BY_NAME_ONLY,
    Faithfulness,
)
"""The metrics of this package, in the order in which people name them."""


@dataclass(frozen=True)
class Selection:
    """The metrics that a list of names stands for, and those that cannot run, with the reason."""

    metrics: tuple[Metric, ...]
    not_run: Mapping[str, str]


def catalogue() -> Mapping[str, MetricInfo]:
    """Describe every metric, built and planned, by name: ranking metrics first, ours first."""
    found = registered()
    ours = {cls.name: found[cls.name] for cls in BUILT_IN}
    infos = {name: cls.info() for name, cls in {**ours, **found}.items()} | planned()
    return dict(sorted(infos.items(), key=lambda item: FAMILIES.index(item[1].family)))


def planned() -> dict[str, MetricInfo]:
    """Return the planned metrics; one that somebody has built is planned no more."""
    return {name: info for name, info in PLANNED.items() if name not in registered()}


def select(names: Sequence[str], **defaults: str | int | float | None) -> Selection:
    """Read metric and group names; `defaults` fill the parameters that a name does not say.

    A metric that is named twice is there once, at its first place.

    Raises:
        UnknownName: a name is no metric and no group.
        UsageError: a metric that is not built yet is asked for by name.
    """
    waiting = planned()
    found: dict[str, Metric] = {}
    not_run: dict[str, str] = {}
    for name in names:
        if name in GROUPS:
            members = _members(name)
            not_run |= {member: NOT_YET for member in members if member in waiting}
            asked = [member for member in members if member not in waiting]
        else:
            _check_built(name)
            asked = [name]
        for each in asked:
            metric = get(each, **defaults)
            found.setdefault(str(metric), metric)
    return Selection(tuple(found.values()), not_run)


def _members(group: str) -> list[str]:
    found = registered()
    return [
        info.name
        for info in catalogue().values()
        if info.family in GROUPS[group] and found.get(info.name) not in BY_NAME_ONLY
    ]


def _check_built(name: str) -> None:
    bare = re.split("[@:,]", name, maxsplit=1)[0]
    if bare in planned():
        raise UsageError(f"{name} is {NOT_YET}; leave it out")
    if bare not in catalogue():
        raise UnknownName("metric", bare, [*catalogue(), *GROUPS])
