"""JSON Lines: a query a line, with its ranking, or with what is relevant to it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import cast

import numpy as np

from ragstone.errors import UsageError
from ragstone.messages import quoted
from ragstone.ranking_files.batch import Batch
from ragstone.ranking_files.judgements import Judgements, Judging
from ragstone.ranking_files.objects import Line, Objects, ids_of, parsed
from ragstone.ranking_files.opening import OnRead, Stream, opened
from ragstone.ranking_files.plain_lines import PlainShape, QueryLines
from ragstone.ranking_files.problems import Problems
from ragstone.ranking_files.spans import Spans
from ragstone.ranking_files.texts import Texts

AT_ONCE = 1 << 20
"""Bytes that are read at once, at least one line."""


def read_qrels(path: Path, problems: Problems, columns: Mapping[str, str]) -> Judgements:
    """Read lines of `{query_id, relevance}`: ids with grades, or ids alone, which are of grade 1.

    Raises:
        UsageError: there is no such file, or a name that was said is not in it.
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
        UsageError: there is no such file, or a name that was said is not in it.
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
    """Yield what some lines hold; never nothing."""
    seen: dict[str, int] = {}
    before = 0
    with opened(path, on_read) as stream:
        for content in _whole_lines(stream):
            found = _plain(content, before + 1, objects)
            if found is None:
                texts = zip(count(before + 1), content.split(b"\n"))
                found = _read(objects.lines(texts), objects)
            if found and found.queries:
                _note_copies(found, seen, objects.problems)
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
    """Read lines as those are mostly written; None where one is written otherwise."""
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
    """Take the ids, and the grades, from lines; None where something is wrong."""
    problems = objects.problems
    known: list[dict[str, float]] = []
    if objects.field == "relevance":
        known = [_grades(line, problems) for line in lines]
        lists: list[Sequence[str]] = [list(each) for each in known]
    else:
        lists = [_listed(line, problems) for line in lines]
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


def _note_copies(found: QueryLines, seen: dict[str, int], problems: Problems) -> None:
    lines: list[int] = found.lines.tolist()
    for query, line in zip(found.queries, lines, strict=True):
        first = seen.setdefault(query, line)
        if first != line:
            told = f"query {quoted(query)} stands on line {first} already"
            problems.add(told, "each query has one line", line=line)


def _listed(line: Line, problems: Problems) -> Sequence[str]:
    """Return a ranking's ids; nothing if it is no list of ids."""
    value = line.value
    if isinstance(value, list):
        return ids_of(line, cast("list[object]", value), problems)
    seen = f"the ranking of query {quoted(line.query)} is no list"
    problems.add(seen, "it is a list of ids, best first", line=line.number)
    return ()


def _grades(line: Line, problems: Problems) -> dict[str, float]:
    value = line.value
    if isinstance(value, list):
        ids = ids_of(line, cast("list[object]", value), problems)
        if len(set(ids)) < len(ids):
            problems.add(f"query {quoted(line.query)} has a document twice", line=line.number)
        return dict.fromkeys(ids, 1.0)
    if not isinstance(value, dict):
        told = f"the relevance of query {quoted(line.query)} is neither a mapping nor a list"
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
            seen = f"the grade {quoted(str(grade))} of document {quoted(document)} is no number"
            problems.add(seen, line=line.number)
    return grades
