"""Layout: which column of a file is which field of a Sample; the one table of other names."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType

from ragstone.errors import Problem, UnknownName, UsageError

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

_LIKE = 0.6
"""The least likeness (0 to 1) of a name that is offered in place of another; difflib's own."""


def plain_name(name: str) -> str:
    """Return a name without case, blanks, underscores and hyphens: names match by this."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def by_name(aliases: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    """Return plain name -> our name, for our names and all their aliases."""
    return {plain_name(name): ours for ours, others in aliases.items() for name in (ours, *others)}


_FIELDS = by_name(ALIASES)
_TURNS = frozenset(map(plain_name, CONVERSATIONS))


@dataclass(frozen=True)
class Layout:
    """What each column of a file is.

    Attributes:
        fields: field of a Sample -> the file's column.
        tags: the columns that become tags, under the file's own names.
        conversations: the columns that have to be blank, because they hold several turns.
    """

    fields: Mapping[str, str]
    tags: tuple[str, ...]
    conversations: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], mapped: Mapping[str, str]) -> "Layout":
        """Give each column its place; `mapped` (field -> column) goes before the names' sense.

        Where several columns could be one field, none is: `doubts` tells of them.

        Raises:
            UsageError: `mapped` names a field or a column that does not exist.
        """
        chosen = {field: _column(field, name, columns) for field, name in mapped.items()}
        meant = {
            column: field
            for column in columns
            if (field := _FIELDS.get(plain_name(column))) and field not in chosen
        }
        times = Counter(meant.values())
        clear = {field: column for column, field in meant.items() if times[field] == 1}
        fields = {**chosen, **clear}
        free = [name for name in columns if name not in meant and name not in fields.values()]
        return cls(
            # In the order of the file, so that problems are told in that order too.
            fields=dict(sorted(fields.items(), key=lambda item: columns.index(item[1]))),
            tags=tuple(name for name in free if plain_name(name) not in _TURNS),
            conversations=tuple(name for name in free if plain_name(name) in _TURNS),
        )


def doubts(layout: Layout, columns: Sequence[str]) -> list[Problem]:
    """Return what is wrong with a file's columns: a field that has several, or no query."""
    problems: list[Problem] = []
    for field in ALIASES:
        meant = [name for name in columns if _FIELDS.get(plain_name(name)) == field]
        if len(meant) > 1 and field not in layout.fields:
            names = " and ".join(map(repr, meant))
            problems.append(
                Problem(f"the columns {names} both mean {field}", f"choose: --map {field}=COLUMN")
            )
        elif field == "query" and not meant and field not in layout.fields:
            problems.append(_no_query(columns))
    return problems


def _no_query(columns: Sequence[str]) -> Problem:
    seen = ", ".join(map(repr, columns)) or "none"
    near = _nearest([name for name, field in _FIELDS.items() if field == "query"], columns)
    offer = f"did you mean --map query={near}?" if near else "say which: --map query=COLUMN"
    return Problem(f"no column is the query; the columns are {seen}", offer)


def _column(field: str, name: str, columns: Sequence[str]) -> str:
    """Return the file's column of a name that the user gave for a field."""
    if field not in ALIASES:
        if ours := _FIELDS.get(plain_name(field)):
            raise UsageError(f"{field!r} is called {ours!r} here: --map {ours}={name}")
        raise UnknownName("field", field, ALIASES)
    if name in columns:
        return name
    alike = [column for column in columns if plain_name(column) == plain_name(name)]
    if len(alike) == 1:
        return alike[0]
    near = _nearest([name], columns)
    offer = f"; did you mean --map {field}={near}?" if near else ""
    seen = ", ".join(map(repr, columns))
    raise UsageError(
        f"--map {field}={name}: there is no column {name!r}{offer} (the columns are {seen})"
    )


def _nearest(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the column whose name is most like one of the names, if any is like enough."""
    scored = [
        (SequenceMatcher(None, plain_name(name), plain_name(column)).ratio(), column)
        for column in columns
        for name in names
    ]
    likeness, column = max(scored, default=(0.0, ""))
    return column if likeness >= _LIKE else None
