"""Store: runs in a SQLite file or a PostgreSQL database."""

import weakref
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Engine, select

from ragstone.errors import Cause, UsageError
from ragstone.results.calibration import Calibration, hash_labels
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store import codec, database, reader
from ragstone.store.database import COUNTS, LABELS, NEWEST, ROWS, RUNS, SCORES, TEXTS, WRITING
from ragstone.store.errors import DamagedRunError, RunNotFoundError, StoreError, display_name
from ragstone.store.reader import RunInfo, StoredRanking, StoredRows, format_time
from ragstone.store.writer import RowWriter, label_key, write_labels
from ragstone.types.config import Manifest
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.score import NOTHING, Detail, MetricInfo, State


class Store:
    """Runs in a database; opened by `Store.open(place)`, and used with `with`.

    Any number of processes may use one place at once. Methods block, except for those of the
    writer. They raise a StoreError if the database fails, there is no such run (RunNotFoundError),
    another process is working on it (RunLockedError), or it was changed after it was stored
    (DamagedRunError).
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine
        weakref.finalize(self, engine.dispose)  # in case it is not closed

    @classmethod
    def open(cls, place: str | Path | None = None, *, reading: bool = False) -> Self:
        """Open a SQLite file (None is `.ragstone/ragstone.db`) or a `postgresql://` URL.

        A missing file or folder is created. With `reading`, the store must exist, may be
        read-only, and cannot be changed. A StoreError names what is wrong with the location.
        """
        name = display_name(place)
        engine = database.create_store_engine(place, reading=reading)
        try:
            with database.translate_errors(name):
                database.prepare_tables(engine, name, reading=reading)
        except StoreError:
            engine.dispose()
            raise
        return cls(engine, name)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def begin_writing(
        self,
        manifest: Manifest,
        metrics: Mapping[str, MetricInfo],
        *,
        fingerprint: str,
        transcript: bool = True,
    ) -> RowWriter:
        """Return a writer for the rows of a new run; opening it adds the run, and locks it.

        `fingerprint` is equal for runs of the same configuration. Without `transcript`, the only
        texts of the judge that are stored are those in scores. Opening raises a StoreError if the
        store has a run of that id.
        """
        line = {
            "id": manifest.run_id,
            "started_at": format_time(manifest.started_at),
            "fingerprint": fingerprint,
            "manifest": reader.manifest_text(manifest),
            "metrics": codec.to_text(reader.METRICS, dict(metrics)),
            "extras": "{}",
            "transcript": transcript,
        }
        run_id = manifest.run_id

        @contextmanager
        def begin() -> Generator[tuple[Connection, int], None, None]:
            with self.connect() as connection, ExitStack() as stack:
                with self.transaction() as adding:
                    known = select(RUNS.c.number).where(RUNS.c.id == run_id)
                    if adding.execute(known).first():
                        raise StoreError(f"{self.name}: run {run_id} already exists")
                    line["sort_time"] = reader.sort_time(adding, format_time(manifest.started_at))
                    adding.execute(RUNS.insert().values(line))
                    number = adding.execute(known).scalar_one()
                    reader.seal(adding, number)
                    # locked before others can see it, so that none can delete it
                    stack.enter_context(database.run_lock(connection, number, name=run_id))
                yield connection.execution_options(**WRITING), number

        return RowWriter(run_id, lock=begin, transcript=transcript)

    @contextmanager
    def starting(self, fingerprint: str) -> Generator[None, None, None]:
        """Claim a configuration within the block: no other process can claim it meanwhile."""
        with self.connect() as connection, database.start_lock(connection, fingerprint):
            yield

    def open_writer(self, run_id: str) -> RowWriter:
        with self.connect() as connection:
            number = self._number(connection, run_id)
            query = select(RUNS.c.transcript).where(RUNS.c.number == number)
            transcript = bool(connection.execute(query).scalar_one())
        return RowWriter(run_id, lock=partial(self.lock, run_id), transcript=transcript)

    @contextmanager
    def lock(self, run_id: str) -> Generator[tuple[Connection, int], None, None]:
        with self.connect() as connection:
            number = self._number(connection, run_id)
            connection.commit()
            with database.run_lock(connection, number, name=run_id):
                self._number(connection, run_id)  # it may have been deleted before it was locked
                connection.commit()
                yield connection.execution_options(**WRITING), number

    def finish(
        self,
        run_id: str,
        *,
        extras: Mapping[str, Detail],
        stopped: str | None = None,
        partial: bool = False,
        summary: Mapping[str, object] | None = None,
        counts: RunSummaryBuilder | None = None,
    ) -> None:
        """Store the summary of a run; a `partial` run stays unfinished, to be resumed.

        With the `counts` of its rows, `Run.counts` need not read them again. A run that another
        process has finished stays as it is.
        """
        line: dict[str, str | int | None] = {
            "finished_at": None if partial else format_time(datetime.now(UTC)),
            "extras": reader.extras_text(extras),
            "stopped": stopped,
            "summary": None if summary is None else codec.to_text(reader.SUMMARY, summary),
        }
        unfinished = RUNS.c.id == run_id, RUNS.c.finished_at.is_(None)
        with self.lock(run_id) as (connection, number), connection.begin():
            line["rows"] = None if partial else reader.count_rows(connection, number)[0]
            if connection.execute(RUNS.update().where(*unfinished).values(line)).rowcount:
                reader.seal(connection, number)
                encoded = codec.encode_counts(counts) if counts and not partial else None
                if encoded is not None:
                    connection.execute(COUNTS.delete().where(COUNTS.c.run == number))
                    counted = {"run": number, "version": codec.COUNTS_VERSION, "counts": encoded}
                    connection.execute(COUNTS.insert().values(counted))

    def done(self, run_id: str, *, retry_failed: bool = False) -> codec.RowIndexSet:
        """Return the places of stored rows, without those that a budget cut short, or to retry."""
        retried = SCORES.c.cause == Cause.BUDGET.value
        if retry_failed:
            retried = SCORES.c.state == State.FAILED.value
        with self.connect() as connection:
            number = self._number(connection, run_id)
            again = select(SCORES.c.place).where(SCORES.c.run == number, retried)
            query = select(ROWS.c.place).where(ROWS.c.run == number, ROWS.c.place.not_in(again))
            found = connection.execution_options(yield_per=10_000).execute(query).scalars()
            return codec.RowIndexSet.of(found)

    def unfinished(self, fingerprint: str) -> str | None:
        """Return the newest unfinished run of a fingerprint, with rows, that is not in use."""
        begun = select(ROWS.c.run).where(ROWS.c.run == RUNS.c.number).exists()
        query = (
            select(RUNS.c.number, RUNS.c.id)
            .where(RUNS.c.fingerprint == fingerprint, RUNS.c.finished_at.is_(None), begun)
            .order_by(*NEWEST)
        )
        with self.connect() as connection:
            found = connection.execute(query).all()
            locked = database.locked_runs(connection, [number for number, _ in found])
        return next((name for number, name in found if number not in locked), None)

    def runs(self, limit: int | None = None) -> list[RunInfo]:
        query = select(RUNS.c.number).where(database.WHOLE).order_by(*NEWEST).limit(limit)
        with self.connect() as connection:
            numbers = connection.execute(query).scalars().all()
            infos: list[RunInfo] = []
            for number in numbers:
                with suppress(RunNotFoundError):  # deleted meanwhile
                    infos.append(reader.read_run_info(connection, number))
            return infos

    def info(self, run_id: str) -> RunInfo:
        return self._number_and_info(run_id)[1]

    def _number_and_info(self, run_id: str) -> tuple[int, RunInfo]:
        with self.connect() as connection:
            number = self._number(connection, run_id)
            info = reader.read_run_info(connection, number)
        if info.damage:
            raise DamagedRunError(info.damage, run_id)
        return number, info

    def load(self, run_id: str) -> Run:
        number, info = self._number_and_info(run_id)
        if info.ranked:
            rows = StoredRanking(number, run_id, tuple(info.metrics), reading=self.connect)
        else:
            count = info.rows if info.finished else None
            rows = StoredRows(number, run_id, reading=self.connect, count=count)
        return Run(
            manifest=info.manifest,
            metrics=info.metrics,
            rows=rows,
            extras={name: info.extras.get(name, NOTHING) for name in info.metrics},
            partial=not info.finished,
            stopped=info.stopped,
        )

    def row(self, run_id: str, index: int) -> Row | None:
        with self.connect() as connection:
            here = TEXTS.c.run == self._number(connection, run_id), TEXTS.c.place == index
            found = reader.read_texts(connection, *here, run_id=run_id)
        with reader.row_errors(run_id, index):
            return codec.decode_row(found[0][1]) if found else None

    def add_labels(self, run_id: str, labels: Iterable[HumanLabel]) -> None:
        """They replace labels with the same metric, position, claim and annotator."""
        with self.transaction() as connection:
            write_labels(connection, self._number(connection, run_id), labels)

    def delete_label(self, run_id: str, label: HumanLabel) -> None:
        with self.transaction() as connection:
            key = label_key(self._number(connection, run_id), label)
            here = (column == value for column, value in zip(LABELS.primary_key, key, strict=True))
            connection.execute(LABELS.delete().where(*here))

    def labels(self, run_id: str) -> list[HumanLabel]:
        with self.connect() as connection:
            return reader.read_labels(connection, self._number(connection, run_id), run_id)

    def check_labels(self, calibration: Calibration) -> None:
        """Raise if the labels of a run of this store changed since a calibration was made."""
        run = calibration.run
        with suppress(RunNotFoundError):
            if hash_labels(self.labels(run)) != calibration.labels:
                again = f"`ragstone labels calibrate {run} --name {calibration.name}`"
                raise UsageError(
                    f"the labels of run {run} changed since the calibration {calibration.name}; "
                    f"use {again} again"
                )

    @contextmanager
    def connect(self) -> Generator[Connection, None, None]:
        with database.translate_errors(self.name), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Generator[Connection, None, None]:
        with self.connect() as connection, connection.execution_options(**WRITING).begin():
            yield connection

    def _number(self, connection: Connection, run_id: str) -> int:
        return reader.find_run_number(connection, run_id, store=self.name)
