"""RowWriter: writes finished rows of a run in batches, in its own thread."""

import asyncio
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from itertools import chain
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from sqlalchemy import Connection, Table, select

from ragstone.results.ranking_run import RankingRows
from ragstone.store.codec import Record, checksum, column
from ragstone.store.database import LABELS, QUERY_BLOCKS, ROWS, SCORES, TEXTS, VALUE_BLOCKS
from ragstone.store.errors import StoreError
from ragstone.store.reader import FLOAT, RESPONSE, format_time
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row

RECORDS_AT_ONCE = 2000  # some databases limit a statement to 32,766 values
AT_ONCE = 200  # maximum rows in a transaction
CHARACTERS = 4_000_000  # characters of text after which a transaction gets no more rows
PAUSE = 0.25  # seconds after which rows are written even if they are few
AHEAD = 3  # maximum waiting batches; if there are more, `put` waits too

_log = logging.getLogger("ragstone.store")


def write(connection: Connection, run: int, records: Sequence[Record]) -> None:
    """Records replace those of their places; labels go if what they judge has changed."""
    last = {record.place: record for record in records}.values()
    _delete_stale_labels(connection, run, {record.place: record.encoded.body for record in last})
    for table, lines in (
        (ROWS, [(run, *record.row) for record in last]),
        (SCORES, [(run, *score) for record in last for score in record.scores]),
        (TEXTS, [(run, *record.texts) for record in last]),
    ):
        put_lines(connection, table, lines)


def _delete_stale_labels(connection: Connection, run: int, bodies: Mapping[int, str]) -> None:
    keys = LABELS.c.place, LABELS.c.metric, LABELS.c.claim
    same = (LABELS.c.run == TEXTS.c.run) & (LABELS.c.place == TEXTS.c.place)
    query = select(*keys, TEXTS.c.body).join(TEXTS, same).distinct()
    here = LABELS.c.run == run, LABELS.c.place.in_(bodies)
    for *key, body in connection.execute(query.where(*here)).all():
        place, metric, claim = key
        old, new = (json.loads(each) for each in (body, bodies[place]))
        if _labelled_part(old, metric, claim) != _labelled_part(new, metric, claim):
            gone = (column == value for column, value in zip(keys, key, strict=True))
            connection.execute(LABELS.delete().where(LABELS.c.run == run, *gone))


def _labelled_part(row: Mapping[str, Any], metric: str, claim: int) -> object:
    sample, claims = row["sample"], row["scores"].get(metric, {}).get("claims", ())
    contexts = [each.get("text") for each in sample.get("contexts") or ()]
    number = slice(None) if claim >= 0 else slice(0)
    texts = [each["text"] for each in claims[number]]
    return sample["query"], sample.get("response"), contexts, texts


def write_labels(connection: Connection, run: int, labels: Iterable[HumanLabel]) -> None:
    lines: dict[object, tuple[object, ...]] = {}
    for each in labels:
        key = label_key(run, each)
        values = each.value, format_time(each.at), 1.0, each.blind
        lines[key] = (*key, *values, checksum(*key[1:], *values))
    rows = set(connection.execute(select(ROWS.c.place).where(ROWS.c.run == run)).scalars())
    if missing := {line[2] for line in lines.values()} - rows:
        raise StoreError(f"a label is for row {missing.pop()}, but the run has no such row")
    put_lines(connection, LABELS, list(lines.values()))


def label_key(run: int, label: HumanLabel) -> tuple[int, str, int, int, str]:
    claim = RESPONSE if label.claim is None else label.claim
    return run, column(label.metric), label.position, claim, column(label.annotator)


def write_blocks(connection: Connection, run: int, rows: RankingRows) -> None:
    place = 0
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
                "numbers": pack(block.numbers(metric).astype(FLOAT).tobytes()),
            }
            for metric in block.metrics
            for failed in [block.failures(metric)]
        ]
        with connection.begin():
            connection.execute(QUERY_BLOCKS.insert().values(queries))
            if columns:
                connection.execute(VALUE_BLOCKS.insert(), columns)
        place += len(block)


def pack(content: bytes) -> bytes:
    return zlib.compress(content, 1)  # higher levels save a fifth, but take a second longer


def put_lines(connection: Connection, table: Table, lines: Sequence[tuple[object, ...]]) -> None:
    for start in range(0, len(lines), RECORDS_AT_ONCE):
        some = lines[start : start + RECORDS_AT_ONCE]
        sql = _put(table, lines=len(some), dialect=connection.dialect.name)
        connection.exec_driver_sql(sql, tuple(chain.from_iterable(some)))


@lru_cache(maxsize=64)
def _put(table: Table, *, lines: int, dialect: str) -> str:
    """With a statement for each line, the writer's thread and the event loop would swap the GIL."""
    names = [each.name for each in table.c]
    keys = [each.name for each in table.primary_key]
    replaced = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    line = f"({', '.join(['?' if dialect == 'sqlite' else '%s'] * len(names))})"
    return (
        f"INSERT INTO {table.name} ({', '.join(names)}) "  # noqa: S608 - our own names
        f"VALUES {', '.join(line for _ in range(lines))} "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {replaced}"
    )


class RowWriter:
    """Writes rows; returned by `store.open_writer(run_id)`, and used with `async with`.

    `put` encodes a row at once, and waits only if the database is far behind. Leaving the block,
    even with an error, writes all rows that were put. If the database fails, the next `put` or
    leaving the block raises a StoreError; rows that were already written remain.
    """

    def __init__(
        self,
        name: str,
        *,
        lock: Callable[[], AbstractContextManager[tuple[Connection, int]]],
        transcript: bool,
    ) -> None:
        self._name, self._lock, self._transcript = name, lock, transcript
        self._batch: list[Record] = []
        self._size = self._waiting = self._put = self._written = 0
        self._timer: asyncio.TimerHandle | None = None
        self._batches: SimpleQueue[list[Record] | None] = SimpleQueue()
        self._room = asyncio.Event()
        self._error: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        Thread(target=self._work, name="ragstone store", daemon=True).start()
        try:
            await asyncio.wait([self._ready, self._ended], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._batches.put(None)
            raise
        if self._error:
            raise self._error
        return self

    async def put(self, row: Row | Record) -> None:
        """Write a row, or one that another process encoded; it replaces a row at the same place."""
        self._check()
        record = Record.of(row, transcript=self._transcript) if isinstance(row, Row) else row
        self._put += 1
        self._batch.append(record)
        self._size += record.size
        if len(self._batch) >= AT_ONCE or self._size >= CHARACTERS:
            self._flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(PAUSE, self._flush)
        while self._waiting >= AHEAD and not self._error:
            self._room.clear()
            await self._room.wait()
        self._check()

    async def __aexit__(self, *raised: object) -> None:
        error = raised[1] if raised else None
        self._flush()
        self._batches.put(None)
        cancelled: asyncio.CancelledError | None = None
        while not self._ended.done():
            try:
                await asyncio.wait([self._ended])
            except asyncio.CancelledError as again:  # finished rows are written first
                cancelled = again
        if error is None:
            self._check()
        elif self._error and not isinstance(error, StoreError):
            _log.warning("%s", self._loss(self._error))
        if cancelled:
            raise cancelled

    def _check(self) -> None:
        if isinstance(self._error, StoreError):
            raise StoreError(self._loss(self._error)) from self._error
        if self._error:
            raise self._error

    def _loss(self, error: BaseException) -> str:
        lost = self._put - self._written
        rows = "1 finished row is" if lost == 1 else f"{lost} finished rows are"
        return (
            f"{error}\n{rows} not stored; {self._written} are. "
            f"To continue the run: `ragstone resume {self._name}`"
        )

    def _flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._batch:
            self._waiting += 1
            self._batches.put(self._batch)
            self._batch, self._size = [], 0

    def _work(self) -> None:
        error: BaseException | None = None

        def written(rows: int) -> None:
            self._written += rows
            self._waiting -= 1
            self._room.set()

        def finish(future: asyncio.Future[None]) -> None:
            self._error = error
            self._room.set()
            if not future.done():
                future.set_result(None)

        try:
            with self._lock() as (connection, run):
                self._call_soon(finish, self._ready)
                while batch := self._batches.get():
                    with connection.begin():
                        write(connection, run, batch)
                    self._call_soon(written, len(batch))
        except BaseException as caught:  # noqa: BLE001 - raised again by put()
            error = caught
        self._call_soon(finish, self._ended)

    def _call_soon(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *arguments)
