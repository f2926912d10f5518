"""Checksums and numbers of rows, to notice damage, and the order in which runs were stored."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("texts", sa.Column("checksum", sa.BigInteger))
    op.add_column("runs", sa.Column("rows", sa.Integer))
    op.add_column("runs", sa.Column("checksum", sa.BigInteger))
    op.add_column("runs", sa.Column("sort_time", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE runs SET sort_time = started_at")
