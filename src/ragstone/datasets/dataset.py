"""Data sets: rows of a file, or of Python, as Samples. All problems are reported together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from ragstone.datasets import arrow as columnar
from ragstone.datasets import excel, text_files
from ragstone.datasets.blocks import draw_rows
from ragstone.datasets.columns import (
    Spelling,
    argument,
    flag,
    resolve_fields,
    unused_columns,
)
from ragstone.datasets.conversations import split_conversations
from ragstone.datasets.detect import RESPONSES, shape_records
from ragstone.datasets.frames import Model
from ragstone.datasets.responses import (
    MODES,
    Failures,
    absences,
    failed_calls,
)
from ragstone.datasets.rows import Contents, FileSamples, samples_in, without_fields
from ragstone.datasets.table import File, Table, records_in
from ragstone.errors import UsageError
from ragstone.types.config import Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample

WORKBOOKS = (".xlsx", ".xlsm")
LOADERS: Mapping[str, Callable[[File, int | None], Table]] = MappingProxyType(
    {
        ".csv": text_files.read_csv,
        ".tsv": text_files.read_csv,
        ".json": text_files.read_json,
        ".jsonl": text_files.read_json_lines,
        ".ndjson": text_files.read_json_lines,
        ".yaml": text_files.read_yaml,
        ".yml": text_files.read_yaml,
        **dict.fromkeys(columnar.SUFFIXES, columnar.read),
    }
)
"""Suffix -> reader; workbooks are separate, because they have sheets."""


@dataclass(frozen=True)
class Dataset:
    """Samples in the order of the file's rows, each id once, and the file they came from.

    Attributes:
        samples: a tuple, or for large files FileSamples, which reads them when they are needed.
        collected: whether these are saved answers; then only an explicit target is called.
        absent: Sample field -> why no row has it, if the file records it.
        failures: index of a row, from 0 -> the failures of the calls for its answer.
        known: fields that count as given even if no sample has them, because calls for them failed
            or because these samples are part of a larger set.
    """

    samples: Sequence[Sample]
    source: Source
    collected: bool = False
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    failures: Mapping[int, Failures] = field(default_factory=dict[int, Failures])
    known: frozenset[str] = frozenset()

    @cached_property
    def contents(self) -> Contents:
        samples = self.samples
        return samples.contents if isinstance(samples, FileSamples) else Contents.of(samples)


def load(
    path: str | PathLike[str],
    *,
    sheet: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    queries: bool = True,
) -> Dataset:
    """Read a file of rows: a workbook, CSV, JSON, JSON Lines, YAML, or Arrow's columns.

    Exports of other tools are detected by their field names. A folder may be one that Hugging
    Face datasets saved. `columns` is Sample field -> column, if the names differ; `limit` reads
    only the first rows, `sample` draws that many rows at random, in the order of the file: the same
    for the same `seed`. Without `queries` rows need no query.

    Raises:
        UsageError: the file, sheet or column does not exist, the format is not supported, or
            both `limit` and `sample` are given.
        InputError: the file is invalid; the error has every problem with its place.
    """
    path = Path(path)
    _check_selection(limit, sample)
    file, table = read_table(path, sheet=sheet, limit=limit)
    found = _dataset_of(
        table,
        file.name,
        columns=columns or {},
        limit=limit,
        sample=sample,
        seed=seed,
        spelling=flag,
        queries=queries,
    )
    fingerprint = None if table.end == 0 else file.fingerprint(table.end)
    update = {"fingerprint": fingerprint, "path": str(path)}
    return replace(found, source=found.source.model_copy(update=update))


def _dataset_of(
    table: Table,
    name: str,
    *,
    columns: Mapping[str, str],
    limit: int | None,
    sample: int | None,
    seed: int,
    spelling: Spelling,
    queries: bool = True,
) -> Dataset:
    found = shape_records(table, limit, named=columns.values())
    mapped = resolve_fields(columns)
    detected = {field: column for field, column in found.columns.items() if field not in mapped}
    table = split_conversations(found.table, {**detected, **columns})
    if limit is not None and table is not found.table:
        table = replace(table, rows=table.rows[:limit])
    if sample is not None:
        table = draw_rows(table, sample, seed)
    samples, contents = samples_in(
        table,
        name,
        columns={**detected, **columns},
        spelling=spelling,
        near=found.near if spelling is flag else "",
        read_as=found.shape.name if found.shape else "",
        queries=queries,
    )

    # Failed calls that the data records.
    saved = found.shape is not None and found.shape.name == RESPONSES
    mode = table.beside.get("mode")
    asked = MODES["search" if mode == "search" else "chat"] if saved else ()
    failures: Mapping[int, Failures] = {}
    if found.shape is not None:
        records = enumerate(records_in(table.rows))
        errors = {index: row.errors for index, row in records if row.errors}
        failures = failed_calls(samples, errors, asked=asked)
    made = without_fields(samples, failures)
    notes = unused_columns(contents.fields, contents.tags, spelling=spelling)
    notes = (*table.notes, *notes)
    if failures:
        ignored = sum(samples[index].response != made[index].response for index in failures)
        also = f"; {ignored} of them had a response, which is ignored" if ignored else ""
        notes = (*notes, f"failed calls recorded in the data: {len(failures)}{also}")
    drawn_as = None if sample is None else f"{sample:,} rows, seed {seed}"
    return Dataset(
        made,
        Source(name=name, rows=len(samples), notes=notes, sample=drawn_as),
        collected=saved,
        absent=absences(mode, name) if saved else {},
        failures=failures,
        known=frozenset(chain.from_iterable(failures.values())),
    )


def read_table(
    path: Path, *, sheet: str | None = None, limit: int | None = None
) -> tuple[File, Table]:
    is_folder = columnar.is_folder(path)
    if sheet is not None and (is_folder or path.suffix.lower() in LOADERS):
        raise UsageError(f"{path.name} has no sheets; remove --sheet {sheet}")
    if is_folder:
        return columnar.read_folder(path, limit)
    file = File.at(path)
    if file.suffix in WORKBOOKS:
        return file, excel.read(file, sheet=sheet)
    if file.suffix in LOADERS:
        return file, LOADERS[file.suffix](file, limit)
    if file.suffix in (".gz", ".zst", ".bz2", ".xz", ".zip"):
        raise UsageError(f"{file.name} is compressed; unpack it, because it is read several times")
    known = ", ".join((*WORKBOOKS, *LOADERS))
    raise UsageError(f"{file.name}: unsupported file type; save it as one of {known}")


@dataclass(frozen=True)
class Shard:
    """Some consecutive rows of a data set, to be evaluated by themselves, in any process.

    Samples of a large file are read from it when they are needed, so a pickled shard is small; the
    other process needs the file at the same absolute path. Otherwise a shard contains its samples.

    Attributes:
        number: its place among the shards, from 0.
        first: the place of its first row in the data set, from 0.
        samples: as in the data set: the same ids, fields and tags.
        failures: place of a row in the data set -> the failures of the calls for its answer.
        file: the absolute path of the file that is read; None if the samples are in memory.
    """

    number: int
    first: int
    samples: Sequence[Sample]
    failures: Mapping[int, Failures] = field(default_factory=dict[int, Failures])
    file: Path | None = None

    @property
    def rows(self) -> int:
        return len(self.samples)

    def read(self) -> Iterator[Row]:
        for index, sample in enumerate(self.samples, self.first):
            yield Row(index, sample, failures=self.failures.get(index, {}))


def shards(dataset: Dataset, *, rows: int) -> Iterator[Shard]:
    """Yield consecutive shards of `rows` rows; the last one may have fewer.

    Raises:
        UsageError: `rows` is less than 1.
    """
    if rows < 1:
        raise UsageError(f"a shard must have 1 row or more, got {rows}")
    samples, failures = dataset.samples, dataset.failures
    for number, first in enumerate(range(0, len(samples), rows)):
        stop = min(first + rows, len(samples))
        failed = {place: failures[place] for place in range(first, stop) if place in failures}
        if isinstance(samples, FileSamples):
            yield Shard(number, first, samples.part(first, stop), failed, samples.path)
        else:
            yield Shard(number, first, tuple(samples[first:stop]), failed)


def samples_of(
    records: Iterable[Sample | Model | Mapping[str, object]],
    *,
    name: str = "samples",
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Return a data set of rows in Python; a mapping is read like an object of a JSON file.

    So is a Pydantic model. Values may be NumPy's, and NaN is missing, as in rows of a pandas frame.
    The options are as in `load`; `columns` does not apply to Samples.
    """
    _check_selection(limit, sample)
    return _dataset_of(
        Table.of(islice(records, limit)),
        name,
        columns=columns or {},
        limit=limit,
        sample=sample,
        seed=seed,
        spelling=argument,
    )


def _check_selection(limit: int | None, sample: int | None) -> None:
    for name, number in ("limit", limit), ("sample", sample):
        if number is not None and number < 1:
            raise UsageError(f"the {name} must be 1 or more, got {number}")
    if limit is not None and sample is not None:
        raise UsageError(
            f"--limit {limit} reads the first rows, and --sample {sample} draws from all; use one"
        )
