"""Rows of a table to Samples, with every problem found on the way."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain, islice
from types import MappingProxyType
from typing import TypeVar

from ragstone.datasets import values as cells
from ragstone.datasets.columns import Layouts, Spelling, resolve_columns
from ragstone.datasets.table import Merged, Record, Table
from ragstone.errors import InputError, Problem
from ragstone.types.sample import Sample

T = TypeVar("T")

READERS: Mapping[str, Callable[[cells.Plain], object]] = MappingProxyType(
    {
        "id": cells.sample_id,
        "query": cells.query,
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

IDS = frozenset(("id", "ranking", "relevance"))
"""Fields whose values are ids."""


def samples_in(
    table: Table,
    file: str,
    *,
    columns: Mapping[str, str],
    limit: int | None,
    spelling: Spelling,
    near: str = "",
    read_as: str = "",
    queries: bool = True,
) -> tuple[Sample, ...]:
    """Return the first `limit` rows of a table as Samples; `columns` is Sample field -> column.

    In messages, `file` is the name of the table, `spelling` shows how to map a column, `near` is
    added if no query column is found, and `read_as` is the detected format. Without `queries` the
    query column is not read and may be missing.

    Raises:
        InputError: rows are invalid; the error has all problems.
        UsageError: `columns` contains an unknown field or column.
    """
    other = " or ".join(f"--sheet {shlex.quote(name)}" for name in table.others[:5])
    other = f"read another sheet: {other}" if other else ""
    found = list(islice(table.rows, limit))
    problems = [problem for problem in found if isinstance(problem, Problem)]
    records = [record for record in found if isinstance(record, Record)]
    rows = [row for row in found if not isinstance(row, Problem)]
    samples: list[Sample] = []
    if not found:
        fix = "add at least one row with a query"
        problems.append(Problem("there are no rows", f"{fix}, or {other}" if other else fix))
    elif rows:
        named = table.columns
        if named is None:  # each record has its own names
            named = tuple(dict.fromkeys(chain.from_iterable(record.values for record in records)))
        valid: list[str] = []
        for name in named:
            try:
                cells.normalize_cell(name)
                valid.append(name)
            except ValueError as error:
                problems.append(Problem(f"the column {name!a}: {error}"))
        layouts = Layouts(
            tuple(valid),
            resolve_columns(columns, valid, spelling=spelling) if records else {},
            own=table.columns is None,
            read_as=read_as,
            queries=queries,
        )
        first: dict[str, int] = {}
        in_rows: list[Problem] = []
        for number, record in enumerate(rows, 1):
            if isinstance(record, Sample):
                samples.append(record)
                place, name = number, record.id
            else:
                row = _Row(record, layouts)
                if (sample := row.sample(str(number))) is not None:
                    samples.append(sample)
                in_rows += row.problems
                place, name = record.row, row.id or str(number)
            if name in first:
                seen = f"the id {name!r} is already used in {table.unit} {first[name]}"
                fix = "give each row its own id"
                in_rows.append(Problem(seen, fix, row=place, sample_id=name))
            first.setdefault(name, place)
        if records and len(valid) == len(named):
            problems += layouts.problems(spelling, near or other)
        problems += in_rows
    if problems:
        placed = [replace(problem, sheet=table.sheet, unit=table.unit) for problem in problems]
        raise InputError(file, sorted(placed, key=lambda problem: problem.row or 0))
    return tuple(samples)


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
        """Return the Sample, with its number as default id; None if it has problems."""
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
                self._wrong(column, cells.SEVERAL_TURNS)

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
