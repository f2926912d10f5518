"""StoredValues: the values of a stored ranking's run, a column or a block read when looked at."""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ragstone.ranked_values import NO_FAILURES, Failures, RankedRows, RankedValues
from ragstone.rows import Row
from ragstone.store.codec import column
from ragstone.store.failures import StoreError
from ragstone.store.schema import QUERY_BLOCKS, VALUE_BLOCKS
from ragstone.store.value_blocks import Names, failures_of, names_of, numbers_of

Reading = Callable[[], AbstractContextManager[Connection]]


class StoredValues(RankedRows):
    """The rows of one ranking's run; its ids are in memory, and of the numbers one block."""

    def __init__(self, run: int, name: str, metrics: Sequence[str], *, reading: Reading) -> None:
        self._run, self._name, self._reading = run, name, reading
        self.metrics = tuple(metrics)
        self._names = self._read_names()
        self._starts = list(self._names)
        self.ids = [name for names in self._names.values() for name in names.ids]
        self.texts = {
            key: text for each in self._names.values() for key, text in each.texts.items()
        }
        self.why = np.concatenate([names.why for names in self._names.values()])
        self._last: tuple[int, RankedValues] | None = None

    def __repr__(self) -> str:
        return f"<{len(self)} stored queries of run {self._name}>"

    def at(self, place: int) -> Row:
        """Return the row of one query; its block is read, unless it was the last one."""
        start = self._starts[bisect_right(self._starts, place) - 1]
        return replace(self._block(start).at(place - start), index=place)

    def __iter__(self) -> Iterator[Row]:
        return map(self.at, range(len(self)))

    def some(self, places: Iterable[int]) -> list[Row]:
        """Return the rows at these places, in that order; each block is read once."""
        wanted = list(places)
        found = {place: self.at(place) for place in sorted(wanted)}
        return [found[place] for place in wanted]

    def numbers(self, metric: str) -> NDArray[np.float64]:
        """Return float64[Q], each query's value by one metric; 0 where it has none."""
        query = (
            select(VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.numbers)
            .where(VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.metric == column(metric))
            .order_by(VALUE_BLOCKS.c.place)
        )
        found = np.empty(len(self))
        with self._reading() as connection:
            lines = dict(connection.execute(query).all())
        for start in self._starts:
            with self._told(start):
                size = self._size(start)
                found[start : start + size] = numbers_of(lines[start], size)
        return found

    def failures(self, metric: str) -> Failures:
        """Return where a metric failed: a stranger's may."""
        return self._failures.get(metric, NO_FAILURES)

    def parts(self) -> Iterator[RankedValues]:
        """Yield all queries in order, a block at a time."""
        return map(self._block, self._starts)

    @cached_property
    def _failures(self) -> dict[str, dict[int, str]]:
        metric, place, failed = VALUE_BLOCKS.c.metric, VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.failed
        query = select(metric, place, failed).where(
            VALUE_BLOCKS.c.run == self._run, failed.is_not(None)
        )
        with self._reading() as connection:
            lines = connection.execute(query.order_by(place)).all()
        names = {column(name): name for name in self.metrics}
        found: dict[str, dict[int, str]] = {}
        for stored, start, cell in lines:
            with self._told(start):
                within, name = failures_of(cell), names[stored]
            places = {start + place: words for place, words in within.items()}
            found.setdefault(name, {}).update(places)
        return found

    def _block(self, start: int) -> RankedValues:
        if self._last is None or self._last[0] != start:
            self._last = start, self._read_block(start)
        return self._last[1]

    def _read_block(self, start: int) -> RankedValues:
        names = [column(metric) for metric in self.metrics]
        query = select(VALUE_BLOCKS.c.metric, VALUE_BLOCKS.c.numbers).where(
            VALUE_BLOCKS.c.run == self._run,
            VALUE_BLOCKS.c.metric.in_(names),
            VALUE_BLOCKS.c.place == start,
        )
        with self._reading() as connection:
            lines = dict(connection.execute(query).all())
        size, known = self._size(start), self._names[start]
        values = np.empty((size, len(names)))
        with self._told(start):
            for number, metric in enumerate(names):
                values[:, number] = numbers_of(lines[metric], size)
        failed = {
            metric: {
                place - start: words
                for place, words in failures.items()
                if start <= place < start + size
            }
            for metric, failures in self._failures.items()
        }
        return RankedValues(
            known.ids, known.texts, self.metrics, values, why=known.why, failed=failed
        )

    def _read_names(self) -> dict[int, Names]:
        cells = QUERY_BLOCKS.c.place, QUERY_BLOCKS.c.names, QUERY_BLOCKS.c.why
        query = select(*cells).where(QUERY_BLOCKS.c.run == self._run).order_by(cells[0])
        with self._reading() as connection:
            lines = connection.execute(query).all()
        found: dict[int, Names] = {}
        for start, names, why in lines:
            with self._told(start):
                found[start] = names_of(names, why)
        return found

    def _size(self, start: int) -> int:
        return len(self._names[start].ids)

    @contextmanager
    def _told(self, start: int) -> Generator[None, None, None]:
        """Raise a StoreError that names the block where its cells are not those of one.

        Raises:
            StoreError: this version cannot read the block.
        """
        try:
            yield
        except (ValueError, KeyError) as error:
            raise StoreError(
                f"the queries from place {start} of run {self._name} cannot be read: {error}; "
                "if a newer ragstone wrote them, update this one"
            ) from error
