"""Data sets: rows of a file, or of Python, as Samples. All problems are reported together."""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from operator import eq
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

import numpy as np

from ragstone._internal.text import count, one_line
from ragstone.datasets import arrow as columnar
from ragstone.datasets import columns as naming
from ragstone.datasets import excel, text_files
from ragstone.datasets import values as cells
from ragstone.datasets.choice import Answers, Choice, propose_query
from ragstone.datasets.columns import Layout
from ragstone.datasets.conversations import history, messages_in, one_text, split_conversations
from ragstone.datasets.detect import COMPLETE, IN_PARTS, RESPONSES, shape_records
from ragstone.datasets.frames import Model
from ragstone.datasets.number_formats import Shown
from ragstone.datasets.responses import MODES, Failures, absences, failed_calls
from ragstone.datasets.table import File, FileRows, Merged, Record, Table, is_blank, records_in
from ragstone.datasets.table import Row as TableRow
from ragstone.errors import InputError, Problem, UsageError
from ragstone.types.config import ReadField, Source
from ragstone.types.row import LazySequence, Row
from ragstone.types.sample import Context, Message, Sample

T = TypeVar("T")


def _said(value: cells.Plain, field: str) -> cells.Plain:
    text = cells.normalize_cell(one_text(value, field))
    return "" if text is None else text


def _expected(value: cells.Plain) -> cells.Plain:
    if isinstance(value, dict) and "answer_start" in value:  # of SQuAD
        return value
    if isinstance(value, list) and messages_in(value) is None:
        return [item and _said(item, "reference") for item in value]
    return _said(value, "reference")


READERS: Mapping[str, Callable[[cells.Plain], object]] = {
    "id": cells.sample_id,
    "query": lambda value: cells.query(_said(value, "query")),
    "history": history,
    "response": lambda value: cells.text(_said(value, "response")),
    "relevance": cells.relevance,
    "contexts": cells.contexts,
    "ranking": cells.ranking,
    "reference": lambda value: cells.accepted_answers(_expected(value)),
    "reference_claims": cells.claims,
}
"""Sample field -> the function that reads its value; `tags` are in several columns."""
TEXTS = READERS.keys() - {"id", "ranking", "relevance"}
ANSWERS = frozenset(("response", "contexts", "ranking"))  # one of them shows saved answers
NO_QUERY = "(not read)"  # the query of rows that are read for other fields


@dataclass(frozen=True)
class Contents:
    fields: frozenset[str] = frozenset()  # that any of the samples has
    tags: tuple[str, ...] = ()  # the names of their tags
    counts: Mapping[str, int] = field(default_factory=dict[str, int])  # of the samples with a field
    examples: Mapping[str, str] = field(default_factory=dict[str, str])  # its first value
    columns: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    notes: tuple[str, ...] = ()  # how odd values were read
    several: int = 0  # samples with several accepted answers

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "Contents":
        counts, tags, examples = Counter[str](), dict[str, None](), dict[str, str]()
        several = 0
        for sample in samples:
            several += isinstance(sample.reference, tuple)
            for name, value in sample:
                if value is not None:
                    counts[name] += 1
                if name not in examples and value:
                    examples[name] = _example(value)
            tags.update(dict.fromkeys(sample.tags))
        return cls(frozenset(counts), tuple(tags), counts, examples, several=several)


def _example(value: object) -> str:
    first, others = value, 0
    if isinstance(value, Mapping | tuple):
        items = [*cast("Iterable[object]", value)]
        first, others = items[0], len(items) - 1
    if isinstance(first, Context):
        first = first.text or first.id or ""
    if isinstance(first, Message):
        first = first.content
    shown = one_line(str(first), 60)
    return f"{shown} (and {others} more)" if others else shown


class Layouts:
    """The layout of each row: of the header, or of the row's own names if there is none."""

    def __init__(self, table: Table, mapped: Mapping[str, str], *, queries: bool) -> None:
        self.queries = queries
        self._own = table.columns is None
        self._has_records = any(isinstance(row, Record) for row in table.rows)
        names: Iterable[str] | None = table.names if table.columns is None else table.columns
        if names is None:
            names = dict.fromkeys(chain.from_iterable(r.values for r in records_in(table.rows)))
        self._invalid: list[Problem] = []
        valid: list[str] = []
        for name in names if self._has_records else ():
            try:
                cells.normalize_cell(name)
                valid.append(name)
            except ValueError as error:
                self._invalid.append(Problem(f"the column {name!a}: {error}"))
        self._columns, self._valid = tuple(valid), frozenset(valid)
        self._chosen = naming.resolve_columns(mapped, valid) if self._has_records else {}
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._ambiguous: dict[tuple[str, tuple[str, ...]], int] = {}
        self._odd: dict[tuple[str, str], set[int]] = {}  # column and how it was read -> rows
        whole = Layout.of(valid, self._chosen)
        alternatives = {field: " or ".join(names) for field, names in whole.ambiguous.items()}
        self.columns = {**alternatives, **whole.fields}
        self.query = whole.fields.get("query", next(iter(whole.ambiguous.get("query", ())), None))

    def of(self, record: Record) -> Layout:
        names = self._columns
        if self._own:
            given = record.values
            names = tuple(name for name in given if given[name] is not None and name in self._valid)
        if (layout := self._layouts.get(names)) is None:
            layout = self._layouts[names] = Layout.of(names, self._chosen)
        for match in layout.ambiguous.items():
            self._ambiguous.setdefault(match, record.row)
        return layout

    def given(self, record: Record, layout: Layout) -> Record:
        """Return a record in which words for missing values are missing, and note odd values."""
        for name in record.nan:
            if naming.field_of(name) or name in self._chosen.values():
                self._odd.setdefault((name, "NaN is read as missing"), set()).add(record.row)
        for column in (layout.fields[name] for name in TEXTS & layout.fields.keys()):
            value, how = record.values.get(column), ""
            word = value.strip() if isinstance(value, str) else ""
            if word in cells.NOT_GIVEN and not self._own:
                how = f"{word} is read as missing"
                record = replace(record, values={**record.values, column: None})
            elif word in cells.UNCLEAR:
                how = f"{word} is read as text; leave it out if the value is missing"
            elif isinstance(value, Shown) and value.text != str(value.value):
                how = "numbers and dates are read as an English Excel displays them, such as "
                how = next((h for c, h in self._odd if (c, h[:40]) == (column, how[:40])), how)
                how += str(value) if how.endswith(" ") else ""
            elif word[:1] == '"' and (text := cells.decoded(word)) != word:
                how = "texts in JSON's quotes are read without them"
                record = replace(record, values={**record.values, column: text})
            if how:
                self._odd.setdefault((column, how), set()).add(record.row)
        return record

    def notes(self, unit: str) -> tuple[str, ...]:
        return tuple(
            f"column {column}: {how} ({count(len(rows), 'cell')}, first in {unit} {min(rows)})"
            for (column, how), rows in sorted(self._odd.items())
        )

    def without_query(self, record: Record) -> str:
        names = [repr(name) for name, value in record.values.items() if value is not None]
        if not self._own or self.query in record.values or not names:
            return "there is no query"
        return f"there is no query; the row has {', '.join(names[:8])}"

    def problems(self, table: Table) -> list[Problem]:
        """Return what is wrong with the names of columns, in the rows that were read until now."""
        if self._invalid or not self._has_records:
            return self._invalid
        found = [
            naming.ambiguous(field, names, row=row if self._own else None)
            for (field, names), row in self._ambiguous.items()
            if self.queries or field != "query"
        ]
        if self.queries and not self.query:
            hint = table.other_sheets or propose_query(table)
            found.insert(0, naming.no_query(self._columns, hint))
        return found


class FileSamples(LazySequence[Sample]):
    """Valid samples of a file, read when they are needed; `missing` is index -> fields left out."""

    def __init__(
        self, rows: FileRows, layouts: Layouts, numbers: Sequence[int], contents: Contents
    ) -> None:
        self.rows, self._layouts, self._numbers = rows, layouts, numbers
        self.contents = contents
        self.missing: Mapping[int, Collection[str]] = {}

    def part(self, start: int, stop: int) -> "FileSamples":
        part = copy(self)
        part.rows = self.rows.chosen(self.rows.places[start:stop])
        part._numbers = self._numbers[start:stop]
        places = self.missing.keys() & range(start, stop)
        part.missing = {place - start: self.missing[place] for place in places}
        return part

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | FileSamples):
            return NotImplemented
        others = cast("Sequence[Sample]", other)
        return len(self) == len(others) and all(map(eq, self, others))

    def at(self, place: int) -> Sample:
        row = self.rows.at(place)
        if isinstance(row, Record):
            sample = _Row(row, self._layouts).sample(str(self._numbers[place]))
            if sample is not None:
                return _without(sample, self.missing.get(place, ()))
        raise self.rows.changed()


def _without(sample: Sample, fields: Collection[str]) -> Sample:
    return sample.model_copy(update=dict.fromkeys(fields)) if fields else sample


def samples_in(
    table: Table,
    file: str,
    *,
    columns: Mapping[str, str],
    queries: bool = True,
    unclear: Sequence[Problem] = (),  # what is unclear about the columns
) -> tuple[Sequence[Sample], Contents]:
    """Return the rows of a table as Samples, and what they have; InputError has all problems."""
    rows = table.rows
    numbers = table.numbers or range(1, len(rows) + 1)
    layouts = Layouts(table, columns, queries=queries)

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

    contents = replace(
        Contents.of(valid_samples()), columns=layouts.columns, notes=layouts.notes(table.unit)
    )
    in_rows += _repeated_ids(hashes, _read(rows, numbers, layouts), table.unit)
    problems = [*layouts.problems(table), *unclear, *in_rows]
    if not rows:
        fixes = filter(None, ("add at least one row with a query", table.other_sheets))
        problems = [Problem("there are no rows", ", or ".join(fixes))]
    if problems:
        placed = [replace(problem, sheet=table.sheet, unit=table.unit) for problem in problems]
        raise InputError(file, sorted(placed, key=lambda problem: problem.row or 0))
    if isinstance(rows, FileRows):
        return FileSamples(rows, layouts, numbers, contents), contents
    return tuple(stored), contents


_Found = tuple[Sample | None, int, str | None, Sequence[Problem]]
"""The sample of a row if it is valid, its place, its id if it can be read, and its problems."""


def _repeated_ids(hashes: "array[int]", found: Iterable[_Found], unit: str) -> Iterator[Problem]:
    ordered = np.sort(np.frombuffer(hashes, np.int64))
    repeated = frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    first: dict[str, int] = {}
    for _, place, name, _ in found if repeated else ():
        if name in first:
            seen = f"the id {name!r} is already used in {unit} {first[name]}"
            fix = "give each row its own id, or join rows of one question"
            yield Problem(seen, fix, row=place, sample_id=name)
        elif name is not None and hash(name) in repeated:
            first[name] = place


def _read(rows: Iterable[TableRow], numbers: Iterable[int], layouts: Layouts) -> Iterator[_Found]:
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
    def __init__(self, record: Record, layouts: Layouts) -> None:
        self.problems: list[Problem] = []
        self._layout = layouts.of(record)
        self._record = layouts.given(record, self._layout)
        self._layouts = layouts
        self.id: str | None = None

    def sample(self, number: str) -> Sample | None:
        fields: dict[str, object] = {}
        for name, reader in READERS.items():
            column = self._layout.fields.get(name)
            if column is None or (name == "query" and not self._layouts.queries):
                continue
            ids = name in ("id", "ranking", "relevance")
            if name in ("contexts", "ranking"):  # whose random ids count beside such relevant ids
                reader = partial(cast("Any", reader), known=fields.get("relevance", ()))
            if (value := self._read(column, reader, ids=ids)) is not None:
                fields[name] = value
                self.id = str(value) if name == "id" else self.id
        for column in self._layout.conversations:
            if messages_in(self._record.values.get(column)):
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
        others = (c for c in self._layout.conversations if self._record.values.get(c))
        for column in (*self._layout.tags, *others):
            merged = isinstance(self._record.values.get(column), Merged)
            if not merged and (value := self._read(column, cells.tag)) is not None:
                tags[column] = value
        if (column := self._layout.fields.get("tags")) is not None:
            more = self._read(column, lambda value: cells.tags(value, column)) or {}
            for name in more.keys() & tags.keys():
                if more[name] != tags[name]:
                    self._wrong(column, f"the tag {name!r} is also a column, with another value")
            tags |= more
        return tags

    def _read(
        self, column: str, reader: Callable[[cells.Plain], T | None], *, ids: bool | None = None
    ) -> T | None:
        given = self._record.values.get(column)
        try:
            given = given if ids is None else cells.in_field(given, ids=ids)
            value = cells.normalize_cell(given)
            return None if value is None else reader(value)
        except ValueError as error:
            self._wrong(column, str(error).replace("{column}", column))
            return None

    def _wrong(self, column: str, seen: str) -> None:
        self.problems.append(Problem(seen, row=self._record.row, column=column, sample_id=self.id))


WORKBOOKS = (".xlsx", ".xlsm")
LOADERS: Mapping[str, Callable[[File, int | None], Table]] = {
    **dict.fromkeys((".csv", ".tsv"), text_files.read_csv),
    ".json": text_files.read_json,
    **dict.fromkeys((".jsonl", ".ndjson"), text_files.read_json_lines),
    **dict.fromkeys((".yaml", ".yml"), text_files.read_yaml),
    **dict.fromkeys(columnar.SUFFIXES, columnar.read),
}
"""Suffix -> reader; workbooks are separate, because they have sheets."""
HEADED = (*WORKBOOKS, ".csv", ".tsv")
NESTED = frozenset((".json", ".yaml", ".yml"))  # with rows under a key


@dataclass(frozen=True)
class Dataset:
    """Samples in the order of the file's rows, each id once, and the file they came from."""

    samples: Sequence[Sample]  # a tuple, or FileSamples, which reads a large file when needed
    source: Source
    collected: bool = False  # these are saved answers: only an explicit target is called
    absent: Mapping[str, str] = field(default_factory=dict[str, str])  # field -> why no row has it
    failures: Mapping[int, Failures] = field(default_factory=dict[int, Failures])  # by row, from 0
    # fields that count as given even if no sample has them, because calls for them failed
    # or because these samples are part of a larger set
    known: frozenset[str] = frozenset()
    places: Sequence[int] = ()  # of their rows in Python, from 0

    @cached_property
    def contents(self) -> Contents:
        samples = self.samples
        return samples.contents if isinstance(samples, FileSamples) else Contents.of(samples)


def load(
    path: str | PathLike[str],
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    queries: bool = True,
    answers: Answers = "response",
) -> Dataset:
    """Read a file of rows: a workbook, CSV, JSON, JSON Lines, YAML, or Arrow's columns.

    Exports of other tools are detected by their field names. A folder may be one that Hugging
    Face datasets saved. `columns` is Sample field -> column, if the names differ; `limit` reads
    only the first rows, `sample` draws that many rows at random, in the order of the file: the same
    for the same `seed`. Without `queries` rows need no query. `answers` is what a column such as
    `answer` is beside a question alone: with `ask`, an error asks for `columns`.

    Raises:
        UsageError: the file, sheet or column does not exist, the format is not supported, or
            both `limit` and `sample` are given.
        InputError: the file is invalid; the error has every problem with its place.
    """
    path = Path(path)
    _check_selection(limit, sample)
    file, table = read_table(path, sheet=sheet, header_row=header_row, limit=limit)
    found = _dataset_of(table, file.name, columns or {}, limit, sample, seed, answers, queries)
    fingerprint = None if table.end == 0 else file.fingerprint(table.end)
    update = {"fingerprint": fingerprint, "path": str(path)}
    return replace(found, source=found.source.model_copy(update=update))


def _dataset_of(
    table: Table,
    name: str,
    columns: Mapping[str, str],
    limit: int | None,
    sample: int | None,
    seed: int,
    answers: Answers,
    queries: bool = True,
) -> Dataset:
    found = shape_records(table, limit, named=columns.values())
    mapped = set(map(naming.field_of, columns))
    detected = {field: column for field, column in found.columns.items() if field not in mapped}
    table = found.table
    given = {naming.field_of(name) or name: column for name, column in columns.items()}
    choice = None
    if not (found.shape and found.shape.name in COMPLETE):
        known = found.shape is not None and found.shape.name != IN_PARTS
        fixed = {*given, *(detected if known else ())}
        choice = Choice(table, {**detected, **given}, fixed=fixed, answers=answers)
        detected = {of: name for of, name in {**detected, **choice.fields}.items() if name}
        table = table.renamed(choice.renamed) if choice.renamed else table
    chosen = {**detected, **columns}
    whole = table
    table = split_conversations(table, chosen)
    if table is not whole:
        table = replace(table, rows=table.rows[:limit])
    if sample is not None:
        table = draw_rows(table, sample, seed)
    unclear = choice.problems if choice else ()
    samples, contents = samples_in(table, name, columns=chosen, queries=queries, unclear=unclear)

    # Failed calls that the data records.
    saved = found.shape is not None and found.shape.name == RESPONSES
    mode = table.beside.get("mode")
    asked = MODES["search" if mode == "search" else "chat"] if saved else ()
    made, failures = samples, dict[int, Failures]()
    if found.shape is not None:
        records = enumerate(records_in(table.rows))
        errors = {index: row.errors for index, row in records if row.errors}
        failures = failed_calls(samples, errors, asked=asked)
    unused = naming.unused_columns(contents.fields, contents.tags)
    notes = (*table.notes, *contents.notes, *(choice.notes if choice else ()), *unused)
    if n := contents.several:
        notes += (f"{n:,} reference{' has' if n == 1 else 's have'} several accepted answers",)
    if failures:
        if isinstance(samples, FileSamples):
            made = copy(samples)
            made.missing = failures
        else:
            numbered = enumerate(samples)
            made = tuple(_without(sample, failures.get(index, ())) for index, sample in numbered)
        ignored = sum(samples[index].response != made[index].response for index in failures)
        also = f"; {ignored} of them had a response, which is ignored" if ignored else ""
        notes = (*notes, f"failed calls recorded in the data: {len(failures)}{also}")
    drawn_as = None if sample is None else f"{sample:,} rows, seed {seed}"
    in_memory = () if isinstance(table.rows, FileRows) else table.rows
    return Dataset(
        made,
        Source(
            name=name,
            rows=len(samples),
            notes=notes,
            sample=drawn_as,
            fields=tuple(
                ReadField(
                    field=of,
                    column=contents.columns[of],
                    rows=contents.counts[of],
                    example=contents.examples.get(of, ""),
                )
                for of in Sample.model_fields
                if of in contents.counts.keys() & contents.columns.keys() - {"id", "tags"}
            ),
            tags=contents.tags,
        ),
        collected=saved or not ANSWERS.isdisjoint(contents.fields),
        absent=absences(mode, name) if saved or not choice else choice.absent,
        failures=failures,
        known=frozenset(chain.from_iterable(failures.values())),
        places=[record.row - 1 for record in records_in(in_memory)],
    )


def draw_rows(table: Table, number: int, seed: int) -> Table:
    """Draw rows without replacement; `random()` is the same for a seed in any Python."""
    rows = table.rows
    total = len(rows.places) if isinstance(rows, FileRows) else len(rows)
    uniform, places = Random(seed).random, array("q")  # noqa: S311 - no secrets
    for place in range(total):
        if uniform() * (total - place) < number - len(places):
            places.append(place)
    note = f"{number:,} of {total:,} rows, drawn at random with seed {seed}"
    if number >= total:
        note = f"all {total:,} rows are used, because there are no more than sample={number}"
    numbers = array("q", (place + 1 for place in places))
    if isinstance(rows, FileRows):
        there = rows.places  # without a last row that is a problem
        picked = rows.chosen(array("q", (there[place] for place in places)))
    else:
        picked = [rows[place] for place in places]
    return replace(table, rows=picked, numbers=numbers, notes=(*table.notes, note))


def read_table(
    path: Path, *, sheet: str | None = None, header_row: int | None = None, limit: int | None = None
) -> tuple[File, Table]:
    is_folder = False
    with suppress(OSError, ValueError):  # which `File.at` reports
        is_folder = path.is_dir()
    suffix = path.suffix.lower()
    if sheet is not None and (is_folder or suffix in LOADERS.keys() - NESTED):
        raise UsageError(f"{path.name} has no sheets; remove sheet {sheet}")
    if header_row is not None and (is_folder or suffix not in HEADED):
        raise UsageError(f"{path.name} has no header; remove header row {header_row}")
    if is_folder:
        return columnar.read_folder(path, limit)
    file = File.at(path, header_row=header_row, rows=sheet if suffix in NESTED else None)
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
    """

    number: int  # its place among the shards, from 0
    first: int  # the place of its first row in the data set, from 0
    samples: Sequence[Sample]
    failures: Mapping[int, Failures] = field(default_factory=dict[int, Failures])  # as in Dataset
    file: Path | None = None  # the absolute path of a large file that is read

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
            yield Shard(number, first, samples.part(first, stop), failed, samples.rows.path)
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
    answers: Answers = "response",
) -> Dataset:
    """Return a data set of rows in Python; a mapping is read like an object of a JSON file.

    So is a Pydantic model. Values may be NumPy's, and NaN is missing, as in rows of a pandas frame.
    The options are as in `load`; `columns` does not apply to Samples. Blank rows are left out.
    """
    _check_selection(limit, sample)
    rows = Table.of(islice(records, limit)).rows
    blank = [isinstance(r, Record) and is_blank([*(r.values.values() or "-")]) for r in rows]
    table = Table([row for row, left_out in zip(rows, blank, strict=True) if not left_out])
    return _dataset_of(table, name, columns or {}, limit, sample, seed, answers)


def _check_selection(limit: int | None, sample: int | None) -> None:
    for name, number in ("limit", limit), ("sample", sample):
        if number is not None and number < 1:
            raise UsageError(f"the {name} must be 1 or more, got {number}")
    if limit is not None and sample is not None:
        raise UsageError(
            f"limit {limit} reads the first rows, and sample {sample} draws from all; use one"
        )
