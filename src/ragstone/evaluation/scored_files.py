"""Files of rows that a Scorer scored, maybe on other machines: Parquet, with a line per row.

A file is complete or absent, because it gets its name once it is written. A row may be in several
files, because engines repeat work that was lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pydantic import ValidationError

from ragstone._internal.files import write_file
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.datasets.frames import column_errors, frame_of
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import RowCounts
from ragstone.evaluation.scoring import BATCH
from ragstone.evaluation.workers import ScoredShard
from ragstone.metrics.base import Metric
from ragstone.store.codec import Record, Texts, decode_row, encode_body
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
    scores = {f"scores.{name}.{part}": t for name in metrics for part, t in SCORE_FIELDS.items()}
    return {"id": str, **scores, **dict.fromkeys((BODY, TRANSCRIPT, SETTINGS), str)}


def write_scored(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, type], path: Path
) -> None:
    _check_polars(f"writing {path}")
    import polars

    frame = cast("polars.DataFrame", frame_of(columns, types, like=polars.DataFrame()))
    write_file(path, lambda part: frame.write_parquet(part, row_group_size=AT_ONCE))


def _check_polars(what: str) -> None:
    if find_spec("polars") is None:
        raise UsageError(f"{what} needs an extra: pip install 'ragstone[parquet]'")


class ScoredFiles:
    """The rows in a folder's files, and in those of its subfolders."""

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

    def shards(
        self,
        samples: Sequence[Sample],
        metrics: Sequence[Metric],
        *,
        settings: str,
        cluster: str | None,
        transcript: bool,
        is_done: bytearray,
    ) -> Iterator[ScoredShard]:
        """Yield the rows, with scores by these metrics, as workers would return them.

        `is_done` has a byte for each sample, which is not 0 if its row is not needed; those of the
        rows that are yielded are set. Without `transcript`, the texts of replies are removed.
        """
        rows = self._rows(samples, tuple(map(str, metrics)), settings, is_done)
        while some := list(islice(rows, BATCH)):
            counted = RowCounts(metrics, cluster=cluster)
            for row, _ in some:
                counted.add(row)
            yield ScoredShard(
                [
                    Record.of(row, transcript=transcript, texts=texts if transcript else None)
                    for row, texts in some
                ],
                counted,
                [row.has_failed for row, _ in some],
            )

    def _rows(
        self, samples: Sequence[Sample], metrics: Sequence[str], settings: str, is_done: bytearray
    ) -> Iterator[tuple[Row, Texts]]:
        known = _Places(samples)
        for file, body, transcript, key in self._lines():
            texts = Texts(body, transcript)
            try:
                row = decode_row(texts, values=False)
            except ValidationError as error:
                reason = one_line(format_validation_errors(error), 300)
                raise UsageError(f"{file} contains a row that cannot be read: {reason}") from error
            if key != settings or not row.scores.keys() >= set(metrics):
                raise UsageError(
                    f"{file} was scored with other settings; pass the same metrics, judge and "
                    "options to Scorer and to the run, or name another folder"
                )
            place, sample = known.find(row)
            # an engine may change the types of tags
            if row.sample != sample and (
                sample is None or row.sample.model_copy(update={"tags": sample.tags}) != sample
            ):
                what = "is not in the data" if sample is None else "differs from the data"
                raise UsageError(
                    f"{file}: row {row.sample.id!r} {what}; name the data that was scored, or "
                    "score it again"
                )
            assert sample is not None
            if is_done[place]:
                continue
            is_done[place] = True
            if (row.index, row.sample, *row.scores) != (place, sample, *metrics):
                scores = {name: row.scores[name] for name in metrics}
                row = replace(row, index=place, sample=sample, scores=scores)
                texts = Texts(encode_body(row), transcript)
            yield row, texts

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
    """Finds samples by the places of rows, or by their ids, if rows have not the same places."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples
        self._same = True

    def find(self, row: Row) -> tuple[int, Sample | None]:
        if self._same and row.index < len(self._samples):
            sample = self._samples[row.index]
            if sample.id == row.sample.id:
                return row.index, sample
        self._same = False
        place = self._by_id.get(row.sample.id)
        return (-1, None) if place is None else (place, self._samples[place])

    @cached_property
    def _by_id(self) -> Mapping[str, int]:
        return {sample.id: place for place, sample in enumerate(self._samples)}
