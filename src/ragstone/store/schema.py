"""The tables of the store; `migrations/` makes them, step by step."""

from pathlib import Path

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
)

from ragstone.store.engine import SCHEMA, WRITING
from ragstone.store.errors import StoreError

HEAD = "0002"
"""The newest migration: what the tables below are."""

METADATA = MetaData()


def _of_run() -> Column[int]:
    owner = ForeignKey("runs.number", ondelete="CASCADE")
    return Column("run", Integer, owner, primary_key=True, autoincrement=False)


def _place() -> Column[int]:
    return Column("place", Integer, primary_key=True, autoincrement=False)


RUNS = Table(
    "runs",
    METADATA,
    Column("number", Integer, primary_key=True),  # short, because every row and score has it
    Column("id", Text, nullable=False, unique=True),
    Column("started_at", Text, nullable=False),  # ISO 8601 in UTC, which sorts in the order of time
    Column("finished_at", Text),
    Column("tag", Text, unique=True),
    Column("fingerprint", Text, nullable=False),
    Column("manifest", Text, nullable=False),
    Column("metrics", Text, nullable=False),
    Column("extras", Text, nullable=False),
    Column("summary", Text),
    Column("stopped", Text),
    Column("transcript", Boolean, nullable=False),
    Index("runs_by_fingerprint", "fingerprint"),
    sqlite_autoincrement=True,
)

UNDER_WAY = ".importing"
"""The suffix of the id of a run that is being imported, or whose import was killed."""
WHOLE = ~RUNS.c.id.endswith(UNDER_WAY, autoescape=True)
"""The condition for all other runs."""
NEWEST = RUNS.c.started_at.desc(), RUNS.c.number.desc()
"""The order with the run that was started last first."""

ROWS = Table(
    "rows",
    METADATA,
    _of_run(),
    _place(),
    Column("sample_id", Text, nullable=False),
    Column("query_fingerprint", Text, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("reasoning_tokens", Integer, nullable=False),
    Column("cost_usd", Double),
    sqlite_with_rowid=False,
)
"""Finds and counts rows; narrow, so that a million are scanned in a second."""

SCORES = Table(
    "scores",
    METADATA,
    _of_run(),
    Column("metric", Text, primary_key=True),
    _place(),
    Column("state", Text, nullable=False),
    Column("value", Double),
    Column("passed", Boolean),
    Column("fallback", Boolean, nullable=False),
    Column("cause", Text),
    sqlite_with_rowid=False,
)
"""The figures of scores, by metric; reasons and claims are in the texts."""

TEXTS = Table(
    "texts",
    METADATA,
    _of_run(),
    _place(),
    Column("body", Text, nullable=False),
    Column("transcript", Text, nullable=False),
)
"""Rows as JSON: the exchanges, and all other fields."""

QUERY_BLOCKS = Table(
    "query_blocks",
    METADATA,
    _of_run(),
    _place(),
    Column("queries", Integer, nullable=False),
    Column("why", LargeBinary, nullable=False),
    Column("names", LargeBinary, nullable=False),
)
"""A ranking's run has no rows, scores and texts, but some thousand queries per line."""

VALUE_BLOCKS = Table(
    "value_blocks",
    METADATA,
    _of_run(),
    Column("metric", Text, primary_key=True),
    _place(),
    Column("failed", LargeBinary),
    Column("numbers", LargeBinary, nullable=False),
)
"""The scores of one metric for the queries of a block; `place` is the first one's."""


# Migrating: the tables of a store are made, and brought up to date, as it is opened.

MIGRATIONS = Path(__file__).parent / "migrations"
_VERSIONS = "alembic_version"
_LOCK = 0x5261_6773  # any number that other programs hardly take
_LAST_KNOWN = int(HEAD)


def migrate(engine: Engine) -> None:
    """Bring the tables up to date; of several processes, one does it and the others wait.

    Raises:
        StoreError: the database is another program's, or a newer ragstone's.
    """
    with engine.connect() as connection:
        if _version(connection) == HEAD:
            return
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            if not inspect(connection).has_schema(SCHEMA):
                connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        if _version(connection) != HEAD:
            upgrade(connection)


def _version(connection: Connection) -> str | None:
    """Return the newest migration that was run; None in an empty database."""
    tables = set(inspect(connection).get_table_names())
    if _VERSIONS not in tables:
        if tables:
            raise StoreError("it is the database of another program; choose another path")
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").scalars().all()  # noqa: S608 - a constant
    version = str(found[0]) if found else ""
    if not tables & set(METADATA.tables) or not version.isdecimal():
        raise StoreError("it is the database of another program; choose another path")
    if int(version) > _LAST_KNOWN:
        raise StoreError(
            f"it was written by a newer ragstone (tables of version {version}, this one knows "
            f"{HEAD}); update ragstone, or name another place"
        )
    return version


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Run the migrations up to one, within the connection's transaction."""
    from alembic import command  # slow to load, and nearly every time there is nothing to do
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
