"""A user's Python module, by name or by file: where plugins and target functions come from."""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zlib import crc32

from ragstone.errors import UsageError


def user_module(name: str) -> ModuleType:
    """Import `package.module` (found from the working folder too) or `path/to/file.py`.

    A file finds its neighbours, as a script would, and what lies in the working folder.

    Raises:
        UsageError: there is no such module or file, or it raises while it is imported.
    """
    _find_in(Path.cwd())
    try:
        return _from_file(Path(name)) if name.endswith(".py") else import_module(name)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"{name} cannot be imported: {said}") from error


def _find_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    path = path.resolve()
    name = f"ragstone_user_{path.stem}_{crc32(os.fsencode(path)):08x}"
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
