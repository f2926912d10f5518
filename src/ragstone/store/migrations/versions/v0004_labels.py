"""Labels by people, of claims and responses."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("claim", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("annotator", sa.Text, primary_key=True),
        sa.Column("value", sa.Boolean),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("blind", sa.Boolean, nullable=False),
        sa.Column("checksum", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
