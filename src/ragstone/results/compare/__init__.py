"""Two runs, compared: what changed, what moved, and whether by more than chance."""

from ragstone.results.compare.claim_changes import ClaimChange, ClaimChanges, Kind
from ragstone.results.compare.comparison import (
    MIN_PAIRED,
    TOP,
    Comparison,
    MetricMoves,
    Move,
    Regressions,
    compare,
    regressed,
)
from ragstone.results.compare.config_changes import About, Change
from ragstone.results.compare.metric_change import Finding, Movement
from ragstone.results.compare.pairing import Outcome, Pairing, Unscored, outcomes_of

__all__ = [
    "MIN_PAIRED",
    "TOP",
    "About",
    "Change",
    "ClaimChange",
    "ClaimChanges",
    "Comparison",
    "Finding",
    "Kind",
    "MetricMoves",
    "Move",
    "Movement",
    "Outcome",
    "Pairing",
    "Regressions",
    "Unscored",
    "compare",
    "outcomes_of",
    "regressed",
]
