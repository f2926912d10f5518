"""Writable: whether the files that a command is to write can be written, told before its work."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.errors import UsageError
from ragstone.reports.files import check_writable
from ragstone.reports.rows import STDOUT


def check_files(
    *files: Path | None, inputs: Sequence[str | Path] = (), written: Sequence[Path] = ()
) -> None:
    """Refuse, before anything is asked, files that could not be written in the end.

    `inputs` are read, a folder with all that is in it; `written` are other files that
    are written and were looked at elsewhere.

    Raises:
        UsageError: a file cannot be written, is an input, or is named twice.
    """
    named = [path for path in files if path is not None]
    for path in named:
        if path != STDOUT:
            check_writable(path)
    folders = {Path(name).resolve(): name for name in inputs if Path(name).is_dir()}
    taken = {Path(name).resolve(): f"{name} is read, and cannot be written" for name in inputs}
    for path in (*named, *written):
        if path.resolve() in taken:
            raise UsageError(f"{taken[path.resolve()]}; name another place")
        for folder in folders.keys() & set(() if path == STDOUT else path.resolve().parents):
            raise UsageError(
                f"{path} is in {folders[folder]}, which is read, and cannot be written there; "
                "name another place"
            )
        taken[path.resolve()] = f"{path} would be written twice"
