"""Limits that the workers of a run share."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "limits",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("began_at", sa.Text, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("ended", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Double, nullable=False),
        sa.Column("starts", sa.Text, nullable=False),
    )
