"""Files of columns: Parquet, Arrow and Feather, and folders that Hugging Face datasets saved."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ragstone._internal.files import unpacked_limit
from ragstone.datasets.formats.packed import column_errors, text_size, unpacked_size
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
ROW, VALUE = 1024, 64
"""How many bytes a row and a value of a list need in Python, about."""
_MAGIC = b"ARROW1"


def read(file: File, _limit: int | None = None) -> Table:
    """Return the rows of a file of columns, numbered from 1."""
    return _table([file], file)


def read_folder(folder: Path) -> tuple[File, Table]:
    """Return the rows of a folder that `Dataset.save_to_disk` made, and its bytes as one file."""
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
    files = [File.at(folder / name) for name in names]
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

    Nothing is unpacked before its size is known: columns may be a million times as large as their
    packed file. The rows may be much larger again, because columns have repeated texts once.
    """
    if find_spec("polars") is None:
        raise UsageError(f"{whole.name}: reading it needs an extra: pip install '{EXTRA}'")
    limit = min(LARGEST, unpacked_limit(len(whole.content)))

    def check(size: int) -> None:
        if size > limit:
            seen = f"its columns need more than {limit:,} bytes"
            raise whole.refused(seen, "split it into several files, or use .jsonl")

    taken = 0
    frames: list[DataFrame] = []
    for file in files:
        is_parquet = file.suffix == ".parquet"
        with column_errors(file.name):
            check(taken + unpacked_size(file.content, parquet=is_parquet, value=VALUE))
            frame = _unpacked(file)
            taken += ROW * frame.height + text_size(frame)
            check(taken)
        frames.append(frame)
    values = (row for frame in frames for row in frame.iter_rows(named=True))
    return Table([Record(number, row) for number, row in enumerate(values, 1)])


def _unpacked(file: File) -> "DataFrame":
    import polars  # an extra, and slow to import

    content = BytesIO(file.content)
    if file.suffix == ".parquet":
        return polars.read_parquet(content)
    if file.content.startswith(_MAGIC):
        return polars.read_ipc(content)
    return polars.read_ipc_stream(content)
