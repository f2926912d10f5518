"""Judges compared: the one trained, and plain overlap."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.judge import DEFAULTS
from training.offline_judge.fitting import LEARNED, Weights, support
from training.offline_judge.measures import Answers
from training.offline_judge.rows import Row
from training.offline_judge.table import Table

THRESHOLDS = np.linspace(0.05, 0.95, 91)
Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


def by_weights(weights: Weights, table: Table) -> tuple[Numbers, Labels]:
    """Return the probability and the label of every claim, at the default threshold."""
    likely = support(weights, table)
    return likely, likely >= DEFAULTS.threshold


def at_best(
    likely: Numbers, training: Sequence[int], rows: Sequence[Row], table: Table
) -> tuple[Numbers, Labels]:
    """Return numbers and labels of every claim, with the threshold that is best on training rows.

    The best one has the highest mean balanced accuracy over the training sources.
    """
    sources = np.array([rows[number].source for number in training])
    given = answers(training, rows, table, (likely, np.zeros(len(table.row), np.bool_)))
    parts = [sources == source for source in LEARNED]
    both = [part for part in parts if len(set(given.supported[part])) == 2]
    means = [
        np.mean([balanced_at(given, threshold, part) for part in both]) for threshold in THRESHOLDS
    ]
    threshold = THRESHOLDS[int(np.argmax(means))]
    return likely, likely >= threshold


def balanced_at(given: Answers, threshold: float, these: NDArray[np.bool_]) -> float:
    """Return the balanced accuracy of some answers with another threshold."""
    said, true = given.likely[these] >= threshold, given.supported[these]
    return float(np.mean(said[true]) + np.mean(~said[~true])) / 2


def answers(
    numbers: Sequence[int], rows: Sequence[Row], table: Table, judged: tuple[Numbers, Labels]
) -> Answers:
    """Return the answers for some rows: each is as supported as its least supported claim."""
    likely, labels = judged
    least = np.full(len(rows), np.inf)
    np.minimum.at(least, table.row, likely)
    said = np.ones(len(rows), np.bool_)
    said[table.row[~labels]] = False
    kept = list(numbers)
    _, groups = np.unique([rows[number].group for number in kept], return_inverse=True)
    supported = np.array([rows[number].supported for number in kept])
    return Answers(supported, least[kept], said[kept], groups)
