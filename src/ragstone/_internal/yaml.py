"""Entry: one `key: value` of a YAML file, as written, with the row it stands in."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ragstone.errors import InputError, Problem, UsageError

# YAML nodes: what a YAML file says, with its rows, before anything is made of it.

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
        said = f"invalid YAML: {error.problem}"
        raise InputError(str(path), [Problem(said, row=row)]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(str(path), [Problem(f"invalid YAML: {error}")]) from error


# Variables: `${NAME}` in a text stands for a variable of the environment.

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = re.compile(rf"\$\{{({NAME})\}}")
NO_VARIABLE = re.compile(rf"\$\{{(?!{NAME}\}})[^{{}}]*\}}?")
"""What begins as `${NAME}` does and is none, such as `${KEY:-default}`."""


def expanded(text: str) -> str:
    """Return the text with the value of each variable in its place, in one pass.

    Raises:
        ValueError: a variable is not set, or something only looks like one; the message names
            all of them, and no value.
    """
    problems = [
        f"the environment variable {name} is not set"
        for name in dict.fromkeys(VARIABLE.findall(text))
        if name not in os.environ
    ]
    problems += [
        f"{found} is not a variable; write ${{NAME}}" for found in NO_VARIABLE.findall(text)
    ]
    if problems:
        raise ValueError("; ".join(problems))
    return VARIABLE.sub(lambda found: os.environ[found[1]], text)


Said = str | list[str] | dict[str, str] | None
"""A value: text (a number, `yes` or a date too), several, or by name; None for nothing."""

_PLAIN = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("bool", "float", "int", "merge", "null", "str", "timestamp", "value")
}
"""What PyYAML calls a value that says no type of its own, such as `!!python/name`."""


@dataclass(frozen=True)
class Entry:
    """One `key: value`; `str()` shows it as written, with no variable's value."""

    key: str
    row: int
    written: Said

    def __str__(self) -> str:
        return f"{self.key} {self.written!r:.80}" if isinstance(self.written, str) else self.key

    @property
    def said(self) -> Said:
        """The value, with the variables of the environment filled in.

        Raises:
            ValueError: a variable is not set.
        """
        if isinstance(self.written, str):
            return expanded(self.written)
        if isinstance(self.written, list):
            return [expanded(item) for item in self.written]
        if isinstance(self.written, dict):
            return {name: expanded(item) for name, item in self.written.items()}
        return None


def entries_in(path: Path) -> Sequence[Entry | Problem]:
    """Read a YAML file of `key: value` lines; what cannot be an entry is a problem in its place.

    A value may be text, a list of texts, or texts by name. A key that stands twice comes twice.

    Raises:
        UsageError: the file cannot be read.
        InputError: it is no YAML, or has no keys; an empty one has no entries.
    """
    root = root_of(path)
    if root is None:
        return []
    if not isinstance(root, MappingNode):
        raise InputError(str(path), [Problem("there are no `key: value` lines")])
    return [_entry(name, value) for name, value in root.value]


def _entry(name: Node, value: Node) -> Entry | Problem:
    row = name.start_mark.line + 1
    try:
        return Entry(_text(name), row, _said(value))
    except ValueError as error:
        key = f"{name.value}: " if isinstance(name, ScalarNode) else ""
        return Problem(f"{key}{error}", row=row)


def _said(node: Node) -> Said:
    if isinstance(node, SequenceNode):
        return [_text(item) for item in node.value]
    if not isinstance(node, MappingNode):
        empty = isinstance(node, ScalarNode) and node.tag.endswith(":null") and not node.style
        return None if empty else _text(node)
    named: dict[str, str] = {}
    for name, value in node.value:
        if (key := _text(name)) in named:
            raise ValueError(f"the name {key!r} stands twice")
        named[key] = _text(value)
    return named


def _text(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        raise ValueError("a list or names within one another have no meaning here")
    if node.tag not in _PLAIN:
        raise ValueError(f"{node.tag} has no meaning here; write a plain value")
    return node.value
