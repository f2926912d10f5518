"""Document ids in every form that people's files have, and the grades they may carry."""

import re

from ragstone.datasets.cells import Plain, kind, plain
from ragstone.datasets.literals import spelled
from ragstone.samples import document_id

_BETWEEN = re.compile(r"[,;|\t\r\n]+")
_WHOLE = re.compile(r"(-?\d+)\.0+")
_NUMBERS = re.compile(r"\d+(\s+\d+)+")
_LIST = '; write a list such as 1, 2 or ["a", "b"]'


def ids(value: Plain) -> list[str]:
    """Return document ids in order, from a list, a number, or a text (see `spelled_ids`).

    Raises:
        ValueError: something there is no id.
    """
    if isinstance(value, str):
        value = spelled_ids(value)
    if isinstance(value, dict):
        raise ValueError(f"this is an object, not a list of ids{_LIST}")
    items = value if isinstance(value, list) else [value]
    return [_id(item) for item in items]


def relevance(value: Plain) -> dict[str, float]:
    """Return document id -> grade; ids without grades have grade 1, and `""` or `[]` is none.

    Raises:
        ValueError: something there is no id, or a grade is no number, or one id has two grades.
    """
    if isinstance(value, str):
        value = spelled_ids(value)
    if not isinstance(value, dict):
        return dict.fromkeys(ids(value), 1.0)
    grades: dict[str, float] = {}
    for name, grade in value.items():
        if (document := _id(name)) in grades:
            raise ValueError(f"the document {document!r} has two grades")
        if isinstance(grade, str | list | dict) or grade is None:
            raise ValueError(f"the grade of {document!r} is {kind(grade)}, not a number")
        grades[document] = float(grade)
    return grades


def spelled_ids(text: str) -> Plain:
    """Return what a text says: a JSON or Python list or object, or ids with , ; | or lines between.

    Outside quotes `5.0` is 5: that is how pandas writes the number 5 of a column with blanks.

    Raises:
        ValueError: it begins as a list or object but is none, or it is not clear where ids end.
    """
    text = text.strip()
    if text.startswith(("'", '"')) and (quoted := spelled(f"[{text}]")) is not None:
        return plain(quoted) or []
    if (found := spelled(text)) is not None:
        return plain(found) or []
    if text.startswith(("[", "{", "(")):
        raise ValueError(f"{kind(text)} begins as a list but cannot be read as one{_LIST}")
    words = [word for piece in _BETWEEN.split(text) if (word := piece.strip())]
    if text and not words:
        raise ValueError(f"{kind(text)} holds no id{_LIST}")
    if unclear := [word for word in words if _NUMBERS.fullmatch(word)]:
        raise ValueError(f"{kind(unclear[0])} may be one id or several; put commas between")
    return [found[1] if (found := _WHOLE.fullmatch(word)) else word for word in words]


def _id(item: Plain | None) -> str:
    if isinstance(item, list | dict) or item is None:
        raise ValueError(f"{kind(item)} is no document id{_LIST}")
    return document_id(item)
