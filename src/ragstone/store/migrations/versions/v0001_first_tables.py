"""The first tables: runs, rows, scores and texts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text),
        sa.Column("tag", sa.Text, unique=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("extras", sa.Text, nullable=False),
        sa.Column("summary", sa.Text),
        sa.Column("stopped", sa.Text),
        sa.Column("transcript", sa.Boolean, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_by_fingerprint", "runs", ["fingerprint"])
    op.create_table(
        "rows",
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
    op.create_table(
        "scores",
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
    op.create_table(
        "texts",
        _of_run(),
        _place(),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("transcript", sa.Text, nullable=False),
    )


def _of_run() -> sa.Column[int]:
    owner = sa.ForeignKey("runs.number", ondelete="CASCADE")
    return sa.Column("run", sa.Integer, owner, primary_key=True, autoincrement=False)


def _place() -> sa.Column[int]:
    return sa.Column("place", sa.Integer, primary_key=True, autoincrement=False)
