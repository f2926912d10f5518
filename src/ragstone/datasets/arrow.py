"""Files of columns: Parquet, Arrow and Feather, and folders that Hugging Face datasets saved."""

# PyArrow has no type hints
# pyright: reportMissingTypeStubs=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import glob
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from ragstone._internal.files import read_parts, unpacked_limit
from ragstone.datasets.blocks import IN_MEMORY, Block, FileRows
from ragstone.datasets.frames import column_errors, text_size
from ragstone.datasets.table import File, Record, Row, Table
from ragstone.errors import InputError, UsageError
from ragstone.types.row import LazySequence

if TYPE_CHECKING:
    from polars import DataFrame

SUFFIXES = (".parquet", ".arrow", ".feather")
EXTRA = "ragstone[parquet]"
STATE, SPLITS = "state.json", "dataset_dict.json"
"""Files of a saved folder that list its data files, and its splits."""
LARGEST = 2**30
"""How many bytes the columns that are read at once may have in memory: 1 GiB."""
PARTS = 16
"""Parts in which a row group or batch is read, at most; for each, all of it is unpacked."""
ROW, VALUE = 1024, 64
"""How many bytes a row and a value need in Python, about."""


def read(file: File, limit: int | None = None) -> Table:
    return _table(file, limit)


def read_folder(folder: Path, limit: int | None = None) -> tuple[File, Table]:
    if (folder / SPLITS).is_file():
        splits = sorted(part.name for part in folder.iterdir() if (part / STATE).is_file())
        offer = f"; name one: {folder / splits[0]}" if splits else ""
        raise UsageError(f"{folder} has the splits {', '.join(splits)}{offer}")
    if not (folder / STATE).is_file():
        raise UsageError(
            f"{folder} is a folder; name a file in it, or a folder that Hugging Face datasets "
            f"saved (with {STATE})"
        )
    state = File.at(folder / STATE)
    try:
        listed = cast("dict[str, list[dict[str, str]]]", json.loads(state.text()))
        names = [each["filename"] for each in listed["_data_files"]]
        if not names or any(Path(name).name != name for name in names):
            raise ValueError("it lists no files in its own folder")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        seen = f"this file does not list the data files: {type(error).__name__}: {error}"
        raise state.refused(seen, "save the data set again") from error
    parts = tuple(File.at(folder / name).path for name in names)
    whole = File(folder.name, path=folder.absolute(), parts=parts)
    return whole, _table(whole, limit)


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _table(file: File, limit: int | None) -> Table:
    if not (find_spec("polars") and find_spec("pyarrow")):
        raise UsageError(f"{file.name}: reading it needs an extra: pip install '{EXTRA}'")
    rows = ColumnRows(file, limit=limit)
    return Table(rows, names=rows.names, end=limit and 0)


class _Group(NamedTuple):
    """Rows that are stored together, their unpacked size, and in how many parts to read them."""

    rows: int
    size: int
    parts: int


def _groups(path: Path) -> Generator[_Group, None, None]:
    """Yield the row groups of a Parquet file, the batches of an Arrow stream, or an Arrow file.

    The sizes are those in the metadata of a Parquet file, and those of the batches of a stream. An
    Arrow file is one group of its own size; its rows are measured after they were read.
    """
    import polars  # extras, and slow to import
    from pyarrow import ipc, parquet

    if path.suffix.lower() == ".parquet":
        metadata = parquet.read_metadata(path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(place) for place in range(group.num_columns)]
            sizes = (max(each.total_uncompressed_size, each.num_values * VALUE) for each in columns)
            yield _Group(group.num_rows, sum(sizes), PARTS)
    elif _is_stream(path):
        for batch in _batches(path):
            yield _Group(batch.num_rows, max(batch.nbytes, batch.num_rows * VALUE), 1)
    else:
        scan = polars.scan_ipc(glob.escape(str(path)), hive_partitioning=False)
        height = int(scan.select(polars.len()).collect().item())
        with ipc.open_file(path) as file:
            parts = PARTS * file.num_record_batches
        yield _Group(height, max(path.stat().st_size, height * VALUE), parts)


def _joined(groups: Iterable[_Group], size: int, rows: int | None) -> Iterator[_Group]:
    """Join small groups until they have about `size` bytes, or `rows` rows."""
    joined = _Group(0, 0, 1)
    for group in groups:
        joined = _Group(joined.rows + group.rows, joined.size + group.size, group.parts)
        if joined.size >= size or (rows is not None and joined.rows >= rows):
            yield joined
            joined = _Group(0, 0, 1)
    yield joined


@contextmanager
def _errors(name: str) -> Generator[None, None, None]:
    from pyarrow import ArrowException  # an extra, and slow to import

    with column_errors(name):
        try:
            yield
        except (ArrowException, OverflowError) as error:
            raise ValueError(str(error)) from error


def _is_stream(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) != b"ARROW1"


def _batches(path: Path) -> Iterator[Any]:
    from pyarrow import ipc, memory_map

    with memory_map(str(path)) as source, ipc.open_stream(source) as batches:
        yield from batches


class ColumnRows(FileRows):
    """The rows of files of columns; the columns of one block are in memory.

    Columns may be a million times as large as their packed file, and the rows much larger again,
    because columns have repeated texts once. So a Parquet file's columns are unpacked only if the
    size in its metadata is not too large, and rows are made only after their columns were measured.
    """

    def __init__(self, file: File, *, limit: int | None) -> None:
        self._file, self._files = file, file.parts or (file.path,)
        self._seen = self._stat()
        self._limit = unpacked_limit(sum(size for size, _ in self._seen))
        self._small, self._checksum = True, 0
        super().__init__(file.path, limit=limit)
        self._small = self._fit_into(IN_MEMORY)
        if not self._small:
            self._checksum = self._sum()
        firsts = {block.file: block for block in reversed(self.blocks)}
        frames = (self._frame(block) for _, block in sorted(firsts.items()))
        self.names = tuple(dict.fromkeys(name for frame in frames for name in frame.columns))

    @property
    def is_small(self) -> bool:
        return self._small

    def in_memory(self) -> list[Row]:
        if not self._fit_into(LARGEST):
            raise self._too_large(LARGEST)
        return super().in_memory()

    def unlimited(self) -> "ColumnRows":
        return ColumnRows(self._file, limit=None)

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
        at_once, place, total = 16 * self.size, 0, 0
        for number, path in enumerate(self._files):
            first = 0
            with _errors(path.name), closing(_groups(path)) as groups:
                for rows, size, parts in _joined(groups, at_once, limit and limit - place):
                    total += size
                    parts = min(parts, rows, size // at_once) or 1
                    for taken, most in (total, self._limit), (size // parts, LARGEST):
                        if taken > most:
                            raise self._too_large(most)
                    for part in range(parts if rows else 0):
                        height = rows * (part + 1) // parts - rows * part // parts
                        height = height if limit is None else min(height, limit - place)
                        yield Block(place, height, place + 1, 0, 0, 0, number, first)
                        place, first = place + height, first + height
                        if place == limit:
                            return

    def _frame(self, block: Block) -> "DataFrame":
        return cast("_Columns", self.parts(block)).frame

    def _parts(self, block: Block) -> "_Columns":
        path = self._files[block.file]
        self._check_unchanged()
        try:
            with _errors(path.name):
                frame = _unpacked(path, block)
                if frame.height != block.rows:
                    raise ValueError(f"it has {frame.height:,} rows instead of {block.rows:,}")
                if _python_size(frame) > (most := min(LARGEST, self._limit)):
                    raise self._too_large(most)
        except InputError as error:
            if self._stat() != self._seen:
                raise self.changed() from error
            raise
        return _Columns(frame, block.line)

    def _stat(self) -> list[tuple[int, int]]:
        stats = [path.stat() for path in self._files]
        return [(each.st_size, each.st_mtime_ns) for each in stats]

    def _sum(self) -> int:
        checksum = 0
        for path in self._files:
            for part in read_parts(path, 0, path.stat().st_size):
                checksum = crc32(part, checksum)
        return checksum

    def _check_unchanged(self) -> None:
        """Compare sizes and times, and only if they differ the files' contents."""
        try:
            seen = self._stat()
        except OSError as error:
            raise self.changed() from error
        if seen != self._seen:
            if self._small or self._sum() != self._checksum:
                raise self.changed()
            self._seen = seen

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
    return text_size(frame, value=VALUE) + ROW * frame.height


def _unpacked(path: Path, block: Block) -> "DataFrame":
    import polars  # an extra, and slow to import

    is_parquet = path.suffix.lower() == ".parquet"
    if not is_parquet and _is_stream(path):
        frames, first = list["DataFrame"](), 0
        for batch in _batches(path):
            if first >= block.first + block.rows:
                break
            if first >= block.first:
                batch.validate(full=True)
                frames.append(cast("DataFrame", polars.from_arrow(batch)))
            first += batch.num_rows
        return polars.concat(frames).head(block.rows)
    scan = polars.scan_parquet if is_parquet else polars.scan_ipc
    rows = scan(glob.escape(str(path)), hive_partitioning=False)
    return rows.slice(block.first, block.rows).collect()
