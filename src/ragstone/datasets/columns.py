"""Which column of a file is which field of a Sample, and the names that fields may have."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tomllib import loads

from ragstone._internal.documents import by_name
from ragstone._internal.text import listing, plain_name
from ragstone.errors import Problem, UnknownNameError, UsageError, nearest

_NAMES = loads(Path(__file__).with_name("columns.toml").read_text(encoding="utf-8"))
_SURE: Mapping[str, str] = _NAMES["sure"]
WEAK: Mapping[str, str] = _NAMES["weak"]
"""Names that have other meanings too: used if no other column is the field and the values fit."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    field: (*names.split(), *WEAK.get(field, "").split()) for field, names in _SURE.items()
}
"""Sample field -> its other names. A column with any other name becomes a tag."""
EITHER = ("answer", "output", "outputs", "antwort", "respuesta", "réponse", "risposta")
"""Names of a response or of a reference: the other columns decide."""
NOT_RETRIEVED = ("evolution_type", "episode_done", "scenario")
"""Columns of test sets whose `contexts` were not retrieved: the answers were written from them."""

CONVERSATIONS = ("messages", "conversation", "conversations", "turns")  # a row for each turn
MOST_COMPARED = 1000  # how many columns are compared with the names of fields that are missing
ALMOST = 0.87  # similarity of names: `respnse` is a response; `response_id` and `content` are not

FIELD_OF = by_name(ALIASES)  # plain name -> Sample field
WEAK_OF: Mapping[str, str] = {
    plain_name(name): field for field, names in WEAK.items() for name in names.split()
}


def field_of(name: str) -> str | None:
    return FIELD_OF.get(plain_name(name))


_TURNS = frozenset(map(plain_name, CONVERSATIONS))


def mapping(field: str, column: str) -> str:
    """Return how messages write that a column is mapped to a field."""
    return f"map {field}={shlex.quote(column)}"


def used_columns(chosen: Mapping[str, str]) -> set[str]:
    """Return the columns that are mapped, as a whole or in part."""
    paths = (path for path in chosen.values() if re.search(r"[.[|]", path))
    return {*chosen.values(), *chain.from_iterable(re.split(r"\W+", path) for path in paths)}


@dataclass(frozen=True)
class Layout:
    fields: Mapping[str, str]  # Sample field -> column
    ambiguous: Mapping[str, tuple[str, ...]]  # Sample field -> the columns that may be it
    tags: tuple[str, ...]
    conversations: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], chosen: Mapping[str, str]) -> "Layout":
        matches: dict[str, list[str]] = {}
        taken = used_columns(chosen)
        for column in (name for name in columns if name not in taken):
            plain = plain_name(column)
            if (field := FIELD_OF.get(plain)) and plain not in WEAK_OF and field not in chosen:
                names = matches.setdefault(field, [])
                names.insert(0 if plain == field else len(names), column)
        fields = {field: column for field, column in chosen.items() if column in columns}
        fields |= {of: names[0] for of, names in matches.items() if len(names) == 1 or of == "tags"}
        unclear = {of: tuple(names) for of, names in matches.items() if of not in fields}
        used = {*fields.values(), *chain.from_iterable(unclear.values())}
        free = [name for name in columns if name not in used]
        return cls(
            fields=fields,
            ambiguous=unclear,
            tags=tuple(name for name in free if plain_name(name) not in _TURNS),
            conversations=tuple(name for name in free if plain_name(name) in _TURNS),
        )


def resolve_columns(mapped: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return Sample field -> column of a user's mapping, which may use aliases of fields."""
    found: dict[str, str] = {}
    for name, column in mapped.items():
        if (field := field_of(name)) is None:
            raise UnknownNameError("field", name, ALIASES)
        if field in found:
            raise UsageError(f"{mapping(name, column)}: {field} is already mapped to a column")
        similar = [other for other in columns if plain_name(other) == plain_name(column)]
        if column not in columns and len(similar) != 1:
            near = nearest(column, columns)
            offer = f"; did you mean {mapping(field, near)}?" if near else ""
            raise UsageError(
                f"{mapping(field, column)}: there is no column {column!r}{offer} "
                f"(the columns are {listing(columns)})"
            )
        found[field] = column if column in columns else similar[0]
    return found


def ambiguous(field: str, names: Sequence[str], *, row: int | None = None) -> Problem:
    seen = f"the columns {' and '.join(map(repr, names))} all match {field}"
    return Problem(seen, f"choose one: {mapping(field, 'COLUMN')}", row=row)


def no_query(columns: Sequence[str], hint: str = "") -> Problem:
    seen = listing(columns) or "none"
    return Problem(
        f"no query column found; the columns are {seen}", hint or mapping("query", "COLUMN")
    )


_OTHERS = ("referencecontext", "referencecontexts", "references", "sourcedocument")  # no fields


def misspelt(names: Iterable[str], missing: Iterable[str]) -> dict[str, str]:
    """Return Sample field without a column -> one whose name is almost a name of the field."""
    sure = ((field, n) for field in missing for n in (field, *_SURE.get(field, "").split()))
    known = {name: field for field, name in sure if len(name) > 7}
    found: dict[str, str] = {}
    for name in islice(names, MOST_COMPARED):
        near = nearest(name.replace(" ", "_"), known, cutoff=ALMOST)
        if near and field_of(name) is None and plain_name(name) not in _OTHERS:
            found.setdefault(known[near], name)
    return found


def unused_columns(fields: Collection[str], tags: Iterable[str]) -> tuple[str, ...]:
    missing = ALIASES.keys() - {"id", "query", "tags", *fields}
    return tuple(
        f"column {name!r} is not used; did you mean {field}? Use {mapping(field, name)}"
        for field, name in sorted(misspelt(tags, missing).items())
    )
