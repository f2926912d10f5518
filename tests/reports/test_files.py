import errno
import os
from pathlib import Path

import pytest

from ragstone._internal.files import check_writable, write_file
from ragstone.errors import UsageError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path) -> None:
    path.write_text("new")


def test_a_file_is_replaced_and_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.txt"
    assert write_file(path, write) == path
    path.write_text("old")
    write_file(path, write)
    assert path.read_text() == "new"
    assert names(path.parent) == ["x.txt"]


def test_what_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")

    def half(temporary: Path) -> None:
        temporary.write_text("ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, half)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_keep_finds_a_name_that_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")
    assert write_file(path, write, keep=True).name == "x-2.txt"
    assert write_file(path, write, keep=True).name == "x-3.txt"
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x-2.txt", "x-3.txt", "x.txt"]


class Linkless(type(Path())):
    """A path on a file system without hard links."""

    def hardlink_to(self, target: object) -> None:
        del target
        raise OSError(errno.EPERM, "Operation not permitted")


def test_keep_works_without_hard_links(tmp_path: Path) -> None:
    path = Linkless(tmp_path / "x.txt")
    assert write_file(path, write, keep=True).name == "x.txt"
    assert write_file(path, write, keep=True).name == "x-2.txt"
    assert names(tmp_path) == ["x-2.txt", "x.txt"]


def test_a_new_file_is_readable_as_any_other(tmp_path: Path) -> None:
    write_file(tmp_path / "x.txt", write)
    write(tmp_path / "plain.txt")
    assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_a_refusal_names_the_file_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"x\.txt cannot be written: .+; name another place"):
        write_file(tmp_path / "file" / "x.txt", write)
    with pytest.raises(UsageError, match="name too long"):
        write_file(tmp_path / f"{'x' * 300}.txt", write)


def test_a_file_can_be_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_writable(tmp_path / "none" / "yet" / "x.txt")
    assert names(tmp_path) == ["file"]
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        check_writable(tmp_path)
    with pytest.raises(UsageError, match="is not a folder; choose another path"):
        check_writable(tmp_path / "file" / "x.txt")
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(tmp_path / f"{'x' * 300}" / "x.txt")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="takes no new files"):
        check_writable(tmp_path / "x.txt")
