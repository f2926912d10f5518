"""Files of columns: Parquet, Arrow and Feather, and folders that Hugging Face datasets saved."""

import glob
import json
from collections.abc import Iterator
from io import SEEK_END
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragstone._internal.files import unpacked_limit
from ragstone._internal.plugins import check_extra
from ragstone.datasets.frames import ITEM, column_errors, text_size
from ragstone.datasets.table import IN_MEMORY, Block, File, FileRows, Record, Row, Table
from ragstone.errors import InputError, UsageError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

SUFFIXES = (".parquet", ".arrow", ".feather")
STATE, SPLITS = "state.json", "dataset_dict.json"  # in saved folders: the data files; the splits
LARGEST = 2**30  # bytes that a stream, or rows that are needed at once, may have in memory: 1 GiB
AT_ONCE = 2**24  # how many bytes of columns a block has, about
FIRST = 10  # rows of the first block; others have what fits, but at most four times the last
ROW = 1024  # how many bytes a row needs in Python, about


def read(file: File, limit: int | None = None) -> Table:
    check_extra("polars", f"reading {file.name}", "parquet")
    rows = ColumnRows(file, limit=limit)
    return Table(rows, names=tuple(rows.names), end=limit and 0)


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
    return whole, read(whole, limit)


def _is_stream(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix.lower() != ".parquet" and file.read(6) != b"ARROW1"


def scanned(path: Path) -> "LazyFrame":
    import polars  # an extra, and slow to import

    scan = polars.scan_parquet if path.suffix.lower() == ".parquet" else polars.scan_ipc
    return scan(glob.escape(str(path)), hive_partitioning=False)


def unpacked_size(path: Path) -> int:
    """Polars does not report it, and the list of one row may unpack to gigabytes."""
    if path.suffix.lower() != ".parquet":
        import polars  # an extra, and slow to import

        return ITEM * int(scanned(path).select(polars.len()).collect().item())
    with path.open("rb") as file:
        end = file.seek(0, SEEK_END)
        file.seek(max(end - 8, 0))
        size = int.from_bytes(file.read(4), "little")
        file.seek(max(end - 8 - size, 0))
        content = iter(file.read(size))
    try:
        groups = _thrift(content, 12)[4]
        chunks = [chunk for group in groups for chunk in group[1]]
        columns = [chunk[3] for chunk in chunks]
        ends = [(column.get(11) or column[9]) + column[7] for column in columns]
        for offset, length in ((4, 5), (6, 7)):  # the indexes of pages, behind the data
            ends += [chunk.get(offset, 0) + chunk.get(length, 0) for chunk in chunks]
        if max(ends, default=0) > end - 8 - size:
            raise ValueError("it is shorter than its metadata")
        return sum(max(column[6], ITEM * column[5]) for column in columns)
    except (LookupError, RecursionError, StopIteration, TypeError) as error:
        raise ValueError("its metadata is damaged") from error


def _thrift(content: Iterator[int], kind: int) -> Any:
    """Read a value in Thrift's compact protocol; a struct is field number -> value."""
    match kind:
        case 1 | 2:  # a boolean of a struct is in its kind
            return kind == 1
        case 3:
            return next(content)
        case 4 | 5 | 6:
            return _varint(content) >> 1  # sizes are not negative
        case 7:
            return bytes(islice(content, 8))
        case 8:
            return bytes(islice(content, _varint(content)))
        case 9 | 10:
            head = next(content)
            count = head >> 4 if head >> 4 < 15 else _varint(content)
            item = 3 if head & 15 in (1, 2) else head & 15
            return [_thrift(content, item) for _ in range(count)]
        case 12:
            fields, number = dict[int, Any](), 0
            while head := next(content):
                number = number + (head >> 4) if head >> 4 else _varint(content) >> 1
                fields[number] = _thrift(content, head & 15)
            return fields
        case _:
            raise TypeError(f"kind {kind}")


def _varint(content: Iterator[int]) -> int:
    number = 0
    for shift in range(0, 70, 7):
        byte = next(content)
        number |= (byte & 127) << shift
        if byte < 128:
            break
    return number


class ColumnRows(FileRows):
    """Columns may unpack to a million times their file, so blocks grow while all of them fit."""

    def __init__(self, file: File, *, limit: int | None) -> None:
        self._files = file.parts or (file.path,)
        self._seen, self._fingerprint = self._stat(), file.fingerprint()
        self._limit = unpacked_limit(sum(size for size, _ in self._seen))
        self._stream: tuple[Path, DataFrame] | None = None
        self._size = 0
        self.names: dict[str, None] = {}
        super().__init__(file, limit=limit)
        self._size += ROW * len(self.places)

    @property
    def is_small(self) -> bool:
        return self._size <= IN_MEMORY

    def in_memory(self) -> list[Row]:
        if self._size > LARGEST:
            raise self._too_large(LARGEST)
        return super().in_memory()

    def _too_large(self, most: int) -> InputError:
        seen = f"its columns need more than {most:,} bytes"
        return self.file.refused(seen, "split it into several files, or use .jsonl")

    def _scan(self, limit: int | None) -> Iterator[Block]:
        place = unpacked = 0
        for number, path in enumerate(self._files):
            with column_errors(path.name):
                unpacked += 0 if _is_stream(path) else unpacked_size(path)
                if unpacked > self._limit:
                    raise self._too_large(self._limit)
                first, rows, more = 0, FIRST, True
                while more:
                    wanted = rows if limit is None else min(rows, limit - place)
                    frame = self._frame(path, first, wanted)
                    size = text_size(frame)
                    self._size += size
                    if self._size > self._limit:
                        raise self._too_large(self._limit)
                    self.names |= dict.fromkeys(frame.columns)
                    if frame.height:
                        yield Block(place, frame.height, place + 1, 0, 0, 0, number, first)
                    place, first = place + frame.height, first + frame.height
                    if place == limit:
                        return
                    more = frame.height == wanted
                    rows = min(4 * rows, max(1, rows * AT_ONCE // max(size, 1)))

    def _frame(self, path: Path, first: int, rows: int) -> "DataFrame":
        import polars  # an extra, and slow to import

        if not _is_stream(path):
            return scanned(path).slice(first, rows).collect()
        # Polars reads a stream only from its beginning, so all of it is kept.
        known = self._stream[1] if self._stream and self._stream[0] == path else None
        most = min(LARGEST, self._limit)
        while known is None or known.height < first + rows:
            wanted = first + rows if known is None else 2 * known.height
            known = polars.read_ipc_stream(path, n_rows=wanted)
            if known.estimated_size() > most:
                raise self._too_large(most)
            if known.height < wanted:
                break
        self._stream = path, known
        return known.slice(first, rows)

    def _parts(self, block: Block) -> "tuple[DataFrame, int]":
        path = self._files[block.file]
        try:
            seen = self._stat()
        except OSError as error:
            raise self.changed() from error
        if seen != self._seen:
            if self.file.fingerprint() != self._fingerprint:
                raise self.changed()
            self._seen = seen
        try:
            with column_errors(path.name):
                frame = self._frame(path, block.first, block.rows)
                if frame.height != block.rows:
                    raise ValueError(f"it has {frame.height:,} rows instead of {block.rows:,}")
        except InputError as error:
            if self._stat() != self._seen:
                raise self.changed() from error
            raise
        return frame, block.line

    def _stat(self) -> list[tuple[int, int]]:
        stats = [path.stat() for path in self._files]
        return [(each.st_size, each.st_mtime_ns) for each in stats]

    def _row(self, parts: "tuple[DataFrame, int]", place: int) -> Record:
        frame, line = parts
        return Record(line + place, frame.row(place, named=True))

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "_stream": None}
