"""StoredLimits: the account from which all workers of a run lease their calls."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, Engine, Executable, event, extract, func, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.schema import CreateTable

from ragstone._internal.shared_limits import Account, Lease, LeaseRequest
from ragstone.store.engine import WRITING, create_store_engine, display_name
from ragstone.store.errors import StoreError, translate_errors
from ragstone.store.run_info import format_time
from ragstone.store.schema import LIMITS

LEFT_BEHIND = timedelta(days=30)
"""Age of a line whose process was killed; a run does not take that long."""


class StoredLimits:
    """What a run has spent, and when its calls may start: one line of a store."""

    def __init__(
        self, place: str, run_id: str, max_calls: int | None, max_cost: float | None
    ) -> None:
        self._run_id, self._limits = run_id, (max_calls, max_cost)
        self._name = display_name(place)
        if "://" not in place and not Path(place).exists():
            raise StoreError(
                f"there is no file {place}, which has the limits of all workers; on several "
                "machines, they need a store in PostgreSQL: --store postgresql://USER@HOST/DATABASE"
            )
        self._engine = _engine(place)
        self._connection = self._engine.connect().execution_options(**WRITING)
        of_run = LIMITS.c.run_id == run_id
        columns = LIMITS.c.calls, LIMITS.c.ended, LIMITS.c.cost_usd, LIMITS.c.starts
        self._find = select(*columns).where(of_run)
        if self._engine.dialect.name == "postgresql":
            now = extract("epoch", func.clock_timestamp())
            self._find = self._find.add_columns(now).with_for_update()
        self._change = LIMITS.update().where(of_run)

    def lease(self, request: LeaseRequest) -> Lease:
        """Lease calls, in one transaction."""
        with translate_errors(self._name), self._connection.begin():
            line = self._connection.execute(self._find).one_or_none()
            if line is None:
                raise StoreError(f"{self._name}: the run {self._run_id} has ended")
            account = Account(*self._limits)
            account.calls, account.ended, account.cost, starts, *now = line
            account.starts = json.loads(starts)
            # without a server, all processes are on one machine, with one monotonic clock
            lease = account.grant(request, float(now[0]) if now else time.monotonic())
            starts = json.dumps(account.starts)
            values = {"calls": account.calls, "ended": account.ended, "cost_usd": account.cost}
            self._connection.execute(self._change, {**values, "starts": starts})
        return lease

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._engine.dispose()


def _engine(place: str) -> Engine:
    engine = create_store_engine(place)

    def connect(connection: DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute("SET synchronous_commit TO off")  # others wait for the line meanwhile
        connection.commit()
        cursor.close()

    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", connect)
    return engine


@contextmanager
def shared_limits(place: str | None, run_id: str) -> Generator[str, None, None]:
    """Add the account of a run, with nothing spent, and remove it when the block ends.

    `place` is a store, and None a temporary file. Gives the place for `StoredLimits`.
    """
    if place is None:
        with TemporaryDirectory(prefix="ragstone-") as folder:
            file = str(Path(folder) / "limits.db")
            _execute(file, CreateTable(LIMITS))
            with shared_limits(file, run_id):
                yield file
        return
    now = datetime.now(UTC)
    old = LIMITS.c.began_at < format_time(now - LEFT_BEHIND)
    removed = LIMITS.delete().where((LIMITS.c.run_id == run_id) | old)
    line = {"run_id": run_id, "began_at": format_time(now)}
    added = LIMITS.insert().values(**line, calls=0, ended=0, cost_usd=0.0, starts="{}")
    try:
        _execute(place, removed, added)
        yield place
    finally:
        _execute(place, removed)


def _execute(place: str, *statements: Executable) -> None:
    engine = _engine(place)
    try:
        with translate_errors(display_name(place)), _writing(engine) as connection:
            for statement in statements:
                connection.execute(statement)
    finally:
        engine.dispose()


@contextmanager
def _writing(engine: Engine) -> Generator[Connection, None, None]:
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        yield connection
