"""The tables of the store; `migrations/` makes them, step by step."""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

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
    Column("number", Integer, primary_key=True),  # short, as every row and score repeats it
    Column("id", Text, nullable=False, unique=True),
    Column("started_at", Text, nullable=False),  # ISO 8601 in UTC, which sorts as it reads
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
"""What the id of a run ends with that is being imported, or was as its import was killed."""
WHOLE = ~RUNS.c.id.endswith(UNDER_WAY, autoescape=True)
"""What holds for all other runs."""
NEWEST = RUNS.c.started_at.desc(), RUNS.c.number.desc()
"""The order in which the run that was started last is the first."""

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
"""What finds and counts rows: narrow, so that a million are looked through in a second."""

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
"""The figures of scores, one metric's side by side; reasons and claims stand in the texts."""

TEXTS = Table(
    "texts",
    METADATA,
    _of_run(),
    _place(),
    Column("body", Text, nullable=False),
    Column("transcript", Text, nullable=False),
)
"""Rows as JSON: all but the exchanges, and the exchanges."""

QUERY_BLOCKS = Table(
    "query_blocks",
    METADATA,
    _of_run(),
    _place(),
    Column("queries", Integer, nullable=False),
    Column("why", LargeBinary, nullable=False),
    Column("names", LargeBinary, nullable=False),
)
"""A ranking's run has no rows, scores and texts: its queries, some thousands a line."""

VALUE_BLOCKS = Table(
    "value_blocks",
    METADATA,
    _of_run(),
    Column("metric", Text, primary_key=True),
    _place(),
    Column("failed", LargeBinary),
    Column("numbers", LargeBinary, nullable=False),
)
"""What one metric says of the queries of a block; `place` is that of the first of them."""
