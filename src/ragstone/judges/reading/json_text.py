"""JSON text: the JSON objects and arrays that a reply is, or holds."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ragstone.messages import MARK

_THOUGHT = re.compile(r"<think(?:ing)?>(?:.*?</think(?:ing)?>|.*)", re.DOTALL | re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"```\w*\s*(?=(?P<flat>\[[^\[\]{}]*\])\s*```)"  # a list of plain labels, alone in its fence
    r'|\{(?=\s*["}])|\[(?=\s*[\[{"])'
)


def whole(text: str) -> str:
    """Return the text with halves of characters replaced: they can be neither stored nor sent."""
    return text if text.isascii() else _HALF.sub(MARK, text)


def answer_of(reply: str) -> str:
    """Return a reply without the thoughts that stand before it; "" if there is nothing else."""
    text = reply.strip().removeprefix("\ufeff").strip()
    thought = _THOUGHT.match(text)
    return text[thought.end() :].strip() if thought else text


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


def text_at(fields: Mapping[str, object], *keys: str) -> str | None:
    """Return the text under the first of the keys that has one."""
    for key in keys:
        if isinstance(value := fields.get(key), str):
            return whole(value)
    return None


def texts_at(entries: Sequence[object], *keys: str) -> tuple[str, ...] | None:
    """Return the texts that entries are, or have under one of the keys; None if one has none."""
    texts = [
        text_at(entry, *keys)
        if is_object(entry)
        else (whole(entry) if isinstance(entry, str) else None)
        for entry in entries
    ]
    known = tuple(text for text in texts if text is not None)
    return known if len(known) == len(texts) else None


def json_values(text: str, shown: Sequence[str] = ()) -> tuple[object, ...]:
    """Return every JSON object and array of a text, outermost only; keys are in lower case.

    The whole text may be one, or it holds some: in fences, or between words. A list within words
    counts if it holds objects, lists or texts: `[1]` is a footnote. Between words, what stands in
    a text that the model was `shown` as well is a repetition of that, and left out.

    Raises:
        ValueError: something in it begins like JSON and is not, because it is cut off, say; or
            all that there is are repetitions.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _values_within(text, shown)
    return (value,) if is_object(value) or is_list(value) else ()


def _values_within(text: str, shown: Sequence[str]) -> tuple[object, ...]:
    found: list[object] = []
    bare = [_bare(other) for other in shown] if _START.search(text) else []
    repeated = at = 0
    while start := _START.search(text, at):
        begin = max(start.start(), start.start("flat"))
        try:
            value, at = _DECODER.raw_decode(text, begin)
        except RecursionError:
            raise ValueError("its lists stand too deep in one another") from None
        if any(_bare(text[begin:at]) in other for other in bare):
            repeated += 1
        else:
            found.append(value)
    if repeated and not found:
        raise ValueError("it only repeats what the judge was shown")
    return tuple(found)


def _bare(text: str) -> str:
    return "".join(text.split())


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = {key.lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
