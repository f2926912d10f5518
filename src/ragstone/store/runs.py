"""Runs of a store: find, compare, resume, tag, delete, export and import them.

An exported run is a SQLite store with this run only. A file to import may come from anybody, so its
tables must be plain ones, and every row is decoded and checked before it is stored.
"""

import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, func, literal, or_, select

from ragstone._internal.files import check_file, write_file
from ragstone._internal.text import quoted
from ragstone.errors import UsageError, nearest
from ragstone.results.comparison import TOP, Comparison
from ragstone.results.run import Run
from ragstone.results.systems import side_by_side
from ragstone.store import database, reader
from ragstone.store.codec import Record, to_text
from ragstone.store.database import COUNTS, NEWEST, RUNS, SCORES, UNDER_WAY, WHOLE, WRITING
from ragstone.store.errors import DamagedRunError, RunLockedError, RunNotFoundError, StoreError
from ragstone.store.reader import RunInfo, format_time, manifest_text
from ragstone.store.store import Store
from ragstone.store.writer import AT_ONCE, write, write_blocks, write_labels
from ragstone.types.config import Manifest
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.score import State

LAST = "last"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_TAG = re.compile(r"[\w][\w.\-]{0,99}")
_NAMES = select(RUNS.c.id, RUNS.c.tag).where(WHOLE).order_by(*NEWEST)


def find_run(store: Store, name: str) -> str:
    """Return the id of the run that an id, its beginning, a tag or `last` names."""
    with store.connect() as connection:
        if name == LAST:
            found = connection.execute(_NAMES.limit(1)).scalar()
            if found is None:
                raise RunNotFoundError(f"{store.name} contains no runs")
            return found
        exact = select(RUNS.c.id).where(or_(RUNS.c.id == name, RUNS.c.tag == name), WHOLE)
        if (found := connection.execute(exact.order_by(RUNS.c.id != name)).scalar()) is not None:
            return found
        begins = func.substr(RUNS.c.id, 1, len(name)) == name
        query = _NAMES.where(begins, literal(bool(name)))
        matching: list[str] = list(connection.execute(query).scalars())
        if len(matching) == 1:
            return matching[0]
        if matching:
            more = f" and {len(matching) - 5} more" if len(matching) > 5 else ""
            listed = ", ".join(matching[:5])
            raise RunNotFoundError(f"{len(matching)} run ids begin with {name!r}: {listed}{more}")
        lines = connection.execute(_NAMES.limit(1000)).all()
        names = [text for line in lines for text in line if text]
        if not names:
            raise RunNotFoundError(f"there is no run named {name!r}: {store.name} contains no runs")
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"the newest: {', '.join(names[:5])}"
        raise RunNotFoundError(f"there is no run named {name!r} in {store.name}; {hint}")


def compare(
    a: Run | str,
    b: Run | str,
    *,
    metrics: str | Sequence[str] = (),
    cluster: str | None = None,
    top: int = TOP,
    store: Store | str | Path | None = None,
) -> Comparison:
    """Compare two runs, sample by sample; gains and drops are those of `b` relative to `a`.

    Each is a run, or the name of a stored one: its id, a unique beginning of it, its tag, or
    `last`. `store` is where those are (default: `.ragstone/ragstone.db`). `metrics` restricts the
    comparison; parameters may be left out. `cluster` is a tag that groups rows; `id` groups none.
    `top` (at least 0) is the number of samples and claims to list of each kind. Labels of runs
    given by name correct judged metrics.

    Raises:
        UsageError: a run is not found, both are the same, or an option is invalid.
    """
    runs: list[Run] = []
    tags: list[str | None] = []
    labels: list[Sequence[HumanLabel]] = []
    with ExitStack() as stack:
        if not isinstance(store, Store) and (isinstance(a, str) or isinstance(b, str)):
            store = stack.enter_context(Store.open(store, reading=True))
        for each in (a, b):
            if isinstance(each, Run):
                runs.append(each)
                tags.append(None)
                labels.append(())
                continue
            assert isinstance(store, Store)
            name = find_run(store, each)
            runs.append(store.load(name))
            tags.append(store.info(name).tag)
            labels.append(store.labels(name))
        one, two = runs
        if one.manifest.run_id == two.manifest.run_id:
            name = one.manifest.run_id
            raise UsageError(f"a and b are the same run, {name}; pass two different runs")
        chosen = [metrics] if isinstance(metrics, str) else metrics
        found = side_by_side(
            runs, metrics=chosen, names=tags, cluster=cluster, top=top, labels=labels
        )
        return found.comparisons[0, 1]


def resume(store: Store, manifest: Manifest) -> None:
    values = {"finished_at": None, "summary": None, "stopped": None, "extras": "{}", "rows": None}
    values["manifest"] = manifest_text(manifest)
    with store.transaction() as connection:
        number = reader.find_run_number(connection, manifest.run_id, store=store.name)
        connection.execute(RUNS.update().where(RUNS.c.number == number).values(values))
        connection.execute(COUNTS.delete().where(COUNTS.c.run == number))
        reader.seal(connection, number)


class TagMove(NamedTuple):
    """The run that had the tag before, and the tag that the run had before."""

    run: str | None
    tag: str | None


def tag(store: Store, run_id: str, name: str) -> TagMove:
    if not _TAG.fullmatch(name) or name == LAST:
        raise StoreError(
            f"invalid tag {name!r}: use up to 100 letters, digits, '.', '_' and '-' (not {LAST!r})"
        )
    with store.transaction() as connection:
        if connection.execute(select(RUNS.c.id).where(RUNS.c.id == name)).first():
            raise StoreError(f"{name!r} is the id of a run; choose another name")
        old_run = connection.execute(select(RUNS.c.id).where(RUNS.c.tag == name)).scalar()
        old_tag = connection.execute(select(RUNS.c.tag).where(RUNS.c.id == run_id)).scalar()
        if old_run == run_id:
            return TagMove(None, None)
        connection.execute(RUNS.update().where(RUNS.c.tag == name).values(tag=None))
        change = RUNS.update().where(RUNS.c.id == run_id).values(tag=name)
        if not connection.execute(change).rowcount:
            raise RunNotFoundError(f"{store.name}: there is no run {run_id}")
    return TagMove(old_run, old_tag)


def untag(store: Store, run_id: str) -> None:
    with store.transaction() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == run_id).values(tag=None))


def delete(store: Store, run_id: str) -> None:
    with store.lock(run_id) as (connection, number), connection.begin():
        connection.execute(RUNS.delete().where(RUNS.c.number == number))


def running_runs(store: Store, *, fingerprint: str | None = None) -> frozenset[str]:
    query = select(RUNS.c.number, RUNS.c.id).where(RUNS.c.finished_at.is_(None))
    if fingerprint is not None:
        query = query.where(RUNS.c.fingerprint == fingerprint)
    with store.connect() as connection:
        unfinished = connection.execute(query).all()
        locked = database.locked_runs(connection, [number for number, _ in unfinished])
    return frozenset(run_id for number, run_id in unfinished if number in locked)


def old_runs(store: Store, *, before: datetime) -> list[str]:
    """Return the ids of untagged runs started before a time, newest first, and killed imports."""
    time, number = RUNS.c.started_at, RUNS.c.number
    since, now = format_time(before), format_time(datetime.now(UTC))
    recent = select(func.min(number)).where(time >= since, time <= now)
    old = select(RUNS.c.id).where(time < since, RUNS.c.tag.is_(None)).order_by(*NEWEST)
    with store.connect() as connection:
        # what was stored after a run that is not old is not old either: the clock was set back
        if (first := connection.execute(recent).scalar()) is not None:
            old = old.where(number < first)
        return list(connection.execute(old).scalars())


def prune(store: Store, *, before: datetime) -> list[str]:
    deleted: list[str] = []
    # one at a time, so that other processes can write in between
    for run_id in old_runs(store, before=before):
        with suppress(RunLockedError, RunNotFoundError):
            delete(store, run_id)
            deleted.append(run_id)
    return deleted


def summarize(store: Store, info: RunInfo) -> RunInfo:
    """Return the info with a summary; that of a run without one has the means so far."""
    if info.summary is not None:
        return info
    figures = func.count(), func.sum(SCORES.c.value)
    query = select(SCORES.c.metric, SCORES.c.state, *figures).join(RUNS)
    query = query.where(RUNS.c.id == info.id).group_by(SCORES.c.metric, SCORES.c.state)
    metrics: dict[str, dict[str, float | None]] = {}
    with store.connect() as connection:
        for metric, state, number, total in connection.execute(query):
            known = metrics.setdefault(metric, {"mean": None, "failed": 0})
            if state == State.SCORED.value:
                known["mean"] = total / number
            elif state == State.FAILED.value:
                known["failed"] = number
    return replace(info, summary={"metrics": metrics})


@contextmanager
def atomic_import(
    store: Store, line: Mapping[Any, Any], *, imported: bool = True
) -> Generator[tuple[Connection, int], None, None]:
    """Add a run that the block fills, completely or not at all; it is `imported`, or new.

    Until the block ends, the run has an id that others ignore. So the block may use several
    transactions, and other processes can write in between.
    """
    with store.connect() as connection:
        killed = connection.execute(select(RUNS.c.id).where(~WHOLE)).scalars().all()
    for run_id in killed:
        with suppress(StoreError):  # another process is importing it
            delete(store, run_id)
    run_id = line["id"]
    unfinished_id = run_id + UNDER_WAY
    try:
        with store.connect() as connection:
            connection.execution_options(**WRITING)
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == run_id)).first():
                raise StoreError(f"{store.name}: run {run_id} already exists; delete it first")
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == unfinished_id)).first():
                raise StoreError(f"{store.name}: another process is importing run {run_id}")
            ours = ("number", "tag", "checksum")
            values = {name: value for name, value in line.items() if name not in ours}
            values |= {"id": unfinished_id, "fingerprint": ""}  # so that it is never resumed
            started = line["started_at"]
            values["sort_time"] = started if imported else reader.sort_time(connection, started)
            key = connection.execute(RUNS.insert().values(values)).inserted_primary_key
            assert key
            number = int(key[0])
            with database.run_lock(connection, number, name=run_id):
                connection.commit()  # others see the run once it is locked
                yield connection, number
                with connection.begin():
                    rows = reader.count_rows(connection, number)[0] if line["finished_at"] else None
                    final = {"id": run_id, "fingerprint": line["fingerprint"], "rows": rows}
                    connection.execute(RUNS.update().where(RUNS.c.number == number).values(final))
                    reader.seal(connection, number)
    except BaseException:
        with suppress(StoreError):  # the next import deletes it
            delete(store, unfinished_id)
        raise


def save_ranking(store: Store, run: Run) -> None:
    assert run.columns is not None, "rows of other runs are stored as they finish"
    manifest = run.manifest
    line = {
        "id": manifest.run_id,
        "started_at": format_time(manifest.started_at),
        "finished_at": format_time(datetime.now(UTC)),
        "fingerprint": manifest.fingerprint,
        "manifest": manifest_text(manifest),
        "metrics": to_text(reader.METRICS, dict(run.metrics)),
        "extras": reader.extras_text(run.extras),
        "summary": to_text(reader.SUMMARY, run.to_dict()),
        "stopped": run.stopped,
        "transcript": True,
    }
    with atomic_import(store, line, imported=False) as (connection, number):
        write_blocks(connection, number, run.columns)


def export(store: Store, run_id: str, path: Path) -> None:
    def fill(part: Path) -> None:
        with Store.open(part) as target:
            _copy(store, run_id, target)
        with closing(sqlite3.connect(part)) as file:
            file.execute("PRAGMA journal_mode = DELETE")  # can be read without files beside it

    store.info(run_id)
    try:
        write_file(path, fill)
    except StoreError:
        raise
    except UsageError as error:
        raise StoreError(str(error)) from error


def check_export(path: Path) -> None:
    with _open_export(path) as (source, run_id):
        run = source.load(run_id)
        for _ in _checked_rows(run) if run.columns is None else run.columns.blocks():
            pass
        source.labels(run_id)


def import_(store: Store, path: Path) -> str:
    with _open_export(path) as (source, run_id):
        _copy(source, run_id, store)
        return run_id


@contextmanager
def _open_export(path: Path) -> Generator[tuple[Store, str], None, None]:
    try:
        check_file(path)
    except UsageError as error:
        raise StoreError(str(error)) from error
    try:
        source = Store.open(path, reading=True)
    except StoreError as error:
        what = "runs are imported from files that `ragstone runs export` wrote"
        raise StoreError(f"{error} ({what})") from error
    with source:
        try:
            with source.connect() as connection:
                if connection.exec_driver_sql(_UNUSUAL).first() or _has_wrong_types(connection):
                    raise StoreError(f"{path}: its tables are not those of a store")
            infos = source.runs()
            if len(infos) != 1:
                raise StoreError(f"{path}: contains {len(infos)} runs; export the one to import")
            info = infos[0]
            if not _ID.fullmatch(info.id) or info.id == LAST:
                raise StoreError(f"{path}: {quoted(info.id)!r} is not a run id; export it again")
            for time in (info.started_at, info.finished_at):
                if time is not None and time.utcoffset() != timedelta(0):
                    raise StoreError(f"{path}: {time} is not a time in UTC; export the run again")
            yield source, info.id
        except DamagedRunError as error:
            raise StoreError(f"{path}: damaged or changed; export the run again") from error


_UNUSUAL = """
SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'
UNION ALL
SELECT 1 FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c
WHERE t.type = 'table' AND c.hidden
"""
"""Finds views, triggers, virtual tables and generated columns, which would run code of a file."""


def _has_wrong_types(connection: Connection) -> bool:
    """SQLite does not check types."""
    numbers = ("integer", "real")
    allowed = {"TEXT": ("text",), "BLOB": ("blob",)}
    for table in database.METADATA.tables.values():
        right = (
            func.typeof(each).in_(("null", *allowed.get(str(each.type), numbers)))
            for each in table.c
        )
        if connection.execute(select(literal(1)).where(~and_(*right)).limit(1)).first():
            return True
    return False


def _checked_rows(run: Run) -> Iterator[Row]:
    due, last = run.manifest.source.rows, -1
    for count, row in enumerate(run.rows, start=1):
        wrong = ""
        if not last < row.index < max(due, count):
            wrong = f"index {row.index} is repeated, out of order, or too large"
        elif row.scores.keys() != run.metrics.keys():
            wrong = "scores are not those of the run's metrics"
        if wrong:
            raise StoreError(f"row {count} of the run: its {wrong}; export the run again")
        last = row.index
        yield row


def _copy(source: Store, run_id: str, target: Store) -> None:
    run, labels = source.load(run_id), source.labels(run_id)
    with source.connect() as connection:
        number = reader.find_run_number(connection, run_id, store=source.name)
        line = reader.read_line(connection, number)
    with atomic_import(target, line) as (connection, number):
        if run.columns is not None:
            write_blocks(connection, number, run.columns)
        else:
            rows = _checked_rows(run)
            while some := list(islice(rows, AT_ONCE)):
                records = [Record.of(row, transcript=line["transcript"]) for row in some]
                with connection.begin():
                    write(connection, number, records)
        with connection.begin():
            write_labels(connection, number, labels)
