"""Searching: what holds of rows in which a text stands, or that have a tag, as SQL looks for it.

Rows are JSON, and each database has its own ways to look into that.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Function,
    LargeBinary,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON

from ragstone.errors import UnknownNameError, UsageError
from ragstone.results.metric_summary import SCORED
from ragstone.results.metric_summary import STATES as RANKING_STATES
from ragstone.results.ranking_run import RankingRows
from ragstone.store.codec import Texts, column, decode_row
from ragstone.store.reader import row_errors
from ragstone.store.run_info import RunInfo, find_run_number
from ragstone.store.schema import QUERY_BLOCKS, ROWS, SCORES, TEXTS
from ragstone.store.store import Store
from ragstone.types.row import Row
from ragstone.types.score import State

_SEARCHED = ("query", "response")
"""Fields of a sample in which a text is looked for, beside its id."""
_FOLD = "ragstone_fold"
_HALF = "(?:0000|d[89a-f][0-9a-f]{2})"
_UNREADABLE = rf"(?<!\\)((?:\\\\)*)\\u{_HALF}"
"""A NUL or half a character in a row's JSON, of which PostgreSQL makes no text: it fails."""
_HALVED = r"\ud"
_SIGNS = (r"\u0000", _HALVED)
_NUL = r"%\u0000%"
_HEAD = func.substr(TEXTS.c.body, 1, func.instr(TEXTS.c.body, '"contexts":'))
"""The beginning of a row's JSON: its place, and the sample's id, query and response."""
_CODED = r"%\u%"
"""What holds a letter by its number: all but ASCII, where half a character stands in the row."""
_FRAME = re.compile(r"[\s\d:,{]*")
_KEYS = "index|sample|id|query|response|:null,|: null, "
"""Between the texts in the head stand these names, quotes, and what _FRAME matches."""


def text_matches(connection: Connection, text: str) -> ColumnElement[bool]:
    """Return that a text stands in the id, query or response, whatever the case of its letters."""
    sqlite = connection.dialect.name == "sqlite"
    return _sqlite_text_matches(connection, text) if sqlite else _postgresql_text_matches(text)


def tag_matches(connection: Connection, tag: str, value: str | None) -> ColumnElement[bool]:
    """Return that a row has a tag, of that value as JSON writes it; None is any value."""
    sqlite = connection.dialect.name == "sqlite"
    return (_sqlite_tag_matches if sqlite else _postgresql_tag_matches)(tag, value)


def _sqlite_text_matches(connection: Connection, text: str) -> ColumnElement[bool]:
    """Look through texts as they lie, and into the JSON only of what may hold the text.

    To read a row's JSON takes several times as long as to look through it.
    """
    fields = [func.json_extract(TEXTS.c.body, f"$.sample.{name}") for name in _SEARCHED]
    written = _in_json(text)
    if text.isascii() and "\0" not in text:  # LIKE takes no account of the case of ASCII letters
        in_fields = or_(
            *(field.like(_pattern(text), escape="/") for field in fields),
            TEXTS.c.body.like(_NUL),  # LIKE sees nothing behind it
        )
        in_head = _HEAD.like(_pattern(written), escape="/")
        if written == text and not _FRAME.fullmatch(text) and text.lower() not in _KEYS:
            as_is = and_(true(), *(_HEAD.not_like(f"%{sign}%") for sign in _escapes(text)))
            in_fields = or_(as_is, in_fields)
        in_id = ROWS.c.sample_id.like(_pattern(text), escape="/")
        return or_(in_id, and_(in_head, in_fields))
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.create_function(_FOLD, 1, _casefold, deterministic=True)
    fold = getattr(func, _FOLD)
    in_fields = or_(*(_stands(fold, field, text) for field in (ROWS.c.sample_id, *fields)))
    may = or_(_stands(fold, _HEAD, written), _HEAD.like(_CODED))
    return and_(may, in_fields)


def _escapes(text: str) -> Iterator[str]:
    r"""Yield the escapes of JSON in which a text without any could begin, as `nl` does in `\nl`."""
    first = text[0].lower()
    if first in "bfnrt":
        yield f"\\{first}"
    if first in "u0123456789abcdef":
        yield r"\u"


def _stands(fold: Callable[..., Function[str]], where: Any, text: str) -> ColumnElement[bool]:
    return func.instr(fold(cast(where, LargeBinary)), text.casefold()) > 0


def _casefold(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace").casefold()


def _postgresql_text_matches(text: str) -> ColumnElement[bool]:
    pattern = _pattern(column(text))
    in_fields = or_(*(_at("sample", name).ilike(pattern, escape="/") for name in _SEARCHED))
    plain = TEXTS.c.body.ilike(_pattern(_in_json(text)), escape="/")
    somewhere = or_(plain, func.strpos(TEXTS.c.body, _HALVED) > 0)  # all but ASCII is escaped there
    return or_(ROWS.c.sample_id.ilike(pattern, escape="/"), and_(somewhere, in_fields))


def _sqlite_tag_matches(tag: str, value: str | None) -> ColumnElement[bool]:
    each = func.json_each(TEXTS.c.body, "$.sample.tags").table_valued("key", "type", "atom")
    written = case(
        (each.c.type == "true", "true"), (each.c.type == "false", "false"), else_=each.c.atom
    )
    fits = each.c.type != "null" if value is None else cast(written, Text) == value
    return select(each.c.key).where(each.c.key == tag, fits).exists()


def _postgresql_tag_matches(tag: str, value: str | None) -> ColumnElement[bool]:
    written = _at("sample", "tags", column(tag))
    if value is None:
        return written.is_not(None)
    return written == column(value)


def _at(*path: str) -> Function[str]:
    """Return the text at a place in a row's JSON, made such that PostgreSQL can read it."""
    body = TEXTS.c.body
    marked = func.regexp_replace(body, _UNREADABLE, r"\1?", "g")
    holds_one = or_(*(func.strpos(body, sign) > 0 for sign in _SIGNS))  # sooner told than a match
    readable = cast(case((holds_one, marked), else_=body), JSON)
    return func.json_extract_path_text(readable, *path, type_=Text)


def _in_json(text: str) -> str:
    """Return a text as a row's JSON has it."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _pattern(text: str) -> str:
    """Return the pattern of what holds a text, in which nothing is a wildcard but its ends."""
    for special in "/%_":
        text = text.replace(special, f"/{special}")
    return f"%{text}%"


# Wanted: which rows of a run are to be shown; Found: some of them.

MOST = 500
"""Rows that are given at once."""
LONGEST = 1000
"""Characters that are looked for; databases take no pattern of any length."""
STATES: Mapping[str, ColumnElement[bool]] = MappingProxyType(
    {state.value: SCORES.c.state == state.value for state in State}
    | {"flagged": SCORES.c.fallback.is_(True), "missed": SCORES.c.passed.is_(False)}
)
"""What a score can be asked to be: its state, made up by the policy, or short of its pass mark."""


@dataclass(frozen=True)
class RowQuery:
    """Which rows of a run are to be shown, and in which order.

    Attributes:
        text: stands in the id, the query or the response, whatever the case of its letters.
        metric: what `state`, `low` and `high` are about; None is any metric.
        state: one of STATES.
        low, high: the least and the most that its score may be.
        tag, value: a tag that they have, and what it is, as text; None is anything.
        sort: the metric by whose value they are sorted, those without one last; None is by place.
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
            raise UsageError(f"the offset is 0 or more, and the limit 1 to {MOST}")
        if len(self.text) > LONGEST:
            raise UsageError(f"a text to look for has {LONGEST:,} characters at most")

    @property
    def asks_of_scores(self) -> bool:
        """Whether something has to hold of a score of the row."""
        return self.state is not None or self.low is not None or self.high is not None


@dataclass(frozen=True)
class RowPage:
    """Some rows, without their exchanges, of `matched` that are as wanted, of `total`."""

    total: int
    matched: int
    rows: tuple[Row, ...]


# Browsing a stored ranking's run: its queries found and sorted by their columns.


def find_queries(rows: RankingRows, wanted: RowQuery) -> RowPage:
    """Return the queries that are as wanted; their numbers alone are read of the others."""
    fits = np.ones(len(rows), dtype=np.bool_)
    if wanted.tag is not None:
        fits[:] = False  # queries from files have no tags
    if wanted.text:
        fits &= _ranking_text_matches(rows, wanted.text)
    if wanted.asks_of_scores:
        fits &= np.logical_or.reduce([*_scored_so(rows, wanted), np.zeros(len(rows), np.bool_)])
    places = _sorted(rows, np.flatnonzero(fits), wanted)
    few: list[int] = places[wanted.offset : wanted.offset + wanted.limit].tolist()
    read = {place: rows[place] for place in sorted(few)}  # each block is read once
    return RowPage(len(rows), len(places), tuple(read[place] for place in few))


def _ranking_text_matches(rows: RankingRows, text: str) -> NDArray[np.bool_]:
    folded = text.casefold()
    each = zip(rows.ids, rows.queries, strict=True)
    return np.fromiter(
        (folded in name.casefold() or folded in query.casefold() for name, query in each),
        dtype=np.bool_,
        count=len(rows),
    )


def _scored_so(rows: RankingRows, wanted: RowQuery) -> Iterator[NDArray[np.bool_]]:
    """Yield for each metric asked about which queries have such a score."""
    known = wanted.state is None or wanted.state in list(State)
    names = rows.metrics if wanted.metric is None else [wanted.metric]
    for name in names if known else ():  # no number is made up, or held against a pass mark
        if name not in rows.metrics:
            continue
        numbers, states = rows.column(name)
        fits = np.ones(len(rows), dtype=np.bool_)
        if wanted.state is not None:
            fits &= states == RANKING_STATES.index(State(wanted.state))
        if wanted.low is not None:
            fits &= (states == SCORED) & (numbers >= wanted.low)
        if wanted.high is not None:
            fits &= (states == SCORED) & (numbers <= wanted.high)
        yield fits


def _sorted(rows: RankingRows, places: NDArray[np.int64], wanted: RowQuery) -> NDArray[np.int64]:
    """Sort places by a metric's number, those without one last; else as they stand."""
    if wanted.sort is None:
        return places[::-1] if wanted.descending else places
    if wanted.sort not in rows.metrics:
        return places
    numbers, states = rows.column(wanted.sort)
    keys = -numbers[places] if wanted.descending else numbers[places]
    none = states[places] != SCORED
    return places[np.lexsort((places, np.where(none, 0.0, keys), none))]


# Browsing: some rows of a stored run, found, sorted and counted by the database.

_NO_EXCHANGES = "[]"


def find_rows(store: Store, run_id: str, wanted: RowQuery) -> RowPage:
    """Return the rows of a run that are as wanted.

    Raises:
        StoreError: there is no such run, a row cannot be read, or the database fails.
    """
    if (values := _values(store, run_id)) is not None:
        return find_queries(values, wanted)
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
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
    return RowPage(total, matched, tuple(rows))


def row_at(store: Store, run_id: str, place: int) -> Row | None:
    """Return the whole row at a place; None if it is not stored.

    Raises:
        StoreError: there is no such run, the row cannot be read, or the database fails.
    """
    if (values := _values(store, run_id)) is not None:
        return values.at(place) if 0 <= place < len(values) else None
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        here = TEXTS.c.run == run, TEXTS.c.place == place
        line = connection.execute(select(TEXTS.c.body, TEXTS.c.transcript).where(*here)).first()
    return None if line is None else _row(run_id, place, Texts(line[0], line[1]))


def _values(store: Store, run_id: str) -> RankingRows | None:
    """Return the rows of a ranking's run; None for any other run."""
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        first = select(QUERY_BLOCKS.c.place).where(QUERY_BLOCKS.c.run == run).limit(1)
        ranked = connection.execute(first).first() is not None
    return store.load(run_id).columns if ranked else None


def _row(run_id: str, place: int, texts: Texts) -> Row:
    with row_errors(run_id, place):
        return decode_row(texts)


def _as_wanted(
    connection: Connection, run: int, wanted: RowQuery
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
        conditions.append(text_matches(connection, wanted.text))
    if wanted.tag is not None:
        conditions.append(tag_matches(connection, wanted.tag, wanted.value))
    return tables, conditions


def _scores(wanted: RowQuery) -> Iterator[ColumnElement[bool]]:
    """Yield what has to hold of a score of a row that is wanted."""
    if wanted.state is not None:
        yield STATES[wanted.state]
    if wanted.low is not None:
        yield SCORES.c.value >= wanted.low
    if wanted.high is not None:
        yield SCORES.c.value <= wanted.high


def _order(wanted: RowQuery) -> tuple[ColumnElement[Any], ...]:
    """Return what the rows are sorted by; the scores of the metric are joined to them."""
    place, value = ROWS.c.place, SCORES.c.value
    if wanted.sort is None:
        return (place.desc() if wanted.descending else place,)
    return value.is_(None), value.desc() if wanted.descending else value, place


# Summing: what the scores of a run come to that was never summed up, or not yet.


@dataclass(frozen=True)
class MetricCounts:
    """What the scores of one metric come to so far; the mean is None over nothing."""

    scored: int
    undefined: int
    failed: int
    mean: float | None


def count_scores(store: Store, run_id: str) -> dict[str, MetricCounts]:
    """Return metric -> what its scores come to, over the rows that are stored.

    Raises:
        StoreError: there is no such run, or the database fails.
    """
    with store.connect() as connection:
        run = find_run_number(connection, run_id, store=store.name)
        which = SCORES.c.metric, SCORES.c.state
        figures = func.count(), func.sum(SCORES.c.value)
        query = select(*which, *figures).where(SCORES.c.run == run).group_by(*which)
        lines = connection.execute(query).all()
    found: dict[str, dict[State, tuple[int, float | None]]] = {}
    for metric, state, number, total in lines:
        found.setdefault(metric, {})[State(state)] = number, total
    return {metric: _counted(states) for metric, states in found.items()}


def _counted(states: dict[State, tuple[int, float | None]]) -> MetricCounts:
    number, total = states.get(State.SCORED, (0, None))
    undefined, failed = (states.get(each, (0,))[0] for each in (State.UNDEFINED, State.FAILED))
    return MetricCounts(number, undefined, failed, None if total is None else total / number)


def summarise(store: Store, info: RunInfo) -> RunInfo:
    """Return the info with a summary: where it has none, each metric's mean and counts so far."""
    if info.summary is not None:
        return info
    metrics = {
        name: {"mean": each.mean, "failed": each.failed}
        for name, each in count_scores(store, info.id).items()
    }
    return replace(info, summary={"metrics": metrics})
