"""Documents of a row: contexts, rankings, and ids with grades, in every form that files have."""

import re
from unicodedata import normalize

from ragstone.datasets.cells import Plain, exact, kind, normalise_cell, text
from ragstone.datasets.columns import PART_OF, plain_name
from ragstone.datasets.literals import spelled
from ragstone.samples import Context
from ragstone.values import document_id

_BETWEEN = re.compile(r"[,;|\t\r\n，、；]+")
_NUMBERS = re.compile(r"\d+(\s+\d+)+")
_WIDE = re.compile(r"[０-９]+")
_LIST = '; write a list such as 1, 2 or ["a", "b"]'

_MISSING = frozenset(("nan", "none", "null", "n/a", "na"))
"""What programs write, in any case, for what is not known."""
_DASHES = frozenset("-–—")


def contexts(value: Plain) -> tuple[Context, ...]:
    """Return texts in order, from a list of texts or objects, or from one text.

    A text that spells a list is that list; any other is one context. `""` is none.

    Raises:
        ValueError: an item is neither a text nor an object with one, or a list cannot be read.
    """
    if isinstance(value, str):
        if (found := spelled(value)) is None and _looks_like_list(value):
            end = "" if value.rstrip().endswith("]") else " (its end is missing)"
            raise ValueError(
                f"this looks like a list of texts but cannot be read as one{end}; "
                'write JSON: ["one", "two"]'
            )
        value = (
            normalise_cell(found) or []
            if isinstance(found, list)
            else [value]
            if value.strip()
            else []
        )
    if not isinstance(value, list):
        raise ValueError(f"this is {kind(value)}, not a list of texts")
    return tuple(_context(item, number) for number, item in enumerate(value, 1))


def ranking(value: Plain) -> tuple[Context, ...] | None:
    """Return documents in rank order, from a list of ids or objects, or from ids in a text.

    None says that the text is a word for *missing*; see `spelled_ids`.

    Raises:
        ValueError: an item is neither an id nor an object with an id or a text.
    """
    given = spelled_ids(value) if isinstance(value, str) else value
    if given is None:
        return None
    items = given if isinstance(given, list) else [given]
    return tuple(_ranked(item, number) for number, item in enumerate(items, 1))


def relevance(value: Plain) -> dict[str, float] | None:
    """Return document id -> grade; ids without grades have grade 1, and `""` or `[]` is none.

    None says that the text is a word for *missing*; see `spelled_ids`.

    Raises:
        ValueError: something there is no id, or a grade is no number, or one id has two grades.
    """
    given = spelled_ids(value) if isinstance(value, str) else value
    if given is None:
        return None
    if not isinstance(given, dict):
        items = given if isinstance(given, list) else [given]
        return {_id(item): 1.0 for item in items}
    grades: dict[str, float] = {}
    for name, grade in given.items():
        if (document := _id(name)) in grades:
            raise ValueError(f"the document {document!r} has two grades")
        if isinstance(grade, str | list | dict) or grade is None:
            raise ValueError(f"the grade of {document!r} is {kind(grade)}, not a number")
        grades[document] = float(grade)
    return grades


def spelled_ids(text: str) -> Plain | None:
    """Return what a text says: a JSON or Python list or object, or ids with , ; | or lines between.

    None stands for a text that is `nan`, `None`, `null`, `N/A` or `na`: programs write these for
    *missing*. In quotes they are ids.

    Raises:
        ValueError: it begins as a list or object but is none, or it is not clear where ids end, or
            whether there are any.
    """
    text = text.strip()
    if text.casefold() in _MISSING:
        return None
    if text in _DASHES:
        raise ValueError(
            f"{text!r} may say none or not known; write [] for none, leave it blank for not known"
        )
    if text.startswith(("'", '"')) and (quoted := spelled(f"[{text}]")) is not None:
        return normalise_cell(quoted) or []
    if (found := spelled(text)) is not None:
        return normalise_cell(found) or []
    words = [word for piece in _BETWEEN.split(text.strip("[]()")) if (word := piece.strip())]
    if odd := [word for word in words if word.casefold() in _MISSING or word in _DASHES]:
        raise ValueError(f"{odd[0]!r} is no id; leave it out, or put it in quotes if it is one")
    if text.startswith(("[", "{", "(")):
        raise ValueError(f"{kind(text)} begins as a list but cannot be read as one{_LIST}")
    if text and not words:
        raise ValueError(f"{kind(text)} holds no id{_LIST}")
    if unclear := [word for word in words if _NUMBERS.fullmatch(word)]:
        raise ValueError(f"{kind(unclear[0])} may be one id or several; put commas between")
    return [normalize("NFKC", word) if _WIDE.fullmatch(word) else word for word in words]


def _id(item: Plain | None) -> str:
    if isinstance(item, list | dict) or item is None:
        raise ValueError(f"{kind(item)} is no document id{_LIST}")
    return document_id(exact(item))


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
    return Context(id=_id(item))


def _parts(item: dict[str | int | float, Plain | None]) -> dict[str, Plain]:
    """Return the parts of a Context that an object has; our own names go before others'."""
    given = {plain_name(str(name)): part for name, part in item.items() if part is not None}
    found: dict[str, Plain] = {}
    for name, ours in PART_OF.items():
        if name in given:
            found.setdefault(ours, given[name])
    return found


def _made(parts: dict[str, Plain], number: int) -> Context:
    try:
        document = None if "id" not in parts else document_id(exact(parts["id"]))
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
    return value[:1] == "[" and value[1:].strip()[:1] in tuple("'\"{")
