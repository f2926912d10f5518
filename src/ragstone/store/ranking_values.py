"""StoredRanking: the rows of a stored ranking run, read a column or a block at a time.

Cells are zlib-compressed; a cell of scores has little-endian float64 of one metric and block.
"""

import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from sqlalchemy import Connection, select

from ragstone.results.ranking_run import RankingRows, RankingScores
from ragstone.store.codec import column, from_text
from ragstone.store.errors import StoreError
from ragstone.store.run_info import check_stored
from ragstone.store.schema import QUERY_BLOCKS, VALUE_BLOCKS
from ragstone.types.row import Row

LEVEL = 1
"""The fastest zlib level; higher ones make files a fifth smaller, but take a second longer."""
_FLOAT = np.dtype("<f8")
_NAMES: TypeAdapter[tuple[list[str], dict[str, str]]] = TypeAdapter(
    tuple[list[str], dict[str, str]]
)
_FAILED: TypeAdapter[list[tuple[int, str]]] = TypeAdapter(list[tuple[int, str]])


def write_blocks(connection: Connection, run: int, rows: RankingRows, *, place: int = 0) -> int:
    for block in rows.blocks():
        texts = {query: block.texts[query] for query in block.ids if query in block.texts}
        names = json.dumps([list(block.ids), texts])
        queries = {
            "run": run,
            "place": place,
            "queries": len(block),
            "why": pack(block.why.tobytes()),
            "names": pack(names.encode()),
        }
        columns = [
            {
                "run": run,
                "metric": column(metric),
                "place": place,
                "failed": pack(json.dumps(list(failed.items())).encode()) if failed else None,
                "numbers": pack(block.numbers(metric).astype(_FLOAT).tobytes()),
            }
            for metric in block.metrics
            for failed in [block.failures(metric)]
        ]
        with connection.begin():
            connection.execute(QUERY_BLOCKS.insert().values(queries))
            if columns:
                connection.execute(VALUE_BLOCKS.insert(), columns)
        place += len(block)
    return place


class StoredRanking(RankingRows):
    """The rows of one ranking run; all ids are in memory, and the scores of one block."""

    stored = True

    def __init__(
        self,
        run: int,
        name: str,
        metrics: Sequence[str],
        *,
        reading: Callable[[], AbstractContextManager[Connection]],
    ) -> None:
        self._run, self._name, self._reading = run, name, reading
        self._last: tuple[int, RankingScores] | None = None
        self.metrics = tuple(metrics)
        ids: list[str] = []
        texts: dict[str, str] = {}
        why: list[NDArray[np.uint8]] = []
        self._starts: list[int] = []
        cells = QUERY_BLOCKS.c.place, QUERY_BLOCKS.c.names, QUERY_BLOCKS.c.why
        query = select(*cells).where(QUERY_BLOCKS.c.run == run).order_by(cells[0])
        with reading() as connection:
            lines = connection.execute(query).all()
        for start, names, codes in lines:
            with self._block_errors(start):
                more, their_texts = from_text(_NAMES, _unpack(names).decode())
                why.append(np.frombuffer(_unpack(codes), dtype=np.uint8))
                if len(more) != len(why[-1]):
                    raise ValueError(
                        f"it has {len(more)} ids, but the states of {len(why[-1])} queries"
                    )
                if start != len(ids):
                    raise ValueError(f"the queries from position {len(ids)} are missing")
            self._starts.append(start)
            ids += more
            texts |= their_texts
        with self._block_errors(0):
            self.why = np.concatenate(why)
        self.ids, self.texts = ids, texts

    def __repr__(self) -> str:
        return f"<{len(self)} stored queries of run {self._name}>"

    def at(self, place: int) -> Row:
        """Return the row of one query; its block is read, unless it was the last one."""
        number = bisect_right(self._starts, place) - 1
        return replace(self._block(number).at(place - self._starts[number]), index=place)

    def numbers(self, metric: str) -> NDArray[np.float64]:
        cells = VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.numbers
        one = VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.metric == column(metric)
        with self._reading() as connection:
            lines = dict(connection.execute(select(*cells).where(*one).order_by(cells[0])).all())
        found = np.empty(len(self))
        for start, end in pairwise([*self._starts, len(self)]):
            with self._block_errors(start):
                found[start:end] = _numbers(lines[start], end - start)
        return found

    def failures(self, metric: str) -> Mapping[int, str]:
        return self._failed.get(metric, {})

    def blocks(self) -> Iterator[RankingScores]:
        """Yield the queries in order, a block at a time."""
        return map(self._block, range(len(self._starts)))

    @cached_property
    def _failed(self) -> dict[str, dict[int, str]]:
        cells = VALUE_BLOCKS.c.metric, VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.failed
        some = VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.failed.is_not(None)
        with self._reading() as connection:
            lines = connection.execute(select(*cells).where(*some).order_by(cells[1])).all()
        names = {column(name): name for name in self.metrics}
        found: dict[str, dict[int, str]] = {}
        for metric, start, cell in lines:
            with self._block_errors(start):
                failures = from_text(_FAILED, _unpack(cell).decode())
                known = found.setdefault(names[metric], {})
            known.update((start + place, message) for place, message in failures)
        return found

    def _block(self, number: int) -> RankingScores:
        if self._last is not None and self._last[0] == number:
            return self._last[1]
        start, end = [*self._starts, len(self)][number : number + 2]
        cells = VALUE_BLOCKS.c.metric, VALUE_BLOCKS.c.numbers
        one = VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.place == start
        with self._reading() as connection:
            lines = dict(connection.execute(select(*cells).where(*one)).all())
        values = np.empty((end - start, len(self.metrics)))
        with self._block_errors(start):
            for place, metric in enumerate(self.metrics):
                values[:, place] = _numbers(lines[column(metric)], end - start)
        block = RankingScores(
            ids=self.ids[start:end],
            texts=self.texts,
            metrics=self.metrics,
            values=values,
            why=self.why[start:end],
            failed=self.failures_within(start, end),
        )
        self._last = number, block
        return block

    @contextmanager
    def _block_errors(self, start: int) -> Generator[None, None, None]:
        """Raise a StoreError that names the block if its cells cannot be decoded."""
        try:
            yield
        except (ValueError, KeyError) as error:
            with self._reading() as connection:
                check_stored(connection, self._run, self._name)
            raise StoreError(
                f"the queries from position {start} of run {self._name} cannot be read: {error}; "
                "if a newer version of ragstone wrote them, update ragstone"
            ) from error


def pack(content: bytes) -> bytes:
    return zlib.compress(content, LEVEL)


def _unpack(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _numbers(cell: bytes, queries: int) -> NDArray[np.float64]:
    found = np.frombuffer(_unpack(cell), dtype=_FLOAT).astype(np.float64, copy=False)
    if len(found) != queries:
        raise ValueError(f"{len(found)} scores for {queries} queries")
    return found
