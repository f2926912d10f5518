"""YAML nodes: what a YAML file says, with its rows, before anything is made of it."""

from pathlib import Path

import yaml
from yaml.nodes import Node

from ragstone.errors import InputError, Problem, UsageError

MOST = 1_000_000
"""Bytes that a file of settings may have; a person writes it."""


def root_of(path: Path, *, typed: bool = True) -> Node | None:
    """Return the root node of a YAML file; None if it is empty.

    With `typed`, nodes are tagged by what they look like (`!!int`); else every scalar is text.

    Raises:
        UsageError: the file cannot be read, or is too long to be written by a person.
        InputError: it is no YAML.
    """
    if not path.is_file():
        raise UsageError(f"{path} cannot be read: there is no such file")
    try:
        if path.stat().st_size > MOST:
            raise UsageError(f"{path} has more than {MOST:,} bytes; it is no file of settings")
        text = path.read_text(encoding="utf-8-sig")
        return yaml.compose(text, Loader=yaml.SafeLoader if typed else yaml.BaseLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else None
        said = f"this is no YAML: {error.problem}"
        raise InputError(str(path), [Problem(said, row=row)]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(str(path), [Problem(f"this is no YAML: {error}")]) from error
