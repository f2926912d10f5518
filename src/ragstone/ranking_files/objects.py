"""Objects: a JSON object a line, each about one query, of whatever shape."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from pydantic_core import from_json

from ragstone.errors import UsageError
from ragstone.messages import quoted
from ragstone.ranking_files.naming import resolve_column
from ragstone.ranking_files.problems import Problems

MOST_SHAPES = 100
"""Sets of keys of which the names are remembered."""


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
            raise UsageError(f"there is no {lacking}; name it with --map FIELD=NAME")
        found = str(names["query_id"]), str(names[self.field])
        if len(self._names) < MOST_SHAPES:
            self._names[known] = found
        return found

    def _line(self, number: int, text: bytes) -> Line | None:
        try:
            value = parsed(text, unique=self.field == "relevance")
        except (ValueError, RecursionError) as error:
            fix = "each line is one object"
            self.problems.add(f"this is no JSON: {error}", fix, line=number)
            return None
        if not isinstance(value, dict):
            self.problems.add("this is no object", "each line is one object", line=number)
            return None
        given = cast("dict[str, object]", value)
        try:
            query_name, field_name = self.names(list(given))
        except UsageError as error:
            self.problems.add(str(error), line=number)
            return None
        query = id_of(given[query_name])
        if query is None:
            told = "the query's id is neither text nor a whole number"
            self.problems.add(told, line=number)
            return None
        return Line(number, query, given[field_name])


def parsed(text: bytes, *, unique: bool = False) -> object:
    """Read JSON; with `unique`, no key may stand twice in one object.

    Raises:
        ValueError: it is none, or a key stands twice.
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
        raise ValueError(f"{quoted(twice)} stands twice in one object")
    return found


def ids_of(line: Line, given: Sequence[object], problems: Problems) -> Sequence[str]:
    """Return a list's ids as texts, whole numbers as their digits; nothing if one is no id."""
    ids = list(map(id_of, given))
    if None not in ids:
        return cast("list[str]", ids)
    wrong = given[ids.index(None)]
    seen = f"the list of query {quoted(line.query)} holds {quoted(str(wrong))}"
    problems.add(seen, "it holds ids: text or whole numbers", line=line.number)
    return ()


def id_of(value: object) -> str | None:
    """Return an id as text, a whole number as its digits; None for what is none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
