"""Values: what scores and usage come to, without reading any text."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from sqlalchemy import Connection, and_, func, select

from ragstone.ranked_values import RankingRows
from ragstone.score_tally import STATES
from ragstone.scores import State
from ragstone.store.codec import column, query_fingerprint
from ragstone.store.schema import ROWS, SCORES
from ragstone.usage import Usage

AT_ONCE = 10_000
"""Values that are read at once."""


class StoredValue(NamedTuple):
    """What one metric says of one row; `value` is None unless it is scored.

    `sample_id` is as the sample's, but for NUL and halves of characters, which are escapes;
    equal queries have equal fingerprints.
    """

    place: int
    sample_id: str
    query_fingerprint: str
    state: State
    value: float | None


def values_of(
    run: int, metric: str, *, reading: Callable[[], AbstractContextManager[Connection]]
) -> Iterator[StoredValue]:
    """Yield the values of one metric, ordered by place; a reader who stops holds nothing up."""
    same = and_(ROWS.c.run == SCORES.c.run, ROWS.c.place == SCORES.c.place)
    found = ROWS.c.sample_id, ROWS.c.query_fingerprint, SCORES.c.state, SCORES.c.value
    query = (
        select(SCORES.c.place, *found)
        .join(ROWS, same)
        .where(SCORES.c.run == run, SCORES.c.metric == metric)
        .order_by(SCORES.c.place)
        .limit(AT_ONCE)
    )
    last = -1
    while True:
        with reading() as connection:
            lines = connection.execute(query.where(SCORES.c.place > last)).all()
        if not lines:
            return
        for place, sample_id, fingerprint, state, value in lines:
            yield StoredValue(place, sample_id, fingerprint, State(state), value)
        last = lines[-1][0]


def ranking_values(rows: RankingRows, metric: str) -> Iterator[StoredValue]:
    """Yield the values of one metric of a ranking's run, ordered by place."""
    if metric not in rows.metrics:
        return
    numbers, states = rows.column(metric)
    codes: list[int] = states.tolist()
    each = zip(rows.ids, rows.queries, numbers.tolist(), codes, strict=True)
    for place, (name, query, number, code) in enumerate(each):
        state = STATES[code]
        value = number if state is State.SCORED else None
        yield StoredValue(place, column(name), query_fingerprint(query), state, value)


def usage_of(connection: Connection, run: int) -> Usage:
    """Return the usage of all rows of a run; its cost is None where that of one is not known.

    Calls of models on this machine are not among it: they stand with each row.
    """
    counts = (
        ROWS.c.calls,
        ROWS.c.cached,
        ROWS.c.retries,
        ROWS.c.prompt_tokens,
        ROWS.c.completion_tokens,
        ROWS.c.cached_tokens,
        ROWS.c.reasoning_tokens,
    )
    cost = (func.count(), func.count(ROWS.c.cost_usd), func.sum(ROWS.c.cost_usd))
    query = select(*cost, *map(func.sum, counts)).where(ROWS.c.run == run)
    found: tuple[float | None, ...] = tuple(connection.execute(query).one())
    rows, priced, spent, *sums = (each or 0 for each in found)
    known = None if priced < rows else float(spent)
    return Usage(*map(int, sums), cost_usd=known)
