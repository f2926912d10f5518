"""Reads the rows, scores and usage of a stored run when they are needed."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import NamedTuple, Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, and_, func, select

from ragstone._internal.text import format_validation_errors, one_line
from ragstone.results.metric_summary import STATES
from ragstone.results.ranking_run import RankingRows
from ragstone.store.codec import Texts, column, decode_row, from_text, query_fingerprint
from ragstone.store.errors import StoreError
from ragstone.store.schema import ROWS, SCORES, TEXTS
from ragstone.types.reply import Usage
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import State

T = TypeVar("T")

AT_ONCE = 200
"""Rows per query."""


class StoredRows(LazyRows):
    """The rows of one run, sorted by place; few are in memory at a time."""

    stored = True

    def __init__(
        self, run: int, name: str, *, reading: Callable[[], AbstractContextManager[Connection]]
    ) -> None:
        self._run, self._name, self._reading = run, name, reading

    @cached_property
    def _count(self) -> int:
        query = select(func.count()).select_from(ROWS).where(ROWS.c.run == self._run)
        with self._reading() as connection:
            return connection.execute(query).scalar_one()

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<{len(self)} stored rows of run {self._name}>"

    def __iter__(self) -> Iterator[Row]:
        return (self._row(place, texts) for place, texts in self._all())

    def at(self, place: int) -> Row:
        """Return the row at a place of the stored rows."""
        places = select(ROWS.c.place).where(ROWS.c.run == self._run).order_by(ROWS.c.place)
        with self._reading() as connection:
            number = connection.execute(places.limit(1).offset(place)).scalar_one()
        return self._row(*self._after(number - 1, at_once=1)[0])

    def texts(self) -> Iterator[Texts]:
        """Yield the rows as they are stored."""
        return (texts for _, texts in self._all())

    def read_as(self, adapter: TypeAdapter[T]) -> Iterator[T]:
        """Yield the rows as the adapter reads their JSON, which has no exchanges.

        Raises:
            StoreError: the adapter cannot read a row.
        """
        for place, texts in self._all():
            with row_errors(self._name, place):
                value = from_text(adapter, texts.body)
            yield value

    def _all(self) -> Iterator[tuple[int, Texts]]:
        last = -1
        while found := self._after(last):
            yield from found
            last = found[-1][0]

    def _after(self, place: int, *, at_once: int = AT_ONCE) -> list[tuple[int, Texts]]:
        """Read the next rows in a transaction of its own, so that a slow reader blocks nothing."""
        query = (
            select(TEXTS.c.place, TEXTS.c.body, TEXTS.c.transcript)
            .where(TEXTS.c.run == self._run, TEXTS.c.place > place)
            .order_by(TEXTS.c.place)
            .limit(at_once)
        )
        with self._reading() as connection:
            found = connection.execute(query)
            return [(place, Texts(body, transcript)) for place, body, transcript in found]

    def _row(self, place: int, texts: Texts) -> Row:
        with row_errors(self._name, place):
            return decode_row(texts)


@contextmanager
def row_errors(run_id: str, place: int) -> Generator[None, None, None]:
    """Raise a StoreError that names the row if its texts cannot be decoded."""
    try:
        yield
    except ValidationError as error:
        reason = one_line(format_validation_errors(error), 300)
        raise StoreError(
            f"row {place} of run {run_id} cannot be read: {reason}; "
            "if a newer version of ragstone wrote it, update ragstone"
        ) from error


class RowIndexSet(Collection[int]):
    """A set of places of a data set, in one byte per row."""

    def __init__(self, flags: bytes = b"") -> None:
        self._flags = flags

    @classmethod
    def of(cls, places: Iterable[int]) -> Self:
        """Return the set of these places, which count from 0."""
        flags = bytearray()
        for place in places:
            if place >= len(flags):
                flags.extend(bytes(place + 1 - len(flags)))
            flags[place] = 1
        return cls(bytes(flags))

    def __contains__(self, place: object) -> bool:
        return isinstance(place, int) and 0 <= place < len(self._flags) and self._flags[place] == 1

    def __len__(self) -> int:
        return self._flags.count(1)

    def __iter__(self) -> Iterator[int]:
        return (place for place, flag in enumerate(self._flags) if flag)

    def __repr__(self) -> str:
        return f"<{len(self)} places>"


VALUES_AT_ONCE = 10_000
"""Values per query."""


class StoredValue(NamedTuple):
    """The score of one row by one metric; `value` is None unless it is scored.

    In `sample_id`, NULs and lone surrogates are escaped. Equal queries have equal fingerprints.
    """

    place: int
    sample_id: str
    query_fingerprint: str
    state: State
    value: float | None


def read_values(
    run: int, metric: str, *, reading: Callable[[], AbstractContextManager[Connection]]
) -> Iterator[StoredValue]:
    """Yield the values of one metric, sorted by place; a slow reader blocks nothing."""
    same = and_(ROWS.c.run == SCORES.c.run, ROWS.c.place == SCORES.c.place)
    found = ROWS.c.sample_id, ROWS.c.query_fingerprint, SCORES.c.state, SCORES.c.value
    query = (
        select(SCORES.c.place, *found)
        .join(ROWS, same)
        .where(SCORES.c.run == run, SCORES.c.metric == metric)
        .order_by(SCORES.c.place)
        .limit(VALUES_AT_ONCE)
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
    """Yield the values of one metric of a ranking run, sorted by place."""
    if metric not in rows.metrics:
        return
    numbers, states = rows.column(metric)
    codes: list[int] = states.tolist()
    each = zip(rows.ids, rows.queries, numbers.tolist(), codes, strict=True)
    for place, (name, query, number, code) in enumerate(each):
        state = STATES[code]
        value = number if state is State.SCORED else None
        yield StoredValue(place, column(name), query_fingerprint(query), state, value)


def sum_usage(connection: Connection, run: int) -> Usage:
    """Return the usage of all rows of a run; the cost is None if that of any row is unknown.

    It does not include calls of local models, which are only in the rows.
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
