"""Rows and counts as JSON text and as table lines, and back. This does not load SQLAlchemy."""

import base64
import hashlib
import json
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from importlib.metadata import version
from operator import add, attrgetter
from typing import Self, TypeVar, cast
from zlib import crc32

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ragstone.errors import Cause, UnknownNameError
from ragstone.results.grouping import Grouping, RowKeys
from ragstone.results.metric_summary import First, MetricSummaryBuilder, Placed, Reasons
from ragstone.results.outcomes import Outcomes
from ragstone.results.run_summary import RunSummaryBuilder, TagBreakdown
from ragstone.results.stats.sums import Latencies
from ragstone.types.claim import ClaimIssue, Label
from ragstone.types.ids import IdCheck
from ragstone.types.questions import adapter_of
from ragstone.types.reply import NOTHING_SPENT, Exchange, Reply, Usage
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import State

T = TypeVar("T")

ROW: TypeAdapter[Row] = TypeAdapter(Row)
_EXCHANGES: TypeAdapter[tuple[Exchange, ...]] = TypeAdapter(tuple[Exchange, ...])


@dataclass(frozen=True)
class Texts:
    body: str  # as JSON: all fields but the exchanges
    transcript: str  # the exchanges


def encode_row(row: Row, *, transcript: bool = True) -> Texts:
    """Return a row as texts; without `transcript`, its exchanges have no texts of the judge."""
    exchanges = row.exchanges
    if not transcript:
        exchanges = tuple(
            replace(each, outcome=replace(each.outcome, value=None, raw=None))
            if isinstance(each.outcome, Reply)
            else replace(each, outcome=replace(each.outcome, returned=(), raw=None))
            for each in exchanges
        )
    plain: list[dict[str, object]] = []
    for exchange in exchanges:  # without zeros; this takes half the time of `to_text`
        outcome = exchange.outcome
        usage = {name: number for name, number in vars(outcome.usage).items() if number != 0}
        plain.append({**vars(exchange), "outcome": {**vars(outcome), "usage": usage}})
    try:
        written = to_json(plain).decode()
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        written = to_text(_EXCHANGES, exchanges)
    return Texts(encode_body(row), written)


def encode_body(row: Row) -> str:
    return to_text(ROW, row, exclude={"exchanges"})


def decode_row(texts: Texts, *, values: bool = True) -> Row:
    """Return a row; without `values`, those of replies remain plain data, in half the time."""
    found = from_text(_EXCHANGES, texts.transcript)
    exchanges: list[Exchange] = []
    for exchange in found if values else ():
        outcome = exchange.outcome
        if isinstance(outcome, Reply) and outcome.value is not None:
            # the question type may be from a plugin that is not loaded
            with suppress(UnknownNameError):
                adapter = adapter_of(exchange.kind)
                outcome = replace(outcome, value=adapter.validate_python(outcome.value))
        exchanges.append(replace(exchange, outcome=outcome))
    return replace(from_text(ROW, texts.body), exchanges=tuple(exchanges) if values else found)


def to_text(adapter: TypeAdapter[T], value: T, *, exclude: set[str] | None = None) -> str:
    """Return a value as JSON; lone surrogates are escaped, and NULs, as PostgreSQL needs."""
    try:
        return adapter.dump_json(value, exclude=exclude).decode()
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        return json.dumps(adapter.dump_python(value, mode="json", exclude=exclude))


def from_text(adapter: TypeAdapter[T], text: str) -> T:
    try:
        return adapter.validate_json(text)
    except ValidationError:
        if "\\ud" not in text:
            raise
    return adapter.validate_python(json.loads(text))


def column(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    # SQLite does not check types: an id in a damaged store may be bytes
    return str(text).replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def checksum(*values: object) -> int:
    return crc32("\0".join(map(str, values)).encode())


def query_fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_STATES = {state: state.value for state in State}  # `state.value` is slow
USAGE = (  # of `Usage`, those that the table of rows has
    *("calls", "cached", "retries", "prompt_tokens", "completion_tokens"),
    *("cached_tokens", "reasoning_tokens", "cost_usd"),
)
_of_usage = attrgetter(*USAGE)


@dataclass(frozen=True)
class Record:
    """One row as values of the tables' columns, in their order, without the number of the run."""

    row: tuple[object, ...]
    scores: tuple[tuple[object, ...], ...]
    texts: tuple[object, ...]
    size: int

    @classmethod
    def of(cls, row: Row, *, transcript: bool, texts: Texts | None = None) -> "Record":
        place, sample = row.index, row.sample
        spent = [exchange.outcome.usage for exchange in row.exchanges]
        usage = reduce(add, spent, NOTHING_SPENT)
        texts = texts or encode_row(row, transcript=transcript)
        written = place, texts.body, texts.transcript
        return cls(
            row=(place, column(sample.id), query_fingerprint(sample.query), *_of_usage(usage)),
            scores=tuple(
                (
                    column(name),
                    place,
                    _STATES[score.state],
                    score.value,
                    score.passed,
                    score.fallback,
                    score.cause and score.cause.value,
                )
                for name, score in row.scores.items()
            ),
            texts=(*written, checksum(*written)),
            size=len(texts.body) + len(texts.transcript),
        )

    @property
    def place(self) -> int:
        return cast("int", self.row[0])

    @property
    def encoded(self) -> Texts:
        _, body, transcript, _ = self.texts
        return Texts(cast("str", body), cast("str", transcript))


class EncodedRows(LazyRows):
    """Rows as a store would write them, decoded each time they are read."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def at(self, place: int) -> Row:
        return decode_row(self._records[place].encoded)


class RowIndexSet(Collection[int]):
    """A set of places of a data set, in one byte per row."""

    def __init__(self, flags: bytes = b"") -> None:
        self._flags = flags

    @classmethod
    def of(cls, places: Iterable[int]) -> Self:
        flags = bytearray()
        for place in places:
            if place >= len(flags):
                flags.extend(bytes(place + 1 - len(flags)))
            flags[place] = 1
        return cls(bytes(flags))

    def __contains__(self, place: object) -> bool:
        return isinstance(place, int) and 0 <= place < len(self._flags) and self._flags[place] == 1

    def __len__(self) -> int:
        return self._flags.count(1)

    def __iter__(self) -> Iterator[int]:
        return (place for place, flag in enumerate(self._flags) if flag)


COUNTS_VERSION = f"{version('ragstone')}+6"
"""Other versions may count otherwise. Increase the number when a counted class changes."""

_OBJECTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(RunSummaryBuilder, MetricSummaryBuilder, RowKeys, TagBreakdown, Latencies, Reasons),
        *(IdCheck, Outcomes),
    )
}
_VALUES: Mapping[str, Callable[..., object]] = {
    kind.__name__: kind for kind in (Usage, First, Placed)
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
