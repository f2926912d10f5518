"""Search: some rows of a stored run, found, sorted and counted by the database.

Rows are stored as JSON, and each database has its own functions to search in it. The queries of a
ranking's run are stored in columns, and are searched in memory.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects.postgresql import JSON

from ragstone.errors import UnknownNameError, UsageError
from ragstone.results.metric_summary import SCORED
from ragstone.results.metric_summary import STATES as STATE_CODES
from ragstone.results.ranking_run import RankingRows
from ragstone.store.codec import column, decode_row
from ragstone.store.errors import RunNotFoundError
from ragstone.store.reader import read_texts, row_errors
from ragstone.store.run_info import RunInfo, check_stored, find_run_number
from ragstone.store.schema import QUERY_BLOCKS, ROWS, SCORES, TEXTS
from ragstone.store.store import Store
from ragstone.types.row import Row
from ragstone.types.score import State

MOST = 500
"""Maximum number of rows on a page."""
LONGEST = 1000
"""Maximum characters of a search text; databases limit the length of patterns."""
STATES: Mapping[str, sa.ColumnElement[bool]] = MappingProxyType(
    {state.value: SCORES.c.state == state.value for state in State}
    | {"flagged": SCORES.c.fallback.is_(True), "missed": SCORES.c.passed.is_(False)}
)
"""Searchable states: the state of a score, imputed by the policy, or below its threshold."""


@dataclass(frozen=True)
class RowQuery:
    """Which rows of a run to return, and in which order.

    Attributes:
        text: appears in the id, the query or the response, in upper or lower case.
        metric: the metric of `state`, `low` and `high`; None is any metric.
        state: one of STATES.
        low, high: the lowest and the highest score.
        tag, value: a tag that the rows have, and its value as text; None is any value.
        sort: a metric to sort by, rows without a score last; None sorts by place.
    """

    text: str = ""
    metric: str | None = None
    state: str | None = None
    low: float | None = None
    high: float | None = None
    tag: str | None = None
    value: str | None = None
    sort: str | None = None
    descending: bool = False
    offset: int = 0
    limit: int = 50

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in STATES:
            raise UnknownNameError("state", self.state, STATES)
        if self.offset < 0 or not 1 <= self.limit <= MOST:
            raise UsageError(f"the offset must be 0 or more, and the limit from 1 to {MOST}")
        if len(self.text) > LONGEST:
            raise UsageError(f"a search text can have at most {LONGEST:,} characters")


@dataclass(frozen=True)
class RowPage:
    """Some rows, without their exchanges, of `matched` that fit the query, of `total`."""

    total: int
    matched: int
    rows: tuple[Row, ...]


def find_rows(store: Store, run_id: str, search: RowQuery) -> RowPage:
    if (columns := _columns(store, run_id)) is not None:
        return _find_queries(columns, search)
    tables: sa.FromClause = ROWS
    same_row = sa.and_(TEXTS.c.run == ROWS.c.run, TEXTS.c.place == ROWS.c.place)
    if search.text or search.tag is not None:
        tables = tables.join(TEXTS, same_row)
    place, value = ROWS.c.place, SCORES.c.value
    order: list[sa.ColumnElement[Any]] = [place.desc() if search.descending else place]
    if search.sort is not None:
        its_score = sa.and_(
            SCORES.c.run == ROWS.c.run,
            SCORES.c.place == place,
            SCORES.c.metric == column(search.sort),
        )
        tables = tables.outerjoin(SCORES, its_score)
        order = [value.is_(None), value.desc() if search.descending else value, place]
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        count = sa.select(sa.func.count()).select_from(ROWS).where(ROWS.c.run == run)
        total = connection.execute(count).scalar_one()
        conditions = _conditions(connection, run, search)
        number = sa.func.count().over() if conditions else sa.literal(total)
        query = sa.select(place, number).select_from(tables).where(ROWS.c.run == run, *conditions)
        query = query.order_by(*order)
        lines = connection.execute(query.offset(search.offset).limit(search.limit)).all()
        matched = lines[0][1] if lines else 0
        if not lines and search.offset:  # a page after the last one
            first = connection.execute(query.limit(1)).first()
            matched = first[1] if first else 0
        places = [line[0] for line in lines]
        these = TEXTS.c.run == run, TEXTS.c.place.in_(places)
        found = dict(read_texts(connection, *these, run_id=run_id))
        if missing := set(places) - set(found):
            damage = f"row {min(missing)} of run {run_id} has no texts"
            check_stored(connection, run, run_id, damage=damage)
    rows: list[Row] = []
    for each in places:
        with row_errors(run_id, each):
            rows.append(decode_row(replace(found[each], transcript="[]")))
    return RowPage(total, matched, tuple(rows))


def row_at(store: Store, run_id: str, place: int) -> Row | None:
    if (columns := _columns(store, run_id)) is not None:
        return columns.at(place) if 0 <= place < len(columns) else None
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        here = TEXTS.c.run == run, TEXTS.c.place == place
        found = read_texts(connection, *here, run_id=run_id)
    with row_errors(run_id, place):
        return decode_row(found[0][1]) if found else None


def _columns(store: Store, run_id: str) -> RankingRows | None:
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        first = sa.select(QUERY_BLOCKS.c.place).where(QUERY_BLOCKS.c.run == run).limit(1)
        ranked = connection.execute(first).first() is not None
    return store.load(run_id).columns if ranked else None


def _conditions(
    connection: sa.Connection, run: int, search: RowQuery
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that rows of a run must meet."""
    conditions: list[sa.ColumnElement[bool]] = []
    of_score: list[sa.ColumnElement[bool]] = []
    if search.state is not None:
        of_score.append(STATES[search.state])
    if search.low is not None:
        of_score.append(SCORES.c.value >= search.low)
    if search.high is not None:
        of_score.append(SCORES.c.value <= search.high)
    if of_score:
        if search.metric is not None:
            of_score.append(SCORES.c.metric == column(search.metric))
        places = sa.select(SCORES.c.place).where(SCORES.c.run == run, *of_score)
        conditions.append(ROWS.c.place.in_(places))
    sqlite = connection.dialect.name == "sqlite"
    if search.text:
        conditions.append(
            _sqlite_text_matches(connection, search.text)
            if sqlite
            else _postgresql_text_matches(search.text)
        )
    if search.tag is not None:
        matches = _sqlite_tag_matches if sqlite else _postgresql_tag_matches
        conditions.append(matches(search.tag, search.value))
    return conditions


def _find_queries(rows: RankingRows, search: RowQuery) -> RowPage:
    fits = np.full(len(rows), search.tag is None)  # queries from files have no tags
    if search.text:
        folded = search.text.casefold()
        each = zip(rows.ids, rows.queries, strict=True)
        fits &= [folded in name.casefold() or folded in query.casefold() for name, query in each]
    if (search.state, search.low, search.high) != (None, None, None):
        by_any_metric = np.zeros(len(rows), dtype=np.bool_)
        for name in rows.metrics if search.metric in (None, *rows.metrics) else ():
            if search.metric in (None, name):
                by_any_metric |= _score_matches(rows, name, search)
        fits &= by_any_metric
    places = np.flatnonzero(fits)
    if search.sort is None and search.descending:
        places = places[::-1]
    elif search.sort is not None and search.sort in rows.metrics:
        numbers, states = rows.column(search.sort)
        keys = -numbers[places] if search.descending else numbers[places]
        none = states[places] != SCORED
        places = places[np.lexsort((places, np.where(none, 0.0, keys), none))]
    few: list[int] = places[search.offset : search.offset + search.limit].tolist()
    read = {place: rows[place] for place in sorted(few)}  # each block is read once
    return RowPage(len(rows), len(places), tuple(read[place] for place in few))


def _score_matches(rows: RankingRows, metric: str, search: RowQuery) -> NDArray[np.bool_]:
    numbers, states = rows.column(metric)
    fits = np.ones(len(rows), dtype=np.bool_)
    if search.state is not None:
        known = search.state in list(State)  # no score is imputed or has a threshold
        fits &= (states == STATE_CODES.index(State(search.state))) if known else False
    if search.low is not None:
        fits &= (states == SCORED) & (numbers >= search.low)
    if search.high is not None:
        fits &= (states == SCORED) & (numbers <= search.high)
    return fits


_SEARCHED = ("query", "response")
"""Fields of a sample that are searched, beside its id."""
_HEAD = sa.func.substr(TEXTS.c.body, 1, sa.func.instr(TEXTS.c.body, '"contexts":'))
"""The beginning of a row's JSON: its place, and the sample's id, query and response."""


def _sqlite_text_matches(connection: sa.Connection, text: str) -> sa.ColumnElement[bool]:
    """Return that a text appears in the id, query or response of a row.

    Rows are searched as text first, because parsing their JSON takes several times as long. Only
    rows that may contain the text are parsed.
    """
    fields = [sa.func.json_extract(TEXTS.c.body, f"$.sample.{name}") for name in _SEARCHED]
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.create_function("ragstone_contains", 2, _contains, deterministic=True)

    def contains(where: Any, part: str) -> sa.ColumnElement[bool]:
        return sa.func.ragstone_contains(sa.cast(where, sa.LargeBinary), part.casefold()) == 1

    has_nul = TEXTS.c.body.like(r"%\u0000%")  # at which json_extract stops
    in_fields = sa.or_(*(contains(field, text) for field in (ROWS.c.sample_id, *fields)), has_nul)
    # If a row has a lone surrogate, its JSON escapes everything that is not ASCII.
    return sa.and_(sa.or_(contains(_HEAD, _in_json(text)), _HEAD.like(r"%\u%")), in_fields)


def _contains(text: bytes | None, folded: str) -> bool:
    return text is not None and folded in text.decode("utf-8", "replace").casefold()


def _sqlite_tag_matches(tag: str, value: str | None) -> sa.ColumnElement[bool]:
    each = sa.func.json_each(TEXTS.c.body, "$.sample.tags").table_valued("key", "type", "atom")
    written = sa.case(
        (each.c.type == "true", "true"), (each.c.type == "false", "false"), else_=each.c.atom
    )
    fits = each.c.type != "null" if value is None else sa.cast(written, sa.Text) == value
    return sa.select(each.c.key).where(each.c.key == tag, fits).exists()


_UNREADABLE = r"(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})"
"""A NUL or lone surrogate in a row's JSON, which PostgreSQL cannot convert to text."""


def _postgresql_text_matches(text: str) -> sa.ColumnElement[bool]:
    pattern = _pattern(column(text))
    in_fields = sa.or_(*(_at("sample", name).ilike(pattern, escape="/") for name in _SEARCHED))
    plain = TEXTS.c.body.ilike(_pattern(_in_json(text)), escape="/")
    # If a row has a lone surrogate, its JSON escapes everything that is not ASCII.
    may_contain = sa.or_(plain, sa.func.strpos(TEXTS.c.body, r"\ud") > 0)
    return sa.or_(ROWS.c.sample_id.ilike(pattern, escape="/"), sa.and_(may_contain, in_fields))


def _postgresql_tag_matches(tag: str, value: str | None) -> sa.ColumnElement[bool]:
    written = _at("sample", "tags", column(tag))
    return written.is_not(None) if value is None else written == column(value)


def _at(*path: str) -> sa.Function[str]:
    body = TEXTS.c.body
    marked = sa.func.regexp_replace(body, _UNREADABLE, r"\1?", "g")
    may_need_marks = sa.or_(
        *(sa.func.strpos(body, sign) > 0 for sign in (r"\u0000", r"\ud"))
    )  # fast
    readable = sa.cast(sa.case((may_need_marks, marked), else_=body), JSON)
    return sa.func.json_extract_path_text(readable, *path, type_=sa.Text)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _pattern(text: str) -> str:
    for special in "/%_":
        text = text.replace(special, f"/{special}")
    return f"%{text}%"


@dataclass(frozen=True)
class MetricCounts:
    """The scores of one metric so far; the mean is None if there are none."""

    scored: int
    undefined: int
    failed: int
    mean: float | None


def count_scores(store: Store, run_id: str) -> dict[str, MetricCounts]:
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        which = SCORES.c.metric, SCORES.c.state
        figures = sa.func.count(), sa.func.sum(SCORES.c.value)
        query = sa.select(*which, *figures).where(SCORES.c.run == run).group_by(*which)
        lines = connection.execute(query).all()
    found: dict[str, dict[State, tuple[int, float | None]]] = {}
    for metric, state, number, total in lines:
        found.setdefault(metric, {})[State(state)] = number, total
    counts: dict[str, MetricCounts] = {}
    for metric, states in found.items():
        scored, total = states.get(State.SCORED, (0, None))
        counts[metric] = MetricCounts(
            scored=scored,
            undefined=states.get(State.UNDEFINED, (0,))[0],
            failed=states.get(State.FAILED, (0,))[0],
            mean=None if total is None else total / scored,
        )
    return counts


def summarize(store: Store, info: RunInfo) -> RunInfo:
    if info.summary is not None:
        return info
    with suppress(RunNotFoundError):  # deleted meanwhile
        counts = count_scores(store, info.id).items()
        metrics = {name: {"mean": each.mean, "failed": each.failed} for name, each in counts}
        info = replace(info, summary={"metrics": metrics})
    return info
