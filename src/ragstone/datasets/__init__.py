"""Data sets: rows of a file, or of Python, as Samples, with every problem told at once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from ragstone.datasets.adapters.detect import RESPONSES, ShapedRecords, shape_records
from ragstone.datasets.adapters.responses import (
    MODES,
    UNFINISHED,
    Failures,
    absences,
    failures_in,
    repetitions,
    without_failed,
)
from ragstone.datasets.columns import argument, flag, resolve_fields
from ragstone.datasets.formats import arrow as columnar
from ragstone.datasets.formats import csv as delimited
from ragstone.datasets.formats import excel
from ragstone.datasets.formats import json as jsons
from ragstone.datasets.formats import yaml as yaml_file
from ragstone.datasets.rows import samples_in
from ragstone.datasets.table import File, Table
from ragstone.errors import UsageError
from ragstone.types.config import Source
from ragstone.types.sample import Sample

__all__ = ["Dataset", "load", "samples_of"]

WORKBOOKS = (".xlsx", ".xlsm")
LOADERS: Mapping[str, Callable[[File], Table]] = MappingProxyType(
    {
        ".csv": delimited.read,
        ".tsv": delimited.read,
        ".json": jsons.read,
        ".jsonl": jsons.read_lines,
        ".ndjson": jsons.read_lines,
        ".yaml": yaml_file.read,
        ".yml": yaml_file.read,
        **dict.fromkeys(columnar.SUFFIXES, columnar.read),
    }
)
"""Suffix -> what reads such a file; workbooks are read apart, having sheets."""


@dataclass(frozen=True)
class Dataset:
    """Samples in the order of the file's rows, each id once, and the file they came from.

    Attributes:
        collected: whether these are answers that were saved to be judged: no target is asked for
            more, but one that is named.
        absent: Sample field -> why no row has it, where the file knows.
        lacking: place of a row, from 0 -> what failed when its answer was asked for.
        known: Sample fields that these samples may all lack: of the whole that they are a part of,
            or because the calls failed.
    """

    samples: tuple[Sample, ...]
    source: Source
    collected: bool = False
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    lacking: Mapping[int, Failures] = field(default_factory=dict[int, Failures])
    known: frozenset[str] = frozenset()


def load(
    path: str | PathLike[str],
    *,
    sheet: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    queries: bool = True,
) -> Dataset:
    """Read a file of rows: a workbook, CSV, JSON, JSON Lines, YAML, or Arrow's columns.

    What other tools write is recognised by its names; see `shapes`. A folder may be one that
    Hugging Face datasets saved. `columns` is our field -> the file's column, where the names
    differ; `limit` reads only the first rows. Without `queries` rows need not have one.

    Raises:
        UsageError: there is no such file, sheet or column, or ragstone does not read such files.
        InputError: the file's content is wrong; it holds every problem with its place.
    """
    file, table = _read(Path(path), sheet)
    limit = _checked(limit)
    found = shape_records(table, limit, named=(columns or {}).values())
    samples = samples_in(
        found.table,
        file.name,
        columns=_mapped(found, columns or {}),
        limit=limit,
        spelling=flag,
        near=found.near,
        read_as=found.shape.name if found.shape else "",
        queries=queries,
    )
    source = Source(
        name=file.name,
        fingerprint=file.fingerprint,
        rows=len(samples),
        notes=found.table.notes,
        path=str(path),
    )
    return _collected(found, samples, source)


def _mapped(found: ShapedRecords, said: Mapping[str, str]) -> Mapping[str, str]:
    """Return our field -> column: as was said, else as the file's shape has it."""
    own = {
        field: name for field, name in found.columns.items() if field not in resolve_fields(said)
    }
    return {**own, **said}


def _collected(found: ShapedRecords, samples: tuple[Sample, ...], source: Source) -> Dataset:
    """Return the data set, with what the file says of what is not there."""
    saved = found.shape is not None and found.shape.name == RESPONSES
    mode = found.table.beside.get("mode")
    asked = MODES["search" if mode == "search" else "chat"] if saved else ()
    made, lacking = without_failed(samples, found.errors[: len(samples)], asked=asked)
    notes = (*source.notes, *_failed(samples, made, len(lacking)))
    if saved:
        notes = (*notes, *repetitions(found.given))
        lacking = {**lacking, **failures_in(found.given, source.name)}
    return Dataset(
        made,
        source.model_copy(update={"notes": notes}),
        collected=saved,
        absent=absences(mode, source.name) if saved else {},
        lacking=lacking,
        known=frozenset(chain.from_iterable(lacking.values())),
    )


def _failed(found: Iterable[Sample], made: Iterable[Sample], failed: int) -> tuple[str, ...]:
    """Return a note on calls that failed, and on what they gave of an answer, if any did."""
    gone = sum(a.response != b.response for a, b in zip(found, made, strict=True))
    note = f"failed calls recorded in the file: {failed}"
    also = f"; {gone} of them had a response, which is ignored" if gone else ""
    return (note + also,) if failed else ()


def samples_of(
    records: Iterable[Sample | Mapping[str, object]],
    *,
    name: str = "samples",
    columns: Mapping[str, str] | None = None,
) -> Dataset:
    """Take rows that are in Python already; a mapping is read as an object of a JSON file is.

    Values may be NumPy's, and a value that is NaN is missing, as in the rows of a pandas frame.
    `columns` is as `load` has it; it does not concern what is a Sample already.

    Raises:
        UsageError: `columns` names what is not there.
        InputError: the rows are wrong; it holds every problem, rows being counted from 1.
    """
    table = Table.of(records)
    samples = samples_in(table, name, columns=columns or {}, limit=None, spelling=argument)
    return Dataset(samples, Source(name=name, rows=len(samples)))


def _read(path: Path, sheet: str | None) -> tuple[File, Table]:
    if not columnar.is_folder(path):
        file = File.read(path)
        return file, _table(file, sheet)
    if sheet is not None:
        raise UsageError(f"{path} has no sheets; remove --sheet {sheet}")
    return columnar.read_folder(path)


def _table(file: File, sheet: str | None) -> Table:
    if file.suffix in WORKBOOKS:
        return excel.read(file, sheet=sheet)
    if file.suffix == UNFINISHED:
        fix = "run the same `ragstone collect` command again to finish it"
        raise UsageError(f"{file.name} is an unfinished collection; {fix}")
    if file.suffix not in LOADERS:
        known = ", ".join((*WORKBOOKS, *LOADERS))
        raise UsageError(f"{file.name}: unsupported file type; save it as one of {known}")
    if sheet is not None:
        raise UsageError(f"{file.name} has no sheets; remove --sheet {sheet}")
    return LOADERS[file.suffix](file)


def _checked(limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise UsageError(f"the limit must be 1 or more, got {limit}")
    return limit
