"""Runs of a store: find, resume, tag, delete and import them."""

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, literal, or_, select

from ragstone.errors import nearest
from ragstone.results.run import Run
from ragstone.store.codec import to_text
from ragstone.store.engine import WRITING
from ragstone.store.errors import RunLockedError, RunNotFoundError, StoreError
from ragstone.store.locks import locked_runs, run_lock
from ragstone.store.ranking_values import write_blocks
from ragstone.store.run_info import (
    EXTRAS,
    METRICS,
    SUMMARY,
    RunLine,
    count_rows,
    find_run_number,
    format_time,
    manifest_text,
    seal,
    sort_time,
)
from ragstone.store.schema import COUNTS, NEWEST, RUNS, UNDER_WAY, WHOLE
from ragstone.store.store import Store
from ragstone.types.config import Manifest

LAST = "last"
"""Names the run that was started last."""
_TAG = re.compile(r"[\w][\w.\-]{0,99}")
_NAMES = select(RUNS.c.id, RUNS.c.tag).where(WHOLE).order_by(*NEWEST)


def find_run(store: Store, name: str) -> str:
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


def resume(store: Store, manifest: Manifest) -> None:
    values = {"finished_at": None, "summary": None, "stopped": None, "extras": "{}", "rows": None}
    values["manifest"] = manifest_text(manifest)
    with store.transaction() as connection:
        number = find_run_number(connection, manifest.run_id, store=store.name)
        connection.execute(RUNS.update().where(RUNS.c.number == number).values(values))
        connection.execute(COUNTS.delete().where(COUNTS.c.run == number))
        seal(connection, number)


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
        locked = locked_runs(connection, [number for number, _ in unfinished])
    return frozenset(run_id for number, run_id in unfinished if number in locked)


def old_runs(store: Store, *, before: datetime) -> list[str]:
    """Return the ids of the runs that were started before a time and have no tag, newest first.

    A run that was stored after one that is not old is not old either: the clock was set back. The
    remains of killed imports are included.
    """
    time, number = RUNS.c.started_at, RUNS.c.number
    since, now = format_time(before), format_time(datetime.now(UTC))
    recent = select(func.min(number)).where(time >= since, time <= now)
    old = select(RUNS.c.id).where(time < since, RUNS.c.tag.is_(None)).order_by(*NEWEST)
    with store.connect() as connection:
        if (first := connection.execute(recent).scalar()) is not None:
            old = old.where(number < first)
        return list(connection.execute(old).scalars())


def prune(store: Store, *, before: datetime) -> list[str]:
    deleted: list[str] = []
    for run_id in old_runs(
        store, before=before
    ):  # one at a time, so that other processes can write in between
        with suppress(RunLockedError, RunNotFoundError):
            delete(store, run_id)
            deleted.append(run_id)
    return deleted


@contextmanager
def atomic_import(
    store: Store, line: RunLine, *, imported: bool = True
) -> Generator[tuple[Connection, int], None, None]:
    """Add a run that the block fills, completely or not at all; it is `imported`, or new.

    Gives a connection and the number of the run. Until the block ends, the run has an id that
    others ignore. So the block may use several transactions, and other processes can write in
    between.
    """
    with store.connect() as connection:
        killed = connection.execute(select(RUNS.c.id).where(~WHOLE)).scalars().all()
    for run_id in killed:
        with suppress(StoreError):  # another process is importing it
            delete(store, run_id)
    unfinished_id = line.id + UNDER_WAY
    try:
        with store.connect() as connection:
            connection.execution_options(**WRITING)
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == line.id)).first():
                raise StoreError(f"{store.name}: run {line.id} already exists; delete it first")
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == unfinished_id)).first():
                raise StoreError(f"{store.name}: another process is importing run {line.id}")
            values = line.model_dump(include=set(RunLine.model_fields), exclude={"tag"})
            values |= {"id": unfinished_id, "fingerprint": ""}  # so that it is never resumed
            started = line.started_at
            values["sort_time"] = started if imported else sort_time(connection, started)
            key = connection.execute(RUNS.insert().values(values)).inserted_primary_key
            assert key
            number = int(key[0])
            with run_lock(connection, number, name=line.id):
                connection.commit()  # others see the run once it is locked
                yield connection, number
                with connection.begin():
                    count = count_rows(connection, number)[0] if line.finished_at else None
                    final = {"id": line.id, "fingerprint": line.fingerprint, "rows": count}
                    connection.execute(RUNS.update().where(RUNS.c.number == number).values(final))
                    seal(connection, number)
    except BaseException:
        with suppress(StoreError):  # the next import deletes it
            delete(store, unfinished_id)
        raise


def save_ranking(store: Store, run: Run) -> None:
    assert run.columns is not None, "rows of other runs are stored as they finish"
    manifest = run.manifest
    line = RunLine(
        id=manifest.run_id,
        started_at=format_time(manifest.started_at),
        finished_at=format_time(datetime.now(UTC)),
        tag=None,
        fingerprint=manifest.fingerprint,
        manifest=manifest_text(manifest),
        metrics=to_text(METRICS, dict(run.metrics)),
        extras=to_text(EXTRAS, {name: dict(extra) for name, extra in run.extras.items()}),
        summary=to_text(SUMMARY, run.to_dict()),
        stopped=run.stopped,
        transcript=True,
    )
    with atomic_import(store, line, imported=False) as (connection, number):
        write_blocks(connection, number, run.columns)
