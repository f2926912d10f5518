"""The tables of the store. A store is created with these tables, and never changed to others."""

import sqlalchemy as sa

from ragstone.store.engine import SCHEMA, WRITING
from ragstone.store.errors import StoreError

VERSION = 1
"""Increase it when the tables below, or the JSON in them, can no longer be read by older code."""

METADATA = sa.MetaData()

SCHEMA_VERSION = sa.Table(
    "schema_version",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)


def _of_run() -> sa.Column[int]:
    owner = sa.ForeignKey("runs.number", ondelete="CASCADE")
    return sa.Column("run", sa.Integer, owner, primary_key=True, autoincrement=False)


def _place() -> sa.Column[int]:
    return sa.Column("place", sa.Integer, primary_key=True, autoincrement=False)


RUNS = sa.Table(
    "runs",
    METADATA,
    sa.Column(
        "number", sa.Integer, primary_key=True
    ),  # short, because every row and score contains it
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column(
        "started_at", sa.Text, nullable=False
    ),  # ISO 8601 in UTC, which sorts in the order of time
    sa.Column("finished_at", sa.Text),
    sa.Column("tag", sa.Text, unique=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("metrics", sa.Text, nullable=False),
    sa.Column("extras", sa.Text, nullable=False),
    sa.Column("summary", sa.Text),
    sa.Column("stopped", sa.Text),
    sa.Column("transcript", sa.Boolean, nullable=False),
    sa.Column("rows", sa.Integer),  # of a finished run
    sa.Column("checksum", sa.BigInteger),  # of the line
    sa.Column(
        "sort_time", sa.Text, nullable=False
    ),  # `started_at`, or that of an earlier run if the clock was set back
    sa.Index("runs_by_fingerprint", "fingerprint"),
    sqlite_autoincrement=True,
)

UNDER_WAY = ".importing"
"""The suffix of the id of a run that is being imported, or whose import was killed."""
WHOLE = ~RUNS.c.id.endswith(UNDER_WAY, autoescape=True)
"""The condition for all other runs."""
NEWEST = RUNS.c.sort_time.desc(), RUNS.c.number.desc()
"""The order with the run that was started last first, even if the clock was set back."""

ROWS = sa.Table(
    "rows",
    METADATA,
    _of_run(),
    _place(),
    sa.Column("sample_id", sa.Text, nullable=False),
    sa.Column("query_fingerprint", sa.Text, nullable=False),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("cached", sa.Integer, nullable=False),
    sa.Column("retries", sa.Integer, nullable=False),
    sa.Column("prompt_tokens", sa.Integer, nullable=False),
    sa.Column("completion_tokens", sa.Integer, nullable=False),
    sa.Column("cached_tokens", sa.Integer, nullable=False),
    sa.Column("reasoning_tokens", sa.Integer, nullable=False),
    sa.Column("cost_usd", sa.Double),
    sqlite_with_rowid=False,
)
"""To find and count rows; narrow, so that a scan of a million takes a second."""

SCORES = sa.Table(
    "scores",
    METADATA,
    _of_run(),
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("passed", sa.Boolean),
    sa.Column("fallback", sa.Boolean, nullable=False),
    sa.Column("cause", sa.Text),
    sqlite_with_rowid=False,
)
"""The figures of scores, by metric; reasons and claims are in the texts."""

TEXTS = sa.Table(
    "texts",
    METADATA,
    _of_run(),
    _place(),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("transcript", sa.Text, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
)
"""Rows as JSON: the exchanges, and all other fields."""

QUERY_BLOCKS = sa.Table(
    "query_blocks",
    METADATA,
    _of_run(),
    _place(),
    sa.Column("queries", sa.Integer, nullable=False),
    sa.Column("why", sa.LargeBinary, nullable=False),
    sa.Column("names", sa.LargeBinary, nullable=False),
)
"""A ranking run has no rows, scores and texts, but blocks of some thousand queries."""

VALUE_BLOCKS = sa.Table(
    "value_blocks",
    METADATA,
    _of_run(),
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("failed", sa.LargeBinary),
    sa.Column("numbers", sa.LargeBinary, nullable=False),
)
"""The scores of one metric for the queries of a block; `place` is the first one's."""
FLOAT = "<f8"
"""The numbers in a block: little-endian, 64 bits."""

LABELS = sa.Table(
    "labels",
    METADATA,
    _of_run(),
    sa.Column("metric", sa.Text, primary_key=True),
    _place(),
    sa.Column("claim", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("annotator", sa.Text, primary_key=True),
    sa.Column("value", sa.Boolean),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("blind", sa.Boolean, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Verdicts of people on claims."""
RESPONSE = -1
"""The stored claim index of a label of the whole response."""

COUNTS = sa.Table(
    "counts",
    METADATA,
    _of_run(),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)
"""What the summary of a finished run needs of its rows, as counted by that version of ragstone."""

_LOCK = 0x5261_6773  # a number that other programs are unlikely to use
_WRITABLE = """SELECT has_table_privilege('runs', 'INSERT')
AND NOT current_setting('transaction_read_only')::boolean"""


def create_tables(engine: sa.Engine, name: str) -> None:
    """Create the tables in an empty database; other processes wait meanwhile.

    Raises:
        StoreError: the database is read-only, or belongs to another program or another version of
            ragstone.
    """
    if has_tables(engine, name):
        with engine.connect() as connection:
            server = connection.dialect.name == "postgresql"
            if server and not connection.exec_driver_sql(_WRITABLE).scalar():
                raise StoreError(
                    f"{name}: the store is read-only for this user or on this server; use another"
                )
        return
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            if not sa.inspect(connection).has_schema(SCHEMA):
                connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        if not _check_version(connection, name):
            METADATA.create_all(connection, checkfirst=False)
            connection.execute(SCHEMA_VERSION.insert().values(version=VERSION))


def has_tables(engine: sa.Engine, name: str) -> bool:
    with engine.connect() as connection:
        return _check_version(connection, name)


def _check_version(connection: sa.Connection, name: str) -> bool:
    """Return whether the database has the tables above; False if it is empty."""
    tables = set(sa.inspect(connection).get_table_names())
    if not tables:
        return False
    if not tables >= {SCHEMA_VERSION.name, RUNS.name}:
        raise StoreError(f"{name} is the database of another program; choose another path")
    version = connection.execute(sa.select(SCHEMA_VERSION.c.version)).scalar()
    if version != VERSION:
        raise StoreError(
            f"{name}: another version of ragstone wrote this store (its tables have version "
            f"{version}, this ragstone needs {VERSION}); export its runs with that version "
            "(`ragstone runs export`) and import them here, or choose another path"
        )
    return True
