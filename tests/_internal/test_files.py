from pathlib import Path

import pytest

from ragstone._internal.files import lock_file, open_locked


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open_locked(path) as file:
        file.write(b"one")
        with pytest.raises(BlockingIOError):
            open_locked(path)
    with open_locked(path) as file:
        file.write(b" two")
        file.seek(0)
        assert file.readall() == b"one two"


def test_a_file_that_was_taken_away_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open_locked(path) as first:
        path.unlink()
        with open_locked(path) as second:
            second.write(b"new")
        first.write(b"old")
    assert path.read_bytes() == b"new"


def test_a_lock_is_waited_for_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with lock_file(path, timeout=0), pytest.raises(BlockingIOError), lock_file(path, timeout=0.05):
        pass
    assert not path.exists()
    with lock_file(path, timeout=0):
        pass
