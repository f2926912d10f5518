"""Rows of a table to Samples, with every problem found on the way."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import eq
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, cast, overload

import numpy as np

from ragstone.datasets import values as cells
from ragstone.datasets.blocks import FileRows
from ragstone.datasets.columns import Layouts, Spelling, resolve_columns
from ragstone.datasets.conversations import history
from ragstone.datasets.table import Merged, Record, Row, Table
from ragstone.errors import InputError, Problem
from ragstone.types.sample import Sample

T = TypeVar("T")

READERS: Mapping[str, Callable[[cells.Plain], object]] = MappingProxyType(
    {
        "id": cells.sample_id,
        "query": cells.query,
        "history": history,
        "response": cells.text,
        "contexts": cells.contexts,
        "ranking": cells.ranking,
        "reference": cells.text,
        "reference_claims": cells.claims,
        "relevance": cells.relevance,
    }
)
"""Sample field -> the function that reads its value; `tags` are in several columns."""

NO_QUERY = "(not read)"
"""The query of rows that are read for other fields."""

_Found = tuple[Sample | None, int, str | None, Sequence[Problem]]
"""The sample of a row if it is valid, its place, its id if it can be read, and its problems."""
IDS = frozenset(("id", "ranking", "relevance"))
"""Fields whose values are ids."""


@dataclass(frozen=True)
class Contents:
    """What samples have: the fields that any of them has, and the names of their tags."""

    fields: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "Contents":
        fields, tags = set[str](), dict[str, None]()
        for sample in samples:
            fields.update(name for name, value in sample if value is not None)
            tags.update(dict.fromkeys(sample.tags))
        return cls(frozenset(fields), tuple(tags))


class FileSamples(Sequence[Sample]):
    """Valid samples of a file, which are read when they are needed; see FileRows.

    `missing` is index -> fields that a sample is without, although the file has them.
    """

    def __init__(
        self,
        rows: FileRows,
        layouts: Layouts,
        numbers: Sequence[int],
        contents: Contents,
        missing: Mapping[int, Collection[str]] | None = None,
    ) -> None:
        self._rows, self._layouts, self._numbers = rows, layouts, numbers
        self._missing = missing or {}
        self.contents = contents

    @property
    def path(self) -> Path:
        return self._rows.path

    def without(self, missing: Mapping[int, Collection[str]]) -> "FileSamples":
        return FileSamples(self._rows, self._layouts, self._numbers, self.contents, missing)

    def part(self, start: int, stop: int) -> "FileSamples":
        rows = self._rows.chosen(self._rows.places[start:stop])
        missing = {
            place - start: self._missing[place]
            for place in range(start, stop)
            if place in self._missing
        }
        return FileSamples(rows, self._layouts, self._numbers[start:stop], self.contents, missing)

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | FileSamples):
            return NotImplemented
        others = cast("Sequence[Sample]", other)
        return len(self) == len(others) and all(map(eq, self, others))

    def __hash__(self) -> int:
        raise TypeError("samples of a file have no hash")

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sample, ...]: ...
    def __getitem__(self, index: int | slice) -> Sample | tuple[Sample, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        row = self._rows[index]
        if isinstance(row, Record):
            sample = _Row(row, self._layouts).sample(str(self._numbers[index]))
            if sample is not None:
                missing = self._missing.get(index if index >= 0 else len(self) + index)
                return sample.model_copy(update=dict.fromkeys(missing)) if missing else sample
        raise self._rows.changed()


def without_fields(
    samples: Sequence[Sample], missing: Mapping[int, Collection[str]]
) -> Sequence[Sample]:
    if not missing:
        return samples
    if isinstance(samples, FileSamples):
        return samples.without(missing)
    made = list(samples)
    for index, fields in missing.items():
        made[index] = made[index].model_copy(update=dict.fromkeys(fields))
    return tuple(made)


def samples_in(
    table: Table,
    file: str,
    *,
    columns: Mapping[str, str],
    spelling: Spelling,
    near: str = "",
    read_as: str = "",
    queries: bool = True,
) -> tuple[Sequence[Sample], Contents]:
    """Return the rows of a table as Samples, and what they have.

    Every row is read, to find all problems; samples of FileRows are read again when they are
    needed. `columns` is Sample field -> column. In messages, `file` is the name of the table,
    `spelling` shows how to map a column, `near` is added if no query column is found, and
    `read_as` is the detected format. Without `queries` the query column is not read and may be
    missing.
    """
    other = table.other_sheets
    rows = table.rows
    numbers = table.numbers or range(1, len(rows) + 1)
    problems: list[Problem] = []
    if not rows:
        fix = "add at least one row with a query"
        problems.append(Problem("there are no rows", f"{fix}, or {other}" if other else fix))

    are_valid, layouts = _layouts(
        table, problems, columns=columns, spelling=spelling, read_as=read_as, queries=queries
    )

    # Ids are stored as hashes; if two are equal, the rows are read again to compare the ids.
    hashes, stored, in_rows = array("q"), list[Sample](), list[Problem]()

    def valid_samples() -> Iterator[Sample]:
        for sample, _, name, wrong in _read(rows, numbers, layouts):
            in_rows.extend(wrong)
            if name is not None:
                hashes.append(hash(name))
            if sample is not None:
                if not isinstance(rows, FileRows):
                    stored.append(sample)
                yield sample

    contents = Contents.of(valid_samples())
    in_rows += _repeated_ids(hashes, _read(rows, numbers, layouts), table.unit)
    if are_valid:
        problems += layouts.problems(spelling, near or other)
    problems += in_rows
    if problems:
        placed = [replace(problem, sheet=table.sheet, unit=table.unit) for problem in problems]
        raise InputError(file, sorted(placed, key=lambda problem: problem.row or 0))
    if isinstance(rows, FileRows):
        return FileSamples(rows, layouts, numbers, contents), contents
    return tuple(stored), contents


def _repeated_ids(hashes: "array[int]", found: Iterable[_Found], unit: str) -> list[Problem]:
    ordered = np.sort(np.frombuffer(hashes, np.int64))
    repeated = frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    first: dict[str, int] = {}
    problems: list[Problem] = []
    for _, place, name, _ in found if repeated else ():
        if name in first:
            seen = f"the id {name!r} is already used in {unit} {first[name]}"
            problems.append(Problem(seen, "give each row its own id", row=place, sample_id=name))
        elif name is not None and hash(name) in repeated:
            first[name] = place
    return problems


def _layouts(
    table: Table,
    problems: list[Problem],
    *,
    columns: Mapping[str, str],
    spelling: Spelling,
    read_as: str,
    queries: bool,
) -> tuple[bool, Layouts]:
    """Return how columns are read, after whether all have valid names; adds what is wrong.

    Without any record there are no columns.
    """
    records = any(isinstance(row, Record) for row in table.rows)
    named = table.columns if table.columns is not None else table.names
    if named is None:  # each record has its own names
        given = (row.values for row in table.rows if isinstance(row, Record))
        named = tuple(dict.fromkeys(chain.from_iterable(given)))
    valid: list[str] = []
    for name in named if records else ():
        try:
            cells.normalize_cell(name)
            valid.append(name)
        except ValueError as error:
            problems.append(Problem(f"the column {name!a}: {error}"))
    chosen = resolve_columns(columns, valid, spelling=spelling) if records else {}
    own = table.columns is None
    layouts = Layouts(tuple(valid), chosen, own=own, read_as=read_as, queries=queries)
    return records and len(valid) == len(named), layouts


def _read(rows: Iterable[Row], numbers: Iterable[int], layouts: Layouts) -> Iterator[_Found]:
    number = iter(numbers)
    for row in rows:
        if isinstance(row, Problem):
            yield None, 0, None, (row,)
        elif isinstance(row, Sample):
            yield row, next(number), row.id, ()
        else:
            reader, default = _Row(row, layouts), str(next(number))
            sample = reader.sample(default)
            yield sample, row.row, reader.id or default, reader.problems


class _Row:
    """Reads one record as a Sample.

    Attributes:
        problems: those found so far.
        id: the id in the file, once it was read.
    """

    def __init__(self, record: Record, layouts: Layouts) -> None:
        self.problems: list[Problem] = []
        self._record = record
        self._layout = layouts.of(record)
        self._layouts = layouts
        self.id: str | None = None

    def sample(self, number: str) -> Sample | None:
        fields: dict[str, object] = {}
        for field, reader in READERS.items():
            column = self._layout.fields.get(field)
            if column is None or (field == "query" and not self._layouts.queries):
                continue
            if (value := self._read(column, reader, ids=field in IDS)) is None:
                continue
            fields[field] = value
            if field == "id":
                self.id = str(value)
        for column in self._layout.conversations:
            if self._read(column, lambda turns: turns) not in (None, "", [], {}):
                self._wrong(column, cells.UNSPLIT)

        tags = self._tags()
        ambiguous = set(self._layout.ambiguous)  # reported once for all rows
        if self._layouts.queries:
            query = self._layout.fields.get("query", self._layouts.query)
            if query and "query" not in ambiguous and self._record.values.get(query) is None:
                seen = self._layouts.without_query(self._record)
                self._wrong(query, f"{seen}; fill it in, or delete the row")
            if not query:
                return None
        else:
            ambiguous -= {"query"}
            fields["query"] = NO_QUERY
        if self.problems or ambiguous:
            return None
        return Sample.model_validate({"id": number, **fields, "tags": tags})

    def _tags(self) -> dict[str, cells.Scalar]:
        tags: dict[str, cells.Scalar] = {}
        for column in self._layout.tags:
            if isinstance(self._record.values.get(column), Merged):
                continue
            if (value := self._read(column, cells.tag)) is not None:
                tags[column] = value
        if (column := self._layout.fields.get("tags")) is not None:
            more = self._read(column, lambda value: cells.tags(value, column)) or {}
            for name in more.keys() & tags.keys():
                if more[name] != tags[name]:
                    self._wrong(column, f"the tag {name!r} is also a column, with another value")
            tags |= more
        return tags

    def _read(
        self, column: str, reader: Callable[[cells.Plain], T | None], *, ids: bool = False
    ) -> T | None:
        given = self._record.values.get(column)
        try:
            if ids:
                cells.refuse_date(given)
            value = cells.normalize_cell(given)
            return None if value is None else reader(value)
        except ValueError as error:
            self._wrong(column, str(error))
            return None

    def _wrong(self, column: str, seen: str) -> None:
        self.problems.append(Problem(seen, row=self._record.row, column=column, sample_id=self.id))
