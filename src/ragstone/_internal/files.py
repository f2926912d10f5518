"""File: written beside its place and moved there, so that nobody ever sees half of one."""

import errno
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from ragstone.errors import UsageError

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems without hard links answer."""


def write_file(path: Path, write: Callable[[Path], None], *, keep: bool = False) -> Path:
    """Have `write` fill a temporary file beside `path`, then move it there; return where it is.

    Missing folders are made. A file that stands there is replaced; with `keep` it stays, and the
    new one becomes `name-2`, `name-3`, ...

    Raises:
        UsageError: the file system refuses.
    """
    try:
        path = path.resolve() if path.is_symlink() else path
        if path.exists() and not (path.is_file() or path.is_dir()):
            write(path)  # a device or a pipe takes what it is given, and stays
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".ragstone-{secrets.token_hex(8)}.tmp")
        try:
            write(temporary)
            return _place_beside(temporary, path) if keep else temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(_refusal(path, error)) from error


def write_text(path: Path, text: str) -> None:
    """Write a file that holds a text, in UTF-8, as `write_file` does.

    Raises:
        UsageError: the file system refuses.
    """

    def write(file: Path) -> None:
        file.write_text(text, encoding="utf-8", newline="\n")

    write_file(path, write)


def check_writable(path: Path) -> None:
    """Tell before the work whether the file could be written; nothing is made.

    Raises:
        UsageError: it is a folder, or its folder cannot be made or written in.
    """
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
    except (OSError, ValueError) as error:
        raise UsageError(_refusal(path, error)) from error
    if not folder.is_dir():
        raise UsageError(f"{path} cannot be written: {folder} is no folder; name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"{path} cannot be written: the folder {folder} takes no new files; name another place"
        )


def _place_beside(temporary: Path, path: Path) -> Path:
    name, number = path, 1
    while not _place(temporary, name):
        number += 1
        name = path.with_stem(f"{path.stem}-{number}")
    return name


def _place(temporary: Path, name: Path) -> bool:
    try:
        # a link, unlike a move, fails if another process took the name a moment ago
        name.hardlink_to(temporary)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if name.exists():
            return False
        temporary.replace(name)
    return True


def _refusal(path: Path, error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} cannot be written: {why}; name another place"


# Locked file: one process has it open; the end of that process, kill -9 too, frees it.

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR = 2**30
"""Which byte Windows locks: nobody may read a locked one, so it lies behind all others."""


def locked(path: Path) -> FileIO:
    """Open a file to read and to append, made if there is none, until it is closed.

    Raises:
        BlockingIOError: another process, or another block of this one, has it.
        OSError: it cannot be opened or locked.
    """
    while True:
        with ExitStack() as stack:
            file = stack.enter_context(path.open("ab+", buffering=0))
            _lock(file)
            if _is_at(path, file):  # else it was taken away before it was locked
                stack.pop_all()
                return file


def _lock(file: FileIO) -> None:
    if sys.platform == "win32":
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_at(path: Path, file: FileIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
