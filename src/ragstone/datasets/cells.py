"""Reading one value of a file into one field of a Sample. A ValueError says why it cannot be."""

import json
import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TypeAlias, cast
from uuid import UUID

from pydantic import BaseModel

from ragstone.datasets.literals import spelled
from ragstone.datasets.table import Unreadable
from ragstone.values import document_id

Scalar = str | int | float | bool
Plain: TypeAlias = Scalar | list["Plain | None"] | dict[str | int | float, "Plain | None"]
"""A value that is not missing, as JSON has it; but an object's names may also be numbers."""

SEVERAL_TURNS = "this is a conversation, but one sample is one turn; write one row a turn"
_DEEPEST = 50
"""How many lists and objects may lie in one another; no data set of people's has ten."""
EXACT = 10**15
"""From here on, a float (as all of Excel's numbers are) may stand for another id."""
_BITS = 1023
"""How many bits a whole number may have: beyond, it is no float any more, as grades are."""


def normalise_cell(value: object, depth: int = 0) -> Plain | None:
    """Return a value as plain data: dates become ISO 8601 text, tuples lists, models objects.

    A UUID becomes text, a Decimal a number.

    Raises:
        ValueError: it holds something that no report and no store could hold: NaN, infinity, a NUL,
            half a character, an object of Python, or more than 50 lists in one another.
    """
    if depth > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} lists or objects lie in one another")
    match value:
        case None | bool():
            return value
        case int() | float():
            return _number(value)
        case str():
            return _sound(value)
        case Unreadable():
            raise ValueError(value.seen)
        case date() | time():
            return value.isoformat()
        case timedelta() | UUID():
            return str(value)
        case Decimal():
            return _number(_from_decimal(value))
        case BaseModel():
            return normalise_cell(value.model_dump(), depth)
        case list() | tuple():
            items = cast("list[object]", value)
            return [normalise_cell(item, depth + 1) for item in items]
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return {_name(key): normalise_cell(item, depth + 1) for key, item in pairs}
        case _:
            raise ValueError(f"a value of type {type(value).__name__} is no plain data")


def text(value: Plain) -> str:
    """Return a value as text: 5.0 is `"5"`, True is `"true"`.

    Raises:
        ValueError: it is a list or an object.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return document_id(value)
        case _:
            raise ValueError(f"this is {kind(value)}, not a text")


def query(value: Plain) -> str:
    """Return what the user asked.

    Raises:
        ValueError: it is blank, is no text, or is a list of messages.
    """
    spelt = spelled(value) if isinstance(value, str) else value
    if isinstance(spelt, list) and spelt and all(_is_message(item) for item in spelt):
        raise ValueError(SEVERAL_TURNS)
    asked = text(value)
    if not asked.strip():
        raise ValueError("the query is blank; fill it in, or delete the row")
    return asked


def sample_id(value: Plain) -> str:
    """Return a row's id as text.

    Raises:
        ValueError: it is blank, or is a list or an object.
    """
    if not (name := text(exact(value)).strip()):
        raise ValueError("the id is blank; fill it in, or leave it out in every row")
    return name


def exact(value: Plain) -> Plain:
    """Return a value that is to be an id.

    Raises:
        ValueError: it is a float of 16 digits or more, so it may have been another number.
    """
    if isinstance(value, float) and abs(value) >= EXACT:
        shown = f"{value:.0f}"[:40]
        raise ValueError(
            f"{shown} may not be the number that was typed: only 15 digits are kept; "
            "format the column as text, and enter the id again"
        )
    return value


def refuse_date(value: object) -> None:
    """Stop at an id that is a date.

    Raises:
        ValueError: it is a date, a time or a duration.
    """
    if isinstance(value, date | time | timedelta):
        raise ValueError(
            f"this is a date or time ({normalise_cell(value)}), not an id; "
            "format the column as text, and enter the id again"
        )


def claims(value: Plain) -> tuple[str, ...]:
    """Return facts from a list, from a text that spells one, or from a text with one a line.

    Raises:
        ValueError: an item is no text or is blank.
    """
    if isinstance(value, str):
        lines = [line for line in value.splitlines() if line.strip()]
        value = normalise_cell(lines if (found := spelled(value)) is None else found) or []
    if not isinstance(value, list):
        raise ValueError(f"this is {kind(value)}; write a list of texts, or one a line")
    for number, item in enumerate(value, 1):
        if not isinstance(item, str) or not item.strip():
            raise ValueError(f"item {number} is {kind(item)}, not a text")
    return tuple(str(item).strip() for item in value)


def tags(value: Plain, column: str) -> dict[str, Scalar]:
    """Return the tags that one column gives: the parts of an object, else one of the column's name.

    An object is taken apart only in the column that is `tags`; see `tag` for all others.
    """
    if isinstance(value, str) and isinstance(found := spelled(value), dict):
        value = normalise_cell(found) or {}
    if isinstance(value, dict):
        return {str(name): tag(part) for name, part in value.items() if part is not None}
    return {column: tag(value)}


def tag(value: Plain) -> Scalar:
    """Return a tag's value: a text, number or boolean as it is, anything else as compact JSON."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def kind(value: Plain | None) -> str:
    """Say what a value is, in a few words, for messages."""
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str() if not value.strip():
            return "blank"
        case _:
            return repr(value if len(str(value)) <= 40 else f"{str(value)[:40]}…")


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and "content" in item


def _name(key: object) -> str | int | float:
    if isinstance(key, bool) or not isinstance(key, str | int | float):
        raise ValueError(f"the name {key!r} is no text; put it in quotes")
    return cast("str | int | float", normalise_cell(key))


def _from_decimal(value: Decimal) -> int | float:
    """Return a Decimal as the whole number that it is, else as the nearest float."""
    if not value.is_finite() or value.adjusted() > _BITS or value != value.to_integral_value():
        return float(value)
    return int(value)


def _number(value: int | float) -> int | float:
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise ValueError(f"a number of {value.bit_length()} bits is too large")
    if not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    return value


def _sound(value: str) -> str:
    if "\0" in value:
        raise ValueError("the text holds a NUL (\\u0000); take it out")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = value[error.start]
            raise ValueError(f"the text holds half a character ({half!a}); take it out") from None
    return value
