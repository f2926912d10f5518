"""Migrating: the tables of a store are made, and brought up to date, as it is opened."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect

from ragstone.store.engines import SCHEMA, WRITING
from ragstone.store.failures import StoreError
from ragstone.store.schema import HEAD, METADATA

MIGRATIONS = Path(__file__).parent / "migrations"
_VERSIONS = "alembic_version"
_LOCK = 0x5261_6773  # any number that other programs hardly take
_LAST_KNOWN = int(HEAD)


def migrate(engine: Engine) -> None:
    """Bring the tables up to date; of several processes, one does it and the others wait.

    Raises:
        StoreError: the database is another program's, or a newer ragstone's.
    """
    with engine.connect() as connection:
        if _version(connection) == HEAD:
            return
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            if not inspect(connection).has_schema(SCHEMA):
                connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        if _version(connection) != HEAD:
            upgrade(connection)


def _version(connection: Connection) -> str | None:
    """Return the newest migration that was run; None in an empty database."""
    tables = set(inspect(connection).get_table_names())
    if _VERSIONS not in tables:
        if tables:
            raise StoreError("it is the database of another program; name another place")
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").scalars().all()  # noqa: S608 - a constant
    version = str(found[0]) if found else ""
    if not tables & set(METADATA.tables) or not version.isdecimal():
        raise StoreError("it is the database of another program; name another place")
    if int(version) > _LAST_KNOWN:
        raise StoreError(
            f"it was written by a newer ragstone (tables of version {version}, this one knows "
            f"{HEAD}); update ragstone, or name another place"
        )
    return version


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Run the migrations up to one, within the connection's transaction."""
    from alembic import command  # slow to load, and nearly every time there is nothing to do
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
