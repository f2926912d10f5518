"""Files of columns: Parquet, Arrow and Feather, and folders that Hugging Face datasets saved."""

import glob
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, cast
from zlib import crc32

from ragstone._internal.files import read_parts, unpacked_limit
from ragstone.datasets.blocks import IN_MEMORY, Block, FileRows
from ragstone.datasets.formats.packed import Group, column_errors, groups, text_size
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
"""Parts in which a large row group is read, at most; for each, the whole group is unpacked."""
ROW, VALUE = 1024, 64
"""How many bytes a row and a value of a list need in Python, about."""


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
    if find_spec("polars") is None:
        raise UsageError(f"{file.name}: reading it needs an extra: pip install '{EXTRA}'")
    rows = ColumnRows(file, limit=limit)
    return Table(rows, names=rows.names, end=limit and 0)


class ColumnRows(FileRows):
    """The rows of files of columns; the columns of one block are in memory.

    Nothing is unpacked before its size is known: columns may be a million times as large as their
    packed file. The rows may be much larger again, because columns have repeated texts once.
    """

    def __init__(self, file: File, *, limit: int | None) -> None:
        self._file, self._files = file, file.parts or (file.path,)
        self._packed = self._size_now
        self._most = unpacked_limit(self._packed)
        self._unpacked = 0
        self._small = True
        super().__init__(file.path, limit=limit)
        self._small = self._unpacked <= IN_MEMORY and self._fit_into(IN_MEMORY)
        if not self._small:
            sums: dict[tuple[int, int, int], int] = {}
            for block in self.blocks:
                which = block.file, block.start, block.end
                sums[which] = sums.get(which) or self._checksum(block)
            self.blocks = tuple(
                block._replace(checksum=sums[block.file, block.start, block.end])
                for block in self.blocks
            )
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
        place = total = self._unpacked = 0
        for number, path in enumerate(self._files):
            first = 0
            with closing(self._groups(path, limit and limit - place)) as found:
                for some in found:
                    height, size = sum(each.rows for each in some), sum(each.size for each in some)
                    parts = min(PARTS, height, size // self._at_once) or 1
                    before = some[0].before
                    if before:  # a batch of a stream cannot be read in parts
                        parts = 1
                    total += size
                    for taken, most in (total, self._most), (size // parts, LARGEST):
                        if taken > most:
                            raise self._too_large(most)
                    start = min(each.span[0] for each in some)
                    end = max(each.span[1] for each in some)
                    for part in range(parts if height else 0):
                        rows = height * (part + 1) // parts - height * part // parts
                        rows = rows if limit is None else min(rows, limit - place)
                        yield Block(place, rows, place + 1, start, end, 0, number, first, before)
                        self._unpacked += size * rows // height
                        place, first = place + rows, first + rows
                        if place == limit:
                            return

    @property
    def _at_once(self) -> int:
        return 16 * self.size

    @property
    def _size_now(self) -> int:
        return sum(each.stat().st_size for each in self._files)

    def _groups(self, path: Path, rows: int | None) -> Generator[Sequence[Group], None, None]:
        some, size = list[Group](), 0
        is_parquet = path.suffix.lower() == ".parquet"
        with (
            column_errors(path.name),
            path.open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as data,
        ):
            for group in groups(data, parquet=is_parquet, value=VALUE):
                some.append(group)
                size += group.size
                enough = rows is not None and sum(each.rows for each in some) >= rows
                if enough or group.before or size >= self._at_once:
                    yield some
                    some, size = [], 0
            if some:
                yield some

    def _frame(self, block: Block) -> "DataFrame":
        return cast("_Columns", self.parts(block)).frame

    def _parts(self, block: Block) -> "_Columns":
        path = self._files[block.file]
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
        for part in read_parts(self._files[block.file], block.start, block.end):
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
    return text_size(frame) + ROW * frame.height


def _unpacked(path: Path, block: Block) -> "DataFrame":
    import polars  # an extra, and slow to import

    if block.before:
        spans = *block.before, (block.start, block.end)
        parts = (part for span in spans for part in read_parts(path, *span))
        return polars.read_ipc_stream(BytesIO(b"".join(parts))).head(block.rows)
    scan = polars.scan_parquet if path.suffix.lower() == ".parquet" else polars.scan_ipc
    found = scan(glob.escape(str(path)), hive_partitioning=False)
    return found.slice(block.first, block.rows).collect()
