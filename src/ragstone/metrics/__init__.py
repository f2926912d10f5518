"""The catalogue: every metric by name, the groups, and what a list of names stands for."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass

from ragstone.errors import UnknownNameError
from ragstone.metrics.abstention import Abstention
from ragstone.metrics.answer_correctness import AnswerCorrectness
from ragstone.metrics.answer_similarity import AnswerSimilarity
from ragstone.metrics.bleu import Bleu
from ragstone.metrics.bpref import BPref
from ragstone.metrics.chrf import ChrF
from ragstone.metrics.citation_precision import CitationPrecision
from ragstone.metrics.citation_recall import CitationRecall
from ragstone.metrics.claim_precision import ClaimPrecision
from ragstone.metrics.claim_recall import ClaimRecall
from ragstone.metrics.claim_utilization import ClaimUtilization
from ragstone.metrics.contains import Contains
from ragstone.metrics.context_precision import ContextPrecision
from ragstone.metrics.context_recall import ContextRecall
from ragstone.metrics.context_relevance import ContextRelevance
from ragstone.metrics.context_utilization import ContextUtilization
from ragstone.metrics.exact_match import ExactMatch
from ragstone.metrics.f1 import F1
from ragstone.metrics.faithfulness import Faithfulness
from ragstone.metrics.families.base import FAMILIES, Ask, Metric
from ragstone.metrics.families.check_metric import CheckMetric
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.metrics.families.grade_metric import GradeMetric
from ragstone.metrics.families.ranking_metric import RankingMetric
from ragstone.metrics.families.rubric_metric import RubricMetric
from ragstone.metrics.hallucinated_claims import HallucinatedClaims
from ragstone.metrics.hallucination import Hallucination
from ragstone.metrics.hit import Hit
from ragstone.metrics.map import MAP
from ragstone.metrics.mrr import MRR
from ragstone.metrics.ndcg import NDCG
from ragstone.metrics.noise_sensitivity import NoiseSensitivity
from ragstone.metrics.precision import Precision
from ragstone.metrics.r_precision import RPrecision
from ragstone.metrics.recall import Recall
from ragstone.metrics.registry import OURS, get, load_plugin, origin, register, registered
from ragstone.metrics.response_relevancy import ResponseRelevancy
from ragstone.metrics.rouge_l import RougeL
from ragstone.metrics.self_knowledge import SelfKnowledge
from ragstone.metrics.unsupported_claims import UnsupportedClaims
from ragstone.scores import MetricInfo

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
