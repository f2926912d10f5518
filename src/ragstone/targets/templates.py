"""Filling `{field}` and `${ENV}` into the strings of a target's description."""

import os
import re
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import quote

from ragstone.variables import NAME, NO_VARIABLE, VARIABLE

Values = Mapping[str, object]

_FIELD = re.compile(rf"(?<!\$)\{{({NAME}(?:\.[^{{}}]+)?)\}}")
_EITHER = re.compile(rf"{VARIABLE.pattern}|{_FIELD.pattern}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def fields_in(value: object) -> list[str]:
    """Return the name of every `{field}` in the value's strings."""
    return [name for text in _texts(value) for name in _FIELD.findall(text)]


def variables_in(value: object) -> list[str]:
    """Return the name of every `${ENV}` in the value's strings."""
    return [name for text in _texts(value) for name in VARIABLE.findall(text)]


def no_variables_in(value: object) -> list[str]:
    """Return what begins as `${ENV}` does and is none, such as `${KEY:-default}`."""
    return [found for text in _texts(value) for found in NO_VARIABLE.findall(text)]


def filled(value: object, values: Values) -> object:
    """Return a JSON value with its `{field}`s and `${ENV}`s filled.

    A string that is one field and nothing else becomes that field's value with its type.
    """

    def fill(text: str) -> object:
        if match := _FIELD.fullmatch(text):
            return values.get(match[1])
        return _filled(text, lambda name: _text(values.get(name)))

    return _changed(value, fill)


def filled_url(url: str, values: Values, *, base: str) -> str:
    """Return a URL with its fields filled and percent-encoded; `{base}` and ENV stay as they are.

    A query that the base has goes to the end.
    """
    base, mark, query = _filled(base, _nothing).partition("?")
    known = {name: quote(_text(value), safe="") for name, value in values.items()}
    whole = _filled(url, lambda name: {**known, "base": base.rstrip("/")}.get(name, ""))
    return f"{whole}{'&' if '?' in whole else '?'}{query}" if mark else whole


def filled_header(header: str, values: Values) -> str:
    """Return a header's value with its fields filled, control characters made blanks."""
    return _CONTROL.sub(" ", _filled(header, lambda name: _text(values.get(name)))).strip()


def filled_variables(text: str) -> str:
    """Return a text that has no fields with its `${ENV}`s filled."""
    return _filled(text, _nothing)


def _filled(text: str, field: Callable[[str], str]) -> str:
    """Fill fields and variables in one pass, so that what is filled in is never filled again."""
    return _EITHER.sub(
        lambda found: os.environ.get(found[1], "") if found[1] else field(found[2]), text
    )


def _nothing(name: str) -> str:
    return f"{{{name}}}"


def _text(value: object) -> str:
    """Return a value as text that can be sent: halves of a surrogate pair cannot."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode("utf-8")


def _texts(value: object) -> list[str]:
    found: list[str] = []
    _changed(value, found.append)
    return found


def _changed(value: object, change: Callable[[str], object]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _changed(item, change) for key, item in items}
    if isinstance(value, list):
        return [_changed(item, change) for item in cast("list[object]", value)]
    return value
