"""Two runs, compared: what changed, what moved, and whether by more than chance."""

from ragstone.comparison.changes import About, Change
from ragstone.comparison.claim_changes import ClaimChange, ClaimChanges, Kind
from ragstone.comparison.columns import Unscored
from ragstone.comparison.comparison import TOP, Comparison, MetricMoves, Move, compare
from ragstone.comparison.movement import Finding, Movement
from ragstone.comparison.outcomes import OUTCOME, Outcome, Outcomes, rows_of
from ragstone.comparison.pairing import Pairing

__all__ = [
    "OUTCOME",
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
    "Outcomes",
    "Pairing",
    "Unscored",
    "compare",
    "rows_of",
]
