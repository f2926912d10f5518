"""The catalogue: every metric by name, the groups, and what a list of names stands for."""

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
"""The metrics of the documents: what the groups of families stand for, beside the user's own.

All others of ours run by name, as a group keeps the numbers that it is known for.
"""

Belongs = Callable[[type[Metric]], bool]

GROUPS: Mapping[str, Belongs] = {
    "all": lambda cls: cls in DOCUMENTED or _stranger(cls),
    "all_retrieval": lambda cls: GROUPS["all"](cls) and cls.family == "retrieval",
    "all_generation": lambda cls: GROUPS["all"](cls) and cls.family == "generation",
    "all_judged": lambda cls: bool(cls.asks),
}
"""Group name -> whether a metric belongs to it; none that has to be given parameters does."""


def _stranger(cls: type[Metric]) -> bool:
    return origin(cls.name) != OURS


def catalogue() -> Mapping[str, MetricInfo]:
    """Describe every metric by name: ranking metrics first, of each family the documents' first."""
    found = registered()
    documented = {cls.name: found[cls.name] for cls in DOCUMENTED}
    infos = {name: cls.info() for name, cls in {**documented, **found}.items()}
    return dict(sorted(infos.items(), key=lambda item: FAMILIES.index(item[1].family)))


def select(
    names: Sequence[str], **defaults: str | int | float | tuple[int, ...] | None
) -> tuple[Metric, ...]:
    """Read metric and group names; `defaults` fill the parameters that a name does not say.

    Several values of `k` make as many metrics of a name that has a cut-off and does not say it.
    A metric that is named twice is there once, at its first place.

    Raises:
        UnknownNameError: a name is no metric and no group.
        UsageError: a name's parameters are not the metric's, or out of range.
    """
    fillings = _fillings(defaults)
    found: dict[str, Metric] = {}
    for name in names:
        for each in _members(name) if name in GROUPS else [_known(name)]:
            for filling in fillings:
                metric = get(each, **filling)
                found.setdefault(str(metric), metric)
    return tuple(found.values())


def _fillings(
    defaults: Mapping[str, str | int | float | tuple[int, ...] | None],
) -> list[dict[str, str | int | float | None]]:
    """Return the defaults, once for each of several `k`."""
    k = defaults.get("k")
    single = {key: value for key, value in defaults.items() if not isinstance(value, tuple)}
    return [single | {"k": one} for one in k] if isinstance(k, tuple) else [single]


def _members(group: str) -> list[str]:
    found = registered()
    return [name for name in catalogue() if GROUPS[group](found[name]) and _complete(found[name])]


def _complete(cls: type[Metric]) -> bool:
    """Tell whether a metric is one without being given parameters."""
    assert is_dataclass(cls)
    return all(
        field.default is not MISSING or field.default_factory is not MISSING
        for field in fields(cls)
    )


def _known(name: str) -> str:
    bare = re.split("[@:,]", name, maxsplit=1)[0]
    if bare not in registered() and bare != "success":  # which the registry has a word for
        raise UnknownNameError("metric", bare, [*catalogue(), *GROUPS])
    return name
