"""Browsing a stored ranking's run: its queries found and sorted by their columns."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ragstone.ranked_values import RankingRows
from ragstone.score_tally import SCORED, STATES
from ragstone.scores import State
from ragstone.store.wanted import Found, Wanted


def find_values(rows: RankingRows, wanted: Wanted) -> Found:
    """Return the queries that are as wanted; their numbers alone are read of the others."""
    fits = np.ones(len(rows), dtype=np.bool_)
    if wanted.tag is not None:
        fits[:] = False  # queries from files have no tags
    if wanted.text:
        fits &= _says(rows, wanted.text)
    if wanted.asks_of_scores:
        fits &= np.logical_or.reduce([*_scored_so(rows, wanted), np.zeros(len(rows), np.bool_)])
    places = _sorted(rows, np.flatnonzero(fits), wanted)
    few: list[int] = places[wanted.offset : wanted.offset + wanted.limit].tolist()
    read = {place: rows[place] for place in sorted(few)}  # each block is read once
    return Found(len(rows), len(places), tuple(read[place] for place in few))


def _says(rows: RankingRows, text: str) -> NDArray[np.bool_]:
    folded = text.casefold()
    each = zip(rows.ids, rows.queries, strict=True)
    return np.fromiter(
        (folded in name.casefold() or folded in query.casefold() for name, query in each),
        dtype=np.bool_,
        count=len(rows),
    )


def _scored_so(rows: RankingRows, wanted: Wanted) -> Iterator[NDArray[np.bool_]]:
    """Yield for each metric asked about which queries have such a score."""
    known = wanted.state is None or wanted.state in list(State)
    names = rows.metrics if wanted.metric is None else [wanted.metric]
    for name in names if known else ():  # no number is made up, or held against a pass mark
        if name not in rows.metrics:
            continue
        numbers, states = rows.column(name)
        fits = np.ones(len(rows), dtype=np.bool_)
        if wanted.state is not None:
            fits &= states == STATES.index(State(wanted.state))
        if wanted.low is not None:
            fits &= (states == SCORED) & (numbers >= wanted.low)
        if wanted.high is not None:
            fits &= (states == SCORED) & (numbers <= wanted.high)
        yield fits


def _sorted(rows: RankingRows, places: NDArray[np.int64], wanted: Wanted) -> NDArray[np.int64]:
    """Sort places by a metric's number, those without one last; else as they stand."""
    if wanted.sort is None:
        return places[::-1] if wanted.descending else places
    if wanted.sort not in rows.metrics:
        return places
    numbers, states = rows.column(wanted.sort)
    keys = -numbers[places] if wanted.descending else numbers[places]
    none = states[places] != SCORED
    return places[np.lexsort((places, np.where(none, 0.0, keys), none))]
