"""Atomic writes, limits for packed data, file locks, and SQLite in WAL mode."""

import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragstone.errors import UsageError

WAIT = 30  # seconds to wait for another process to unlock a SQLite file
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def unpacked_limit(packed: int) -> int:
    # in bytes; real data unpacks to 2 to 50 times its size, hostile data to thousands
    return max(100 * 2**20, 200 * packed)


def explain_path_error(error: Exception) -> str | None:
    if isinstance(error, OSError):
        try:
            here = Path.cwd()
        except OSError:
            return "the working folder was deleted; change to another folder"
        if not os.access(here, os.X_OK):
            return f"the working folder {here} cannot be read; change to another folder"
    if isinstance(error, OSError) and (error.filename is not None or error.errno in FULL):
        place = f"{error.filename}: " if error.filename else "cannot write: "
        return f"{place}{error.strerror}"
    loops = isinstance(error, RuntimeError) and str(error).startswith("Symlink loop")
    if loops or (isinstance(error, ValueError) and str(error) == "embedded null byte"):
        return f"a path cannot be used: {error}"
    return None


def check_file(path: Path) -> None:
    """Raise a UsageError unless the path is a file; a pipe may never end."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if not path.is_file():
        raise UsageError(
            f"{path} is not a regular file and can be read only once; save it to a file"
        )


def read_parts(path: Path, start: int, end: int) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            while part := file.read(min(2**20, end - start)):
                yield part
                start += len(part)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def write_file(path: Path, write: Callable[[Path], object], *, keep: bool = False) -> Path:
    """Have `write` fill a temporary file, then move it to `path`; return its path.

    An existing file is replaced; with `keep`, the new file is named `name-2`, `name-3`, ...
    """
    try:
        path = path.resolve() if path.is_symlink() else path
        if path.exists() and not (path.is_file() or path.is_dir()):
            write(path)  # a device or a pipe cannot be replaced
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".ragstone-{secrets.token_hex(8)}.tmp")
        try:
            write(temporary)
            return _move_to_free_name(temporary, path) if keep else temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(_refusal(path, error)) from error


def write_text(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write_text(text, encoding="utf-8", newline="\n"))


def check_writable(path: Path) -> None:
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


def _move_to_free_name(temporary: Path, path: Path) -> Path:
    name, number = path, 1
    while True:
        try:
            name.hardlink_to(temporary)  # unlike a move, fails if another process takes the name
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if not name.exists():
                return temporary.replace(name)
        else:
            return name
        number += 1
        name = path.with_stem(f"{path.stem}-{number}")


def _refusal(path: Path, error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} cannot be written: {why}; choose another path"


@contextmanager
def lock_file(path: Path, *, timeout: float) -> Generator[None, None, None]:
    from filelock import FileLock, Timeout  # slow to import, and rarely needed

    lock = FileLock(path, timeout, thread_local=False, poll_interval=0.02, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(f"another process has locked {path}") from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows cannot delete open files
            path.unlink()
        lock.release()


def make_folder(folder: Path) -> None:
    if folder.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder.name == ".ragstone":
        (folder / ".gitignore").write_text("*\n!calibrations/\n!calibrations/*\n", encoding="utf-8")


def use_wal(connection: sqlite3.Connection, *, marker: str) -> None:
    """Switch to WAL mode, except in files of other programs, which have no table `marker`."""
    until = time.monotonic() + WAIT  # SQLite does not wait if two processes switch at once
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
