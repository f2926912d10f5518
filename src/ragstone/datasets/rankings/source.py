"""Ranking files as bytes: their texts in one buffer, how they are opened, columns and problems.

N texts are kept in one buffer, hashed and compared by numpy, because a Python object for each of
many millions of ids needs ten times the time and memory.
"""

import gzip
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.files import check_file, unpacked_limit
from ragstone._internal.plugins import check_extra
from ragstone._internal.text import listing, plain_name
from ragstone.errors import InputError, Problem, UsageError
from ragstone.types.row import LazySequence

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

PADDING = b"\xff" * 8
"""The bytes before and after a buffer's texts, so that eight bytes can be read at each end; none is
a blank."""

_WORD = np.dtype("<u8")
_START, _STEP, _END = (
    np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_HALF, _THIRD = np.uint64(32), np.uint64(29)


@dataclass(frozen=True)
class Texts:
    """N byte strings: where each begins in the buffer, which has PADDING first and last."""

    buffer: NDArray[np.uint8]
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, strings: Sequence[str]) -> "Texts":
        joined = "\n".join(strings).encode("utf-8", "surrogatepass")
        buffer = padded(joined)
        breaks = np.flatnonzero(buffer == ord("\n"))
        if len(breaks) == len(strings) - 1:
            starts = np.append(len(PADDING), breaks + 1)
            return cls(buffer, starts, np.append(breaks, len(joined) + len(PADDING)) - starts)
        sizes = (len(each.encode("utf-8", "surrogatepass")) for each in strings)
        lengths = np.fromiter(sizes, dtype=np.int64, count=len(strings))
        return cls(buffer, np.cumsum(lengths + 1) - lengths - 1 + len(PADDING), lengths)

    @classmethod
    def joint(cls, buffer: NDArray[np.uint8], lengths: Integers) -> "Texts":
        return cls(buffer, np.cumsum(lengths) - lengths + len(PADDING), lengths)

    def joined(self) -> NDArray[np.uint8]:
        """Return the bytes of all texts without gaps; their order must be that of the buffer."""
        full = self.lengths > 0
        edges = np.zeros(len(self.buffer), dtype=np.int8)
        edges[self.starts[full]] += 1
        edges[self.starts[full] + self.lengths[full]] -= 1  # where the next may begin
        return self.buffer[np.cumsum(edges, dtype=np.int8, out=edges).view(np.bool_)]

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, places: "Integers | slice") -> "Texts":
        return Texts(self.buffer, self.starts[places], self.lengths[places])

    @property
    def words(self) -> Hashes:
        count = max(len(self.buffer) - 7, 0)
        return np.ndarray((count,), dtype=_WORD, buffer=self.buffer.data, strides=(1,))

    def word(self, number: int) -> Hashes:
        starts, left = self.starts, self.lengths
        if number:
            starts = np.minimum(starts + 8 * number, len(self.buffer) - 8)
            left = np.maximum(left - 8 * number, 0)
        gap = (8 - np.minimum(left, 8)) << 3
        word = self.words[starts]
        word <<= gap.view(np.uint64)
        word >>= gap.view(np.uint64)  # NumPy's shift by 64 bits leaves nothing
        return word

    @property
    def longest(self) -> int:
        return -(-int(self.lengths.max(initial=0)) // 8)

    def hashes(self) -> Hashes:
        """Return uint64[N]: equal for equal texts, and almost never for others."""
        hashed = self.lengths.astype(np.uint64) * _START
        for number in range(max(self.longest, 2)):
            # two words of every text, because few texts are shorter
            some = slice(None) if number < 2 else np.flatnonzero(self.lengths > 8 * number)
            mixed = self.part(some).word(number)
            mixed ^= hashed[some]
            mixed *= _STEP
            mixed ^= mixed >> _HALF
            hashed[some] = mixed
        hashed *= _END
        hashed ^= hashed >> _THIRD
        return hashed

    def equal(self, other: "Texts") -> NDArray[np.bool_]:
        same = self.lengths == other.lengths
        for number in range(min(self.longest, other.longest)):
            same &= self.word(number) == other.word(number)
        return same

    def changes(self) -> Integers:
        new = np.ones(len(self), dtype=np.bool_)
        new[1:] = self.lengths[1:] != self.lengths[:-1]
        for number in range(self.longest):
            word = self.word(number)
            new[1:] |= word[1:] != word[:-1]
        return np.flatnonzero(new)

    def falling(self) -> list[NDArray[np.uint64]]:
        words = [~self.word(number).byteswap() for number in range(self.longest)]
        return [~self.lengths.astype(np.uint64), *reversed(words)]

    def bytes_at(self, place: int) -> bytes:
        start = int(self.starts[place])
        return self.buffer[start : start + int(self.lengths[place])].tobytes()

    def text(self, place: int) -> str:
        found = self.bytes_at(place)
        try:
            return found.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return found.decode("utf-8", "surrogateescape")

    def strings(self) -> list[str]:
        view = memoryview(self.buffer.data)
        pairs = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        try:
            return [str(view[start:end], "utf-8", "surrogatepass") for start, end in pairs]
        except UnicodeDecodeError:
            return [self.text(place) for place in range(len(self))]


def padded(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join((PADDING, content, PADDING)), dtype=np.uint8)


CELLS = 1 << 17  # hashes that are compared at once: 1 MB
EMPTY = np.uint64(2**64 - 1)  # fills a table of hashes beyond an owner's items


@dataclass(frozen=True)
class Spans:
    """N items of Q owners, one owner after the other; `sizes` is int64[Q], the items of each."""

    sizes: Integers

    @cached_property
    def starts(self) -> Integers:
        return np.cumsum(self.sizes) - self.sizes

    def of_some(self, owners: Integers) -> "Spans":
        return Spans(np.where(owners >= 0, self.sizes[owners], 0))

    def members(self, owners: Integers) -> Integers:
        sizes = self.sizes[owners]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[owners] - before, sizes) + np.arange(int(sizes.sum()))

    def between(self, owners: slice) -> slice:
        last = owners.stop - 1
        return slice(int(self.starts[owners.start]), int(self.starts[last] + self.sizes[last]))

    def blocks(self, other: "Spans | None" = None) -> Iterator[slice]:
        """Yield owners, as many as fit into a table of CELLS cells with one line for each."""
        # `other` has more items of the same owners; a line has room for the items of both
        beside = np.zeros_like(self.sizes) if other is None else other.sizes
        start = 0
        while start < len(self.sizes):
            first = max(int(self.sizes[start] + beside[start]), 1)
            some = slice(start, start + CELLS // first + 1)  # others only make lines longer
            most = np.maximum.accumulate(self.sizes[some]) + np.maximum.accumulate(beside[some])
            cells = most * np.arange(1, len(most) + 1)
            stop = start + max(1, int(np.searchsorted(cells, CELLS, side="right")))
            yield slice(start, stop)
            start = stop


def table_of(values: Hashes, sizes: Integers) -> Hashes:
    """Return a row for each owner with the values of its items, then EMPTY."""
    table = np.full((len(sizes), int(sizes.max(initial=0))), EMPTY)
    table[np.arange(table.shape[1]) < sizes[:, np.newaxis]] = values
    return table


S = TypeVar("S", bound=np.generic)


class GrowingArray(Generic[S]):
    """An array filled part by part; joining the parts at the end would take twice the memory."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self._content = bytearray()

    def __len__(self) -> int:
        return len(self._content) // np.dtype(self._kind).itemsize

    def add(self, part: NDArray[np.generic]) -> None:
        self._content += np.ascontiguousarray(part, dtype=self._kind).data

    def array(self) -> NDArray[S]:
        return np.frombuffer(self._content, dtype=self._kind)


T = TypeVar("T")


class Lazy(LazySequence[T]):
    """`size` items, each made from its position when it is read, and not stored."""

    def __init__(self, size: int, make: Callable[[int], T]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    def at(self, place: int) -> T:
        return self._make(place)


TABLES = (".parquet", ".arrow", ".feather", ".ipc")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_NOT_TEXT = {
    b"\xff\xfe": ("this is UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("this is UTF-16 text", "save it as UTF-8"),
    b"PK\x03\x04": ("this is a zip archive, not text", "unpack it"),
    b"PAR1": ("this is Parquet, not text", "change its extension to .parquet"),
    b"ARROW1": ("this is an Arrow file, not text", "change its extension to .arrow"),
}
AT_ONCE = 1 << 20
OnRead = Callable[[int], None]  # called with how many bytes of the file on disk have been read


def too_large(path: Path, seen: str) -> InputError:
    seen += f", too much for a file of {path.stat().st_size:,} bytes"
    return InputError(path.name, [Problem(seen, "if you trust it, unpack it or split it")])


class Stream:
    """The bytes of a text file, plain or compressed, without a byte order mark."""

    def __init__(self, path: Path, raw: BinaryIO, on_read: OnRead | None) -> None:
        self._path, self._raw, self._on_read = path, raw, on_read
        self._limit = unpacked_limit(path.stat().st_size)
        self._taken = 0
        self._errors: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error)
        self._unpacked = raw
        start = raw.read(len(_ZSTD))
        raw.seek(0)
        if start.startswith(_GZIP):
            self._unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        elif start == _ZSTD:
            check_extra("zstandard", f"reading {path.name}", "scale")
            import zstandard  # an extra

            self._errors = (*self._errors, zstandard.ZstdError)
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            self._unpacked = cast("BinaryIO", reader)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, or raise an InputError if the file is damaged, or not text."""
        try:
            found = self._unpacked.read(size)
        except self._errors as error:
            problem = Problem(f"the file is damaged: {error}")
            raise InputError(self._path.name, [problem]) from error
        is_first, self._taken = not self._taken, self._taken + len(found)
        if self._taken > self._limit:
            raise too_large(self._path, f"it unpacks to more than {self._limit:,} bytes")
        if is_first:
            for beginning, problem in _NOT_TEXT.items():
                if found.startswith(beginning):
                    raise InputError(self._path.name, [Problem(*problem)])
            found = found.removeprefix(b"\xef\xbb\xbf")
        if self._on_read:
            self._on_read(self._raw.tell())
        return found

    def after(self, rest: bytes, at_once: int) -> tuple[bytes, bool]:
        """Return `rest`, the start of a line or query, and what follows; and whether it ends."""
        longest = self._limit // 20
        if len(rest) > longest:
            raise too_large(self._path, f"a line or query has more than {longest:,} bytes")
        more = self.read(min(max(at_once, len(rest)), longest + 1 - len(rest)))
        return rest + more, not more

    def lines(self) -> Iterator[bytes]:
        """Yield whole lines, about AT_ONCE bytes at a time."""
        rest, last = b"", False
        while not last:
            content, last = self.after(rest, AT_ONCE)
            end = len(content) if last else content.rfind(b"\n") + 1
            rest = content[end:]
            if end:
                yield content[:end]


@contextmanager
def opened(path: Path, on_read: OnRead | None = None) -> Generator[Stream, None, None]:
    check_file(path)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    with raw:
        yield Stream(path, raw, on_read)


NAMES: Mapping[str, tuple[str, ...]] = {  # field -> its plain names; the first found is used
    "query_id": ("queryid", "qid", "topicid", "topic", "query"),
    "document_id": ("documentid", "docno", "docid", "corpusid", "pid"),  # docid: PyTerrier's number
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
    "ranking": ("ranking", "results", "retrievedids"),
    "relevance": ("relevance", "qrels", "pointids"),
}


def first_line(path: Path) -> bytes:
    with opened(path) as stream:
        return next(filter(bytes.strip, stream.read(AT_ONCE).split(b"\n")), b"")


def delimiter_of(line: bytes, mapped: Mapping[str, str]) -> str | None:
    """Return what separates the names in a header; a line of data has no such names."""
    for delimiter in "\t,; ":
        cells = [cell.strip(" \r\"'") for cell in line.decode(errors="replace").split(delimiter)]
        plain = set(map(plain_name, cells))
        if all(
            mapped.get(field) in cells or not plain.isdisjoint(NAMES[field])
            for field in ("query_id", "document_id")
        ):
            return delimiter
    return None


def resolve_column(
    field: str, mapped: Mapping[str, str], present: Collection[str], used: set[str]
) -> str | None:
    """Return a field's name in this file: the mapped one, which is then used, or a known one."""
    name = mapped.get(field)
    if name in present:
        used.add(field)
        return name
    plain = {plain_name(each): each for each in present}
    found = next((plain[each] for each in NAMES[field] if each in plain), None)
    if name is not None and found is None:
        raise UsageError(
            f"map {field}={name}: there is no column {name!r}; the columns are {listing(present)}"
        )
    return found


def resolve_columns(
    mapped: Mapping[str, str], present: Sequence[str], problems: "Problems", *, graded: bool
) -> dict[str, str]:
    """Return field -> column: the ids, then the grade, or the score or the rank if any."""
    numbers = ("grade",) if graded else ("rank",) if "rank" in mapped else ("score", "rank")
    columns: dict[str, str] = {}
    try:
        rank = next((name for name in present if plain_name(name) == "rank"), None)
        if graded and rank and "grade" not in mapped:
            raise UsageError(f"column {rank} is of a ranking, not of judgments; map grade=COLUMN")
        for field in ("query_id", "document_id", *numbers):
            if "score" in columns:
                used = f"column {columns['score']} is used, not {rank}; map rank={rank} to use that"
                problems.notes += [f"{problems.name}: {used}"] if rank else []
                break
            name = resolve_column(field, mapped, present, problems.mapped)
            if name is None and field not in ("score", "rank"):
                seen = f"no column found for {field} among {listing(present)}"
                raise UsageError(f"{seen}; map {field}=COLUMN")
            if present.count(str(name)) > 1:
                raise UsageError(f"there are two columns {name}; rename one")
            if name is not None:
                columns[field] = name
    except UsageError as error:
        raise UsageError(f"{problems.name}: {error}") from error
    if len(columns) == 2:
        problems.notes.append(
            f"{problems.name}: no score column found, so the order of the rows is the "
            "ranking; if there is one, map score=COLUMN"
        )
    return columns


class Problems:
    """Collects the problems of one file, up to a limit."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.name, path
        self.unit = "row" if path.suffix.lower() in TABLES else "line"
        self.may_be_ranks = False  # three columns without names
        self.notes: list[str] = []
        self.mapped: set[str] = set()  # fields that have the name in the file that `map` gives
        self._found: list[Problem] = []
        self._held = 0

    def add(self, seen: str, fix: str = "", *, line: int | None = None) -> None:
        """Add a problem; lines are counted from 1. Too many problems raise an InputError."""
        self._found.append(Problem(seen, fix, row=line, unit=self.unit))
        if len(self._found) >= InputError.shown - 1:
            self._found.append(Problem("the rest was not checked"))
            self.raise_found()

    @cached_property
    def most(self) -> int:
        return unpacked_limit(self._path.stat().st_size) // 200

    def hold(self, items: int, what: str) -> None:
        """Count queries or documents that are kept in memory; too many raise an InputError."""
        self._held += items
        if self._held > self.most:
            raise too_large(self._path, f"it has more than {self.most:,} {what}")

    def raise_found(self) -> None:
        if self._found:
            raise InputError(self.name, self._found)
