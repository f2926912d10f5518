"""Statistics on plain numbers: intervals, bounds, paired tests. NumPy only, always the same."""

from ragstone.results.stats.histograms import Histogram, histogram, quantile
from ragstone.results.stats.intervals import bounds, difference_interval, mean_interval
from ragstone.results.stats.paired_tests import (
    WinLossTie,
    effect_size,
    holm,
    paired_t,
    sign_flip,
    smallest_difference,
    wins_losses_ties,
)

__all__ = [
    "Histogram",
    "WinLossTie",
    "bounds",
    "difference_interval",
    "effect_size",
    "histogram",
    "holm",
    "mean_interval",
    "paired_t",
    "quantile",
    "sign_flip",
    "smallest_difference",
    "wins_losses_ties",
]
