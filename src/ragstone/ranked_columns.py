"""One metric's values of many rankings at once; what a stranger's metric fails on is told apart."""

import numpy as np
from numpy.typing import NDArray

from ragstone.metrics.families.ranking_metric import RankingMetric
from ragstone.raised import is_ours, words
from ragstone.rankings import Rankings


def column_of(
    metric: RankingMetric, rankings: Rankings
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return float64[Q], and where the metric failed, with what it said; the value is 0 there.

    A metric that does not come with ragstone may raise, or return no number; then it is asked
    for each query by itself.
    """
    if is_ours(metric):
        return metric.values(rankings), {}
    try:
        found = _checked(metric.values(rankings), len(rankings))
    except Exception:  # noqa: BLE001 - a stranger's; told of each query that it fails on
        return _one_by_one(metric, rankings)
    return found, {}


def _one_by_one(
    metric: RankingMetric, rankings: Rankings
) -> tuple[NDArray[np.float64], dict[int, str]]:
    found = np.zeros(len(rankings))
    failed: dict[int, str] = {}
    for place, (ids, relevance) in enumerate(zip(rankings.ids, rankings.relevance, strict=True)):
        try:
            alone = metric.values(Rankings.of([ids], [relevance]))
            found[place] = _checked(alone, 1)[0]
        except Exception as error:  # noqa: BLE001 - a stranger's
            failed[place] = words(metric, error)
    return found, failed


def _checked(values: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    """Return a stranger's values, if they are a number a query.

    Raises:
        ValueError: they are not.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (queries,):
        raise ValueError(f"it returned values of shape {found.shape} for {queries} queries")
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"it returned {found[place]}, which is no number")
    return found
