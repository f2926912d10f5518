"""Ranking files of all formats, recognized by their first line, in blocks of queries.

JSON Lines usually have the same simple form in all lines. Those are read as bytes, without a Python
object for each id; all other lines are parsed one by one. Tables are read by polars.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from ragstone._internal.fields import is_list, is_object
from ragstone._internal.files import check_file, unpacked_limit
from ragstone._internal.text import quoted
from ragstone.datasets.arrow import scanned, unpacked_size
from ragstone.datasets.frames import column_errors, text_size
from ragstone.datasets.rankings import trec
from ragstone.datasets.rankings.join import Batch, Judgments, Values, qrels_in
from ragstone.datasets.rankings.source import (
    AT_ONCE,
    EXTRA,
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
    from polars import DataFrame, LazyFrame

ROWS_AT_ONCE = 1 << 18  # rows that are read at once; more if one query has more
VALUE = 2  # how many bytes a value of an unpacked column counts, at least
TABLES = (".parquet", ".arrow", ".feather", ".ipc")


def read_judgments(path: Path, columns: Mapping[str, str]) -> Judgments:
    if path.is_dir():
        path = qrels_in(path)
    problems = problems_of(path)
    return Judgments.of(_read(path, problems, columns, graded=True), problems)


def problems_of(path: Path) -> Problems:
    return Problems(path, "row" if path.suffix.lower() in TABLES else "line")


def read_ranking(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
) -> Iterator[Batch]:
    """Yield whole queries; one whose lines are not contiguous comes in parts, see `gathered`."""
    for batch in _read(path, problems, columns, on_read, graded=False):
        problems.hold(len(batch.queries), "queries")
        yield batch


def _read(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
    *,
    graded: bool,
) -> Iterator[Batch]:
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
        if graded:  # rankings are checked when they are whole
            batch.check_ids(problems)
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
    grades: Values  # or scores, or none


@dataclass(frozen=True)
class PlainShape:
    """The bytes of lines with a query's id, then ids, and nothing else; without grades no colon."""

    begin: bytes
    middle: bytes
    end: bytes
    comma: bytes
    colon: bytes = b""

    @classmethod
    def of(cls, line: bytes, query: str, field: str, *, graded: bool) -> "PlainShape | None":
        opening, closing = (b'{"', b"}}") if graded else (b'["', b'"]}')
        for blank in (b" ", b""):
            comma, colon = b"," + blank, b":" + blank
            begin = b'{"%b"%b"' % (query.encode(), colon)
            middle = b'"%b"%b"%b%b' % (comma, field.encode(), colon, opening)
            if line.startswith(begin) and middle in line and line.endswith(closing):
                return cls(begin, middle, closing, comma, colon if graded else b"")
        return None

    def read(self, content: bytes, number: int) -> QueryLines | None:
        """None if a line has another form, is not UTF-8, or contains escapes or controls."""
        if b"\\" in content:
            return None
        if not content.isascii():
            try:
                content.decode()
            except UnicodeDecodeError:
                return None
        controls = np.count_nonzero(np.frombuffer(content, dtype=np.uint8) < ord(" "))
        if controls != content.count(b"\n"):
            return None
        queries: list[bytes] = []
        bodies: list[bytes] = []
        begin, middle, end = len(self.begin), len(self.middle), len(self.end)
        for line in content.removesuffix(b"\n").split(b"\n"):
            place = line.find(self.middle, begin)
            last = len(line) - end
            shaped = line.startswith(self.begin) and line.endswith(self.end)
            if not (shaped and 0 <= place <= last - middle):
                return None
            queries.append(line[begin:place])
            bodies.append(line[place + middle : last])
        names = b"\n".join(queries)
        quotes = np.array([body.count(b'"') for body in bodies], dtype=np.int64)
        found = self._documents(bodies)
        if found is None or b'"' in names or np.any(quotes % 2 != bool(self.colon)):
            return None
        lines = np.arange(number, number + len(bodies))
        return QueryLines(names.decode().split("\n"), lines, quotes // 2 + 1, *found)

    def _documents(self, bodies: list[bytes]) -> tuple[Texts, NDArray[np.float64]] | None:
        between = self.comma + b'"' if self.colon else b'"%b"' % self.comma
        buffer = padded(between.join(bodies))
        quotes = np.flatnonzero(buffer == ord('"'))
        closing, opening = quotes[0::2], quotes[1::2]  # between two ids, or an id and a grade
        end = len(buffer) - len(PADDING)

        def follow(places: Integers, expected: bytes) -> bool:
            return all(np.all(buffer[places + at] == byte) for at, byte in enumerate(expected))

        starts = np.append(len(PADDING), opening + 1)
        if not self.colon:
            if len(closing) != len(opening) or not follow(closing, between):
                return None
            return Texts(buffer, starts, np.append(closing, end) - starts), np.zeros(0)
        places = closing + 1 + len(self.colon)
        if (
            len(closing) != len(opening) + 1
            or places[-1] + 1 != end
            or not follow(closing, b'"' + self.colon)
            or not follow(places[:-1] + 1, between)
        ):
            return None
        grades = buffer[places] - ord("0")
        if np.any(grades > 9):
            return None
        return Texts(buffer, starts, closing - starts), grades.astype(np.float64)


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
                    values = found.grades if len(found.grades) else None
                    lines = np.repeat(found.lines, found.sizes)
                    yield Batch.of(found.queries, found.sizes, found.documents, values, lines)

    def _parts(self, stream: Stream, first: bytes) -> Iterator[QueryLines]:
        """Read lines, or {query: documents}, as BEIR and ranx write it."""
        try:
            value: object = from_json(first, allow_partial=True)
        except ValueError:
            value = None
        if is_object(value) and all(is_object(each) or is_list(each) for each in value.values()):
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
            yield self._read_plain(content, number) or self._read_any(content, number)
            number += content.count(b"\n")

    def _read_plain(self, content: bytes, number: int) -> QueryLines | None:
        first = content.partition(b"\n")[0]
        try:
            value = cast("dict[str, object]", from_json(first))
            query, field = self._names_of(list(value))
        except (UsageError, ValueError, TypeError, RecursionError):
            return None
        shape = PlainShape.of(first, query, field, graded=self._graded)
        return shape.read(content, number) if shape else None

    def _read_any(self, content: bytes, number: int) -> QueryLines:
        texts = enumerate(content.split(b"\n"), number)
        found = ((self._query_of(text, line), line) for line, text in texts if text.strip())
        return self._collect((*each, line) for each, line in found if each)

    def _collect(self, found: Iterable[tuple[str, object, int]]) -> QueryLines:
        queries: list[str] = []
        lines: list[int] = []
        lists: list[Sequence[str]] = []
        grades: list[float] = []
        scored = self._graded
        for query, value, line in found:
            documents = self._documents(query, value, line)
            queries.append(query)
            lines.append(line)
            lists.append([*documents])
            is_scored = isinstance(documents, dict)
            grades += documents.values() if is_scored else range(0, -len(documents), -1)
            scored |= is_scored
        numbers = np.array(grades if scored else (), dtype=np.float64)
        return QueryLines(
            queries=queries,
            lines=np.array(lines, dtype=np.int64),
            sizes=np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)),
            documents=Texts.of(list(chain.from_iterable(lists))),
            grades=numbers if self._graded else numbers.astype(np.float32),
        )

    def _names_of(self, keys: Sequence[str]) -> tuple[str, str]:
        fields = "query_id", self._field
        used = self._problems.mapped
        names = [resolve_column(field, self._columns, keys, used) for field in fields]
        if missing := [field for field, name in zip(fields, names, strict=True) if name is None]:
            seen = " and ".join(missing)
            raise UsageError(f"{seen} not found; map FIELD=NAME")
        return str(names[0]), str(names[1])

    def _query_of(self, text: bytes, line: int) -> tuple[str, object] | None:
        seen, fix = "this is not an object", "write one object per line"
        try:
            value: object = json.loads(text.decode(), object_pairs_hook=_unique)
            if is_object(value):
                query_name, field_name = self._names_of(list(value))
                if (query := _id(value[query_name])) is not None:
                    return query, value[field_name]
                seen, fix = "the query's id is not text or a whole number", ""
        except UsageError as error:
            seen, fix = str(error), ""
        except (ValueError, RecursionError) as error:
            seen = f"invalid JSON: {error}"
        self._problems.add(seen, fix, line=line)
        return None

    def _documents(
        self, query: str, value: object, line: int
    ) -> "Sequence[str] | dict[str, float]":
        if is_list(value):
            ids = [each for each in map(_id, value) if each is not None]
            if len(ids) < len(value):
                wrong = next(each for each in value if _id(each) is None)
                seen = f"the list of query {quoted(query)} contains {quoted(str(wrong))}"
                self._problems.add(seen, "use ids: text or whole numbers", line=line)
                return ()
            if self._graded and len(set(ids)) < len(ids):
                seen = f"query {quoted(query)} contains a document twice"
                self._problems.add(seen, "remove one of the two", line=line)
            return dict.fromkeys(ids, 1.0) if self._graded else ids
        number = "grade" if self._graded else "score"
        if not is_object(value):
            seen = f"the {self._field} of query {quoted(query)} is not a list or a mapping"
            fix = f"write a list of ids, or {{document id: {number}}}"
            self._problems.add(seen, fix, line=line)
            return ()
        grades: dict[str, float] = {}
        for document, grade in value.items():
            if isinstance(grade, int | float) and abs(grade) <= sys.float_info.max:
                grades[document] = float(grade)
            else:
                shown = f"the {number} {quoted(str(grade))} of document {quoted(document)}"
                self._problems.add(f"{shown} is not a finite number", line=line)
        return grades


def _id(value: object) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _read_table(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None,
    *,
    graded: bool,
) -> Iterator[Batch]:
    """Without a score the order of the rows is the ranking."""
    frame, total = _frame(path, columns, problems, graded=graded)
    number = [*frame.collect_schema().names(), None][2]
    size = path.stat().st_size
    start, at_once = 0, ROWS_AT_ONCE
    while start < total:
        expected = min(at_once, total - start)
        some = _rows(path, frame, start, expected)
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
        if number is not None:
            values = some[number].to_numpy()
            for place in np.flatnonzero(~np.isfinite(values) if graded else np.isnan(values)):
                seen = f"the {number} {values[place]} is not a number"
                problems.add(seen, line=int(rows[place]))
            values = -values if number == "rank" else values
            if not graded:
                with np.errstate(over="ignore"):
                    values = values.astype(np.float32)
        ids = some["document_id"]
        lengths = ids.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
        documents = Texts.joint(padded(ids.str.join("").item().encode()), lengths)
        names = ["" if name is None else name for name in some["query_id"].gather(starts)]
        yield Batch.of(names, np.diff(starts, append=len(some)), documents, values, rows)
        start += len(some)
        if on_read:
            on_read(size * start // total)


def _frame(
    path: Path, mapped: Mapping[str, str], problems: Problems, *, graded: bool
) -> "tuple[LazyFrame, int]":
    """Return a file's columns by field, and how many rows."""
    check_file(path)
    if find_spec("polars") is None:
        raise UsageError(f"{path.name}: reading it needs an extra: pip install '{EXTRA}'")
    import polars as pl  # an extra, and slow to import

    is_parquet, limit = path.suffix.lower() == ".parquet", unpacked_limit(path.stat().st_size)
    frame = scanned(path)
    with column_errors(path.name):
        schema = frame.collect_schema()
        rows = int(frame.select(pl.len()).collect().item())
        if (is_parquet and unpacked_size(path) > limit) or VALUE * len(schema) * rows > limit:
            raise too_large(path, f"its columns unpack to more than {limit:,} bytes")
    columns = resolve_columns(mapped, schema.names(), problems, graded=graded)
    for field, name in columns.items():
        if schema[name].is_nested():
            raise UsageError(f"{path.name}: column {name} of {field} has lists or objects")
    return frame.select(pl.col(name).alias(field) for field, name in columns.items()), rows


def _rows(path: Path, frame: "LazyFrame", start: int, count: int) -> "DataFrame":
    import polars as pl

    limit = unpacked_limit(path.stat().st_size) // 2
    with column_errors(path.name):
        part = frame.slice(start, count).collect()
        if text_size(part) > limit:  # a text in many rows is in the file once
            raise too_large(path, f"{len(part):,} of its rows have more than {limit:,} bytes")
        kinds = {"score": pl.Float64, "rank": pl.Float64, "grade": pl.Float64}
        columns: list[pl.Expr] = []
        for name, kind in part.schema.items():
            column = pl.col(name)
            if kind.is_float() and name not in kinds:  # an id such as 6.0, as pandas writes it
                whole = column.cast(pl.Int64, strict=False)
                column = pl.when(whole == column).then(whole.cast(pl.String)).otherwise(column)
            columns.append(column.cast(kinds.get(name, pl.String), strict=False).alias(name))
        return part.with_columns(columns)
