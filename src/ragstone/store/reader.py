"""Stored runs: what is known without their rows, and rows that are read when they are needed.

The scores of a ranking run are stored as blocks of some thousand queries: zlib-compressed cells,
each with little-endian float64 of one metric. They are read a column or a block at a time.
"""

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from ragstone._internal.fields import Figure
from ragstone._internal.files import unpacked_limit
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.results.ranking_run import UNRANKED, RankingRows, RankingScores
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store import codec
from ragstone.store.database import COUNTS, LABELS, QUERY_BLOCKS, ROWS, RUNS, TEXTS, VALUE_BLOCKS
from ragstone.store.errors import DamagedRunError, RunNotFoundError, StoreError
from ragstone.types.config import Manifest
from ragstone.types.label import HumanLabel
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import Detail, MetricInfo

_MANIFEST = TypeAdapter(Manifest)
METRICS: TypeAdapter[Mapping[str, MetricInfo]] = TypeAdapter(dict[str, MetricInfo])
_EXTRAS: TypeAdapter[Mapping[str, Detail]] = TypeAdapter(dict[str, dict[str, Figure]])
SUMMARY: TypeAdapter[Mapping[str, object]] = TypeAdapter(dict[str, object])
_NAMES = TypeAdapter(tuple[list[str], dict[str, str]])
_LABEL = TypeAdapter(HumanLabel)
_FAILED = TypeAdapter(list[tuple[int, str]])
AT_ONCE = 200  # rows per query
FLOAT = "<f8"  # the numbers in a block: little-endian, 64 bits
RESPONSE = -1  # the stored claim index of a label of the whole response
_DELETED = "{} was deleted by another process while it was read"
_UNSEALED = ("number", "tag", "checksum", "started_at", "sort_time")  # no result depends on them

T = TypeVar("T")


@dataclass(frozen=True)
class RunInfo:
    """What is known about a run without its rows."""

    id: str
    started_at: datetime
    finished_at: datetime | None  # None while rows are missing
    tag: str | None
    fingerprint: str  # equal for runs of the same configuration
    manifest: Manifest
    metrics: Mapping[str, MetricInfo]
    extras: Mapping[str, Detail]
    summary: Mapping[str, object] | None
    stopped: str | None  # the budget that was spent
    transcript: bool  # without it, the run cannot be rescored
    rows: int
    ranked: bool = False
    damage: str | None = None  # what is missing or changed since the run was stored

    @property
    def finished(self) -> bool:
        return self.finished_at is not None


def format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def manifest_text(manifest: Manifest) -> str:
    return codec.to_text(_MANIFEST, _move_source(manifest, Path.absolute))


def extras_text(extras: Mapping[str, Detail]) -> str:
    return codec.to_text(_EXTRAS, {name: dict(extra) for name, extra in extras.items()})


def _move_source(manifest: Manifest, move: Callable[[Path], Path]) -> Manifest:
    path = manifest.source.path
    if path is None:
        return manifest
    source = manifest.source.model_copy(update={"path": str(move(Path(path)))})
    return manifest.model_copy(update={"source": source})


def read_line(connection: Connection, number: int) -> RowMapping:
    line = connection.execute(select(RUNS).where(RUNS.c.number == number)).mappings().first()
    if line is None:
        raise RunNotFoundError(_DELETED.format("a run"))
    return line


def read_run_info(connection: Connection, number: int) -> RunInfo:
    line = read_line(connection, number)
    rows, ranked = count_rows(connection, number)
    run_id, due, damage = line["id"], line["rows"], None
    if line["checksum"] not in (None, _line_checksum(line)):
        damage = f"the settings or summary of run {run_id} are not as they were stored"
    elif due not in (None, rows):
        damage = f"run {run_id} has {rows:,} of its {due:,} rows"
    if damage:
        check_stored(connection, number, run_id)
    for each in RUNS.c:  # SQLite does not check types
        value, unused = line[each], each.name in ("checksum", "sort_time")
        right = isinstance(value, each.type.python_type) or (value is None and each.nullable)
        if not (right or unused):
            raise DamagedRunError(damage or f"the line of run {run_id} is invalid", run_id)
    here, end = Path.cwd(), line["finished_at"]
    try:
        manifest = _move_source(
            codec.from_text(_MANIFEST, line["manifest"]),
            lambda path: path.relative_to(here) if path.is_relative_to(here) else path,
        )
        return RunInfo(
            id=run_id,
            started_at=_time(line["started_at"]),
            finished_at=_time(end) if end else None,
            tag=line["tag"],
            fingerprint=line["fingerprint"],
            manifest=manifest,
            metrics=codec.from_text(METRICS, line["metrics"]),
            extras=codec.from_text(_EXTRAS, line["extras"]),
            summary=codec.from_text(SUMMARY, line["summary"]) if line["summary"] else None,
            stopped=line["stopped"],
            transcript=line["transcript"],
            rows=rows,
            ranked=ranked,
            damage=damage,
        )
    except ValueError as error:
        if damage:
            raise DamagedRunError(damage, run_id) from error
        raise _unreadable(f"run {run_id}", error) from error


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if not 1900 < time.year < 9999:  # it could not be shown in all time zones
        raise ValueError(f"the year of {text} is out of range")
    return time


def _unreadable(what: str, error: Exception, *, wrote: str = "it") -> StoreError:
    why = format_validation_errors(error) if isinstance(error, ValidationError) else str(error)
    return StoreError(
        f"{what} cannot be read: {one_line(why, 300)}; "
        f"if a newer version of ragstone wrote {wrote}, update ragstone"
    )


def check_stored(
    connection: Connection, number: int, run_id: str, *, damage: str | None = None
) -> None:
    """Check after a run was read that it is still stored; raise its `damage`, if any."""
    query = select(RUNS.c.number).where(RUNS.c.number == number)
    if connection.execute(query).first() is None:
        raise RunNotFoundError(_DELETED.format(f"run {run_id}"))
    if damage:
        raise DamagedRunError(damage, run_id)


def count_rows(connection: Connection, number: int) -> tuple[int, bool]:
    counted = select(func.count()).select_from(ROWS).where(ROWS.c.run == number)
    queries = func.count(), func.coalesce(func.sum(QUERY_BLOCKS.c.queries), 0)
    rows = connection.execute(counted).scalar_one()
    blocks, ranked = connection.execute(select(*queries).where(QUERY_BLOCKS.c.run == number)).one()
    return rows + ranked, blocks > 0


def seal(connection: Connection, number: int) -> None:
    here = RUNS.c.number == number
    line = connection.execute(select(RUNS).where(here)).mappings().one()
    connection.execute(RUNS.update().where(here).values(checksum=_line_checksum(line)))


def _line_checksum(line: RowMapping) -> int:
    return codec.checksum(*(line[each] for each in RUNS.c if each.name not in _UNSEALED))


def sort_time(connection: Connection, started_at: str) -> str:
    """Return a time to sort a new run by; none is newer, even if the clock was set back."""
    return max(started_at, connection.execute(select(func.max(RUNS.c.sort_time))).scalar() or "")


def find_run_number(connection: Connection, run_id: str, *, store: str) -> int:
    query = select(RUNS.c.number).where(RUNS.c.id == codec.column(run_id))
    number = connection.execute(query).scalar()
    if number is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store}; it may have been deleted")
    return number


class StoredRows(LazyRows):
    """The rows of one run, sorted by place; few are in memory at a time.

    Those that are missing or were changed raise a StoreError when they are read.
    """

    stored = True

    def __init__(
        self,
        run: int,
        name: str,
        *,
        reading: Callable[[], AbstractContextManager[Connection]],
        count: int | None = None,  # if the run is finished
    ) -> None:
        self._run, self._name, self._reading, self._due = run, name, reading, count

    @cached_property
    def _indices(self) -> Sequence[int]:
        own = ROWS.c.run == self._run
        with self._reading() as connection:
            if self._due is not None:
                last = connection.execute(select(func.max(ROWS.c.place)).where(own)).scalar()
                if last == self._due - 1:  # reading all takes longer
                    return range(self._due)
            query = select(ROWS.c.place).where(own).order_by(ROWS.c.place)
            found = array("q", connection.execute(query).scalars())
            if not found:
                check_stored(connection, self._run, self._name)
            return found

    def index_at(self, position: int) -> int:
        return self._indices[position]

    def __len__(self) -> int:
        return len(self._indices) if self._due is None else self._due

    def __repr__(self) -> str:
        return f"<{len(self)} stored rows of run {self._name}>"

    def __iter__(self) -> Iterator[Row]:
        return (self._row(place, texts) for place, texts in self._all())

    def counts(self) -> RunSummaryBuilder | None:
        query = select(COUNTS.c.counts).where(
            COUNTS.c.run == self._run, COUNTS.c.version == codec.COUNTS_VERSION
        )
        with self._reading() as connection:
            stored = connection.execute(query).scalar()
        return None if stored is None else codec.decode_counts(stored)

    def at(self, place: int) -> Row:
        index = self._indices[place] if place < len(self._indices) else place
        with self._reading() as connection:
            here = TEXTS.c.run == self._run, TEXTS.c.place == index
            if not (found := read_texts(connection, *here, run_id=self._name)):
                what = f"run {self._name} has no texts of its row {place}"
                check_stored(connection, self._run, self._name, damage=what)
        return self._row(*found[0])

    def read_as(self, adapter: TypeAdapter[T]) -> Iterator[T]:
        for place, texts in self._all():
            with row_errors(self._name, place):
                value = codec.from_text(adapter, texts.body)
            yield value

    def without_exchanges(self) -> Iterator[Row]:
        return self.read_as(codec.ROW)

    def _all(self) -> Iterator[tuple[int, codec.Texts]]:
        known = None if self._due is not None else codec.RowIndexSet.of(self._indices)
        last, count = -1, 0
        while True:
            later = TEXTS.c.run == self._run, TEXTS.c.place > last
            with self._reading() as connection:  # short, so that a slow reader blocks nothing
                found = read_texts(connection, *later, run_id=self._name, limit=AT_ONCE)
            if not found:
                break
            yield from (each for each in found if known is None or each[0] in known)
            last = found[-1][0]
            count += len(found)
        what = None
        if self._due is not None and count != self._due:
            what = f"run {self._name} has the texts of {count:,} of its {self._due:,} rows"
        with self._reading() as connection:
            check_stored(connection, self._run, self._name, damage=what)

    def _row(self, place: int, texts: codec.Texts) -> Row:
        with row_errors(self._name, place):
            return codec.decode_row(texts)


def read_texts(
    connection: Connection, *which: ColumnElement[bool], run_id: str, limit: int | None = None
) -> list[tuple[int, codec.Texts]]:
    cells = TEXTS.c.place, TEXTS.c.body, TEXTS.c.transcript, TEXTS.c.checksum
    query = select(*cells).where(*which).order_by(cells[0]).limit(limit)
    found: list[tuple[int, codec.Texts]] = []
    for place, body, transcript, stored in connection.execute(query):
        if stored != codec.checksum(place, body, transcript):
            what = f"row {place} of run {run_id} is not as it was stored"
            raise DamagedRunError(what, run_id)
        found.append((place, codec.Texts(body, transcript)))
    return found


@contextmanager
def row_errors(run_id: str, place: int) -> Generator[None, None, None]:
    try:
        yield
    except ValidationError as error:
        raise _unreadable(f"row {place} of run {run_id}", error) from error


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
        self.ids, self.texts = list[str](), dict[str, str]()
        self._starts = list[int]()
        why: list[NDArray[np.uint8]] = []
        cells = QUERY_BLOCKS.c.place, QUERY_BLOCKS.c.names, QUERY_BLOCKS.c.why
        query = select(*cells).where(QUERY_BLOCKS.c.run == run).order_by(cells[0])
        with reading() as connection:
            lines = connection.execute(query).all()
        for start, names, codes in lines:
            with self._block_errors(start):
                more, their_texts = codec.from_text(_NAMES, _unpack(names).decode())
                states = np.frombuffer(_unpack(codes), dtype=np.uint8)
                if len(more) != len(states):
                    raise ValueError(
                        f"it has {len(more)} ids, but the states of {len(states)} queries"
                    )
                if (states > UNRANKED).any():
                    raise ValueError("a query has no scores for an unknown reason")
                if start != len(self.ids):
                    raise ValueError(f"the queries from position {len(self.ids)} are missing")
            self._starts.append(start)
            self.ids += more
            self.texts |= their_texts
            why.append(states)
        with self._block_errors(0):
            self.why = np.concatenate(why)

    def __repr__(self) -> str:
        return f"<{len(self)} stored queries of run {self._name}>"

    def at(self, place: int) -> Row:
        number = bisect_right(self._starts, place) - 1
        return replace(self._block(number).at(place - self._starts[number]), index=place)

    def numbers(self, metric: str) -> NDArray[np.float64]:
        cells = VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.numbers
        one = VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.metric == codec.column(metric)
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
        return map(self._block, range(len(self._starts)))

    @cached_property
    def _failed(self) -> dict[str, dict[int, str]]:
        cells = VALUE_BLOCKS.c.metric, VALUE_BLOCKS.c.place, VALUE_BLOCKS.c.failed
        some = VALUE_BLOCKS.c.run == self._run, VALUE_BLOCKS.c.failed.is_not(None)
        with self._reading() as connection:
            lines = connection.execute(select(*cells).where(*some).order_by(cells[1])).all()
        names = {codec.column(name): name for name in self.metrics}
        found: dict[str, dict[int, str]] = {}
        for metric, start, cell in lines:
            with self._block_errors(start):
                failures = codec.from_text(_FAILED, _unpack(cell).decode())
                known = found.setdefault(names[metric], {})
                for place, message in failures:
                    if place < 0 or not self.counted[start:][place]:
                        raise ValueError(f"{metric} failed for a query without scores")
                    known[start + place] = message
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
                values[:, place] = _numbers(lines[codec.column(metric)], end - start)
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
        try:
            yield
        except (zlib.error, ValueError, LookupError) as error:
            with self._reading() as connection:
                check_stored(connection, self._run, self._name)
            what = f"the queries from position {start} of run {self._name}"
            raise _unreadable(what, error, wrote="them") from error


def _unpack(content: bytes) -> bytes:
    unpacking, limit = zlib.decompressobj(), unpacked_limit(len(content))
    unpacked = unpacking.decompress(content, limit)
    if not unpacking.eof:
        raise ValueError(f"it is truncated, or unpacks to more than {limit:,} bytes")
    return unpacked


def _numbers(cell: bytes, queries: int) -> NDArray[np.float64]:
    found = np.frombuffer(_unpack(cell), dtype=FLOAT).astype(np.float64, copy=False)
    if len(found) != queries:
        raise ValueError(f"{len(found)} scores for {queries} queries")
    if not np.isfinite(found).all():
        raise ValueError("a score is not a number")
    return found


def read_labels(connection: Connection, run: int, run_id: str) -> list[HumanLabel]:
    """Sorted by metric, position, claim and annotator."""
    here = (LABELS.c.run == ROWS.c.run) & (LABELS.c.place == ROWS.c.place)
    query = select(LABELS, ROWS.c.sample_id).join(ROWS, here).where(LABELS.c.run == run)
    query = query.order_by(*LABELS.primary_key)
    labels: list[HumanLabel] = []
    for line in connection.execute(query):
        _, metric, place, claim, annotator, *values, stored, sample_id = line
        if codec.checksum(metric, place, claim, annotator, *values) != stored:
            what = f"a label of row {place} of run {run_id} is not as it was stored"
            raise DamagedRunError(what, run_id)
        value, at, _, blind = values
        fields = {"run": run_id, "position": place, "sample_id": sample_id, "metric": metric}
        fields["claim"] = None if claim == RESPONSE else claim
        fields |= {"value": value, "annotator": annotator}
        try:
            fields |= {"at": datetime.fromisoformat(at), "blind": blind}
            labels.append(_LABEL.validate_python(fields))
        except ValueError as error:
            raise StoreError(f"a label of row {place} of run {run_id} cannot be read") from error
    return labels
