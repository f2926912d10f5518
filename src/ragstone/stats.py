"""Statistics on plain numbers: means with intervals, and quantiles."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20_240_229
BLOCK = 4_000_000
"""Numbers drawn at once: bounds the memory of a bootstrap to some 64 MB, whatever n is."""


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Return the percentile-bootstrap interval of the mean, or None where it cannot tell one.

    That is for fewer than two values, and for values that are all the same: drawn again they
    would be the same again, however few they are, and the interval would look certain.
    Deterministic: the same values in the same order give the same interval. Source: Efron and
    Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size < 2 or data.min() == data.max():
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(_bootstrap_means(data), [tail, 1 - tail])
    mean = math.fsum(values) / len(values)  # as scores are averaged, to the last digit
    return min(float(low), mean), max(float(high), mean)


def _bootstrap_means(data: NDArray[np.float64]) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    means = np.empty(RESAMPLES)
    step = max(1, BLOCK // data.size)
    for start in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - start)
        drawn = rng.integers(0, data.size, size=(count, data.size), dtype=np.int64)
        means[start : start + count] = data[drawn].mean(axis=1)
    return means


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie; None for no values."""
    return float(np.quantile(np.asarray(values), share)) if values else None
