"""Shelf: finding, tagging, and throwing away the runs of a store."""

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
from ragstone.store.run_info import EXTRAS, METRICS, SUMMARY, RunLine, format_time, manifest_text
from ragstone.store.schema import NEWEST, RUNS, UNDER_WAY, WHOLE
from ragstone.store.store import Store
from ragstone.types.config import Manifest

LAST = "last"
"""The name of the run that was started last."""
_TAG = re.compile(r"[\w][\w.\-]{0,99}")
_NAMES = select(RUNS.c.id, RUNS.c.tag).where(WHOLE).order_by(*NEWEST)


def find_run(store: Store, name: str) -> str:
    """Return the id of the run of that id, tag, or unique beginning of an id; or the `last`.

    Raises:
        StoreError: there is none, or several begin so; the message names near ones.
    """
    with store.connect() as connection:
        if name == LAST:
            found = connection.execute(_NAMES.limit(1)).scalar()
            if found is None:
                raise StoreError(f"{store.name} holds no runs")
            return found
        exact = select(RUNS.c.id).where(or_(RUNS.c.id == name, RUNS.c.tag == name), WHOLE)
        if (found := connection.execute(exact.order_by(RUNS.c.id != name)).scalar()) is not None:
            return found
        begins = func.substr(RUNS.c.id, 1, len(name)) == name
        query = _NAMES.where(begins, literal(bool(name)))
        alike: list[str] = list(connection.execute(query).scalars())
        if len(alike) == 1:
            return alike[0]
        raise StoreError(_not_found(connection, store.name, name, alike))


def _not_found(connection: Connection, store: str, name: str, alike: list[str]) -> str:
    if alike:
        more = f" and {len(alike) - 5} more" if len(alike) > 5 else ""
        return f"{len(alike)} runs begin with {name!r}: {', '.join(alike[:5])}{more}"
    lines = connection.execute(_NAMES.limit(1000)).all()
    names = [text for line in lines for text in line if text]
    if not names:
        return f"there is no run named {name!r}: {store} holds none"
    near = nearest(name, names)
    hint = f"did you mean {near!r}?" if near else f"the newest: {', '.join(names[:5])}"
    return f"there is no run named {name!r} in {store}; {hint}"


def resume(store: Store, manifest: Manifest) -> None:
    """Make a run unfinished, as it goes on; the manifest may have other gates and another pace."""
    came_to = {"finished_at": None, "summary": None, "stopped": None, "extras": "{}"}
    line = {**came_to, "manifest": manifest_text(manifest)}
    with store.transaction() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == manifest.run_id).values(line))


class TagMove(NamedTuple):
    """What a tag displaced: the run that had it before, and the tag that its run had before."""

    run: str | None
    tag: str | None


def tag(store: Store, run_id: str, name: str) -> TagMove:
    """Name a run; a name that another run has moves to this one, which loses its own.

    Raises:
        StoreError: the name cannot be one of a run, or there is no such run.
    """
    if not _TAG.fullmatch(name) or name == LAST:
        raise StoreError(
            f"{name!r} cannot name a run: write letters, digits, '.', '_' and '-', not {LAST!r}"
        )
    with store.transaction() as connection:
        if connection.execute(select(RUNS.c.id).where(RUNS.c.id == name)).first():
            raise StoreError(f"{name!r} is the id of a run; choose another name")
        had = connection.execute(select(RUNS.c.id).where(RUNS.c.tag == name)).scalar()
        lost = connection.execute(select(RUNS.c.tag).where(RUNS.c.id == run_id)).scalar()
        if had == run_id:
            return TagMove(None, None)
        connection.execute(RUNS.update().where(RUNS.c.tag == name).values(tag=None))
        change = RUNS.update().where(RUNS.c.id == run_id).values(tag=name)
        if not connection.execute(change).rowcount:
            raise StoreError(f"{store.name}: there is no run {run_id}")
    return TagMove(had, lost)


def untag(store: Store, run_id: str) -> None:
    """Take a run's name away, if it has one."""
    with store.transaction() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == run_id).values(tag=None))


def delete(store: Store, run_id: str) -> None:
    """Throw a run away, with its rows.

    Raises:
        RunNotFoundError: there is no such run.
        RunLockedError: a process works on it.
    """
    with store.lock(run_id) as connection, connection.begin():
        connection.execute(RUNS.delete().where(RUNS.c.id == run_id))


def running_runs(store: Store, *, fingerprint: str | None = None) -> frozenset[str]:
    """Return the ids of the runs that a process works on just now; no lock is taken for that.

    With a fingerprint, only those that were asked to do the same.

    Raises:
        StoreError: the database fails.
    """
    query = select(RUNS.c.number, RUNS.c.id).where(RUNS.c.finished_at.is_(None))
    if fingerprint is not None:
        query = query.where(RUNS.c.fingerprint == fingerprint)
    with store.connect() as connection:
        unfinished = connection.execute(query).all()
        in_work = locked_runs(connection, [number for number, _ in unfinished])
    return frozenset(run_id for number, run_id in unfinished if number in in_work)


def prune(store: Store, *, before: datetime) -> list[str]:
    """Throw away the runs that were started before a time and have no tag; return their ids.

    One that a process works on stays too. What a killed import left goes as well.
    """
    old = select(RUNS.c.id).where(RUNS.c.started_at < format_time(before), RUNS.c.tag.is_(None))
    with store.connect() as connection:
        ids = connection.execute(old.order_by(*NEWEST)).scalars().all()
    deleted: list[str] = []
    for run_id in ids:  # one at a time, so that others may write in between
        with suppress(RunLockedError, RunNotFoundError):
            delete(store, run_id)
            deleted.append(run_id)
    return deleted


# Entering: a run that comes as a whole is in the store whole, or not at all.


@contextmanager
def atomic_import(store: Store, line: RunLine) -> Generator[tuple[Connection, int], None, None]:
    """Enter a run that the block fills; gives a connection to do so, and the run's number.

    Until the block ends well, the run stands under a name that others pass over; so the block
    may use several transactions, between which other processes get their turn.

    Raises:
        StoreError: a run of that id is there already, or on its way in.
    """
    _clear(store)
    try:
        with _begun(store, line) as (connection, number):
            yield connection, number
            with connection.begin():
                named = {"id": line.id, "fingerprint": line.fingerprint}
                connection.execute(RUNS.update().where(RUNS.c.number == number).values(named))
    except BaseException:
        with suppress(StoreError):  # the next to enter one clears it
            delete(store, line.id + UNDER_WAY)
        raise


def _clear(store: Store) -> None:
    """Throw away what was left by those that were killed."""
    with store.connect() as connection:
        left = connection.execute(select(RUNS.c.id).where(~WHOLE)).scalars().all()
    for run_id in left:
        with suppress(StoreError):  # it is being entered
            delete(store, run_id)


@contextmanager
def _begun(store: Store, line: RunLine) -> Generator[tuple[Connection, int], None, None]:
    """Enter the run, held from when others see it; give a connection to fill it, and its number."""
    with store.connect() as connection:
        connection.execution_options(**WRITING)
        number = _enter(connection, line, store=store.name)
        with run_lock(connection, number, name=line.id):
            connection.commit()
            yield connection, number


def _enter(connection: Connection, line: RunLine, *, store: str) -> int:
    """Enter the run under a name that says that it is not whole yet; return its number."""
    under_way = line.id + UNDER_WAY
    if connection.execute(select(RUNS.c.id).where(RUNS.c.id == line.id)).first():
        raise StoreError(f"{store}: run {line.id} is there already; delete it first")
    if connection.execute(select(RUNS.c.id).where(RUNS.c.id == under_way)).first():
        raise StoreError(f"{store}: another process is importing run {line.id}")
    values = line.model_dump(include=set(RunLine.model_fields), exclude={"tag"})
    unlike_any = {"id": under_way, "fingerprint": ""}  # nobody resumes it
    made = connection.execute(RUNS.insert().values(values | unlike_any))
    assert made.inserted_primary_key
    return int(made.inserted_primary_key[0])


# Ranked runs: the run of a ranking from a file, kept in the store in blocks of values.


def save_ranking(store: Store, run: Run) -> None:
    """Store the run of a ranking, whole or not at all.

    Raises:
        StoreError: the store cannot be used, or holds a run of that id.
    """
    assert run.columns is not None, "the rows of other runs are stored as they finish"
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
    with atomic_import(store, line) as (connection, number):
        write_blocks(connection, number, run.columns)
