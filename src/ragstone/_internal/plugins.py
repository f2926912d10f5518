"""Plugins: Python modules and files of the user, and entry points of installed packages."""

import asyncio
import logging
import os
import sys
import traceback
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType
from typing import cast
from zlib import crc32

from ragstone._internal.secrets import redact
from ragstone._internal.text import message_of, quoted
from ragstone.errors import UsageError

FILES = (".py", ".yaml", ".yml")  # endings of plugins that are files; all others are modules
_USER = "ragstone_user_"  # begins the names of modules that are files of the user
LONGEST = 300  # characters of an exception's message that are stored
_OURS = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = (_OURS, *map(get_paths().__getitem__, ("stdlib", "purelib", "platlib")))
"""How the names of files begin that are not code of the user."""
_log = logging.getLogger("ragstone.plugins")
_logged = set[tuple[object, ...]]()


def check_extra(package: str, what: str, extra: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"{what} needs an extra: pip install 'ragstone[{extra}]'")


def import_plugin(name: str) -> ModuleType:
    """Import `package.module` or `path/to/file.py`, which can import from their folders."""
    _find_in(Path.cwd())
    try:
        return _from_file(Path(name)) if name.endswith(".py") else import_module(name)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"{name} cannot be imported: {reason}") from error


def load_entry_point(point: EntryPoint) -> object:
    try:
        return cast("object", point.load())
    except (Exception, SystemExit) as error:
        raise entry_point_error(point, f"{type(error).__name__}: {error}") from error


def entry_point_error(point: EntryPoint, reason: str) -> UsageError:
    package = package_of(point)
    name = package.partition(" ")[0]
    return UsageError(
        f"the installed package {package} registers {point.value} as {point.group} {point.name!r}, "
        f"which cannot be used: {reason}; fix it, or remove it: pip uninstall {name}"
    )


def package_of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "?"


def is_builtin(part: object) -> bool:
    return type(part).__module__.partition(".")[0] == "ragstone"


def is_from_code(error: BaseException) -> bool:
    """Return whether the code that was called raised this, even a panic in Rust: not Ctrl-C."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return not isinstance(error, KeyboardInterrupt | GeneratorExit)


def describe_exception(what: str, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    last = (users or frames)[-1]
    key = (what, type(error), last.filename, last.lineno)
    level = logging.DEBUG if key in _logged else logging.WARNING
    _logged.add(key)
    if _log.isEnabledFor(level):
        trace = redact("".join(traceback.format_exception(error)))
        _log.log(level, "%s raised an exception:\n%s", what, trace)
    where = f"{Path(last.filename).name}:{last.lineno}"
    raised = f"{what} raised {type(error).__name__} at {where}: {message_of(error)}"
    return quoted(raised.removesuffix(": "), LONGEST)


def plugin_of(cls: type) -> str | None:
    """Return what another process loads to have this class; None for ragstone and the script."""
    name = cls.__module__
    if name.partition(".")[0] in ("ragstone", "__main__"):
        return None
    return sys.modules[name].__file__ if name.startswith(_USER) else name


def _find_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    path = path.resolve()
    name = f"{_USER}{path.stem}_{crc32(os.fsencode(path)):08x}"
    _find_in(path.parent)
    spec = spec_from_file_location(name, path)
    assert spec, "a path that ends in .py is a Python file"
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
