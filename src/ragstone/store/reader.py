"""Reads the rows, scores and usage of a stored run when they are needed."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, func, select

from ragstone._internal.text import format_validation_errors, one_line
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store.codec import ROW, Texts, checksum, decode_row, from_text
from ragstone.store.counts import VERSION, decode_counts
from ragstone.store.errors import DamagedRunError, StoreError
from ragstone.store.run_info import check_stored
from ragstone.store.schema import COUNTS, ROWS, TEXTS
from ragstone.store.writer import Record
from ragstone.types.row import LazyRows, Row

T = TypeVar("T")

AT_ONCE = 200
"""Rows per query."""


class StoredRows(LazyRows):
    """The rows of one run, sorted by place; few are in memory at a time.

    `count` is their number if the run is finished. Rows that are missing or were changed raise a
    StoreError when they are read.
    """

    stored = True

    def __init__(
        self,
        run: int,
        name: str,
        *,
        reading: Callable[[], AbstractContextManager[Connection]],
        count: int | None = None,
    ) -> None:
        self._run, self._name, self._reading, self._due = run, name, reading, count

    @cached_property
    def _count(self) -> int:
        if self._due is not None:
            return self._due
        query = select(func.count()).select_from(ROWS).where(ROWS.c.run == self._run)
        with self._reading() as connection:
            if not (count := connection.execute(query).scalar_one()):
                check_stored(connection, self._run, self._name)
            return count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<{len(self)} stored rows of run {self._name}>"

    def __iter__(self) -> Iterator[Row]:
        return (self._row(place, texts) for place, texts in self._all())

    @cached_property
    def _has_all(self) -> bool:
        query = select(func.max(ROWS.c.place)).where(ROWS.c.run == self._run)
        with self._reading() as connection:
            return connection.execute(query).scalar() == len(self) - 1

    def counts(self) -> RunSummaryBuilder | None:
        query = select(COUNTS.c.counts).where(
            COUNTS.c.run == self._run, COUNTS.c.version == VERSION
        )
        with self._reading() as connection:
            stored = connection.execute(query).scalar()
        return None if stored is None else decode_counts(stored)

    def at(self, place: int) -> Row:
        places = select(ROWS.c.place).where(ROWS.c.run == self._run).order_by(ROWS.c.place)
        all_there = self._has_all
        with self._reading() as connection:
            number = place
            if not all_there:  # counting those before takes longer
                number = connection.execute(places.limit(1).offset(place)).scalar()
            here = TEXTS.c.run == self._run, TEXTS.c.place == number
            if not (found := read_texts(connection, *here, run_id=self._name)):
                what = f"run {self._name} has no texts of its row {place}"
                check_stored(connection, self._run, self._name, damage=what)
        return self._row(*found[0])

    def texts(self) -> Iterator[Texts]:
        return (texts for _, texts in self._all())

    def read_as(self, adapter: TypeAdapter[T]) -> Iterator[T]:
        for place, texts in self._all():
            with row_errors(self._name, place):
                value = from_text(adapter, texts.body)
            yield value

    def without_exchanges(self) -> Iterator[Row]:
        return self.read_as(ROW)

    def _all(self) -> Iterator[tuple[int, Texts]]:
        last, count = -1, 0
        while found := self._after(last):
            yield from found
            last = found[-1][0]
            count += len(found)
        what = None
        if self._due is not None and count != self._due:
            what = f"run {self._name} has the texts of {count:,} of its {self._due:,} rows"
        with self._reading() as connection:
            check_stored(connection, self._run, self._name, damage=what)

    def _after(self, place: int) -> list[tuple[int, Texts]]:
        """Read the next rows in a transaction of its own, so that a slow reader blocks nothing."""
        later = TEXTS.c.run == self._run, TEXTS.c.place > place
        with self._reading() as connection:
            return read_texts(connection, *later, run_id=self._name, limit=AT_ONCE)

    def _row(self, place: int, texts: Texts) -> Row:
        with row_errors(self._name, place):
            return decode_row(texts)


class EncodedRows(LazyRows):
    """Rows in memory as a store would write them, decoded each time they are read."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def at(self, place: int) -> Row:
        return decode_row(self._records[place].encoded)


def read_texts(
    connection: Connection, *which: ColumnElement[bool], run_id: str, limit: int | None = None
) -> list[tuple[int, Texts]]:
    cells = TEXTS.c.place, TEXTS.c.body, TEXTS.c.transcript, TEXTS.c.checksum
    query = select(*cells).where(*which).order_by(cells[0]).limit(limit)
    found: list[tuple[int, Texts]] = []
    for place, body, transcript, stored in connection.execute(query):
        if stored is not None and stored != checksum(place, body, transcript):
            what = f"row {place} of run {run_id} is not as it was stored"
            raise DamagedRunError(what, run_id)
        found.append((place, Texts(body, transcript)))
    return found


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
