"""Two runs, compared: what changed, what moved, and whether by more than chance."""

from ragstone.comparison.changes import About, Change
from ragstone.comparison.claim_changes import ClaimChange, ClaimChanges, Kind
from ragstone.comparison.columns import Unscored
from ragstone.comparison.comparison import TOP, Comparison, MetricMoves, Move, compare
from ragstone.comparison.movement import Finding, Movement
from ragstone.comparison.outcomes import Outcome, outcomes_of
from ragstone.comparison.pairing import Pairing
from ragstone.comparison.regressions import MIN_PAIRED, Regressions, regressed

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
