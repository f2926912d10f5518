"""StoredRows: the rows of a stored run, read each time they are looked at."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, func, select

from ragstone.messages import format_validation_errors, one_line
from ragstone.rows import LazyRows, Row
from ragstone.store.codec import Texts, decoded, from_text
from ragstone.store.failures import StoreError
from ragstone.store.schema import ROWS, TEXTS

T = TypeVar("T")

AT_ONCE = 200
"""Rows that are read at once."""


class StoredRows(LazyRows):
    """The rows of one run, ordered by place; few are in memory at a time."""

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

    def __iter__(self) -> Iterator[Row]:
        return (self._decoded(place, texts) for place, texts in self._all())

    def texts(self) -> Iterator[Texts]:
        """Yield the rows as they are stored."""
        return (texts for _, texts in self._all())

    def read_as(self, adapter: TypeAdapter[T]) -> Iterator[T]:
        """Yield the rows as the adapter reads their JSON, which is all but the exchanges.

        Raises:
            StoreError: a row cannot be read so.
        """
        for place, texts in self._all():
            with row_told(self._name, place):
                value = from_text(adapter, texts.body)
            yield value

    def _all(self) -> Iterator[tuple[int, Texts]]:
        last = -1
        while found := self._after(last):
            yield from found
            last = found[-1][0]

    def at(self, place: int) -> Row:
        """Return the row at a place of those that are stored, read anew."""
        places = select(ROWS.c.place).where(ROWS.c.run == self._run).order_by(ROWS.c.place)
        with self._reading() as connection:
            number = connection.execute(places.limit(1).offset(place)).scalar_one()
        return self._decoded(*self._after(number - 1, at_once=1)[0])

    def __repr__(self) -> str:
        return f"<{len(self)} stored rows of run {self._name}>"

    def _after(self, place: int, *, at_once: int = AT_ONCE) -> list[tuple[int, Texts]]:
        """Read the next rows; each time anew, so that a reader who stops holds nothing up."""
        query = (
            select(TEXTS.c.place, TEXTS.c.body, TEXTS.c.transcript)
            .where(TEXTS.c.run == self._run, TEXTS.c.place > place)
            .order_by(TEXTS.c.place)
            .limit(at_once)
        )
        with self._reading() as connection:
            found = connection.execute(query)
            return [(place, Texts(body, transcript)) for place, body, transcript in found]

    def _decoded(self, place: int, texts: Texts) -> Row:
        with row_told(self._name, place):
            return decoded(texts)


@contextmanager
def row_told(run_id: str, place: int) -> Generator[None, None, None]:
    """Raise a StoreError that names the row where its texts are not those of one.

    Raises:
        StoreError: this version cannot read the row.
    """
    try:
        yield
    except ValidationError as error:
        reason = one_line(format_validation_errors(error), 300)
        raise StoreError(
            f"row {place} of run {run_id} cannot be read: {reason}; "
            "if a newer ragstone wrote it, update this one"
        ) from error
