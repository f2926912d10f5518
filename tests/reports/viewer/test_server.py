import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.reports.viewer.server import open_read_only
from ragstone.store import Store, StoreError
from ragstone.store.schema import HEAD


def changed(path: Path, statement: str) -> Path:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute(statement)
        file.commit()
    return path


def test_nothing_can_be_changed(tmp_path: Path) -> None:
    path = changed(tmp_path / "runs.db", "DELETE FROM runs")
    with (
        open_read_only(str(path)) as store,
        pytest.raises(StoreError, match="readonly"),
        store.transaction() as connection,
    ):
        connection.exec_driver_sql("DELETE FROM runs")


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store"):
        open_read_only(str(tmp_path / "folder" / "runs.db"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("version", "words"), [("0000", "older"), ("9999", "newer")])
def test_a_store_of_another_version_is_left_as_it_is(
    tmp_path: Path, version: str, words: str
) -> None:
    path = changed(tmp_path / "runs.db", f"UPDATE alembic_version SET version_num = '{version}'")
    with pytest.raises(StoreError, match=f"written by an? {words} version"):
        open_read_only(str(path))
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == (version,)


def test_another_programs_database_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE things (name)")
    with pytest.raises(StoreError, match="contains no ragstone runs"):
        open_read_only(str(path))


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are notes " * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_read_only(str(path))


def test_the_version_is_that_of_the_schema(tmp_path: Path) -> None:
    path = changed(tmp_path / "runs.db", "DELETE FROM runs")
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == (HEAD,)


def test_a_file_that_others_write_to_otherwise_is_left_so(tmp_path: Path) -> None:
    path = changed(tmp_path / "runs.db", "PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    with open_read_only(str(path)) as store:
        assert store.runs() == []
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)
