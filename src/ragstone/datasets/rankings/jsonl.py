"""JSON Lines: a query a line, with its ranking, or with what is relevant to it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.byte_arrays import PADDING, Integers, Spans, Texts, padded
from ragstone.datasets.rankings.join import Batch
from ragstone.datasets.rankings.qrels import Judgements, Judging
from ragstone.datasets.rankings.source import OnRead, Problems, Stream, opened, resolve_column
from ragstone.errors import UsageError

# Plain lines: JSON Lines of one simple shape, read as bytes, without an object an id.


@dataclass(frozen=True)
class QueryLines:
    """What some lines hold, a query each: N documents of Q queries.

    Attributes:
        queries: the queries' ids.
        lines: int64[Q], the numbers of the lines.
        sizes: int64[Q], how many documents each query has.
        documents: the documents' ids.
        grades: float64[N]; nothing where documents have none.
    """

    queries: list[str]
    lines: Integers
    sizes: Integers
    documents: Texts
    grades: NDArray[np.float64]


@dataclass(frozen=True)
class PlainShape:
    """What lines look like that hold a query's id, then ids, and nothing else.

    Attributes:
        begin: the bytes before the query's id.
        middle: the bytes between it and the first document's id.
        end: what a line ends with.
        comma: the bytes between two values: a comma, usually with a blank.
        colon: the bytes between a document's id and its grade; empty if there are no grades.
    """

    begin: bytes
    middle: bytes
    end: bytes
    comma: bytes
    colon: bytes = b""

    @classmethod
    def of(cls, line: bytes, query: str, field: str, *, graded: bool) -> "PlainShape | None":
        """Return the shape of a line in which the two keys are called so; None if it is another."""
        opening, closing = (b'{"', b"}}") if graded else (b'["', b'"]}')
        for blank in (b" ", b""):
            comma, colon = b"," + blank, b":" + blank
            begin = b'{"%b"%b"' % (query.encode(), colon)
            middle = b'"%b"%b"%b%b' % (comma, field.encode(), colon, opening)
            if line.startswith(begin) and middle in line and line.endswith(closing):
                return cls(begin, middle, closing, comma, colon if graded else b"")
        return None

    def read(self, content: bytes, number: int) -> "QueryLines | None":
        """Read whole lines, the first of this number.

        None if one of them is of another shape, or holds what is escaped.
        """
        if not _is_plain(content):
            return None
        queries: list[bytes] = []
        bodies: list[bytes] = []
        begin, middle, end = len(self.begin), len(self.middle), len(self.end)
        for line in content.removesuffix(b"\n").split(b"\n"):
            place = line.find(self.middle, begin)
            last = len(line) - end
            if not 0 <= place <= last - middle or not line.endswith(self.end):
                return None
            if not line.startswith(self.begin):
                return None
            queries.append(line[begin:place])
            bodies.append(line[place + middle : last])
        names = b"\n".join(queries)
        quotes = np.array([body.count(b'"') for body in bodies], dtype=np.int64)
        found = self._graded(bodies) if self.colon else self._listed(bodies)
        if found is None or b'"' in names or np.any(quotes % 2 != bool(self.colon)):
            return None
        lines = np.arange(number, number + len(bodies))
        return QueryLines(names.decode().split("\n"), lines, quotes // 2 + 1, *found)

    def _listed(self, bodies: list[bytes]) -> tuple[Texts, NDArray[np.float64]] | None:
        """Find ids in `a", "b`, one body after the other."""
        between = b'"%b"' % self.comma
        buffer, closing, opening = _quotes(between.join(bodies))
        if len(closing) != len(opening) or not _stand(buffer, closing, between):
            return None
        return _texts(buffer, opening, np.append(closing, len(buffer) - len(PADDING))), np.zeros(0)

    def _graded(self, bodies: list[bytes]) -> tuple[Texts, NDArray[np.float64]] | None:
        """Find ids and grades of one digit in `a": 1, "b": 0`, one body after the other."""
        between = self.comma + b'"'
        buffer, closing, opening = _quotes(between.join(bodies))
        places = closing + 1 + len(self.colon)
        if (
            len(closing) != len(opening) + 1
            or places[-1] + 1 != len(buffer) - len(PADDING)
            or not _stand(buffer, closing, b'"' + self.colon)
            or not _stand(buffer, places[:-1] + 1, between)
        ):
            return None
        grades = buffer[places] - ord("0")
        if np.any(grades > 9):
            return None
        return _texts(buffer, opening, closing), grades.astype(np.float64)


def _is_plain(content: bytes) -> bool:
    """Return whether this is UTF-8 without escapes or control characters other than breaks."""
    if b"\\" in content:
        return False
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
    controls = np.count_nonzero(np.frombuffer(content, dtype=np.uint8) < ord(" "))
    return controls == content.count(b"\n")


def _quotes(content: bytes) -> tuple[NDArray[np.uint8], Integers, Integers]:
    """Return a buffer of the content, and where in it quotes close and open a text, in turn."""
    buffer = padded(content)
    quotes = np.flatnonzero(buffer == ord('"'))
    return buffer, quotes[0::2], quotes[1::2]


def _stand(buffer: NDArray[np.uint8], places: Integers, wanted: bytes) -> bool:
    """Return whether all these positions have the same bytes."""
    return all(bool(np.all(buffer[places + number] == byte)) for number, byte in enumerate(wanted))


def _texts(buffer: NDArray[np.uint8], opening: Integers, closing: Integers) -> Texts:
    starts = np.append(len(PADDING), opening + 1)
    return Texts(buffer, starts, closing - starts)


# Objects: one JSON object per line, each about one query, of any shape.

MOST_SHAPES = 100
"""How many sets of keys are cached."""


class Line(NamedTuple):
    """One object of a file: its line, from 1, the query that it is about, and what it holds."""

    number: int
    query: str
    value: object


class Objects:
    """Reads lines, each with a query's id and one other field; notes what is wrong with them.

    Attributes:
        field: ours of the other field.
        problems: where what is wrong is noted.
    """

    def __init__(self, field: str, columns: Mapping[str, str], problems: Problems) -> None:
        self.field, self.problems = field, problems
        self._columns = columns
        self._names: dict[tuple[str, ...], tuple[str, str]] = {}

    def lines(self, texts: Iterable[tuple[int, bytes]]) -> list[Line]:
        """Read lines, each with its number, but for those that are empty or wrong."""
        read = (self._line(number, text) for number, text in texts if text.strip())
        return [line for line in read if line]

    def names(self, keys: Sequence[str]) -> tuple[str, str]:
        """Return what the query's id, and the field, are called in objects of these keys.

        Raises:
            UsageError: one of them is not there.
        """
        known = tuple(keys)
        if known in self._names:
            return self._names[known]
        names = {
            each: resolve_column(each, self._columns, keys) for each in ("query_id", self.field)
        }
        if lacking := " and ".join(each for each, name in names.items() if name is None):
            raise UsageError(f"{lacking} not found; map it with --map FIELD=NAME")
        found = str(names["query_id"]), str(names[self.field])
        if len(self._names) < MOST_SHAPES:
            self._names[known] = found
        return found

    def _line(self, number: int, text: bytes) -> Line | None:
        try:
            value = parsed(text, unique=self.field == "relevance")
        except (ValueError, RecursionError) as error:
            fix = "each line is one object"
            self.problems.add(f"invalid JSON: {error}", fix, line=number)
            return None
        if not isinstance(value, dict):
            self.problems.add("this is not an object", "each line is one object", line=number)
            return None
        given = cast("dict[str, object]", value)
        try:
            query_name, field_name = self.names(list(given))
        except UsageError as error:
            self.problems.add(str(error), line=number)
            return None
        query = id_of(given[query_name])
        if query is None:
            self.problems.add("the query's id is not text or a whole number", line=number)
            return None
        return Line(number, query, given[field_name])


def parsed(text: bytes, *, unique: bool = False) -> object:
    """Parse JSON; with `unique`, no key may be repeated in an object.

    Raises:
        ValueError: invalid JSON, or a repeated key.
        RecursionError: it is nested too deeply.
    """
    if unique:
        return cast("object", json.loads(text.decode(), object_pairs_hook=_of_unique))
    try:
        return cast("object", from_json(text, cache_strings="none"))
    except ValueError:  # `json` reads what the faster reader does not, such as half a character
        return cast("object", json.loads(text.decode()))


def _of_unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"duplicate name {quoted(twice)} in an object")
    return found


def ids_of(line: Line, given: Sequence[object], problems: Problems) -> Sequence[str]:
    """Return a list's ids as text; nothing if one is not an id."""
    ids = list(map(id_of, given))
    if None not in ids:
        return cast("list[str]", ids)
    wrong = given[ids.index(None)]
    seen = f"the list of query {quoted(line.query)} contains {quoted(str(wrong))}"
    problems.add(seen, "use ids: text or whole numbers", line=line.number)
    return ()


def id_of(value: object) -> str | None:
    """Return an id as text, a whole number as its digits; None for what is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


AT_ONCE = 1 << 20
"""Bytes that are read at once, at least one line."""


def read_qrels(path: Path, problems: Problems, columns: Mapping[str, str]) -> Judgements:
    """Read lines of `{query_id, relevance}`: ids with grades, or ids alone, which are of grade 1.

    Raises:
        UsageError: the file does not exist, or does not contain a mapped name.
        InputError: its content is wrong.
    """
    judging = Judging(problems)
    for some in _parts(path, Objects("relevance", columns, problems), None):
        lines = np.repeat(some.lines, some.sizes)
        judging.add(some.queries, some.sizes, some.documents, some.grades, lines)
    return judging.judgements("each line is {query_id, relevance}")


def read_ranking(
    path: Path, problems: Problems, columns: Mapping[str, str], on_read: OnRead | None = None
) -> Iterator[Batch]:
    """Read lines of `{query_id, ranking}`, ids best first, some at once.

    Raises:
        UsageError: the file does not exist, or does not contain a mapped name.
        InputError: it is damaged, or too much is wrong with it to go on.
    """
    empty = True
    for some in _parts(path, Objects("ranking", columns, problems), on_read):
        empty = False
        yield Batch(
            queries=tuple(some.queries),
            spans=Spans.of(some.sizes),
            documents=some.documents,
            hashes=some.documents.hashes(),
            scores=None,
            lines=np.repeat(some.lines, some.sizes),
        )
    if empty:
        problems.add("there is no ranking", "each line is {query_id, ranking}")


def _parts(path: Path, objects: Objects, on_read: OnRead | None) -> Iterator[QueryLines]:
    """Yield the content of some lines at a time, at least one."""
    seen: dict[str, int] = {}
    before = 0
    with opened(path, on_read) as stream:
        for content in _whole_lines(stream):
            found = _plain(content, before + 1, objects)
            if found is None:
                texts = zip(count(before + 1), content.split(b"\n"))
                found = _read(objects.lines(texts), objects)
            if found and found.queries:
                for query, line in zip(found.queries, found.lines.tolist(), strict=True):
                    if (first := seen.setdefault(query, line)) != line:
                        copy = f"query {quoted(query)} is already on line {first}"
                        objects.problems.add(copy, "each query has one line", line=line)
                yield found
            before += content.count(b"\n")


def _whole_lines(stream: Stream) -> Iterator[bytes]:
    rest, last = b"", False
    while not last:
        more = stream.read(AT_ONCE)
        last = not more
        content = rest + more
        end = len(content) if last else content.rfind(b"\n") + 1
        rest = content[end:]
        if end:
            yield content[:end]


def _plain(content: bytes, number: int, objects: Objects) -> QueryLines | None:
    """Read lines of a common shape; None if a line has another."""
    first = content.partition(b"\n")[0]
    try:
        value = parsed(first)
        keys = list(cast("dict[str, object]", value)) if isinstance(value, dict) else []
        names = objects.names(keys)
    except (UsageError, ValueError, RecursionError):
        return None
    shape = PlainShape.of(first, *names, graded=objects.field == "relevance")
    return shape.read(content, number) if shape else None


def _read(lines: Sequence[Line], objects: Objects) -> QueryLines | None:
    """Take the ids, and the grades, from lines; None if a grade is too large."""
    problems = objects.problems
    known: list[dict[str, float]] = []
    lists: list[Sequence[str]]
    if objects.field == "relevance":
        known = [_grades(line, problems) for line in lines]
        lists = [list(each) for each in known]
    else:
        lists = []
        for line in lines:
            if isinstance(value := line.value, list):
                lists.append(ids_of(line, cast("list[object]", value), problems))
                continue
            lists.append(())
            seen = f"the ranking of query {quoted(line.query)} is not a list"
            problems.add(seen, "it is a list of ids, best first", line=line.number)
    values = chain.from_iterable(each.values() for each in known)
    try:
        grades = np.fromiter(values, dtype=np.float64)
    except OverflowError:
        fix = "it is among the grades of these lines"
        problems.add("a whole number is too large for a grade", fix, line=lines[0].number)
        return None
    return QueryLines(
        queries=[line.query for line in lines],
        lines=np.array([line.number for line in lines], dtype=np.int64),
        sizes=np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)),
        documents=Texts.of(list(chain.from_iterable(lists))),
        grades=grades,
    )


def _grades(line: Line, problems: Problems) -> dict[str, float]:
    value = line.value
    if isinstance(value, list):
        ids = ids_of(line, cast("list[object]", value), problems)
        if len(set(ids)) < len(ids):
            problems.add(f"query {quoted(line.query)} has a document twice", line=line.number)
        return dict.fromkeys(ids, 1.0)
    if not isinstance(value, dict):
        told = f"the relevance of query {quoted(line.query)} is not a mapping or a list"
        problems.add(told, "write {document id: grade}, or a list of ids", line=line.number)
        return {}
    given = cast("dict[str, float]", value)
    if set(map(type, given.values())) <= {int}:
        return given
    grades: dict[str, float] = {}
    for document, grade in cast("dict[str, object]", value).items():
        if isinstance(grade, int | float) and abs(grade) < float("inf"):
            grades[document] = float(grade)
        else:
            seen = f"the grade {quoted(str(grade))} of document {quoted(document)} is not a number"
            problems.add(seen, line=line.number)
    return grades
