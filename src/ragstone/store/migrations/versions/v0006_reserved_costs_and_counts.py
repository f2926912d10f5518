"""What the calls of workers may cost while they are made, and the counts of finished runs."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    owner = sa.ForeignKey("runs.number", ondelete="CASCADE")
    op.create_table(
        "counts",
        sa.Column("run", sa.Integer, owner, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
    )
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
