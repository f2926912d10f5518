"""Files that are written whole or not at all, and files that one process locks."""

import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from ragstone.errors import UsageError

WAIT = 30
"""Seconds to wait for another process to unlock a SQLite file."""
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems without hard links answer."""


def write_file(path: Path, write: Callable[[Path], None], *, keep: bool = False) -> Path:
    """Have `write` fill a temporary file beside `path`, then move it there; return where it is.

    Missing folders are created. An existing file is replaced; with `keep` it stays, and the
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
        raise UsageError(f"{path} cannot be written: {folder} is not a folder; choose another path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"{path} cannot be written: the folder {folder} is not writable; choose another path"
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
    return f"{path} cannot be written: {why}; choose another path"


# File locks: one process at a time has a file; the end of the process, kill -9 too, frees it.


def open_locked(path: Path) -> FileIO:
    """Open a file to read and append, and lock it until it is closed; a new one if there is none.

    Raises:
        BlockingIOError: another process, or another block of this one, has locked it.
        OSError: it cannot be opened or locked.
    """
    from filelock import lock_descriptor  # slow to import, and most commands lock no file

    while True:
        with ExitStack() as stack:
            file = stack.enter_context(path.open("ab+", buffering=0))
            if not lock_descriptor(file.fileno(), blocking=False):
                raise BlockingIOError(f"another process has locked {path}")
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    stack.pop_all()
                    return file
            # another process deleted the file before it was locked here


@contextmanager
def lock_file(path: Path, *, timeout: float) -> Generator[None, None, None]:
    """Hold a lock while the block lasts: a file that has no content and is deleted afterwards.

    Raises:
        BlockingIOError: another process held it for `timeout` seconds.
        OSError: the file cannot be opened or locked.
    """
    until = time.monotonic() + timeout
    while True:
        try:
            file = open_locked(path)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    with file:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows does not delete open files
                path.unlink()


def make_folder(folder: Path) -> None:
    """Create a folder if it is missing; Git ignores a folder named `.ragstone`."""
    if folder.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder.name == ".ragstone":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def use_wal(connection: sqlite3.Connection, *, marker: str) -> None:
    """Let reads go on beside a write.

    A file of another program is left as it is: one that has tables, and none named `marker`.
    SQLite itself does not wait if two processes switch to WAL at once.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not tables or marker in tables:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
