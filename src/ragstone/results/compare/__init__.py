"""Two runs, compared: what changed, what moved, and whether by more than chance."""

from ragstone.results.compare.claim_changes import ClaimChange, ClaimChanges, Kind
from ragstone.results.compare.comparison import (
    MIN_PAIRED,
    TOP,
    Comparison,
    Regressions,
    SampleChange,
    SampleChanges,
    compare,
    find_regressions,
)
from ragstone.results.compare.config_changes import About, ConfigChange
from ragstone.results.compare.metric_change import Finding, MetricChange
from ragstone.results.compare.pairing import Outcome, Pairing, Unscored, outcomes_of

__all__ = [
    "MIN_PAIRED",
    "TOP",
    "About",
    "ClaimChange",
    "ClaimChanges",
    "Comparison",
    "ConfigChange",
    "Finding",
    "Kind",
    "MetricChange",
    "Outcome",
    "Pairing",
    "Regressions",
    "SampleChange",
    "SampleChanges",
    "Unscored",
    "compare",
    "find_regressions",
    "outcomes_of",
]
