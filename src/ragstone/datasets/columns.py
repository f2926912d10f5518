"""Which column of a file is which field of a Sample, and the names that fields may have."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, islice

from ragstone._internal.text import listing
from ragstone.errors import Problem, UnknownNameError, UsageError, nearest

ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("sample_id", "query_id", "qid"),
    "query": ("user_input", "input", "question", "prompt"),
    "history": ("chat_history",),
    "response": ("actual_output", "answer", "output"),
    "contexts": ("retrieved_contexts", "retrieval_context", "context", "retrieved_chunks"),
    "ranking": ("results", "retrieved_ids"),
    "reference": ("expected_output", "expected_answer", "ground_truth", "ground_truth_answer"),
    "reference_claims": ("expected_facts", "key_facts"),
    "relevance": ("point_ids", "reference_context_ids", "relevant_ids", "relevant_doc_ids"),
    "tags": ("metadata",),
}
"""Sample field -> its other names. A column with any other name becomes a tag."""

CONTEXT_ALIASES: Mapping[str, tuple[str, ...]] = {  # part of a Context -> its other names
    "text": ("page_content", "content", "chunk", "context"),
    "id": ("point_id", "doc_id", "document_id"),
    "score": (),
}

CONVERSATIONS = ("messages", "conversation", "turns")  # all turns, which become a row each
MOST_COMPARED = 1000  # how many columns are compared with the names of fields that are missing


@lru_cache(maxsize=2**17)  # a file has its names in every row
def plain_name(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def by_name(aliases: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    return {plain_name(name): ours for ours, others in aliases.items() for name in (ours, *others)}


FIELD_OF = by_name(ALIASES)  # plain name -> Sample field
PART_OF = by_name(CONTEXT_ALIASES)  # plain name -> part of a Context


def field_of(name: str) -> str | None:
    return FIELD_OF.get(plain_name(name))


_WORDS = frozenset(("content", "result"))  # one letter from a field's name, but usual elsewhere
_TURNS = frozenset(map(plain_name, CONVERSATIONS))


def mapping(field: str, column: str) -> str:
    """Return how messages write that a column is mapped to a field."""
    return f"map {field}={shlex.quote(column)}"


@dataclass(frozen=True)
class Layout:
    fields: Mapping[str, str]  # Sample field -> column
    ambiguous: Mapping[str, tuple[str, ...]]  # Sample field -> the columns that may be it
    tags: tuple[str, ...]
    conversations: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], chosen: Mapping[str, str]) -> "Layout":
        matches: dict[str, list[str]] = {}
        for column in columns:
            if (field := field_of(column)) and field not in chosen:
                matches.setdefault(field, []).append(column)
        fields = {field: column for field, column in chosen.items() if column in columns}
        fields |= {field: names[0] for field, names in matches.items() if len(names) == 1}
        used = {*fields.values(), *chain.from_iterable(matches.values())}
        free = [name for name in columns if name not in used]
        return cls(
            fields=fields,
            ambiguous={field: tuple(names) for field, names in matches.items() if len(names) > 1},
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
    names = ("query", *ALIASES["query"])
    near = next(filter(None, (nearest(name, columns) for name in names)), None)
    spelt = mapping("query", near or "COLUMN")
    fix = f"did you mean {spelt}?" if near else spelt
    fixes = "; ".join(filter(None, (fix, hint)))
    return Problem(f"no query column found; the columns are {seen}", fixes)


def misspelt(names: Iterable[str], missing: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return Sample field without a column -> one that is probably misspelt, and its right name."""
    found: dict[str, tuple[str, str]] = {}
    columns = list(islice(names, MOST_COMPARED))
    for field in missing:
        for known in (field, *ALIASES[field]):
            if near := next((name for name in columns if _is_near(name, known)), None):
                found.setdefault(field, (near, known))
    return found


def _is_near(name: str, known: str) -> bool:
    """A name with more words, such as `response_length`, means something else."""
    if abs(len(name) - len(known)) > 2 + len(known) // 4:
        return False
    one, two = plain_name(name), plain_name(known)
    if len(two) < 5 or one in _WORDS or set(known.split("_")) < set(re.findall(r"[^\W_]+", name)):
        return False
    if len(two) >= 10:
        matcher = SequenceMatcher(None, one, two)
        if matcher.quick_ratio() >= 0.9 and matcher.ratio() >= 0.9:
            return True
    while one[:1] == two[:1] and one:
        one, two = one[1:], two[1:]
    swapped = one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two[1:] or one[1:] == two or one == two[1:]


def unused_columns(fields: Collection[str], tags: Iterable[str]) -> tuple[str, ...]:
    missing = ALIASES.keys() - {"id", "query", "tags", *fields}
    return tuple(
        f"column {name!r} is not used; did you mean {known}? Use {mapping(field, name)}"
        for field, (name, known) in sorted(misspelt(tags, missing).items())
    )
