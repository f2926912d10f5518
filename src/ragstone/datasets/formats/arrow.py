"""Files of columns: Parquet, Arrow and Feather, and folders that Hugging Face datasets saved."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ragstone.datasets.table import File, Record, Table
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame

SUFFIXES = (".parquet", ".arrow", ".feather")
EXTRA = "ragstone[parquet]"
STATE, SPLITS = "state.json", "dataset_dict.json"
"""Files of a saved folder that list its data files, and its splits."""
LARGEST = 2**30
"""How many bytes the columns may have in memory: 1 GiB."""
FIRST = 1024
"""How many rows are unpacked to measure their size."""
_MAGIC = b"ARROW1"


def read(file: File) -> Table:
    """Return the rows of a file of columns, numbered from 1."""
    return _table([file], file)


def read_folder(folder: Path) -> tuple[File, Table]:
    """Return the rows of a folder that `Dataset.save_to_disk` made, and its bytes as one file.

    Raises:
        UsageError: it is not such a folder, has several splits, or cannot be read.
        InputError: one of its files is damaged, or it is too large.
    """
    if (folder / SPLITS).is_file():
        splits = sorted(part.name for part in folder.iterdir() if (part / STATE).is_file())
        offer = f"; name one: {folder / splits[0]}" if splits else ""
        raise UsageError(f"{folder} has the splits {', '.join(splits)}{offer}")
    if not (folder / STATE).is_file():
        raise UsageError(
            f"{folder} is a folder; name a file in it, or a folder that Hugging Face datasets "
            f"saved (with {STATE})"
        )
    state = File.read(folder / STATE)
    try:
        listed = cast("dict[str, list[dict[str, str]]]", json.loads(state.text()))
        names = [each["filename"] for each in listed["_data_files"]]
        if not names or any(Path(name).name != name for name in names):
            raise ValueError("it lists no files in its own folder")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        seen = f"this file does not list the data files: {type(error).__name__}: {error}"
        raise state.refused(seen, "save the data set again") from error
    files = [File.read(folder / name) for name in names]
    whole = File(folder.name, b"".join(file.content for file in files))
    return whole, _table(files, whole)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; False if it is not a valid path."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _table(files: Sequence[File], whole: File) -> Table:
    """Return the rows of files, which must fit into memory together.

    Columns may be a thousand times as large as their packed file, so more and more rows are
    unpacked while they fit. A single record batch of Arrow is unpacked as one.
    """
    if find_spec("polars") is None:
        raise UsageError(f"{whole.name}: reading it needs an extra: pip install '{EXTRA}'")
    frames: list[DataFrame] = []
    taken = 0
    for file in files:
        rows = FIRST
        while True:
            frame = _unpacked(file, rows)
            size = max(1, int(frame.estimated_size()))
            if taken + size > LARGEST:
                seen = f"its columns need more than {LARGEST:,} bytes"
                raise whole.refused(seen, "split it into several files, or use .jsonl")
            if frame.height < rows:
                break
            rows = min(8 * rows, 2 * rows * LARGEST // size)
        frames.append(frame)
        taken += int(frame.estimated_size())
    values = (row for frame in frames for row in frame.iter_rows(named=True))
    return Table((Record(number, row) for number, row in enumerate(values, 1)))


def _unpacked(file: File, rows: int) -> "DataFrame":
    import polars  # an extra, and slow to import

    content = BytesIO(file.content)
    try:
        if file.suffix == ".parquet":
            return polars.read_parquet(content, n_rows=rows)
        if file.content.startswith(_MAGIC):
            return polars.read_ipc(content, n_rows=rows)
        return polars.read_ipc_stream(content, n_rows=rows)
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise file.refused(f"cannot read the columns: {why}") from error
