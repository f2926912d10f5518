"""From rows with places to Samples, gathering every problem on the way."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from types import MappingProxyType
from typing import TypeVar

from ragstone.datasets import values as cells
from ragstone.datasets.columns import Layouts, Spelling, chosen
from ragstone.datasets.table import Record, Table
from ragstone.datasets.values import contexts, ranking, relevance
from ragstone.errors import InputError, Problem
from ragstone.types.sample import Sample

T = TypeVar("T")

READERS: Mapping[str, Callable[[cells.Plain], object]] = MappingProxyType(
    {
        "id": cells.sample_id,
        "query": cells.query,
        "response": cells.text,
        "contexts": contexts,
        "ranking": ranking,
        "reference": cells.text,
        "reference_claims": cells.claims,
        "relevance": relevance,
    }
)
"""Field of a Sample -> what reads its value; `tags` are read apart, being many columns."""

WITHOUT_QUERY: Mapping[str, Callable[[cells.Plain], object]] = MappingProxyType(
    {field: reader for field, reader in READERS.items() if field != "query"}
)
NO_QUERY = "(not read)"
"""The query of rows that are read for other things."""

IDS = frozenset(("id", "ranking", "relevance"))
"""Fields whose values are ids."""


def samples_in(
    table: Table,
    file: str,
    *,
    columns: Mapping[str, str],
    limit: int | None,
    say: Spelling,
    near: str = "",
    read_as: str = "",
    queries: bool = True,
) -> tuple[Sample, ...]:
    """Return the first `limit` rows of a table as Samples; `columns` is our field -> its column.

    `say` is how messages tell the user to choose a field's column; `near` is what to add where no
    column is the query, and `read_as` whose file this was taken for. Without `queries`
    the column of queries is not read, and need not be there.

    Raises:
        InputError: all that is wrong with these rows; `file` is what the message calls the table.
        UsageError: `columns` names what is not there.
    """
    found = list(islice(table.records, limit))
    problems = [problem for problem in found if isinstance(problem, Problem)]
    records = [record for record in found if isinstance(record, Record)]
    rows = [row for row in found if not isinstance(row, Problem)]
    samples: list[Sample] = []
    if not found:
        problems.append(Problem("there are no rows", "add at least one row with a query"))
    elif rows:
        names, unsound = _columns(table, records)
        picked = chosen(columns, names, say=say) if records else {}
        own = table.columns is None
        layouts = Layouts(names, picked, own=own, read_as=read_as, queries=queries)
        samples, faults = _samples(rows, layouts)
        told = layouts.problems(say, near) if records else []
        problems += (unsound or told) + faults
    if problems:
        placed = [replace(problem, sheet=table.sheet) for problem in problems]
        raise InputError(file, sorted(placed, key=lambda problem: problem.row or 0))
    return tuple(samples)


def _repeated(ids: Iterable[tuple[int, str]]) -> list[Problem]:
    """Return a problem for each id, given with its row, that came before."""
    first: dict[str, int] = {}
    problems: list[Problem] = []
    for row, name in ids:
        if name in first:
            seen = f"the id {name!r} is already used in row {first[name]}"
            fix = "give each row its own id"
            problems.append(Problem(seen, fix, row=row, sample_id=name))
        first.setdefault(name, row)
    return problems


def _columns(table: Table, records: Iterable[Record]) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the columns' names, without those that no store could hold, and what is wrong there.

    Where each record names its own values, these are the names of all together.
    """
    found = chain.from_iterable(record.values for record in records)
    names: list[str] = []
    problems: list[Problem] = []
    for name in table.columns if table.columns is not None else dict.fromkeys(found):
        try:
            cells.normalise_cell(name)
            names.append(name)
        except ValueError as error:
            problems.append(Problem(f"the column {name!a}: {error}"))
    return tuple(names), problems


def _samples(
    rows: Iterable[Record | Sample], layouts: Layouts
) -> tuple[list[Sample], list[Problem]]:
    samples: list[Sample] = []
    problems: list[Problem] = []
    ids: list[tuple[int, str]] = []
    for number, record in enumerate(rows, 1):
        if isinstance(record, Sample):
            samples.append(record)
            ids.append((number, record.id))
            continue
        row = _Row(record, layouts)
        if (sample := row.sample(str(number))) is not None:
            samples.append(sample)
        problems += row.problems
        ids.append((record.row, row.id or str(number)))
    return samples, problems + _repeated(ids)


class _Row:
    """One record on its way to a Sample.

    Attributes:
        problems: grows as its values are read.
        id: the one it has in the file, once that was read.
    """

    def __init__(self, record: Record, layouts: Layouts) -> None:
        self.problems: list[Problem] = []
        self._record = record
        self._layout = layouts.of(record)
        self._layouts = layouts
        self._readers = READERS if layouts.queries else WITHOUT_QUERY
        self.id: str | None = None

    def sample(self, number: str) -> Sample | None:
        """Return the Sample, with its number as its id if it has none; None if it has problems."""
        fields: dict[str, object] = {}
        for field, reader in self._readers.items():
            column = self._layout.fields.get(field)
            if column is None or (value := self._read(column, reader, ids=field in IDS)) is None:
                continue
            fields[field] = value
            if field == "id":
                self.id = str(value)
        self._refuse_conversations()
        tags = self._tags()
        doubts = self._layout.doubts  # which are told for all rows together
        if not self._layouts.queries:
            doubtful = bool(doubts.keys() - {"query"})
            whole = {"id": number, "query": NO_QUERY, **fields, "tags": tags}
            return None if self.problems or doubtful else Sample.model_validate(whole)
        query = self._layout.fields.get("query", self._layouts.query)
        if query and "query" not in doubts and self._record.values.get(query) is None:
            seen = self._layouts.without_query(self._record)
            self._wrong(query, f"{seen}; fill it in, or delete the row")
        if self.problems or doubts or not query:
            return None
        return Sample.model_validate({"id": number, **fields, "tags": tags})

    def _read(
        self, column: str, reader: Callable[[cells.Plain], T | None], *, ids: bool = False
    ) -> T | None:
        """Return what a reader makes of a value; None if it is missing or cannot be read."""
        given = self._record.values.get(column)
        try:
            if ids:
                cells.refuse_date(given)
            value = cells.normalise_cell(given)
            return None if value is None else reader(value)
        except ValueError as error:
            self._wrong(column, str(error))
            return None

    def _tags(self) -> dict[str, cells.Scalar]:
        tags: dict[str, cells.Scalar] = {}
        for column in self._layout.tags:
            if (value := self._read(column, cells.tag)) is not None:
                tags[column] = value
        if (column := self._layout.fields.get("tags")) is None:
            return tags
        more = self._read(column, lambda value: cells.tags(value, column)) or {}
        for name in more.keys() & tags.keys():
            if more[name] != tags[name]:
                self._wrong(column, f"the tag {name!r} is also a column, with another value")
        return tags | more

    def _refuse_conversations(self) -> None:
        for column in self._layout.conversations:
            if self._read(column, lambda turns: turns) not in (None, "", [], {}):
                self._wrong(column, cells.SEVERAL_TURNS)

    def _wrong(self, column: str, seen: str) -> None:
        self.problems.append(Problem(seen, row=self._record.row, column=column, sample_id=self.id))
