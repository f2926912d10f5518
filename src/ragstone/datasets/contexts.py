"""Contexts and rankings: texts or documents in order, in every form that people's files have."""

from ragstone.datasets.cells import Plain, kind, plain, text
from ragstone.datasets.columns import CONTEXT_ALIASES, by_name, plain_name
from ragstone.datasets.document_ids import spelled_ids
from ragstone.datasets.literals import spelled
from ragstone.samples import Context, document_id

_PARTS = by_name(CONTEXT_ALIASES)


def contexts(value: Plain) -> tuple[Context, ...]:
    """Return texts in order, from a list of texts or objects, or from one text.

    A text that spells a list is that list; any other is one context. `""` is none.

    Raises:
        ValueError: an item is neither a text nor an object with one, or a list cannot be read.
    """
    if isinstance(value, str):
        if (found := spelled(value)) is None and _looks_like_list(value):
            raise ValueError(
                "this looks like a list of texts but cannot be read as one; "
                'write JSON: ["one", "two"]'
            )
        value = plain(found) or [] if isinstance(found, list) else [value] if value.strip() else []
    if not isinstance(value, list):
        raise ValueError(f"this is {kind(value)}, not a list of texts")
    return tuple(_context(item, number) for number, item in enumerate(value, 1))


def ranking(value: Plain) -> tuple[Context, ...]:
    """Return documents in rank order, from a list of ids or objects, or from ids in a text.

    Raises:
        ValueError: an item is neither an id nor an object with an id or a text.
    """
    if isinstance(value, str):
        value = spelled_ids(value)
    items = value if isinstance(value, list) else [value]
    return tuple(_ranked(item, number) for number, item in enumerate(items, 1))


def _context(item: Plain | None, number: int) -> Context:
    if isinstance(item, str):
        return Context(text=item)
    if not isinstance(item, dict):
        raise ValueError(f"item {number} is {kind(item)}, neither a text nor an object with one")
    parts = _parts(item)
    if "text" not in parts:
        raise ValueError(f"item {number} has no text; it has {_names(item)}")
    return _made(parts, number)


def _ranked(item: Plain | None, number: int) -> Context:
    if isinstance(item, dict):
        parts = _parts(item)
        if "id" not in parts and "text" not in parts:
            raise ValueError(f"item {number} has neither id nor text; it has {_names(item)}")
        return _made(parts, number)
    if isinstance(item, list) or item is None:
        raise ValueError(f"item {number} is {kind(item)}, neither an id nor an object with one")
    return Context(id=document_id(item))


def _parts(item: dict[str | int | float, Plain | None]) -> dict[str, Plain]:
    """Return the parts of a Context that an object has; our own names go before others'."""
    given = {plain_name(str(name)): part for name, part in item.items() if part is not None}
    found: dict[str, Plain] = {}
    for name, ours in _PARTS.items():
        if name in given:
            found.setdefault(ours, given[name])
    return found


def _made(parts: dict[str, Plain], number: int) -> Context:
    try:
        document = None if "id" not in parts else document_id(parts["id"])
        score = None if "score" not in parts else _score(parts["score"])
        return Context(text=text(parts.get("text", "")), id=document, score=score)
    except ValueError as error:
        raise ValueError(f"item {number}: {error}") from error


def _score(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the score is {kind(value)}, not a number")
    return float(value)


def _names(item: dict[str | int | float, Plain | None]) -> str:
    return ", ".join(repr(name) for name in list(item)[:8]) or "no names"


def _looks_like_list(value: str) -> bool:
    value = value.strip()
    inside = value[1:-1].strip()
    return value[:1] == "[" and value[-1:] == "]" and inside[:1] in tuple("'\"{")
