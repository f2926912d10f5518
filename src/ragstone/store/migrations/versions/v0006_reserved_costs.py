"""What the calls of workers may cost, while they are made."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table again: its rows belong to runs in progress."""
    op.drop_table("limits")
    op.create_table(
        "limits",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("began_at", sa.Text, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Double, nullable=False),
        sa.Column("reserved", sa.Text, nullable=False),
        sa.Column("starts", sa.Text, nullable=False),
    )
