"""The reader of YAML, line numbers in it, and `${NAME}` for variables of the environment."""

import os
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ragstone._internal.files import check_file
from ragstone._internal.text import quoted
from ragstone.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from yaml import SafeLoader as _SafeLoader
else:
    _SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C if libyaml exists

MAX_BYTES = 1_000_000  # of a settings file


@contextmanager
def yaml_errors(file: str) -> Generator[None]:
    try:
        yield
    except (yaml.YAMLError, RecursionError) as error:
        seen, mark = str(error), None
        if isinstance(error, yaml.MarkedYAMLError):
            seen, mark = error.problem, error.problem_mark
        row = mark.line + 1 if mark else None
        raise InputError(file, [Problem(f"invalid YAML: {seen}", row=row, unit="line")]) from error


_RESOLVED = (  # kind of value, its form without quotes, and the characters it may begin with
    ("null", r"(?:~|null|Null|NULL|)\Z", ("~", "n", "N", "")),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("int", r"-?(?:0|[1-9][0-9]*)\Z", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z", "-0123456789"),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z", "-+."),
    ("merge", r"<<\Z", "<"),
)


class Loader(_SafeLoader):
    """Makes plain data only, never Python objects. What may be an id or a word stays text.

    YAML 1.1 reads `010` as 8, `1:30` as 90, `1_0` as 10, `no` as False and `2024-05-01` as a date.
    """


Loader.yaml_implicit_resolvers = {  # by first character, `""` for an empty value
    first: [
        (f"tag:yaml.org,2002:{kind}", re.compile(written))
        for kind, written, begins in _RESOLVED
        if first in begins
    ]
    for first in {"", *"".join("".join(begins) for _, _, begins in _RESOLVED)}
}

_DEEPEST = 60  # nested values; libyaml takes hours or crashes with much deeper ones
_REPEATED = 10_000_000  # characters and values that aliases may repeat; a bomb repeats billions
# what PyYAML raises for a value that does not fit its tag, such as `!!timestamp soon`
_BAD_SCALAR = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError)


def load_yaml(text: str, file: str) -> tuple[Node | None, object]:
    """Return the root node of a text and its value, None if it is empty, or raise an InputError."""
    with yaml_errors(file):
        depth = 0
        for event in yaml.parse(text, Loader=Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    row = event.start_mark.line + 1 if event.start_mark else None
                    seen = f"lists or objects are nested {_DEEPEST} deep"
                    raise InputError(file, [Problem(seen, row=row, unit="line")])
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        loader = Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _refuse_bombs(root)
        try:
            # The stubs leave this method's types out.
            return root, loader.construct_document(root)  # pyright: ignore[reportUnknownMemberType]
        except _BAD_SCALAR as error:
            seen = f"cannot read a value in this YAML: {error}"
            raise InputError(file, [Problem(seen)]) from error


def _refuse_bombs(root: Node) -> None:
    """Raise a MarkedYAMLError if aliases expand too much, or a name is repeated in an object."""
    sizes: dict[int, int] = {}  # a node that an alias repeats is visited once
    active: set[int] = set()
    written = 0

    def refused(node: Node, problem: str) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)

    def size_of(node: Node) -> int:
        nonlocal written
        if (known := sizes.get(id(node))) is not None:
            return known
        if id(node) in active:
            raise refused(node, "an alias refers to a value that contains it")
        active.add(id(node))
        parts: list[Node] = list(node.value) if isinstance(node, SequenceNode) else []
        names: set[tuple[str, str]] = set()
        for key, value in node.value if isinstance(node, MappingNode) else ():
            parts += key, value
            if isinstance(key, ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in names:
                    raise refused(key, f"duplicate name {key.value!r} in an object")
                names.add((key.tag, key.value))
        own = 1 + len(node.value) if isinstance(node, ScalarNode) else 1
        written += own
        size = sizes[id(node)] = own + sum(map(size_of, parts))
        active.discard(id(node))
        return size

    if size_of(root) - written > _REPEATED:
        raise refused(root, f"its aliases expand to more than {_REPEATED:,} characters")


def line_of(node: Node | None, place: Iterable[object]) -> int | None:
    """Return the line of a value by the keys and numbers that lead to it, or of what has none."""
    line = None
    for part in map(str, place):
        items: dict[str, tuple[Node, Node]] = {}
        if isinstance(node, MappingNode):
            items = {key.value: (key, value) for key, value in node.value}
        elif isinstance(node, SequenceNode):
            items = {str(number): (item, item) for number, item in enumerate(node.value)}
        if part not in items:
            break
        key, node = items[part]
        line = key.start_mark.line + 1
    return line


def read_settings_file(path: Path) -> str:
    try:
        check_file(path)
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} has more than {MAX_BYTES:,} bytes, too many for settings")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


NAME = r"[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = re.compile(rf"\$\{{({NAME})\}}")
NO_VARIABLE = re.compile(rf"\$\{{(?!{NAME}\}})[^{{}}]*\}}?")  # such as `${KEY:-default}`


def expand_variables(text: str) -> str:
    """Return the text with its variables replaced by their values, or raise a ValueError."""
    if problems := variable_problems(text):
        raise ValueError("; ".join(problems))
    return VARIABLE.sub(lambda found: os.environ[found[1]], text)


def variable_problems(text: str) -> list[str]:
    names = dict.fromkeys(VARIABLE.findall(text))
    problems = [
        f"the environment variable {name} is not set" for name in names if name not in os.environ
    ]
    invalid = NO_VARIABLE.findall(text)
    return problems + [f"{found} is not a valid variable; write ${{NAME}}" for found in invalid]


Value = str | list[str] | dict[str, str] | None  # text is also a number or a date; None is nothing

_PLAIN = {  # other tags make objects, such as `!!python/name`
    f"tag:yaml.org,2002:{kind}"
    for kind in ("bool", "float", "int", "merge", "null", "str", "timestamp", "value")
}


@dataclass(frozen=True)
class YamlValue:
    """One `key: value`; `str()` shows it as written, without values of variables."""

    key: str
    row: int
    written: Value

    def __str__(self) -> str:
        shown = f" {quoted(repr(self.written), 80)}" if isinstance(self.written, str) else ""
        return self.key + shown

    @property
    def value(self) -> Value:
        if isinstance(self.written, str):
            return expand_variables(self.written)
        if isinstance(self.written, list):
            return [expand_variables(item) for item in self.written]
        if isinstance(self.written, dict):
            return {name: expand_variables(item) for name, item in self.written.items()}
        return None


def read_yaml_values(path: Path) -> Sequence[YamlValue | Problem]:
    """Read a YAML file of `key: value` lines; an invalid line becomes a Problem in its place."""
    text = read_settings_file(path)
    with yaml_errors(str(path)):
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return []
    if not isinstance(root, MappingNode):
        raise InputError(str(path), [Problem("there are no `key: value` lines")])
    found: list[YamlValue | Problem] = []
    for name, node in root.value:
        row = name.start_mark.line + 1
        try:
            found.append(YamlValue(_text(name), row, _value(node)))
        except ValueError as error:
            key = f"{name.value}: " if isinstance(name, ScalarNode) else ""
            found.append(Problem(f"{key}{error}", row=row, unit="line"))
    return found


def _value(node: Node) -> Value:
    if isinstance(node, SequenceNode):
        return [_text(item) for item in node.value]
    if not isinstance(node, MappingNode):
        empty = isinstance(node, ScalarNode) and node.tag.endswith(":null") and not node.style
        return None if empty else _text(node)
    named: dict[str, str] = {}
    for name, value in node.value:
        if (key := _text(name)) in named:
            raise ValueError(f"duplicate name {key!r}")
        named[key] = _text(value)
    return named


def _text(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        raise ValueError("nested lists and mappings are not supported here")
    if node.tag not in _PLAIN:
        raise ValueError(f"{node.tag} is not supported here; write a plain value")
    return node.value
