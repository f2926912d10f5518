"""Where the rows of Parquet and Arrow files are, how large they are once unpacked, and errors.

The size is in the metadata, so that a hostile file cannot fill the memory.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from mmap import mmap
from struct import error, unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ragstone._internal.text import one_line
from ragstone.errors import InputError, Problem

if TYPE_CHECKING:
    from polars import DataFrame, DataType

Data = bytes | mmap
_ARROW, _NEXT = b"ARROW1", 0xFFFFFFFF


Span = tuple[int, int]
"""The place of the first byte, and that after the last one."""


class Group(NamedTuple):
    """Rows that are stored together: a row group of Parquet, or a batch of Arrow.

    Attributes:
        size: of the columns in bytes, once unpacked.
        span: their bytes in the file.
        before: the schema and the dictionaries that a batch of a stream needs.
    """

    rows: int
    size: int
    span: Span
    before: tuple[Span, ...] = ()


def groups(data: Data, *, parquet: bool, value: int) -> Iterator[Group]:
    try:
        for group in _row_groups(data, value) if parquet else _batches(data, value):
            if not 0 <= group.rows < 2**32:  # more than polars reads at once
                raise ValueError("the metadata is damaged")
            yield group._replace(size=max(group.size, group.rows * value))
    except (LookupError, TypeError, error, OverflowError, RecursionError) as found:
        raise ValueError("the metadata is damaged") from found


def unpacked_size(data: Data, *, parquet: bool, value: int) -> int:
    return sum(group.size for group in groups(data, parquet=parquet, value=value))


@contextmanager
def column_errors(name: str) -> Generator[None, None, None]:
    """Raise errors about columns in the block as an InputError about the file of that name."""
    from polars.exceptions import PanicException, PolarsError  # an extra, and slow to import

    try:
        yield
    except (PolarsError, PanicException, OSError, ValueError) as found:
        seen = f"cannot read the columns: {one_line(str(found), 200)}"
        raise InputError(name, [Problem(seen)]) from found


def text_size(frame: "DataFrame") -> int:
    from polars import Array, Categorical, Enum, List, Struct

    def has_categories(kind: "DataType") -> bool:
        if isinstance(kind, List | Array):
            return has_categories(cast("DataType", kind.inner))
        if isinstance(kind, Struct):
            return any(has_categories(cast("DataType", part.dtype)) for part in kind.fields)
        return isinstance(kind, Categorical | Enum)

    size = int(frame.estimated_size())
    for column in frame:
        if isinstance(column.dtype, Categorical | Enum):
            size += int(column.cat.len_bytes().sum())
        elif has_categories(column.dtype):
            raise ValueError(f"column {column.name!r} has categories in lists or objects; use text")
    return size


# Parquet: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift


def _row_groups(data: Data, least: int) -> Iterator[Group]:
    if data[-4:] != b"PAR1":
        raise ValueError("the end of the file is missing")
    size: int = unpack_from("<I", data, len(data) - 8)[0]
    if size + 8 > len(data):
        raise ValueError("the metadata is damaged")
    for group in _Thrift(data, len(data) - 8 - size).struct()[4]:
        unpacked = 0
        spans: list[Span] = []
        for column in group[1]:
            chunk = column[3]
            at: int = chunk.get(11) or chunk[9]  # a dictionary comes first
            end: int = at + chunk[7]
            spans.append((at, end))
            while at < end:  # the header of each page has its size and its number of values
                reader = _Thrift(data, at)
                page = reader.struct()
                values: list[int] = [page[kind][1] for kind in (5, 7, 8) if kind in page]
                if page[2] < 0 or page[3] < 0 or min(values, default=0) < 0:
                    raise ValueError("the metadata is damaged")
                unpacked += max(page[2], sum(values) * least)
                at = reader.at + page[3]
        starts, ends = zip(*spans, strict=True) if spans else ((0,), (0,))
        yield Group(group[3], unpacked, (min(starts), max(ends)))


class _Thrift:
    """Reads structs in Thrift's compact encoding; texts are skipped."""

    def __init__(self, data: Data, at: int) -> None:
        self.data, self.at = data, at

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        last = 0
        while head := self._byte():
            last = last + (head >> 4) if head >> 4 else self._signed()
            fields[last] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return None  # a boolean is in its kind
            case 3 | 7:
                self.at += 1 if kind == 3 else 8
            case 4 | 5 | 6:
                return self._signed()
            case 8:
                length = self._number()
                self.at += length
            case 9 | 10:
                head = self._byte()
                size = self._number() if head >> 4 == 15 else head >> 4
                kind = 3 if head & 15 in (1, 2) else head & 15  # here a boolean is a byte
                return [self._value(kind) for _ in range(size)]
            case 12:
                return self.struct()
            case _:
                raise ValueError("the metadata is damaged")
        return None

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) > 127:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("the metadata is damaged")
        return number | byte << shift

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]


# Arrow: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc


def _batches(data: Data, least: int) -> Iterator[Group]:
    size = rows = 0
    span = schema = (0, 0)
    is_file = data[:6] == _ARROW
    dictionaries: dict[int, list[Span]] = {}
    for message, body, span in _messages(data):
        kind = _number(data, _field(data, message, 1), "B")
        if kind == 1:
            schema = span
        if kind not in (2, 3):
            continue
        batch = _target(data, _field(data, message, 2))
        if kind == 2:
            name = _number(data, place, "<q") if (place := _field(data, batch, 0)) else 0
            adds = (place := _field(data, batch, 2)) and _number(data, place, "?")
            dictionaries[name] = [*(dictionaries.get(name, ()) if adds else ()), span]
            batch = _target(data, _field(data, batch, 1))
        packed = bool(_field(data, batch, 3))
        taken = values = 0
        for place in _items(data, _field(data, batch, 1), 16):
            values += _number(data, place, "<q")
        for place in _items(data, _field(data, batch, 2), 16):
            start, length = unpack_from("<qq", data, place)
            true = _number(data, body + start, "<q") if packed and length else -1
            taken += max(length, true, 0)
        size += max(taken, values * least)
        if kind == 3:
            rows = _number(data, place, "<q") if (place := _field(data, batch, 0)) else 0
            before = schema, *chain(*dictionaries.values())
            yield Group(rows, size, span, () if is_file else before)
            size = 0
    if size:
        yield Group(0, size, span)  # dictionaries that no batch needs


def _messages(data: Data) -> Iterator[tuple[int, int, Span]]:
    if data[:6] == _ARROW:  # a file, whose end lists the dictionaries and batches
        if data[-6:] != _ARROW:
            raise ValueError("the end of the file is missing")
        footer = _target(data, len(data) - 10 - _number(data, len(data) - 10, "<I"))
        for field in (2, 3):
            for place in _items(data, _field(data, footer, field), 24):
                at = _number(data, place, "<q")
                body = at + _number(data, place + 8, "<i")
                end = body + _number(data, place + 16, "<q")
                yield _target(data, _start(data, at)), body, (at, end)
        return
    at = 0
    while at + 8 <= len(data) and (size := _number(data, (start := _start(data, at)) - 4, "<i")):
        table, body = _target(data, start), start + size
        length = _number(data, place, "<q") if (place := _field(data, table, 3)) else 0
        if size < 0 or length < 0:
            raise ValueError("the metadata is damaged")
        yield table, body, (at, body + length)
        at = body + length


def _start(data: Data, at: int) -> int:
    return at + (8 if _number(data, at, "<I") == _NEXT else 4)


# FlatBuffers: https://flatbuffers.dev/internals/


def _number(data: Data, at: int, form: str) -> int:
    return int(unpack_from(form, data, at)[0])


def _field(data: Data, table: int, number: int) -> int:
    known = table - _number(data, table, "<i")
    place = 4 + 2 * number
    offset = _number(data, known + place, "<H") if place < _number(data, known, "<H") else 0
    return table + offset if offset else 0


def _target(data: Data, place: int) -> int:
    if not place:
        raise ValueError("the metadata is damaged")
    return place + _number(data, place, "<I")


def _items(data: Data, place: int, size: int) -> Iterator[int]:
    if place:
        at = _target(data, place)
        for number in range(_number(data, at, "<I")):
            yield at + 4 + number * size
