"""Blocks of values: the scores of ranking runs, for thousands of queries per line."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "query_blocks",
        _of_run(),
        _place(),
        sa.Column("queries", sa.Integer, nullable=False),
        sa.Column("why", sa.LargeBinary, nullable=False),
        sa.Column("names", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "value_blocks",
        _of_run(),
        sa.Column("metric", sa.Text, primary_key=True),
        _place(),
        sa.Column("failed", sa.LargeBinary),
        sa.Column("numbers", sa.LargeBinary, nullable=False),
    )


def _of_run() -> sa.Column[int]:
    owner = sa.ForeignKey("runs.number", ondelete="CASCADE")
    return sa.Column("run", sa.Integer, owner, primary_key=True, autoincrement=False)


def _place() -> sa.Column[int]:
    return sa.Column("place", sa.Integer, primary_key=True, autoincrement=False)
