"""Reading a target's reply: JSON or server-sent events, and Sample fields found in it by path."""

import json
from collections.abc import Mapping
from typing import cast

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import ValidationError

from ragstone.errors import CallError, Cause
from ragstone.messages import quoted
from ragstone.samples import Context
from ragstone.targets.events import events_of

_WHOLE = "@"


def fields_of(content: bytes, paths: Mapping[str, str], *, stream: bool) -> dict[str, object]:
    """Return Sample fields from a reply's body, each found by its path.

    Raises:
        CallError: the body is no JSON, or has nothing of a field's shape at its path.
    """
    if stream:
        events = events_of(content)
        return {field: _streamed(field, events, path) for field, path in paths.items()}
    data = _json(content)
    fields: dict[str, object] = {}
    for field, path in paths.items():
        if (found := _found(data, path)) is None:
            said = f"the reply has nothing at {path!r}; it has {_keys(data)}"
            raise CallError(Cause.MALFORMED, said)
        fields[field] = shaped(field, found)
    return fields


def shaped(field: str, value: object) -> object:
    """Return a value in the shape of the Sample field: text, or contexts.

    Raises:
        CallError: it has not that shape.
    """
    if field == "response":
        if not isinstance(value, str):
            raise CallError(Cause.MALFORMED, f"the response is no text but {_said(value)}")
        return _whole(value)
    if not isinstance(value, list | tuple):
        raise CallError(Cause.MALFORMED, f"{field} is no list but {_said(value)}")
    return tuple(_context(item, field) for item in cast("list[object]", value))


def _context(item: object, field: str) -> Context:
    if isinstance(item, Context):
        return item
    bare = "id" if field == "ranking" else "text"
    known = cast("Mapping[str, object]", item) if isinstance(item, Mapping) else {bare: item}
    shown = {key: known[key] for key in ("id", "text", "score") if known.get(key) is not None}
    # a place of a ranking that should have an id and has none would count as a wrong document
    needed = "text" if field == "contexts" or "id" not in known else "id"
    if needed not in shown:
        raise CallError(Cause.MALFORMED, f"an item of {field} has no {needed}: {_said(known)}")
    shown = {key: _whole(part) if isinstance(part, str) else part for key, part in shown.items()}
    try:
        return Context.model_validate(shown)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise CallError(Cause.MALFORMED, f"an item of {field}: {place}: {fault['msg']}") from error


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        said = _said(content.decode("utf-8", "replace"))
        raise CallError(Cause.MALFORMED, f"the reply is no JSON: {said}") from error


def _streamed(field: str, events: list[str], path: str) -> object:
    """Join the pieces of a text, or take the last list that came."""
    if field == "response" and path == _WHOLE:
        return _whole("".join(_plain(events)))
    pieces = [_found(_event(event), path) for event in events]
    if not (pieces := [piece for piece in pieces if piece is not None]):
        raise CallError(Cause.MALFORMED, f"no event of the reply has anything at {path!r}")
    if field != "response":
        return shaped(field, pieces[-1])
    if strange := [piece for piece in pieces if not isinstance(piece, str)]:
        raise CallError(Cause.MALFORMED, f"a piece of the response is {_said(strange[0])}")
    return _whole("".join(cast("list[str]", pieces)))


def _plain(events: list[str]) -> list[str]:
    """Return events that are text: as JSON strings if all of them are, else as they came."""
    texts = [_loaded(event) for event in events]
    for text in texts:
        _check_fault(text)
    strings = [text for text in texts if isinstance(text, str)]
    return strings if len(strings) == len(events) else events


def _loaded(event: str) -> object:
    try:
        return cast("object", json.loads(event))
    except (ValueError, RecursionError):
        return None


def _event(text: str) -> object:
    """Return an event's JSON; None for a word such as `done`, which says nothing of the answer."""
    try:
        data = cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] not in ("{", "["):
            return None
        raise CallError(Cause.MALFORMED, f"an event is no JSON: {_said(text)}") from error
    _check_fault(data)
    return data


def _check_fault(data: object) -> None:
    fault = cast("dict[str, object]", data).get("error") if isinstance(data, dict) else None
    if fault:
        raise CallError(Cause.UNREACHABLE, f"the reply broke off with an error: {_said(fault)}")


def _found(data: object, path: str) -> object:
    try:
        return cast("object", jmespath.search(path, data))
    except (JMESPathError, RecursionError) as error:
        said = quoted(str(error))
        raise CallError(Cause.MALFORMED, f"{path!r} does not fit the reply: {said}") from error


def _whole(text: str) -> str:
    """Join halves of surrogate pairs, which streams cut apart; a half alone becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _keys(data: object) -> str:
    if isinstance(data, dict):
        keys = sorted(cast("dict[str, object]", data))
        return f"the keys {quoted(', '.join(keys[:12]))}" if keys else "no keys"
    return _said(data)


def _said(value: object) -> str:
    """Return the beginning of a value as its sender would write it."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return quoted(text) if len(text) <= 80 else f"{quoted(text[:79])}…"
