"""The tables of the store; `migrations/` brings those of older versions up to date."""

from pathlib import Path

import sqlalchemy as sa

from ragstone.store.engine import SCHEMA, WRITING
from ragstone.store.errors import StoreError

HEAD = "0006"
"""The newest migration; it leads to the tables below."""

METADATA = sa.MetaData()


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
    sa.Column("checksum", sa.BigInteger),
)
"""Rows as JSON: the exchanges, and all other fields. Older versions stored no checksums."""

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
"""Verdicts of people on claims; `claim` is -1 for the whole response."""

COUNTS = sa.Table(
    "counts",
    METADATA,
    _of_run(),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)
"""What the summary of a finished run needs of its rows, as counted by that version of ragstone."""

MIGRATIONS = Path(__file__).parent / "migrations"
_VERSIONS = "alembic_version"
_LOCK = 0x5261_6773  # a number that other programs are unlikely to use
_WRITABLE = """SELECT has_table_privilege('runs', 'INSERT')
AND NOT current_setting('transaction_read_only')::boolean"""


def migrate(engine: sa.Engine, name: str) -> None:
    """Bring the tables up to date; other processes wait meanwhile.

    Raises:
        StoreError: the database is read-only, or belongs to another program or a newer version of
            ragstone.
    """
    if is_current(engine, name):
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
        version = _version(connection, name)
        if version is None:  # all at once: migrations take ten times as long
            METADATA.create_all(connection, checkfirst=False)
            connection.exec_driver_sql(
                f"CREATE TABLE {_VERSIONS} (version_num VARCHAR(32) NOT NULL, "
                f"CONSTRAINT {_VERSIONS}_pkc PRIMARY KEY (version_num))"
            )
            connection.exec_driver_sql(f"INSERT INTO {_VERSIONS} VALUES ('{HEAD}')")  # noqa: S608 - constants
        elif version != HEAD:
            upgrade(connection)


def is_current(engine: sa.Engine, name: str) -> bool:
    with engine.connect() as connection:
        return _version(connection, name) == HEAD


def _version(connection: sa.Connection, name: str) -> str | None:
    tables = set(sa.inspect(connection).get_table_names())
    if _VERSIONS not in tables:
        if tables:
            raise StoreError(f"{name} is the database of another program; choose another path")
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").scalars().all()  # noqa: S608 - a constant
    version = str(found[0]) if found else ""
    if not tables & set(METADATA.tables) or not version.isdecimal():
        raise StoreError(f"{name} is the database of another program; choose another path")
    if int(version) > int(HEAD):
        raise StoreError(
            f"{name}: written by a newer version of ragstone (schema {version}, this version "
            f"supports {HEAD}); update ragstone, or choose another path"
        )
    return version


def upgrade(connection: sa.Connection, revision: str = HEAD) -> None:
    from alembic import command  # slow to load, and rarely needed
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
