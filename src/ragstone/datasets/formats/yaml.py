"""YAML files: a list of objects, or an object with one."""

import re
from typing import TYPE_CHECKING

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ragstone._internal.yaml import yaml_errors
from ragstone.datasets.formats.json import ENVELOPES, OTHERS, rows_in
from ragstone.datasets.table import File, Record, Table

if TYPE_CHECKING:
    from yaml import SafeLoader as _SafeLoader
else:
    _SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C if libyaml exists

_RESOLVED = (
    ("null", r"(?:~|null|Null|NULL|)\Z", ("~", "n", "N", "")),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("int", r"-?(?:0|[1-9][0-9]*)\Z", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z", "-0123456789"),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z", "-+."),
    ("merge", r"<<\Z", "<"),
)
"""Kind of value -> its form without quotes, and the characters it may begin with."""


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

_DEEPEST = 60
"""How deep values may be nested; libyaml takes hours or crashes with much deeper ones."""
_REPEATED = 10_000_000
"""How many characters and values the aliases of a file may repeat; a bomb repeats billions."""
_BAD_SCALAR = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError)
"""Errors that PyYAML raises for a value that does not fit its tag, such as `!!timestamp soon`."""


def read(file: File, _limit: int | None = None) -> Table:
    text = file.text()
    with yaml_errors(file.name):
        try:
            root, value = _loaded(text, file)
        except _BAD_SCALAR as error:
            raise file.refused(f"cannot read a value in this YAML: {error}") from error
    found = rows_in(value, file)

    # The list of items is the root, or is in it.
    if isinstance(root, MappingNode):
        lists = [part for name, part in root.value if name.value in ENVELOPES]
        lists = lists or [part for name, part in root.value if name.value in OTHERS]
        root = lists[-1]  # a merged object may have the name, too; Python's dict has the last
    lines = range(1, len(found.items) + 1)
    if isinstance(root, SequenceNode) and len(root.value) == len(found.items):
        lines = [item.start_mark.line + 1 for item in root.value]
    records = [Record.of(line, item) for line, item in zip(lines, found.items, strict=True)]
    return Table(records, unit="line", notes=found.notes, beside=found.beside)


def _loaded(text: str, file: File) -> tuple[Node, object]:
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                line = event.start_mark.line + 1 if event.start_mark else None
                raise file.refused(f"lists or objects are nested {_DEEPEST} deep", line=line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    loader = Loader(text)
    root = loader.get_single_node()
    if root is None:
        raise file.refused("the file is empty", "add at least one row with a query")
    _refuse_bombs(root)
    # The stubs leave this method's types out.
    return root, loader.construct_document(root)  # pyright: ignore[reportUnknownMemberType]


def _refuse_bombs(root: Node) -> None:
    """Raise a MarkedYAMLError if aliases expand too much, or a name is repeated in an object."""
    sizes: dict[int, int] = {}  # a node that an alias repeats is visited once
    active: set[int] = set()
    written = 0

    def size_of(node: Node) -> int:
        nonlocal written
        if (known := sizes.get(id(node))) is not None:
            return known
        if id(node) in active:
            raise yaml.MarkedYAMLError(
                problem="an alias refers to a value that contains it", problem_mark=node.start_mark
            )
        active.add(id(node))
        own = 1 + len(node.value) if isinstance(node, ScalarNode) else 1
        written += own
        size = own + sum(size_of(part) for part in _parts(node))
        active.discard(id(node))
        sizes[id(node)] = size
        return size

    if size_of(root) - written > _REPEATED:
        raise yaml.MarkedYAMLError(
            problem=f"its aliases expand to more than {_REPEATED:,} characters",
            problem_mark=root.start_mark,
        )


def _parts(node: Node) -> list[Node]:
    if isinstance(node, SequenceNode):
        return list(node.value)
    if not isinstance(node, MappingNode):
        return []
    names: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if isinstance(key, ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if (key.tag, key.value) in names:
                raise yaml.MarkedYAMLError(
                    problem=f"duplicate name {key.value!r} in an object",
                    problem_mark=key.start_mark,
                )
            names.add((key.tag, key.value))
    return [part for pair in node.value for part in pair]
