"""Parquet files: their rows, and their size once unpacked.

The size is in the metadata, so that a hostile file cannot fill the memory.
"""

import glob
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import error, unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from ragstone._internal.files import read_parts, unpacked_limit
from ragstone._internal.text import one_line
from ragstone.datasets.blocks import IN_MEMORY, Block, FileRows
from ragstone.datasets.table import File, Record, Row, Table
from ragstone.errors import InputError, Problem, UsageError
from ragstone.types.row import LazySequence

if TYPE_CHECKING:
    from polars import DataFrame, DataType

EXTRA = "ragstone[parquet]"
LARGEST = 2**30
"""How many bytes the columns that are read at once may have in memory: 1 GiB."""
PARTS = 16
"""Parts in which a large row group is read, at most; for each, the whole group is unpacked."""
ROW, VALUE = 1024, 64
"""How many bytes a row and a value of a list need in Python, about."""


def read(file: File, limit: int | None = None) -> Table:
    """Return the rows of a Parquet file, numbered from 1."""
    if find_spec("polars") is None:
        raise UsageError(f"{file.name}: reading it needs an extra: pip install '{EXTRA}'")
    rows = ParquetRows(file, limit=limit)
    return Table(rows, names=rows.names, end=limit and 0)


class ParquetRows(FileRows):
    """The rows of a Parquet file; the columns of one block are in memory.

    Nothing is unpacked before its size is known: columns may be a million times as large as their
    packed file. The rows may be much larger again, because columns have repeated texts once.
    """

    def __init__(self, file: File, *, limit: int | None) -> None:
        self._file = file
        self._packed = self._size_now
        self._most = unpacked_limit(self._packed)
        self._unpacked = 0
        self._small = True
        super().__init__(file.path, limit=limit)
        self._small = self._unpacked <= IN_MEMORY and self._fit_into(IN_MEMORY)
        if not self._small:
            spans = {(block.start, block.end): block for block in self.blocks}
            sums = {span: self._checksum(block) for span, block in spans.items()}
            self.blocks = tuple(
                block._replace(checksum=sums[block.start, block.end]) for block in self.blocks
            )
        self.names = tuple(self._frame(self.blocks[0]).columns) if self.blocks else ()

    @property
    def is_small(self) -> bool:
        """Whether all rows can be in memory."""
        return self._small

    def in_memory(self) -> list[Row]:
        """Return all rows."""
        if not self._fit_into(LARGEST):
            raise self._too_large(LARGEST)
        return super().in_memory()

    def unlimited(self) -> "ParquetRows":
        """Return all rows of the file."""
        return ParquetRows(self._file, limit=None)

    def _fit_into(self, most: int) -> bool:
        taken = 0
        for block in self.blocks:
            taken += _python_size(self._frame(block))
            if taken > most:
                return False
        return True

    def _too_large(self, most: int) -> InputError:
        seen = f"its columns need more than {most:,} bytes"
        return self._file.refused(seen, "split it into several files, or use .jsonl")

    def _scan(self, limit: int | None) -> Iterator[Block]:
        """Yield the row groups as blocks: small ones together, a large one in parts."""
        place = total = self._unpacked = 0
        with closing(self._groups(limit)) as found:
            for some in found:
                height, size = sum(each.rows for each in some), sum(each.size for each in some)
                parts = min(PARTS, height, size // self._at_once) or 1
                total += size
                for taken, most in (total, self._most), (size // parts, LARGEST):
                    if taken > most:
                        raise self._too_large(most)
                start = min(each.span[0] for each in some)
                end = max(each.span[1] for each in some)
                for part in range(parts if height else 0):
                    rows = height * (part + 1) // parts - height * part // parts
                    rows = rows if limit is None else min(rows, limit - place)
                    yield Block(place, rows, place + 1, start, end, 0)
                    self._unpacked += size * rows // height
                    place += rows
                    if place == limit:
                        return

    @property
    def _at_once(self) -> int:
        return 16 * self.size

    @property
    def _size_now(self) -> int:
        return self._file.path.stat().st_size

    def _groups(self, rows: int | None) -> Generator[Sequence["Group"], None, None]:
        """Yield the row groups, those of a block together, up to a number of rows."""
        some, size = list[Group](), 0
        path = self._file.path
        with (
            column_errors(path.name),
            path.open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as data,
        ):
            for group in groups(data, value=VALUE):
                some.append(group)
                size += group.size
                enough = rows is not None and sum(each.rows for each in some) >= rows
                if enough or size >= self._at_once:
                    yield some
                    some, size = [], 0
            if some:
                yield some

    def _frame(self, block: Block) -> "DataFrame":
        return cast("_Columns", self.parts(block)).frame

    def _parts(self, block: Block) -> "_Columns":
        path = self._file.path
        if not self._small and self._checksum(block) != block.checksum:
            raise self.changed()
        try:
            with column_errors(path.name):
                frame = _unpacked(path, block)
                if frame.height != block.rows:
                    raise ValueError(f"it has {frame.height:,} rows instead of {block.rows:,}")
                if _python_size(frame) > (most := min(LARGEST, self._most)):
                    raise self._too_large(most)
        except InputError as error:
            if self._size_now != self._packed:
                raise self.changed() from error
            raise
        return _Columns(frame, block.line)

    def _checksum(self, block: Block) -> int:
        checksum = 0
        for part in read_parts(self._file.path, block.start, block.end):
            checksum = crc32(part, checksum)
        return checksum

    def _row(self, part: Record) -> Record:
        return part


class _Columns(LazySequence[Record]):
    """The rows of a frame, each made when it is read; the first one has a number."""

    def __init__(self, frame: "DataFrame", number: int) -> None:
        self.frame, self._number = frame, number

    def __len__(self) -> int:
        return self.frame.height

    def at(self, place: int) -> Record:
        return Record(self._number + place, self.frame.row(place, named=True))


def _python_size(frame: "DataFrame") -> int:
    """Return how many bytes the rows of a frame need in Python, about."""
    return text_size(frame) + ROW * frame.height


def _unpacked(path: Path, block: Block) -> "DataFrame":
    import polars  # an extra, and slow to import

    found = polars.scan_parquet(glob.escape(str(path)), hive_partitioning=False)
    return found.slice(block.place, block.rows).collect()


Data = bytes | mmap


class Group(NamedTuple):
    """Rows that are stored together; `size` is in bytes, once unpacked.

    `span` has the place of their first byte in the file, and that after the last one.
    """

    rows: int
    size: int
    span: tuple[int, int]


def groups(data: Data, *, value: int) -> Iterator[Group]:
    """Yield the groups of rows of a file; each value counts as at least `value` bytes."""
    try:
        for group in _row_groups(data, value):
            if not 0 <= group.rows < 2**32:  # more than polars reads at once
                raise ValueError("the metadata is damaged")
            yield group._replace(size=max(group.size, group.rows * value))
    except (LookupError, TypeError, error, OverflowError, RecursionError) as found:
        raise ValueError("the metadata is damaged") from found


def unpacked_size(data: Data, *, value: int) -> int:
    """Return the size of all columns in bytes; each value counts as at least `value` bytes."""
    return sum(group.size for group in groups(data, value=value))


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
    """Return the size of the columns in bytes, with each copy of a repeated text."""
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


# https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift


def _row_groups(data: Data, least: int) -> Iterator[Group]:
    if data[-4:] != b"PAR1":
        raise ValueError("the end of the file is missing")
    size: int = unpack_from("<I", data, len(data) - 8)[0]
    if size + 8 > len(data):
        raise ValueError("the metadata is damaged")
    for group in _Thrift(data, len(data) - 8 - size).struct()[4]:
        unpacked = 0
        spans: list[tuple[int, int]] = []
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
        """Return field id -> value."""
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
