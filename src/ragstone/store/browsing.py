"""Browsing: some rows of a stored run, found, sorted and counted by the database."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, literal, select

from ragstone.ranked_values import RankingRows
from ragstone.rows import Row
from ragstone.store.codec import Texts, column, decoded
from ragstone.store.numbers import number_of
from ragstone.store.schema import QUERY_BLOCKS, ROWS, SCORES, TEXTS
from ragstone.store.searching import is_tagged, says
from ragstone.store.store import Store
from ragstone.store.stored_rows import row_told
from ragstone.store.value_browsing import find_values
from ragstone.store.wanted import STATES, Found, Wanted

_NO_EXCHANGES = "[]"


def find_rows(store: Store, run_id: str, wanted: Wanted) -> Found:
    """Return the rows of a run that are as wanted.

    Raises:
        StoreError: there is no such run, a row cannot be read, or the database fails.
    """
    if (values := _values(store, run_id)) is not None:
        return find_values(values, wanted)
    with store.reading() as connection:
        run = number_of(connection, run_id, store=store.name)
        count = select(func.count()).select_from(ROWS).where(ROWS.c.run == run)
        total = connection.execute(count).scalar_one()
        tables, conditions = _as_wanted(connection, run, wanted)
        number = func.count().over() if conditions else literal(total)
        query = select(ROWS.c.place, number).select_from(tables).order_by(*_order(wanted))
        query = query.where(ROWS.c.run == run, *conditions)
        lines = connection.execute(query.offset(wanted.offset).limit(wanted.limit)).all()
        matched = lines[0][1] if lines else 0
        if not lines and wanted.offset:  # a page behind the last one
            first = connection.execute(query.limit(1)).first()
            matched = first[1] if first else 0
        places = [place for place, _ in lines]
        few = select(TEXTS.c.place, TEXTS.c.body).where(TEXTS.c.run == run)
        found = connection.execute(few.where(TEXTS.c.place.in_(places))).all()
    bodies = dict(found)
    rows = (_row(run_id, place, Texts(bodies[place], _NO_EXCHANGES)) for place in places)
    return Found(total, matched, tuple(rows))


def row_at(store: Store, run_id: str, place: int) -> Row | None:
    """Return the whole row at a place; None if it is not stored.

    Raises:
        StoreError: there is no such run, the row cannot be read, or the database fails.
    """
    if (values := _values(store, run_id)) is not None:
        return values.at(place) if 0 <= place < len(values) else None
    with store.reading() as connection:
        run = number_of(connection, run_id, store=store.name)
        here = TEXTS.c.run == run, TEXTS.c.place == place
        line = connection.execute(select(TEXTS.c.body, TEXTS.c.transcript).where(*here)).first()
    return None if line is None else _row(run_id, place, Texts(line[0], line[1]))


def _values(store: Store, run_id: str) -> RankingRows | None:
    """Return the rows of a ranking's run; None for any other run."""
    with store.reading() as connection:
        run = number_of(connection, run_id, store=store.name)
        first = select(QUERY_BLOCKS.c.place).where(QUERY_BLOCKS.c.run == run).limit(1)
        ranked = connection.execute(first).first() is not None
    return store.load(run_id).columns if ranked else None


def _row(run_id: str, place: int, texts: Texts) -> Row:
    with row_told(run_id, place):
        return decoded(texts)


def _as_wanted(
    connection: Connection, run: int, wanted: Wanted
) -> tuple[FromClause, list[ColumnElement[bool]]]:
    """Return the tables that tell which rows are wanted, and what has to hold of them."""
    tables: FromClause = ROWS
    conditions: list[ColumnElement[bool]] = []
    if scored := list(_scores(wanted)):
        alike = [] if wanted.metric is None else [SCORES.c.metric == column(wanted.metric)]
        places = select(SCORES.c.place).where(SCORES.c.run == run, *alike, *scored)
        conditions.append(ROWS.c.place.in_(places))
    if wanted.text or wanted.tag is not None:
        same = and_(TEXTS.c.run == ROWS.c.run, TEXTS.c.place == ROWS.c.place)
        tables = tables.join(TEXTS, same)
    if wanted.sort is not None:
        same = and_(SCORES.c.run == ROWS.c.run, SCORES.c.place == ROWS.c.place)
        tables = tables.outerjoin(SCORES, and_(same, SCORES.c.metric == column(wanted.sort)))
    if wanted.text:
        conditions.append(says(connection, wanted.text))
    if wanted.tag is not None:
        conditions.append(is_tagged(connection, wanted.tag, wanted.value))
    return tables, conditions


def _scores(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    """Yield what has to hold of a score of a row that is wanted."""
    if wanted.state is not None:
        yield STATES[wanted.state]
    if wanted.low is not None:
        yield SCORES.c.value >= wanted.low
    if wanted.high is not None:
        yield SCORES.c.value <= wanted.high


def _order(wanted: Wanted) -> tuple[ColumnElement[Any], ...]:
    """Return what the rows are sorted by; the scores of the metric are joined to them."""
    place, value = ROWS.c.place, SCORES.c.value
    if wanted.sort is None:
        return (place.desc() if wanted.descending else place,)
    return value.is_(None), value.desc() if wanted.descending else value, place
