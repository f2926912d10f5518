import os
import sqlite3
from pathlib import Path

import pytest

from ragstone.store.errors import explain_sqlite_error
from ragstone.store.reader import RowIndexSet


def refused(path: Path) -> str:
    """Return what is said of a file that SQLite cannot open."""
    with pytest.raises(sqlite3.OperationalError) as error:
        sqlite3.connect(path)
    return explain_sqlite_error(error.value, path)


def test_a_folder_is_told_with_a_file_that_may_be_meant(tmp_path: Path) -> None:
    assert f"it is a folder; name a file in it, such as {tmp_path / 'ragstone.db'}" in refused(
        tmp_path
    )


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert f"there is no folder {tmp_path / 'none'}" in refused(tmp_path / "none" / "runs.db")


def test_permissions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sqlite3.OperationalError) as error:
        sqlite3.connect(tmp_path)
    file = tmp_path / "runs.db"
    assert "it cannot be opened; choose another path" in explain_sqlite_error(error.value, file)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may do everything
    assert f"no files can be created in its folder {tmp_path}" in explain_sqlite_error(
        error.value, file
    )
    file.touch()
    assert "it cannot be read" in explain_sqlite_error(error.value, file)


def test_places_are_a_set_of_whole_numbers() -> None:
    places = RowIndexSet.of([3, 0, 9, 3])
    assert list(places) == [0, 3, 9]
    assert len(places) == 3
    assert [place in places for place in (0, 1, 9, 10, -1, "0")] == [True, False, True] + [
        False
    ] * 3


def test_there_may_be_none() -> None:
    assert not RowIndexSet()
    assert 0 not in RowIndexSet.of([])
