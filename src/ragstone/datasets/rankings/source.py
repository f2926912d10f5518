"""Open a text file, plain or compressed with gzip or Zstandard, detected by its first bytes."""

import gzip
import zlib
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from ragstone.errors import InputError, Problem, UsageError

EXTRA = "ragstone[scale]"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"
_OTHERS = {
    b"\xff\xfe": ("this is UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("this is UTF-16 text", "save it as UTF-8"),
    b"PK\x03\x04": ("this is a zip archive, not text", "unpack it"),
    b"PAR1": ("this is Parquet, not text", "change its extension to .parquet"),
    b"ARROW1": ("this is an Arrow file, not text", "change its extension to .arrow"),
}
OnRead = Callable[[int], None]
"""Called with the number of bytes of the file on disk that are read so far."""


class Stream:
    """The bytes of a text file, without a byte order mark."""

    def __init__(self, path: Path, raw: BinaryIO, on_read: OnRead | None) -> None:
        self._name, self._raw, self._on_read = path.name, raw, on_read
        start = raw.read(8)
        raw.seek(0)
        self._unpacked = _unpacked(path, raw, start)
        self._first = True

    def read(self, size: int = -1) -> bytes:
        """Return up to so many bytes; none at the end.

        Raises:
            InputError: the file is damaged, or not text.
        """
        try:
            found = self._unpacked.read(size)
        except (OSError, EOFError, zlib.error, *_zstd_errors()) as error:
            raise InputError(self._name, [Problem(f"the file is damaged: {error}")]) from error
        if self._first:
            self._first = False
            for beginning, problem in _OTHERS.items():
                if found.startswith(beginning):
                    raise InputError(self._name, [Problem(*problem)])
            found = found.removeprefix(_MARK)
        if self._on_read:
            self._on_read(self._raw.tell())
        return found


@contextmanager
def opened(path: Path, on_read: OnRead | None = None) -> Generator[Stream, None, None]:
    """Open a file of text.

    Raises:
        UsageError: there is none, it cannot be read, or what unpacks it is not installed.
    """
    check(path)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    with raw:
        yield Stream(path, raw, on_read)


def check(path: Path) -> None:
    """Check that there is such a file, before the work begins.

    Raises:
        UsageError: there is none.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if not path.is_file():
        raise UsageError(
            f"{path} is not a regular file and can be read only once; save it to a file"
        )


def _unpacked(path: Path, raw: BinaryIO, start: bytes) -> BinaryIO:
    if start.startswith(_GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if start.startswith(_ZSTD):
        if find_spec("zstandard") is None:
            raise UsageError(f"{path.name}: reading it needs an extra: pip install '{EXTRA}'")
        import zstandard  # an extra

        return cast(
            "BinaryIO", zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        )
    return raw


def _zstd_errors() -> tuple[type[Exception], ...]:
    if find_spec("zstandard") is None:
        return ()
    import zstandard  # an extra

    return (zstandard.ZstdError,)


# Naming: what the columns and keys of ranking files are called, and which is meant.

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
"""Our field -> the names it goes by, the first that is there counts."""


def resolve_column(field: str, said: Mapping[str, str], present: Collection[str]) -> str | None:
    """Return the name of a field in this file; None if it has none.

    Raises:
        UsageError: the mapped column does not exist.
    """
    if field in said:
        if said[field] not in present:
            known = ", ".join(map(str, present))
            raise UsageError(
                f"--map {field}={said[field]}: there is no such column; known: {known}"
            )
        return said[field]
    return next((name for name in NAMES[field] if name in present), None)


def check_names(said: Mapping[str, str]) -> None:
    """Check the names of mapped fields.

    Raises:
        UsageError: a field is not one of a ranking file.
    """
    for field in said:
        if field not in NAMES:
            raise UsageError(f"--map {field}=...: the fields are {', '.join(NAMES)}")


# Problems: what is wrong with a file, gathered up to a limit and reported together; and notes.

MOST = InputError.shown - 1
"""Problems of one file that are gathered before it is given up."""


class Problems:
    """Gathers what is wrong with one file.

    Attributes:
        unit: what of the file is counted: lines, or the rows of a table.
        notes: what a reader of the numbers must know.
    """

    def __init__(self, path: Path, unit: str = "line") -> None:
        self.name, self.unit = path.name, unit
        self.notes: list[str] = []
        self._found: list[Problem] = []

    def add(self, seen: str, fix: str = "", *, line: int | None = None) -> None:
        """Note one problem; lines and rows are counted from 1.

        Raises:
            InputError: there are too many to go on.
        """
        where = "" if line is None else f"{self.unit} {line}: "
        self._found.append(Problem(where + seen, fix))
        if len(self._found) >= MOST:
            self._found.append(Problem("the rest was not checked"))
            self.tell()

    def tell(self) -> None:
        """Raise an InputError if problems were found."""
        if self._found:
            raise InputError(self.name, self._found)
