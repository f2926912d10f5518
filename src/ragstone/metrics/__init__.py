"""All metrics by name, the groups, and the selection of metrics by names."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass

from ragstone.errors import UnknownNameError
from ragstone.metrics.base import FAMILIES, Ask, Metric
from ragstone.metrics.citations import CitationPrecision, CitationRecall
from ragstone.metrics.claim_checks import CheckMetric
from ragstone.metrics.claim_scoring import ClaimMetric
from ragstone.metrics.claims import (
    ClaimPrecision,
    ClaimRecall,
    ClaimUtilization,
    ContextRecall,
    Faithfulness,
    HallucinatedClaims,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
    UnsupportedClaims,
)
from ragstone.metrics.contexts import (
    ContextPrecision,
    ContextRelevance,
    ContextUtilization,
    GradeMetric,
)
from ragstone.metrics.correctness import AnswerCorrectness, AnswerSimilarity
from ragstone.metrics.registry import OURS, get, load_plugin, origin, register, registered
from ragstone.metrics.responses import Abstention, ResponseRelevancy
from ragstone.metrics.retrieval import (
    F1,
    MAP,
    MRR,
    NDCG,
    BPref,
    Hit,
    Precision,
    RankingMetric,
    Recall,
    RPrecision,
)
from ragstone.metrics.rubric import RubricMetric
from ragstone.metrics.text import Bleu, ChrF, Contains, ExactMatch, RougeL
from ragstone.types.score import MetricInfo

__all__ = [
    "F1",
    "FAMILIES",
    "GROUPS",
    "MAP",
    "MRR",
    "NDCG",
    "Abstention",
    "AnswerCorrectness",
    "AnswerSimilarity",
    "Ask",
    "BPref",
    "Bleu",
    "CheckMetric",
    "ChrF",
    "CitationPrecision",
    "CitationRecall",
    "ClaimMetric",
    "ClaimPrecision",
    "ClaimRecall",
    "ClaimUtilization",
    "Contains",
    "ContextPrecision",
    "ContextRecall",
    "ContextRelevance",
    "ContextUtilization",
    "ExactMatch",
    "Faithfulness",
    "GradeMetric",
    "HallucinatedClaims",
    "Hallucination",
    "Hit",
    "Metric",
    "NoiseSensitivity",
    "Precision",
    "RPrecision",
    "RankingMetric",
    "Recall",
    "ResponseRelevancy",
    "RougeL",
    "RubricMetric",
    "SelfKnowledge",
    "UnsupportedClaims",
    "catalogue",
    "get",
    "load_plugin",
    "register",
    "select",
]

DOCUMENTED: tuple[type[Metric], ...] = (
    *(Hit, Recall, Precision, F1, MRR),
    *(Faithfulness, ResponseRelevancy, ContextPrecision),
)
"""The built-in metrics of the groups `all`, `all_retrieval` and `all_generation`.

All others run by name, so that a group always has the same metrics. Custom metrics join the groups.
"""

Belongs = Callable[[type[Metric]], bool]

GROUPS: Mapping[str, Belongs] = {
    "all": lambda cls: cls in DOCUMENTED or origin(cls.name) != OURS,
    "all_retrieval": lambda cls: GROUPS["all"](cls) and cls.family == "retrieval",
    "all_generation": lambda cls: GROUPS["all"](cls) and cls.family == "generation",
    "all_judged": lambda cls: bool(cls.asks),
}
"""Group name -> whether a metric belongs to it; metrics with required parameters never do."""


def catalogue() -> Mapping[str, MetricInfo]:
    """Return the description of every metric by name, in the order of reports."""
    found = registered()
    documented = {cls.name: found[cls.name] for cls in DOCUMENTED}
    infos = {name: cls.info() for name, cls in {**documented, **found}.items()}
    return dict(sorted(infos.items(), key=lambda item: FAMILIES.index(item[1].family)))


def select(
    names: Sequence[str], **defaults: str | int | float | tuple[int, ...] | None
) -> tuple[Metric, ...]:
    """Return the metrics of metric and group names; `defaults` fill parameters not set in a name.

    Several values of `k` give one metric each, if the name has a cut-off and does not set it.
    Duplicate metrics are removed.

    Raises:
        UnknownNameError: a name is neither a metric nor a group.
        UsageError: a name's parameters are not the metric's, or out of range.
    """
    k = defaults.get("k")
    single = {key: value for key, value in defaults.items() if not isinstance(value, tuple)}
    fillings = [single | {"k": one} for one in k] if isinstance(k, tuple) else [single]
    classes = registered()
    found: dict[str, Metric] = {}
    for name in names:
        bare = re.split("[@:,]", name, maxsplit=1)[0]
        members = [name]
        if belongs := GROUPS.get(name):
            members = [
                each for each in catalogue() if belongs(classes[each]) and _complete(classes[each])
            ]
        elif bare not in classes and bare != "success":  # the registry has a hint for it
            raise UnknownNameError("metric", bare, [*catalogue(), *GROUPS])
        for each in members:
            for filling in fillings:
                metric = get(each, **filling)
                found.setdefault(str(metric), metric)
    return tuple(found.values())


def _complete(cls: type[Metric]) -> bool:
    assert is_dataclass(cls)
    return all(
        field.default is not MISSING or field.default_factory is not MISSING
        for field in fields(cls)
    )
