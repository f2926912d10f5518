"""Ranking files: opening them, finding their columns, and collecting their problems."""

import gzip
import math
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from ragstone._internal.files import check_file, unpacked_limit
from ragstone._internal.text import listing
from ragstone.datasets.rankings.byte_arrays import Integers
from ragstone.errors import InputError, Problem, UsageError

EXTRA = "ragstone[scale]"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_NOT_TEXT = {
    b"\xff\xfe": ("this is UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("this is UTF-16 text", "save it as UTF-8"),
    b"PK\x03\x04": ("this is a zip archive, not text", "unpack it"),
    b"PAR1": ("this is Parquet, not text", "change its extension to .parquet"),
    b"ARROW1": ("this is an Arrow file, not text", "change its extension to .arrow"),
}
OnRead = Callable[[int], None]
"""Called with the number of bytes of the file on disk that have been read."""


def too_large(path: Path, seen: str) -> InputError:
    seen += f", too much for a file of {path.stat().st_size:,} bytes"
    return InputError(path.name, [Problem(seen, "if you trust it, unpack it or split it")])


class Stream:
    """The bytes of a text file, plain or compressed, without a byte order mark."""

    def __init__(
        self, path: Path, raw: BinaryIO, on_read: OnRead | None, part: range | None
    ) -> None:
        self._path, self._raw, self._on_read = path, raw, on_read
        self._limit = unpacked_limit(path.stat().st_size)
        self._first, self._taken = True, 0
        self._most: float = math.inf
        if part is not None:
            self._first, self._most = part.start == 0, len(part)
        self._errors: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error)
        self._unpacked = raw
        start = raw.read(len(_ZSTD))
        raw.seek(part.start if part else 0)
        if start.startswith(_GZIP):
            self._unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        elif start == _ZSTD:
            if find_spec("zstandard") is None:
                raise UsageError(f"{path.name}: reading it needs an extra: pip install '{EXTRA}'")
            import zstandard  # an extra

            self._errors = (*self._errors, zstandard.ZstdError)
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            self._unpacked = cast("BinaryIO", reader)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, or raise an InputError if the file is damaged, or not text."""
        try:
            found = self._unpacked.read(int(min(size, self._most - self._taken)))
        except self._errors as error:
            problem = Problem(f"the file is damaged: {error}")
            raise InputError(self._path.name, [problem]) from error
        self._taken += len(found)
        if self._taken > self._limit:
            raise too_large(self._path, f"it unpacks to more than {self._limit:,} bytes")
        if self._first:
            self._first = False
            for beginning, problem in _NOT_TEXT.items():
                if found.startswith(beginning):
                    raise InputError(self._path.name, [Problem(*problem)])
            found = found.removeprefix(b"\xef\xbb\xbf")
        if self._on_read:
            self._on_read(self._raw.tell())
        return found

    def after(self, rest: bytes, at_once: int) -> tuple[bytes, bool]:
        """Return `rest` and what follows it, at least `at_once` bytes, and whether the file ends.

        `rest` is the beginning of a line or query, which may be too long for the file: an
        InputError.
        """
        longest = self._limit // 20
        if len(rest) > longest:
            raise too_large(self._path, f"a line or query has more than {longest:,} bytes")
        more = self.read(min(max(at_once, len(rest)), longest + 1 - len(rest)))
        return rest + more, not more

    def lines(self, at_once: int) -> Iterator[bytes]:
        rest, last = b"", False
        while not last:
            content, last = self.after(rest, at_once)
            end = len(content) if last else content.rfind(b"\n") + 1
            rest = content[end:]
            if end:
                yield content[:end]


@contextmanager
def opened(
    path: Path, on_read: OnRead | None = None, part: range | None = None
) -> Generator[Stream, None, None]:
    """Open a file of text, or only some bytes of it; raise a UsageError if it cannot be read."""
    check_file(path)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    with raw:
        yield Stream(path, raw, on_read, part)


FIRST_WINDOW = 1 << 16
"""Bytes or rows that are searched for the beginning of a query; then twice as many, and so on."""


def cuts(total: int, size: int, begins: Callable[[int, int], int | None]) -> list[range]:
    """Cut a file of `total` bytes or rows before queries, into parts of about `size`.

    `begins` returns where the first query of a window begins, from the start of the window and its
    size; None if it does not contain the beginning of a query.
    """
    places = [0]
    for at in range(size, total, size):
        window = min(FIRST_WINDOW, size)
        while at > places[-1] and window < 2 * size:
            if (found := begins(at, window)) is not None:
                places.append(found)
                break
            window *= 2
    return [range(start, end) for start, end in pairwise([*places, total])]


def text_parts(path: Path, size: int, begins: Callable[[bytes], int | None]) -> list[range]:
    """Cut a text file into parts of about `size` bytes; a compressed file is one part.

    `begins` returns where the first query begins that whole lines have the beginning of.
    """
    check_file(path)
    with path.open("rb") as file:
        if file.read(len(_ZSTD)).startswith((_GZIP, _ZSTD)):
            return []

        def first(at: int, window: int) -> int | None:
            file.seek(at)
            content = file.read(window)
            start = content.find(b"\n") + 1
            found = begins(content[start : content.rfind(b"\n") + 1]) if start else None
            return None if found is None else at + start + found

        return cuts(path.stat().st_size, size, first)


NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "query_id": ("query_id", "qid", "q_id", "query-id", "query"),
        "document_id": ("document_id", "doc_id", "docid", "docno", "corpus-id", "corpus_id"),
        "score": ("score", "sim", "similarity"),
        "grade": ("grade", "relevance", "rel", "label", "score"),
        "ranking": ("ranking", "results", "retrieved_ids"),
        "relevance": ("relevance", "qrels", "point_ids"),
    }
)
"""Field of a ranking file -> the names it may have; the first that is found is used."""


def resolve_column(field: str, mapped: Mapping[str, str], present: Collection[str]) -> str | None:
    """Return the name of a field in this file, None if it has none; a mapped one must exist."""
    if field not in mapped:
        return next((name for name in NAMES[field] if name in present), None)
    if (name := mapped[field]) not in present:
        raise UsageError(
            f"--map {field}={name}: there is no column {name!r}; the columns are {listing(present)}"
        )
    return name


def check_names(mapped: Mapping[str, str]) -> None:
    """Raise a UsageError if a mapped field is not one of a ranking file."""
    for field in mapped:
        if field not in NAMES:
            raise UsageError(f"--map {field}=...: the fields are {', '.join(NAMES)}")


class Problems:
    """Collects the problems of one file, up to a limit.

    Attributes:
        unit: what places are counted in: lines, or the rows of a table.
    """

    def __init__(self, path: Path, unit: str = "line") -> None:
        self.name, self.unit, self._path = path.name, unit, path
        self.notes: list[str] = []
        self._found: list[Problem] = []
        self._held = 0

    def add(self, seen: str, fix: str = "", *, line: int | None = None) -> None:
        """Add a problem; lines are counted from 1. Too many problems raise an InputError."""
        where = "" if line is None else f"{self.unit} {line}: "
        self._found.append(Problem(where + seen, fix))
        if len(self._found) >= InputError.shown - 1:
            self._found.append(Problem("the rest was not checked"))
            self.raise_found()

    def check_ids(
        self, queries: Sequence[str], starts: Integers, documents: Integers, lines: Integers
    ) -> None:
        for start in [starts[place] for place, query in enumerate(queries) if not query.strip()]:
            line = int(lines[start]) if start < len(lines) else None  # without any document
            self.add("there is no query_id", "fill it in", line=line)
        for line in lines[documents == 0].tolist():
            self.add("there is no document_id", "fill it in", line=line)

    @cached_property
    def most(self) -> int:
        return unpacked_limit(self._path.stat().st_size) // 200

    def hold(self, items: int, what: str) -> None:
        """Count queries or documents that are kept in memory; too many raise an InputError."""
        self._held += items
        if self._held > self.most:
            raise too_large(self._path, f"it has more than {self.most:,} {what}")

    def raise_found(self) -> None:
        """Raise an InputError if problems were found."""
        if self._found:
            raise InputError(self.name, self._found)
