"""Ranking files of all formats, recognized by their first line, in blocks of queries.

JSON Lines usually have the same simple form in all lines. Those are read as bytes, without a Python
object for each id; all other lines are parsed one by one. Tables are read by polars.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic_core import from_json

from ragstone._internal.fields import is_list, is_object
from ragstone._internal.files import check_file, unpacked_limit
from ragstone._internal.plugins import check_extra
from ragstone._internal.text import quoted
from ragstone.datasets.arrow import scanned, unpacked_size
from ragstone.datasets.frames import column_errors, text_size
from ragstone.datasets.rankings import trec
from ragstone.datasets.rankings.join import Batch, Judgments, Values, qrels_in
from ragstone.datasets.rankings.source import (
    AT_ONCE,
    PADDING,
    Integers,
    OnRead,
    Problems,
    Stream,
    Texts,
    delimiter_of,
    first_line,
    opened,
    padded,
    resolve_column,
    resolve_columns,
    too_large,
)
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from polars import Expr, LazyFrame

ROWS_AT_ONCE = 1 << 18  # rows that are read at once; more if one query has more
VALUE = 2  # how many bytes a value of an unpacked column counts, at least


def read_judgments(path: Path, columns: Mapping[str, str]) -> Judgments:
    if path.is_dir():
        path = qrels_in(path)
    problems = Problems(path)
    return Judgments.of(read(path, problems, columns, graded=True), problems)


def read(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
    *,
    graded: bool = False,
) -> Iterator[Batch]:
    """Yield whole queries; one whose lines are not contiguous comes in parts, see `gathered`."""
    batches: Iterable[Batch] = ()
    if problems.unit == "row":
        batches = _read_table(path, problems, columns, on_read, graded=graded)
    elif (line := first_line(path)).lstrip().startswith((b"{", b"[")):
        field = "relevance" if graded else "ranking"
        batches = LineReader(field, columns, problems).batches(path, line, on_read)
    elif delimiter := delimiter_of(line, columns):
        batches = trec.read_table(path, delimiter, columns, problems, on_read, graded=graded)
    elif line:
        batches = trec.read(path, line, problems, on_read, graded=graded)
    empty = True
    for batch in batches:
        empty = False
        if graded:
            batch.check_ids(problems)
        else:  # its ids are checked when it is matched
            problems.hold(len(batch.queries), "queries")
        yield batch
    if empty:
        seen = "there are no judgments" if graded else "there is no ranking"
        problems.add(seen, trec.EXPECTED[graded])


@dataclass(frozen=True)
class QueryLines:
    queries: list[str]
    lines: Integers
    sizes: Integers  # how many documents each query has
    documents: Texts
    values: Values | None  # grades or scores


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict[str, object]()
    for name, value in pairs:
        if name in found:
            raise ValueError(f"duplicate name {quoted(name)} in an object")
        found[name] = value
    return found


class LineReader:
    """Reads lines with the id of a query and one other field, and collects their problems."""

    def __init__(self, field: str, columns: Mapping[str, str], problems: Problems) -> None:
        self._field, self._columns, self._problems = field, columns, problems
        self._graded = field == "relevance"

    def batches(self, path: Path, first: bytes, on_read: OnRead | None) -> Iterator[Batch]:
        seen: dict[str, int] = {}
        with opened(path, on_read) as stream:
            for found in self._parts(stream, first):
                for query, at in zip(found.queries, found.lines.tolist(), strict=True):
                    if (line := seen.setdefault(query, at)) != at:
                        copy = f"query {quoted(query)} is already on line {line}"
                        self._problems.add(copy, "write one line per query", line=at)
                if found.queries:
                    sizes, lines = found.sizes, np.repeat(found.lines, found.sizes)
                    yield Batch.of(found.queries, sizes, found.documents, found.values, lines)

    def _parts(self, stream: Stream, first: bytes) -> Iterator[QueryLines]:
        """Read lines, or {query: documents}, as BEIR and ranx write it."""
        try:
            value: object = from_json(first, allow_partial=True)
        except ValueError:
            value = None
        names = {"query_id", self._field, *self._columns.values()}
        parts = value.values() if is_object(value) and names.isdisjoint(value) else [None]
        if is_object(value) and all(is_object(each) or is_list(each) for each in parts):
            self._problems.unit = "query"
            content = b"".join(iter(lambda: stream.read(AT_ONCE), b""))
            try:
                queries: dict[str, object] = json.loads(content, object_pairs_hook=_unique)
            except (ValueError, RecursionError) as error:
                self._problems.add(f"invalid JSON: {error}")
                return
            pairs = enumerate(queries.items(), 1)
            yield self._collect((*pair, number) for number, pair in pairs)
            return
        if is_list(value):
            seen = "this is not an object, but a list"
            self._problems.add(seen, f"write {{query: {self._field}}}, or one object per line")
            return
        number = 1
        for content in stream.lines():
            plain = self.read_plain(content, number)
            yield plain or self._collect(self._objects(content, number))
            number += content.count(b"\n")

    def read_plain(self, content: bytes, number: int) -> QueryLines | None:
        """Read lines with a query's id, then ids, each with a digit as grade in judgments.

        None if a line has another form, is not UTF-8, or contains escapes or controls.
        """
        buffer = padded(content.removesuffix(b"\n"))
        quotes = np.flatnonzero(buffer == ord('"'))
        if not content.startswith(b'{"') or b"\\" in content or len(quotes) % 2:
            return None
        starts, ends = quotes[0::2] + 1, quotes[1::2]
        texts = Texts(buffer, starts, ends - starts)

        # What is between two texts has at most eight bytes, which are compared as one number.
        after = np.append(starts[1:] - 1, len(buffer) - len(PADDING))
        between = Texts(buffer, ends, after - ends)
        if between.longest > 1:
            return None
        found, values = between.word(0), None
        colon, comma = (b": ", b", ") if between.bytes_at(0) == b'": ' else (b":", b",")
        opening, closing = b"[", b"]}"
        if self._graded:
            place = np.uint64(8 * len(b'"' + colon))
            values = ((found >> place) & np.uint64(255)) - np.uint64(ord("0"))
            found -= np.where(values < 10, values, np.uint64(0)) << place
            opening, closing = b"{", b"}}"
        grade = colon + b"0" if self._graded else b""

        def word(text: bytes) -> np.uint64:
            return np.uint64(int.from_bytes(b'"' + text, "little"))

        last = word(grade + closing + b"\n{")
        first = np.append(0, np.flatnonzero(found == last) + 1)  # the name before a query's id
        sizes = np.diff(first, append=len(texts)) - 3
        if sizes.min() < 1:
            return None
        expected = np.full(len(texts), word(grade + comma))
        for at, text in enumerate((colon, comma, colon + opening)):
            expected[first + at] = word(text)
        expected[first[1:] - 1] = last
        expected[-1] = word(grade + closing)
        controls = np.count_nonzero(buffer < ord(" "))
        if not np.array_equal(found, expected) or controls != len(first) - 1:
            return None
        names = texts.part(first), texts.part(first + 2)
        try:
            content.decode()
            written = tuple(each.text(0) for each in names)
            if max(len(each.changes()) for each in names) > 1 or self._names_of(written) != written:
                return None
        except (UnicodeDecodeError, UsageError):
            return None
        listed = np.ones(len(texts), dtype=np.bool_)
        for at in range(3):
            listed[first + at] = False
        return QueryLines(
            queries=texts.part(first + 1).strings(),
            lines=np.arange(number, number + len(first)),
            sizes=sizes,
            documents=texts.part(np.flatnonzero(listed)),
            values=None if values is None else values[listed].astype(np.float64),
        )

    def _objects(self, content: bytes, number: int) -> Iterator[tuple[str, object, int]]:
        """Yield the query, the other field and the number of each line."""
        for line, text in enumerate(content.split(b"\n"), number):
            if not text.strip():
                continue
            seen, fix = "this is not an object", "write one object per line"
            try:
                value: object = json.loads(text.decode(), object_pairs_hook=_unique)
                if is_object(value):
                    query_name, field_name = self._names_of(list(value))
                    if (query := _id(value[query_name])) is not None:
                        yield query, value[field_name], line
                        continue
                    seen, fix = "the query's id is not text or a whole number", ""
            except UsageError as error:
                seen, fix = str(error), ""
            except (ValueError, RecursionError) as error:
                seen = f"invalid JSON: {error}"
            self._problems.add(seen, fix, line=line)

    def _names_of(self, keys: Sequence[str]) -> tuple[str, str]:
        fields = "query_id", self._field
        used = self._problems.mapped
        names = [resolve_column(field, self._columns, keys, used) for field in fields]
        if missing := [field for field, name in zip(fields, names, strict=True) if name is None]:
            seen = " and ".join(missing)
            raise UsageError(f"{seen} not found; map FIELD=NAME")
        return str(names[0]), str(names[1])

    def _collect(self, found: Iterable[tuple[str, object, int]]) -> QueryLines:
        queries: list[str] = []
        lines: list[int] = []
        sizes: list[int] = []
        documents: list[str] = []
        values: list[float] = []
        for query, value, line in found:
            ids, numbers = self._documents(query, value, line)
            queries.append(query)
            lines.append(line)
            sizes.append(len(ids))
            documents += ids
            values += numbers
        numbers = np.array(values, dtype=np.float64)
        return QueryLines(
            queries=queries,
            lines=np.array(lines, dtype=np.int64),
            sizes=np.array(sizes, dtype=np.int64),
            documents=Texts.of(documents),
            values=numbers if self._graded else numbers.astype(np.float32),
        )

    def _documents(
        self, query: str, value: object, line: int
    ) -> tuple[Sequence[str], Iterable[float]]:
        """Return ids with grades or scores; those of a list fall by 1."""
        if is_list(value):
            ids = [each for each in map(_id, value) if each is not None]
            if len(ids) < len(value):
                wrong = next(each for each in value if _id(each) is None)
                seen = f"the list of query {quoted(query)} contains {quoted(str(wrong))}"
                self._problems.add(seen, "use ids: text or whole numbers", line=line)
                return (), ()
            if self._graded and len(set(ids)) < len(ids):
                seen = f"query {quoted(query)} contains a document twice"
                self._problems.add(seen, "remove one of the two", line=line)
            return ids, [1.0] * len(ids) if self._graded else range(0, -len(ids), -1)
        number = "grade" if self._graded else "score"
        if not is_object(value):
            seen = f"the {self._field} of query {quoted(query)} is not a list or a mapping"
            fix = f"write a list of ids, or {{document id: {number}}}"
            self._problems.add(seen, fix, line=line)
            return (), ()
        grades: dict[str, float] = {}
        for document, grade in value.items():
            if isinstance(grade, int | float) and abs(grade) <= sys.float_info.max:
                grades[document] = float(grade)
            else:
                shown = f"the {number} {quoted(str(grade))} of document {quoted(document)}"
                self._problems.add(f"{shown} is not a finite number", line=line)
        return [*grades], grades.values()


def _id(value: object) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _scan(
    path: Path, mapped: Mapping[str, str], problems: Problems, *, graded: bool
) -> "tuple[LazyFrame, list[Expr], int]":
    """Return the needed columns, how to read them as ids and a number, and how many rows."""
    check_file(path)
    check_extra("polars", f"reading {path.name}", "scale")
    import polars as pl  # an extra, and slow to import

    is_parquet, limit = path.suffix.lower() == ".parquet", unpacked_limit(path.stat().st_size)
    frame = scanned(path)
    with column_errors(path.name):
        schema = frame.collect_schema()
        rows = int(frame.select(pl.len()).collect().item())
        if (is_parquet and unpacked_size(path) > limit) or VALUE * len(schema) * rows > limit:
            raise too_large(path, f"its columns unpack to more than {limit:,} bytes")
    columns = resolve_columns(mapped, schema.names(), problems, graded=graded)
    cells: list[pl.Expr] = []
    for field, name in columns.items():
        cell, kind, is_id = pl.col(name), schema[name], field.endswith("_id")
        if kind.is_nested():
            raise UsageError(f"{path.name}: column {name} of {field} has lists or objects")
        if is_id and kind.is_float():  # an id such as 6.0, as pandas writes it
            whole = cell.cast(pl.Int64, strict=False)
            cell = pl.when(whole == cell).then(whole.cast(pl.String)).otherwise(cell)
        cells.append(cell.cast(pl.String if is_id else pl.Float64, strict=False).alias(field))
    return frame.select(sorted({*columns.values()})), cells, rows


def _read_table(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None,
    *,
    graded: bool,
) -> Iterator[Batch]:
    """Without a score the order of the rows is the ranking."""
    frame, cells, total = _scan(path, columns, problems, graded=graded)
    size = path.stat().st_size
    limit = unpacked_limit(size) // 2
    start, at_once = 0, ROWS_AT_ONCE
    while start < total:
        expected = min(at_once, total - start)
        with column_errors(path.name):
            part = frame.slice(start, expected).collect()
            if text_size(part) > limit:  # a text in many rows is in the file once
                raise too_large(path, f"{len(part):,} of its rows have more than {limit:,} bytes")
            some = part.select(cells)
        end = start + len(some)
        if len(some) < expected:
            problems.add(f"the file is damaged: it has {end:,} rows instead of {total:,}")
            problems.raise_found()
        new = some["query_id"].ne_missing(some["query_id"].shift()).to_numpy()
        starts = np.union1d([0], np.flatnonzero(new))
        if end < total:  # the last query may continue after what was read
            if len(starts) < 2:
                if at_once > problems.most:
                    raise too_large(path, f"a query has more than {at_once:,} documents")
                at_once *= 2
                continue
            some, starts = some.head(int(starts[-1])), starts[:-1]
        rows = np.arange(start + 1, start + len(some) + 1)
        values = None
        for number in some.columns[2:]:
            values = some[number].to_numpy()
            for place in np.flatnonzero(~np.isfinite(values) if graded else np.isnan(values)):
                seen = f"the {number} {values[place]} is not a number"
                problems.add(seen, line=int(rows[place]))
            values = trec.values_of(values, number)
        ids = some["document_id"]
        lengths = ids.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
        documents = Texts.joint(padded(ids.str.join("").item().encode()), lengths)
        names = ["" if name is None else name for name in some["query_id"].gather(starts)]
        yield Batch.of(names, np.diff(starts, append=len(some)), documents, values, rows)
        start += len(some)
        if on_read:
            on_read(size * start // total)
