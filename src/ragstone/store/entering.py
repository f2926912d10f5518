"""Entering: a run that comes as a whole is in the store whole, or not at all."""

from collections.abc import Generator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, select

from ragstone.store.engines import WRITING
from ragstone.store.failures import StoreError
from ragstone.store.locks import holding
from ragstone.store.run_info import RunLine
from ragstone.store.schema import RUNS, UNDER_WAY, WHOLE
from ragstone.store.shelf import delete
from ragstone.store.store import Store


@contextmanager
def entering(store: Store, line: RunLine) -> Generator[tuple[Connection, int], None, None]:
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
    with store.reading() as connection:
        left = connection.execute(select(RUNS.c.id).where(~WHOLE)).scalars().all()
    for run_id in left:
        with suppress(StoreError):  # it is being entered
            delete(store, run_id)


@contextmanager
def _begun(store: Store, line: RunLine) -> Generator[tuple[Connection, int], None, None]:
    """Enter the run, held from when others see it; give a connection to fill it, and its number."""
    with store.reading() as connection:
        connection.execution_options(**WRITING)
        number = _enter(connection, line, store=store.name)
        with holding(connection, number, name=line.id):
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
