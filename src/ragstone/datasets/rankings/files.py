"""Ranking files of all formats: TREC, JSON Lines, Parquet, Arrow and BEIR, in blocks of queries.

JSON Lines usually have the same simple form in all lines. Those are read as bytes, without a Python
object for each id; all other lines are parsed one by one. Tables are read by polars.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from ragstone._internal.text import listing, quoted
from ragstone.datasets.arrow import scanned, unpacked_size
from ragstone.datasets.frames import column_errors, text_size
from ragstone.datasets.rankings import trec
from ragstone.datasets.rankings.join import Batch, Judgments, qrels_in, read_beir_qrels
from ragstone.datasets.rankings.source import (
    EXTRA,
    PADDING,
    Integers,
    OnRead,
    Problems,
    Texts,
    opened,
    padded,
    resolve_column,
    too_large,
)
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

_LINES = (".jsonl", ".ndjson")
_PACKED = (".gz", ".zst", ".zstd")
ROWS_AT_ONCE = 1 << 18  # rows that are read at once; more if one query has more
VALUE = 2  # how many bytes a value of an unpacked column counts, at least
TABLES = (".parquet", ".arrow", ".feather", ".ipc")


def read_judgments(path: Path, columns: Mapping[str, str]) -> Judgments:
    """A folder is read as BEIR, and a file with an unknown suffix as TREC."""
    if path.is_dir():
        path = qrels_in(path)
    problems = problems_of(path)
    return Judgments.of(_read(path, problems, columns, graded=True), problems)


def problems_of(path: Path) -> Problems:
    return Problems(path, "row" if _suffix(path) in TABLES else "line")


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
    suffix, unit = _suffix(path), "judgment" if graded else "document"
    if suffix in _LINES:
        field = "relevance" if graded else "ranking"
        form = f"one {{query_id, {field}}} object per line"
        batches = LineReader(field, columns, problems).batches(path, on_read)
    elif suffix in TABLES:
        form = f"one row per {unit}"
        batches = _read_table(path, problems, columns, on_read, graded=graded)
    elif graded and suffix == ".tsv":
        form = "one line per judgment: QUERY, DOCUMENT, GRADE"
        batches = read_beir_qrels(path, problems)
    else:
        written = trec.QRELS if graded else trec.RANKING
        form = f"one line per {unit}: {written}"
        batches = trec.read(path, written, problems, on_read)
    empty = True
    for batch in batches:
        empty = False
        if graded:  # rankings are checked when they are whole
            batch.check_ids(problems)
        yield batch
    if empty:
        seen = "there are no judgments" if graded else "there is no ranking"
        problems.add(seen, f"write {form}")


def _suffix(path: Path) -> str:
    name = Path(path.name.lower())
    return name.with_suffix("").suffix if name.suffix in _PACKED else name.suffix


@dataclass(frozen=True)
class QueryLines:
    queries: list[str]
    lines: Integers
    sizes: Integers  # how many documents each query has
    documents: Texts
    grades: NDArray[np.float64]  # none in a ranking


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

    def batches(self, path: Path, on_read: OnRead | None) -> Iterator[Batch]:
        seen: dict[str, int] = {}
        number = 1
        with opened(path, on_read) as stream:
            for content in stream.lines():
                found = self._read_plain(content, number) or self._read_any(content, number)
                for query, line in zip(found.queries, found.lines.tolist(), strict=True):
                    if (first := seen.setdefault(query, line)) != line:
                        copy = f"query {quoted(query)} is already on line {first}"
                        self._problems.add(copy, "write one line per query", line=line)
                if found.queries:
                    grades = found.grades if self._field == "relevance" else None
                    lines = np.repeat(found.lines, found.sizes)
                    yield Batch.of(found.queries, found.sizes, found.documents, grades, lines)
                number += content.count(b"\n")

    def _read_plain(self, content: bytes, number: int) -> QueryLines | None:
        first = content.partition(b"\n")[0]
        try:
            value = cast("dict[str, object]", from_json(first))
            query, field = self._names_of(list(value))
        except (UsageError, ValueError, TypeError, RecursionError):
            return None
        shape = PlainShape.of(first, query, field, graded=self._field == "relevance")
        return shape.read(content, number) if shape else None

    def _read_any(self, content: bytes, number: int) -> QueryLines:
        queries: list[str] = []
        lines: list[int] = []
        lists: list[Sequence[str]] = []
        grades: list[float] = []
        for line, text in enumerate(content.split(b"\n"), number):
            if not text.strip() or (found := self._query_of(text, line)) is None:
                continue
            documents = self._documents(*found, line)
            queries.append(found[0])
            lines.append(line)
            lists.append([*documents])
            if isinstance(documents, dict):
                grades += documents.values()
        return QueryLines(
            queries=queries,
            lines=np.array(lines, dtype=np.int64),
            sizes=np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)),
            documents=Texts.of(list(chain.from_iterable(lists))),
            grades=np.array(grades, dtype=np.float64),
        )

    def _names_of(self, keys: Sequence[str]) -> tuple[str, str]:
        fields = "query_id", self._field
        names = [resolve_column(field, self._columns, keys) for field in fields]
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
        graded = self._field == "relevance"
        if is_list(value):
            ids = [each for each in map(_id, value) if each is not None]
            if len(ids) < len(value):
                wrong = next(each for each in value if _id(each) is None)
                seen = f"the list of query {quoted(query)} contains {quoted(str(wrong))}"
                self._problems.add(seen, "use ids: text or whole numbers", line=line)
                return ()
            if graded and len(set(ids)) < len(ids):
                seen = f"query {quoted(query)} contains a document twice"
                self._problems.add(seen, "remove one of the two", line=line)
            return dict.fromkeys(ids, 1.0) if graded else ids
        if not graded:
            seen = f"the ranking of query {quoted(query)} is not a list"
            self._problems.add(seen, "write a list of ids, best first", line=line)
            return ()
        if not is_object(value):
            seen = f"the relevance of query {quoted(query)} is not a mapping or a list"
            fix = "write {document id: grade}, or a list of ids"
            self._problems.add(seen, fix, line=line)
            return ()
        grades: dict[str, float] = {}
        for document, grade in value.items():
            if isinstance(grade, int | float) and abs(grade) <= sys.float_info.max:
                grades[document] = float(grade)
            else:
                shown = f"the grade {quoted(str(grade))} of document {quoted(document)}"
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
    number = "grade" if graded else "score"
    frame, total = _frame(path, ("query_id", "document_id", number), columns)
    if number not in frame.collect_schema().names():
        problems.notes.append(
            f"{problems.name}: no score column found, so the order of the rows is the "
            "ranking; if there is one, map score=COLUMN"
        )
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
        if number in some.columns:
            values = some[number].to_numpy()
            for place in np.flatnonzero(~np.isfinite(values) if graded else np.isnan(values)):
                seen = f"the {number} {values[place]} is not a number"
                problems.add(seen, line=int(rows[place]))
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


def _frame(path: Path, fields: Sequence[str], mapped: Mapping[str, str]) -> "tuple[LazyFrame, int]":
    """Return a file's columns by field, without a score if there is none, and how many rows."""
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
    present = schema.names()
    selected: list[pl.Expr] = []
    for field in fields:
        try:
            name = resolve_column(field, mapped, present)
        except UsageError as error:
            raise UsageError(f"{path.name}: {error}") from error
        if name is None and field != "score":
            raise UsageError(
                f"{path.name}: no column found for {field} among {listing(present)}; "
                f"map {field}=COLUMN"
            )
        if name is not None and schema[name].is_nested():
            raise UsageError(f"{path.name}: column {name} of {field} has lists or objects")
        if name is not None:
            selected.append(pl.col(name).alias(field))
    return frame.select(selected), rows


def _rows(path: Path, frame: "LazyFrame", start: int, count: int) -> "DataFrame":
    import polars as pl

    limit = unpacked_limit(path.stat().st_size) // 2
    with column_errors(path.name):
        part = frame.slice(start, count).collect()
        if text_size(part) > limit:  # a text in many rows is in the file once
            raise too_large(path, f"{len(part):,} of its rows have more than {limit:,} bytes")
        kinds = {"score": pl.Float64, "grade": pl.Float64}
        columns: list[pl.Expr] = []
        for name, kind in part.schema.items():
            column = pl.col(name)
            if kind.is_float() and name not in kinds:  # an id such as 6.0, as pandas writes it
                whole = column.cast(pl.Int64, strict=False)
                column = pl.when(whole == column).then(whole.cast(pl.String)).otherwise(column)
            columns.append(column.cast(kinds.get(name, pl.String), strict=False).alias(name))
        return part.with_columns(columns)
