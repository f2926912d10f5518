"""Numbers: what runs are called in the tables of their rows."""

from sqlalchemy import Connection, select

from ragstone.store.codec import column
from ragstone.store.failures import RunNotFoundError
from ragstone.store.schema import RUNS


def number_of(connection: Connection, run_id: str, *, store: str) -> int:
    """Return the number of a run in the store of that name.

    Raises:
        RunNotFoundError: there is no such run.
    """
    query = select(RUNS.c.number).where(RUNS.c.id == column(run_id))
    number = connection.execute(query).scalar()
    if number is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store}")
    return number
