"""Layout: which column of a file is which field of a Sample; the one table of other names."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from types import MappingProxyType

from ragstone.datasets.table import Record
from ragstone.errors import Problem, UnknownNameError, UsageError, nearest

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("sample_id", "query_id", "qid"),
        "query": ("user_input", "input", "question", "prompt"),
        "response": ("actual_output", "answer", "output"),
        "contexts": ("retrieved_contexts", "retrieval_context", "context", "retrieved_chunks"),
        "ranking": ("results", "retrieved_ids"),
        "reference": ("expected_output", "expected_answer", "ground_truth", "ground_truth_answer"),
        "reference_claims": ("expected_facts", "key_facts"),
        "relevance": ("point_ids", "reference_context_ids"),
        "tags": ("metadata",),
    }
)
"""Field of a Sample -> what others call it. Every other column is a tag of its own."""

CONTEXT_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("page_content", "content", "chunk"),
        "id": ("point_id", "doc_id", "document_id"),
        "score": (),
    }
)
"""Part of a Context -> what others call it."""

CONVERSATIONS = ("messages", "conversation", "turns")
"""Columns that hold more than one turn, which a Sample does not."""


@lru_cache(maxsize=4096)  # a file has few names, and asks for them in every row
def plain_name(name: str) -> str:
    """Return a name without case, blanks, underscores and hyphens: names match by this."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def by_name(aliases: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    """Return plain name -> our name, for our names and all their aliases."""
    return {plain_name(name): ours for ours, others in aliases.items() for name in (ours, *others)}


FIELD_OF = by_name(ALIASES)
"""Plain name -> the field of a Sample that it means."""
PART_OF = by_name(CONTEXT_ALIASES)
"""Plain name -> the part of a Context that it means."""
_ALIKE = 0.85
"""How like a field's name, from 0 to 1, another is that may be misspelt."""
_TURNS = frozenset(map(plain_name, CONVERSATIONS))


Spelling = Callable[[str, str], str]
"""What to write so that a field has a column, for messages."""


def flag(field: str, column: str) -> str:
    """Return how the command line says that a field has a column."""
    return f"--map {field}={column}"


def argument(field: str, column: str) -> str:
    """Return how a call in Python says that a field has a column."""
    return f"columns={{{field!r}: {column!r}}}"


@dataclass(frozen=True)
class Layout:
    """What each column of a file, or each name of one row, is.

    Attributes:
        fields: field of a Sample -> the file's column.
        doubts: field -> the columns that could all be it, so that none is.
        tags: the columns that become tags, under the file's own names.
        conversations: the columns that have to be blank, because they hold several turns.
    """

    fields: Mapping[str, str]
    doubts: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...]
    conversations: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], chosen: Mapping[str, str]) -> "Layout":
        """Give each column its place; `chosen` (field -> column) goes before the names' sense."""
        meant: dict[str, list[str]] = {}
        for column in columns:
            if (field := FIELD_OF.get(plain_name(column))) and field not in chosen:
                meant.setdefault(field, []).append(column)
        fields = {field: column for field, column in chosen.items() if column in columns}
        fields |= {field: names[0] for field, names in meant.items() if len(names) == 1}
        placed = {*fields.values(), *chain.from_iterable(meant.values())}
        free = [name for name in columns if name not in placed]
        return cls(
            fields=fields,
            doubts={field: tuple(names) for field, names in meant.items() if len(names) > 1},
            tags=tuple(name for name in free if plain_name(name) not in _TURNS),
            conversations=tuple(name for name in free if plain_name(name) in _TURNS),
        )


def resolve_fields(mapped: Iterable[str]) -> frozenset[str]:
    """Return our fields that these names, by which a user may call them, mean."""
    return frozenset(field for name in mapped if (field := FIELD_OF.get(plain_name(name))))


def chosen(mapped: Mapping[str, str], columns: Sequence[str], *, say: Spelling) -> dict[str, str]:
    """Return our field -> the file's column, for what the user said; other names are understood.

    Raises:
        UsageError: a field or a column does not exist, or one field was given two columns.
    """
    found: dict[str, str] = {}
    for name, column in mapped.items():
        if (field := FIELD_OF.get(plain_name(name))) is None:
            raise UnknownNameError("field", name, ALIASES)
        if field in found:
            raise UsageError(f"{say(name, column)}: {field} is already mapped to a column")
        found[field] = _column(field, column, columns, say)
    return found


def doubt(field: str, names: Sequence[str], *, say: Spelling, row: int | None = None) -> Problem:
    """Return the problem that several names could be one field."""
    seen = f"the columns {' and '.join(map(repr, names))} all match {field}"
    return Problem(seen, f"choose one: {say(field, 'COLUMN')}", row=row)


def no_query(columns: Sequence[str], hint: str = "", *, say: Spelling) -> Problem:
    """Return the problem that no query column found; `hint` says what else was looked for."""
    seen = ", ".join(map(repr, columns)) or "none"
    names = ("query", *ALIASES["query"])
    near = next((found for name in names if (found := nearest(name, columns))), None)
    offer = (
        f"did you mean {say('query', near)}?" if near else f"map one with {say('query', 'COLUMN')}"
    )
    fix = f"{offer}; {hint}" if hint else offer
    return Problem(f"no query column found; the columns are {seen}", fix)


def misspelt(names: Iterable[str], lacking: Iterable[str]) -> dict[str, str]:
    """Return field of a Sample -> the name that is nearly its own, for fields that no row has."""
    found: dict[str, str] = {}
    plain = {plain_name(name): name for name in names}
    for field in lacking:
        known = map(plain_name, (field, *ALIASES[field]))
        near = (get_close_matches(name, plain, n=1, cutoff=_ALIKE) for name in known)
        if alike := next(filter(None, near), None):
            found[field] = plain[alike[0]]
    return found


def _column(field: str, name: str, columns: Sequence[str], say: Spelling) -> str:
    """Return the file's column of a name that the user gave for a field."""
    if name in columns:
        return name
    alike = [column for column in columns if plain_name(column) == plain_name(name)]
    if len(alike) == 1:
        return alike[0]
    near = nearest(name, columns)
    offer = f"; did you mean {say(field, near)}?" if near else ""
    seen = ", ".join(map(repr, columns))
    raise UsageError(
        f"{say(field, name)}: there is no column {name!r}{offer} (the columns are {seen})"
    )


# Layouts: which column is which field in each row, and what is in doubt there.


class Layouts:
    """The layout of each row: of the header, or of the names that the row itself gives values.

    Attributes:
        query: the column that is the query, where a row does not say.
        queries: whether queries are read; else every row gets `NO_QUERY`.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        chosen: Mapping[str, str],
        *,
        own: bool,
        read_as: str,
        queries: bool,
    ) -> None:
        self.queries = queries
        self._columns = columns
        self._sound = frozenset(columns)
        self._chosen = chosen
        self._own = own
        self._read_as = f" (the file is read as {read_as})" if read_as else ""
        self._made: dict[tuple[str, ...], Layout] = {}
        self._doubts: dict[tuple[str, tuple[str, ...]], int] = {}
        whole = Layout.of(columns, chosen)
        self.query = whole.fields.get("query", next(iter(whole.doubts.get("query", ())), None))

    def of(self, record: Record) -> Layout:
        """Return a row's layout, and remember what is in doubt there."""
        names = self._columns
        if self._own:
            given = record.values.items()
            names = tuple(n for n, value in given if value is not None and n in self._sound)
        if (layout := self._made.get(names)) is None:
            layout = self._made[names] = Layout.of(names, self._chosen)
        for doubtful in layout.doubts.items():
            self._doubts.setdefault(doubtful, record.row)
        return layout

    def without_query(self, record: Record) -> str:
        """Say what a row has instead of a query, where each row names its own values."""
        names = [repr(name) for name, value in record.values.items() if value is not None]
        if not self._own or self.query in record.values or not names:
            return "there is no query"
        return f"there is no query; the row has {', '.join(names[:8])}{self._read_as}"

    def problems(self, say: Spelling, near: str) -> list[Problem]:
        """Return what is in doubt, each once, with the first row if rows name their own values."""
        doubts = [
            doubt(field, names, say=say, row=row if self._own else None)
            for (field, names), row in self._doubts.items()
            if self.queries or field != "query"
        ]
        return (
            doubts
            if self.query or not self.queries
            else [no_query(self._columns, near, say=say), *doubts]
        )
