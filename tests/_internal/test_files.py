from pathlib import Path

import pytest

from ragstone._internal.files import lock_file


def test_a_lock_is_waited_for_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with lock_file(path, timeout=0), pytest.raises(BlockingIOError), lock_file(path, timeout=0.05):
        pass
    assert not path.exists()
    with lock_file(path, timeout=0):
        pass
