from pathlib import Path

import pytest

from ragstone._internal.files import locked


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with locked(path) as file:
        file.write(b"one")
        with pytest.raises(BlockingIOError):
            locked(path)
    with locked(path) as file:
        file.write(b" two")
        file.seek(0)
        assert file.readall() == b"one two"


def test_a_file_that_was_taken_away_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with locked(path) as first:
        path.unlink()
        with locked(path) as second:
            second.write(b"new")
        first.write(b"old")
    assert path.read_bytes() == b"new"
