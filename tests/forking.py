"""Runs commands in forks of one process, which has imported everything: a start takes 20 ms.

The fixture `fork` in conftest.py starts it. It reads cases from standard input, one JSON object a
line, and writes what became of each. A case has arguments of `ragstone` or of pytest, the folder in
which the command runs, and its environment. With a `home`, the command runs without root's rights,
and the files that it leaves there are reported and deleted; a folder whose name ends in `gone` is
deleted, and in `shut` is locked, once the command is in it.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import struct
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

SECONDS = 250
"""After which a command is killed: it hangs."""
MOST = 6 << 30
"""Bytes of memory that a command may reserve, so that it cannot fill the machine."""
UNTOUCHED = "ragstone.integrations.pytest"
"""Pytest imports its plugins itself, to rewrite their assertions."""


def drop_rights() -> None:
    """Give up what root may do beyond the owner of a file (Linux); its files stay readable."""
    header = struct.pack("Ii", 0x20080522, 0)
    assert ctypes.CDLL(None, use_errno=True).capset(header, bytes(24)) == 0, ctypes.get_errno()


def import_all() -> None:
    """Import ragstone's modules, and what they import late."""
    from _pytest.config import default_plugins

    import ragstone

    modules = [each.name for each in pkgutil.walk_packages(ragstone.__path__, "ragstone.")]
    plugins = [f"_pytest.{name}" for name in default_plugins]
    for name in (*modules, *plugins, "filelock"):
        if not name.startswith(UNTOUCHED):
            with suppress(ImportError):  # it needs an extra
                importlib.import_module(name)


def run(case: dict[str, object]) -> dict[str, object]:
    """Run a command in a child process; return its exit code, peak memory in MiB, and output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os._exit(code_of(case))
        _, status, usage = os.wait4(child, 0)
        texts = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            texts[name] = file.read().decode("utf-8", "replace")[-200_000:]
    code, peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024
    return {"code": code, "peak": peak, **texts}


def code_of(case: dict[str, object]) -> int:
    """Run a command in this process; return its exit code."""
    folder, code = str(case["folder"]), 99
    try:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
        os.environ.clear()
        os.environ |= case["environment"]
        os.chdir(folder)
        if case["home"]:
            if os.geteuid() == 0:
                drop_rights()
            sys.dont_write_bytecode = True
            if folder.endswith("gone"):
                Path(folder).rmdir()
            elif folder.endswith("shut"):
                Path(folder).chmod(0)
        sys.argv = [case["program"], *case["arguments"]]
        sys.path[0] = folder  # as `python -m` does
        if case["program"] == "pytest":
            from _pytest.config import main
        else:
            from ragstone.__main__ import main
        code = main() or 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 98
    except BaseException:  # noqa: BLE001 - a test looks for the traceback
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def files_in(folder: Path) -> set[Path]:
    """Return all paths in a folder; what cannot be entered is left out."""
    found: set[Path] = set()
    for place, folders, files in os.walk(folder):
        found |= {Path(place, name) for name in (*folders, *files)}
    return found


def run_in_home(case: dict[str, object]) -> dict[str, object]:
    """Run a command; report the files that it leaves, and delete them."""
    home, folder = Path(case["home"]), Path(case["folder"])
    if folder.name.endswith("gone"):
        folder.mkdir()
    before = files_in(home)
    result = run(case)
    if folder.name.endswith("shut"):
        folder.chmod(0o755)
    left = sorted(files_in(home) - before)
    for path in reversed(left):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    return {**result, "left": [str(path.relative_to(home)) for path in left]}


if __name__ == "__main__":
    import_all()
    gc.freeze()  # children share the memory of what was imported
    for line in sys.stdin:
        given = json.loads(line)
        result = run_in_home(given) if given["home"] else run(given)
        sys.stdout.write(json.dumps({"number": given["number"], **result}) + "\n")
        sys.stdout.flush()
