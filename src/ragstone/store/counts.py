"""The counts of a finished run as bytes, so that its summary needs none of its rows."""

import base64
import json
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from importlib.metadata import version
from typing import cast

from ragstone.errors import Cause
from ragstone.results.grouping import Grouping, RowKeys
from ragstone.results.metric_summary import First, MetricSummaryBuilder, Placed, Reasons
from ragstone.results.run_summary import RunSummaryBuilder, TagBreakdown
from ragstone.results.stats.latencies import Latencies
from ragstone.types.claim import ClaimIssue, Label
from ragstone.types.reply import CascadeStats, Usage
from ragstone.types.score import State

VERSION = f"{version('ragstone')}+1"
"""Other versions may count otherwise, so they count the rows again.

Increase the last number when the fields of a counted class change.
"""

_OBJECTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (RunSummaryBuilder, MetricSummaryBuilder, RowKeys, TagBreakdown, Latencies, Reasons)
}
_VALUES: Mapping[str, Callable[..., object]] = {
    kind.__name__: kind for kind in (Usage, CascadeStats, First, Placed)
}
_ENUMS: Mapping[str, type[Enum]] = {
    kind.__name__: kind for kind in (Cause, ClaimIssue, Label, State)
}


def encode_counts(counts: RunSummaryBuilder) -> bytes | None:
    try:
        return zlib.compress(json.dumps(_plain(counts)).encode(), 1)
    except TypeError:
        return None


def decode_counts(stored: bytes) -> RunSummaryBuilder | None:
    try:
        counts = _restored(json.loads(zlib.decompress(stored)))
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError):
        return None
    return counts if isinstance(counts, RunSummaryBuilder) else None


def _plain(value: object) -> object:
    """Return a value as JSON with the names of types: `[type, content]` unless it is a scalar."""
    match value:
        case Enum():
            return [type(value).__name__, value.value]
        case Grouping():  # follows from the rest
            return None
        case None | bool() | int() | float() | str():
            return value
        case array():
            return ["array", value.typecode, base64.b64encode(value.tobytes()).decode()]
        case Mapping():
            entries = cast("Mapping[object, object]", value).items()
            name = "Counter" if isinstance(value, Counter) else "dict"
            return [name, [[_plain(key), _plain(each)] for key, each in entries]]
        case Placed():
            return ["Placed", _plain(value._asdict())]
        case list() | tuple():
            name = "list" if isinstance(value, list) else "tuple"
            return [name, [*map(_plain, cast("Iterable[object]", value))]]
        case _ if type(value).__name__ in {**_OBJECTS, **_VALUES}:
            return [type(value).__name__, _plain(vars(value))]
        case _:
            raise TypeError(type(value).__name__)


def _restored(value: object) -> object:
    if not isinstance(value, list):
        return value
    name, content, *rest = cast("list[object]", value)
    match name, content:
        case "array", str(code):
            return array(code, base64.b64decode(str(rest[0])))
        case "dict" | "Counter", list():
            pairs = cast("list[tuple[object, object]]", content)
            found = {_restored(key): _restored(each) for key, each in pairs}
            return Counter(cast("dict[object, int]", found)) if name == "Counter" else found
        case "list" | "tuple", list():
            items = [*map(_restored, cast("list[object]", content))]
            return items if name == "list" else tuple(items)
        case str(), _ if name in _ENUMS:
            return _ENUMS[name](content)
        case str(), _ if name in _VALUES:
            return _VALUES[name](**cast("dict[str, object]", _restored(content)))
        case _:
            made = cast("object", object.__new__(_OBJECTS[str(name)]))
            vars(made).update(cast("dict[str, object]", _restored(content)))
            return made
