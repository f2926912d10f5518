"""ragstone evaluates RAG systems and shows how far you can trust the scores.

A metric asks questions about a sample; a judge answers; a question is a value, so it is asked
once; a score is arithmetic on the answers; a run is the record of it all.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragstone.datasets import load, shards
    from ragstone.errors import RagstoneError, UsageError
    from ragstone.evaluation.runner import evaluate, evaluate_async
    from ragstone.evaluation.scorer import Scorer
    from ragstone.judges.base import Judge
    from ragstone.metrics import Metric, get, register
    from ragstone.metrics.claim_checks import ClaimMetric
    from ragstone.metrics.retrieval import RankingMetric
    from ragstone.results.run import Run
    from ragstone.store.runs import compare
    from ragstone.targets.base import Answer, Target
    from ragstone.types.claim import Claim, Evidence, Label, Verdict
    from ragstone.types.row import Row
    from ragstone.types.sample import Context, Sample
    from ragstone.types.score import Score

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Claim",
    "ClaimMetric",
    "Context",
    "Evidence",
    "Judge",
    "Label",
    "Metric",
    "RagstoneError",
    "RankingMetric",
    "Row",
    "Run",
    "Sample",
    "Score",
    "Scorer",
    "Target",
    "UsageError",
    "Verdict",
    "__version__",
    "compare",
    "evaluate",
    "evaluate_async",
    "get",
    "load",
    "register",
    "shards",
]

_HOMES = {
    "types.claim": ("Claim", "Evidence", "Label", "Verdict"),
    "datasets": ("load", "shards"),
    "errors": ("RagstoneError", "UsageError"),
    "evaluation.runner": ("evaluate", "evaluate_async"),
    "evaluation.scorer": ("Scorer",),
    "judges.base": ("Judge",),
    "metrics": ("Metric", "get", "register"),
    "metrics.claim_checks": ("ClaimMetric",),
    "metrics.retrieval": ("RankingMetric",),
    "types.row": ("Row",),
    "results.run": ("Run",),
    "store.runs": ("compare",),
    "types.sample": ("Context", "Sample"),
    "types.score": ("Score",),
    "targets.base": ("Answer", "Target"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            found: object = getattr(import_module(f"ragstone.{home}"), name)
            globals()[name] = found
            return found
    hint: str | None = import_module("ragstone.errors").other_name("ragstone", name)
    if hint:
        raise ImportError(f"there is no ragstone.{name}; {hint}")  # an import loses other errors
    raise AttributeError(f"module 'ragstone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
