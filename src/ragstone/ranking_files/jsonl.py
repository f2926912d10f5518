"""JSON Lines: a query a line, with its ranking, or with what is relevant to it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
from pydantic_core import from_json

from ragstone.errors import UsageError
from ragstone.messages import quoted
from ragstone.ranking_files.batch import Batch
from ragstone.ranking_files.judgements import Judgements, Judging
from ragstone.ranking_files.naming import meant
from ragstone.ranking_files.opening import OnRead, opened
from ragstone.ranking_files.problems import Problems
from ragstone.ranking_files.spans import Spans
from ragstone.ranking_files.texts import Texts

AT_ONCE = 1 << 20
"""Bytes that are read at once, at least one line."""
MOST_SHAPES = 100
"""Sets of keys of which the names are remembered."""

Names = dict[tuple[str, ...], tuple[str, str]]
"""The keys of an object -> what the query's id, and the other field, are called there."""


@dataclass(frozen=True)
class _Line:
    """One object of a file: its line, from 1, the query that it is about, and what it holds."""

    number: int
    query: str
    value: object


def read_qrels(path: Path, problems: Problems, columns: Mapping[str, str]) -> Judgements:
    """Read lines of `{query_id, relevance}`: ids with grades, or ids alone, which are of grade 1.

    Raises:
        UsageError: there is no such file, or a name that was said is not in it.
        InputError: its content is wrong.
    """
    judging = Judging(problems)
    for lines in _lines(path, "relevance", problems, columns, None):
        known = [_grades(line, problems) for line in lines]
        sizes = np.fromiter(map(len, known), dtype=np.int64, count=len(known))
        values = chain.from_iterable(each.values() for each in known)
        try:
            grades = np.fromiter(values, dtype=np.float64)
        except OverflowError:
            mend = "it is among the grades of these lines"
            problems.add("a whole number is too large for a grade", mend, line=lines[0].number)
            continue
        judging.add(
            [line.query for line in lines],
            sizes,
            Texts.of(list(chain.from_iterable(known))),
            grades,
            np.repeat([line.number for line in lines], sizes),
        )
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
    for lines in _lines(path, "ranking", problems, columns, on_read):
        empty = False
        lists = [_listed(line, problems) for line in lines]
        try:
            documents = Texts.of(list(chain.from_iterable(lists)))
        except TypeError:  # some are no texts: not looked for where all are
            pairs = zip(lines, lists, strict=True)
            lists = [_ids(line, given, problems) for line, given in pairs]
            documents = Texts.of(list(chain.from_iterable(lists)))
        sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        yield Batch(
            queries=tuple(line.query for line in lines),
            spans=Spans.of(sizes),
            documents=documents,
            hashes=documents.hashes(),
            scores=None,
            lines=np.repeat([line.number for line in lines], sizes),
        )
    if empty:
        problems.add("there is no ranking", "each line is {query_id, ranking}")


def _lines(
    path: Path,
    field: str,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None,
) -> Iterator[list[_Line]]:
    """Yield some lines at once, without those that are wrong; never none."""
    seen: dict[str, int] = {}
    known: Names = {}
    rest, number, last = b"", 0, False
    with opened(path, on_read) as stream:
        while not last:
            more = stream.read(AT_ONCE)
            last = not more
            texts = (rest + more).split(b"\n")
            rest = b"" if last else texts.pop()
            found: list[_Line] = []
            for text in texts:
                number += 1
                if text and not text.isspace():
                    line = _line(text, number, field, problems, columns, known)
                    if line and _is_new(line, seen, problems):
                        found.append(line)
            if found:
                yield found


def _line(
    text: bytes,
    number: int,
    field: str,
    problems: Problems,
    columns: Mapping[str, str],
    known: Names,
) -> _Line | None:
    """Read a line; `known` has the names in objects of the keys that were met before."""
    try:
        value = _parsed(text)
    except (ValueError, RecursionError) as error:
        problems.add(f"this is no JSON: {error}", "each line is one object", line=number)
        return None
    if not isinstance(value, dict):
        problems.add("this is no object", "each line is one object", line=number)
        return None
    given = cast("dict[str, object]", value)
    keys = tuple(given)
    try:
        names = known[keys] if keys in known else _names(given, field, columns)
    except UsageError as error:
        problems.add(str(error), line=number)
        return None
    if len(known) < MOST_SHAPES:
        known[keys] = names
    query = _id(given[names[0]])
    if query is None:
        problems.add("the query's id is neither text nor a whole number", line=number)
        return None
    return _Line(number, query, given[names[1]])


def _parsed(text: bytes) -> object:
    """Read JSON; `json` reads what the faster reader does not, such as half a character.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    try:
        return cast("object", from_json(text, cache_strings="none"))
    except ValueError:
        return cast("object", json.loads(text.decode()))


def _names(given: Mapping[str, object], field: str, columns: Mapping[str, str]) -> tuple[str, str]:
    """Return what the query's id, and the field, are called in an object.

    Raises:
        UsageError: one of them is not there.
    """
    names = {each: meant(each, columns, given) for each in ("query_id", field)}
    if lacking := " and ".join(each for each, name in names.items() if name is None):
        raise UsageError(f"there is no {lacking}; name it with --map FIELD=NAME")
    return str(names["query_id"]), str(names[field])


def _is_new(line: _Line, seen: dict[str, int], problems: Problems) -> bool:
    first = seen.setdefault(line.query, line.number)
    if first == line.number:
        return True
    told = f"query {quoted(line.query)} stands on line {first} already"
    problems.add(told, "each query has one line", line=line.number)
    return False


def _listed(line: _Line, problems: Problems) -> Sequence[str]:
    """Return a ranking's ids, not yet looked at; nothing if it is no list."""
    value = line.value
    if isinstance(value, list):
        return cast("list[str]", value)
    seen = f"the ranking of query {quoted(line.query)} is no list"
    problems.add(seen, "it is a list of ids, best first", line=line.number)
    return ()


def _ids(line: _Line, given: Sequence[object], problems: Problems) -> Sequence[str]:
    """Return a list's ids as texts; whole numbers are ids too."""
    ids = list(map(_id, given))
    if None not in ids:
        return cast("list[str]", ids)
    wrong = given[ids.index(None)]
    seen = f"the list of query {quoted(line.query)} holds {quoted(str(wrong))}"
    problems.add(seen, "it holds ids: text or whole numbers", line=line.number)
    return ()


def _grades(line: _Line, problems: Problems) -> dict[str, float]:
    value = line.value
    if isinstance(value, list):
        ids = _ids(line, cast("list[object]", value), problems)
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


def _id(value: object) -> str | None:
    """Return an id as text; None for what is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
