"""Files of rows that a Scorer scored, maybe on other machines: Parquet, with a line per row.

A file is complete or absent, because it gets its name once it is written. A row may be in several
files, because engines repeat work that was lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pydantic import ValidationError

from ragstone._internal.files import write_file
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.datasets.formats.packed import column_errors
from ragstone.datasets.frames import frame_of
from ragstone.errors import UsageError
from ragstone.store.codec import Texts, decode_row
from ragstone.types.row import Row
from ragstone.types.sample import Sample

BODY, TRANSCRIPT, SETTINGS = "ragstone_row", "ragstone_transcript", "ragstone_settings"
"""Columns: the row as the store has it, its exchanges, and the key of what scored it."""
SCORE_FIELDS: Mapping[str, type] = MappingProxyType(
    {"value": float, "state": str, "cause": str, "reason": str}
)
"""Part of a score -> its type; the column of a metric's part is `scores.METRIC.PART`."""
AT_ONCE = 2000
"""Lines of a file that are in memory."""
SUFFIX = ".parquet"


def column_types(metrics: Sequence[str]) -> Mapping[str, type]:
    """Return the columns of scored rows, and their types."""
    scores = {f"scores.{name}.{part}": t for name in metrics for part, t in SCORE_FIELDS.items()}
    return {"id": str, **scores, **dict.fromkeys((BODY, TRANSCRIPT, SETTINGS), str)}


def write_scored(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, type], path: Path
) -> None:
    """Write a file of scored rows, completely or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    _check_polars(f"writing {path}")
    import polars

    frame = cast("polars.DataFrame", frame_of(columns, types, like=polars.DataFrame()))
    write_file(path, lambda part: frame.write_parquet(part, row_group_size=AT_ONCE))


def _check_polars(what: str) -> None:
    if find_spec("polars") is None:
        raise UsageError(f"{what} needs an extra: pip install 'ragstone[parquet]'")


class ScoredFiles:
    """The rows in a folder's files, and in those of its subfolders.

    Raises:
        UsageError: there are no such files, or polars is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        _check_polars(f"reading {folder}")
        found = [self.folder] if self.folder.is_file() else self.folder.rglob(f"*{SUFFIX}")
        # names of files that are not complete begin with . or _, in Spark for example
        self._files = sorted(
            file
            for file in found
            if not any(part.startswith((".", "_")) for part in file.relative_to(self.folder).parts)
        )
        if not self._files:
            raise UsageError(f"there are no {SUFFIX} files of scored rows in {folder}")

    def rows(
        self, samples: Sequence[Sample], metrics: Sequence[str], *, settings: str
    ) -> Iterator[Row]:
        """Yield the rows, with scores by these metrics, at the places of their samples in the data.

        Raises:
            UsageError: a row was scored with other settings, or is not of these samples.
            InputError: a file is damaged.
        """
        known = _Places(samples)
        for file, body, transcript, key in self._lines():
            try:
                row = decode_row(Texts(body, transcript))
            except ValidationError as error:
                reason = one_line(format_validation_errors(error), 300)
                raise UsageError(f"{file} contains a row that cannot be read: {reason}") from error
            if key != settings or not row.scores.keys() >= set(metrics):
                raise UsageError(
                    f"{file} was scored with other settings; pass the same metrics, judge and "
                    "options to Scorer and to the run, or name another folder"
                )
            place = known.place_of(row)
            sample = None if place is None else samples[place]
            # an engine may change the types of tags
            if sample is None or row.sample.model_copy(update={"tags": sample.tags}) != sample:
                what = "is not in the data" if sample is None else "differs from the data"
                raise UsageError(
                    f"{file}: row {row.sample.id!r} {what}; name the data that was scored, or "
                    "score it again"
                )
            assert place is not None
            scores = {name: row.scores[name] for name in metrics}
            yield replace(row, index=place, sample=sample, scores=scores)

    def _lines(self) -> Iterator[tuple[Path, str, str, str]]:
        from polars import scan_parquet  # an extra, and slow to import

        names = [BODY, TRANSCRIPT, SETTINGS]
        for file in self._files:
            with column_errors(file.name):
                lazy = scan_parquet(file, glob=False, hive_partitioning=False)
                if missing := [name for name in names if name not in lazy.collect_schema()]:
                    raise UsageError(
                        f"{file} has no column {missing[0]}: it was not written from the rows "
                        "that ragstone.Scorer returns"
                    )
            for start in count(step=AT_ONCE):
                with column_errors(file.name):
                    part = lazy.select(names).slice(start, AT_ONCE).collect()
                for line in part.iter_rows():
                    yield (file, *line)
                if part.height < AT_ONCE:
                    break


class _Places:
    """The place of each id; if the rows have theirs, the ids are never read."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    def place_of(self, row: Row) -> int | None:
        place = row.index
        if place < len(self._samples) and self._samples[place].id == row.sample.id:
            return place
        return self._by_id.get(row.sample.id)

    @cached_property
    def _by_id(self) -> Mapping[str, int]:
        return {sample.id: place for place, sample in enumerate(self._samples)}
