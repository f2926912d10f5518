"""Excerpt: the queries of a ranking's run that a report tells, where all are too many."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ragstone.ranked_values import RankingRows
from ragstone.rows import LazyRows, Row
from ragstone.run import Run
from ragstone.score_tally import FAILED, SCORED

MOST = 1000
"""Queries that a page, or a report of tests, tells one by one."""


@dataclass(frozen=True)
class _Few(LazyRows):
    """The rows at some places of others."""

    rows: Sequence[Row]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def at(self, place: int) -> Row:
        """Return the row at one of the places."""
        return self.rows[self.places[place]]


def excerpt(run: Run, most: int = MOST) -> tuple[Run, str | None]:
    """Return a run with at most so many rows, and in words which; None where it has all.

    Of a ranking's run these are the queries on which any of its metrics failed, or that did worst
    by any; all other runs stay as they are. What the run came to stays that of all rows.
    """
    rows = run.columns
    if rows is None or len(rows) <= most:
        return run, None
    orders = [
        _order(rows, name, higher=info.higher_is_better) for name, info in run.metrics.items()
    ]
    nearest = np.minimum.reduce(orders)
    places = np.sort(np.argsort(nearest, kind="stable")[:most])
    said = (
        f"{most:,} of {len(rows):,} queries, those that failed or did worst by one metric or "
        "another; --rows FILE writes all"
    )
    return replace(run, rows=_Few(rows, places.tolist()), counted=run.tally), said


def _order(rows: RankingRows, metric: str, *, higher: bool) -> NDArray[np.int64]:
    """Return int64[Q]: 0 for the query that failed or did worst, then 1 ...; undefined last."""
    numbers, states = rows.column(metric)
    none = np.where(states == FAILED, -np.inf, np.inf)
    worst_first = np.where(states == SCORED, numbers if higher else -numbers, none)
    order = np.empty(len(rows), dtype=np.int64)
    order[np.argsort(worst_first, kind="stable")] = np.arange(len(rows))
    return order
