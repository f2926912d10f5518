"""The line of a run in the store, and how many rows stand behind it."""

from sqlalchemy import Connection, func, select

from ragstone.store.run_info import RunInfo, RunLine
from ragstone.store.schema import QUERY_BLOCKS, ROWS, RUNS


def info_of(connection: Connection, number: int) -> RunInfo:
    """Return what is known of the run with that number.

    Raises:
        StoreError: this version cannot read it.
    """
    lines = connection.execute(select(RUNS).where(RUNS.c.number == number)).mappings()
    line = RunLine.model_validate(dict(lines.one()))
    counted = select(func.count()).select_from(ROWS).where(ROWS.c.run == number)
    queries = func.count(), func.coalesce(func.sum(QUERY_BLOCKS.c.queries), 0)
    rows = connection.execute(counted).scalar_one()
    blocks, ranked = connection.execute(select(*queries).where(QUERY_BLOCKS.c.run == number)).one()
    return RunInfo.of(line, rows + ranked, ranked=blocks > 0)
