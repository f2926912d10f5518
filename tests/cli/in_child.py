"""Runs commands in forked processes without root's rights; started by test_paths.py.

Reads a list of cases from standard input, and writes what became of each. A case has arguments,
the folder in which the command runs, and variables of the environment. A folder whose name ends in
`gone` is deleted, and in `shut` is locked, once the command is in it. All modules are imported
once; a case takes some 20 ms.
"""

import ctypes
import importlib
import json
import os
import pkgutil
import resource
import signal
import struct
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

SECONDS = 600
"""After which a case is killed: it hangs."""


def drop_rights() -> None:
    """Give up what root may do beyond the owner of a file (Linux); its files stay readable."""
    header = struct.pack("Ii", 0x20080522, 0)
    assert ctypes.CDLL(None, use_errno=True).capset(header, bytes(24)) == 0, ctypes.get_errno()


def run(arguments: list[str], folder: str, environment: dict[str, str]) -> dict[str, object]:
    """Run a command in a child process; return its exit code, its output and its messages."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            code = 99
            try:
                signal.alarm(SECONDS)
                resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
                os.chdir(folder)
                if folder.endswith("gone"):
                    Path(folder).rmdir()
                elif folder.endswith("shut"):
                    Path(folder).chmod(0)
                os.environ |= environment
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.argv = ["ragstone", *arguments]
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                from ragstone.__main__ import main

                main()
            except SystemExit as done:
                code = done.code if isinstance(done.code, int) else 98
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        texts = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            texts[name] = file.read().decode("utf-8", "replace")[-20_000:]
    return {"code": os.waitstatus_to_exitcode(status), **texts}


def import_all() -> None:
    """Import ragstone's modules, and what they import late, before any case is run."""
    import ragstone

    modules = [each.name for each in pkgutil.walk_packages(ragstone.__path__, "ragstone.")]
    for name in (*modules, "alembic.config", "filelock"):
        with suppress(ImportError):  # it needs an extra
            importlib.import_module(name)


def files_in(folder: Path) -> set[Path]:
    """Return all paths in a folder; what cannot be entered is left out."""
    found: set[Path] = set()
    for place, folders, files in os.walk(folder):
        found |= {Path(place, name) for name in (*folders, *files)}
    return found


def main() -> None:
    """Run all cases; a file that a command leaves is reported and deleted."""
    home = Path(sys.argv[1])
    if os.geteuid() == 0:
        drop_rights()
    os.environ |= {"COLUMNS": "200", "HOME": str(home), "TMPDIR": "/tmp"}
    import_all()
    results = []
    before = files_in(home)
    for case in json.load(sys.stdin):
        folder = Path(case["folder"])
        if folder.name.endswith("gone"):
            folder.mkdir()
        result = run(case["arguments"], case["folder"], case.get("environment", {}))
        if folder.name.endswith("shut"):
            folder.chmod(0o755)
        left = sorted(files_in(home) - before)
        for path in reversed(left):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        results.append({**result, "left": [str(path.relative_to(home)) for path in left]})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
