"""Parts of other tools' values: the one turn of a chat, texts with ids, and parts of objects."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import count
from ragstone.datasets.columns import ALIASES, PART_OF, plain_name
from ragstone.datasets.table import Record, Unreadable
from ragstone.datasets.values import SEVERAL_TURNS, object_in, spelled, spelled_ids

_ANSWERING = frozenset(
    ("assistant", "ai", "aimessage", "aimessagechunk", "model", "bot", "chatbot")
)
ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "query": frozenset(("user", "human", "humanmessage", "humanmessagechunk")),
        "response": _ANSWERING,
        "reference": _ANSWERING,
    }
)
"""Sample field -> roles of its author in a list of messages."""
_OTHERS = ("system", "tool", "function")
_KNOWN = frozenset(
    (
        *chain.from_iterable(ROLES.values()),
        *(f"{name}{ending}" for name in _OTHERS for ending in ("", "message", "messagechunk")),
        "developer",
    )
)
"""All roles in a list of messages, as named by OpenAI, LangChain, Gemini and Cohere."""
_PLAIN = frozenset(("text", "input_text", "output_text"))
"""Types of a message's parts with its text; others are thoughts or images."""
_LISTS = ("messages", "input_messages", "output_messages")
_TEXTS = ("content", "parts", "text", "kwargs", "message")
_DEEPEST = 8
"""How deep a message's text may be nested; real ones have 3 levels."""


def one_turn(value: object, field: str) -> object:
    """Return the text that a field has in a list of messages; any other value as it is.

    Several messages of the user are several turns, which become Unreadable, as does an unknown
    role. Of several answers the last one counts, because those before it called tools.
    """
    messages = messages_in(value)
    if messages is None:
        return value
    if odd := [role for each in messages if (role := _role(each)) not in _KNOWN]:
        return Unreadable(
            f"unknown message role {odd[0]!r}; expected user, assistant, system or tool"
        )
    texts = [text for each in messages if _role(each) in ROLES[field] and (text := _text(each))]
    if field == "query" and len(texts) > 1:
        return Unreadable(SEVERAL_TURNS)
    return texts[-1] if texts else None


def messages_in(value: object) -> Sequence[Mapping[str, object]] | None:
    """Return the messages that a value is, spells, or has under a usual name, if any."""
    found: object = spelled(value)
    if isinstance(found, dict):
        parts = cast("Mapping[str, object]", found)
        found = next((parts[name] for name in _LISTS if name in parts), [parts])
    if not isinstance(found, list) or not found:
        return None
    items = cast("list[object]", found)
    messages = [cast("Mapping[str, object]", item) for item in items if isinstance(item, Mapping)]
    whole = len(messages) == len(items) and all(map(_role, messages))
    return messages if whole else None


def _role(message: Mapping[str, object]) -> str:
    """Return a message's role in lower case; `""` if it has none, or is not a message.

    Other objects have a type, too, so a type counts only if it is a known role.
    """
    inner = message.get("kwargs", message.get("message"))
    named = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else message
    if not any(name in named for name in _TEXTS):
        return ""
    if isinstance(role := named.get("role"), str):
        return role.casefold()
    kind = named.get("type")
    return kind.casefold() if isinstance(kind, str) and kind.casefold() in _KNOWN else ""


def _text(value: object, depth: int = 0) -> str:
    """Return the text of a message or of its parts; thoughts and images have none."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if isinstance(value, Mapping):
        parts = cast("Mapping[str, object]", value)
        kind = parts.get("type")
        if depth and isinstance(kind, str) and kind.casefold() not in _PLAIN | _KNOWN:
            return ""
        return next((text for n in _TEXTS if (text := _text(parts.get(n), depth + 1))), "")
    if isinstance(value, list):
        return "".join(_text(part, depth + 1) for part in cast("list[object]", value))
    return ""


def pair_texts(
    values: Mapping[str, object], column: str, *, parts: Mapping[str, str]
) -> dict[str, object]:
    """Return a row's values with the texts of a column joined with their ids and scores.

    `parts` is `id` or `score` -> its column. Without texts, ids with their scores become a
    ranking in the ids' own column. Lists that do not match become Unreadable.
    """
    there = {plain_name(name): name for name in values}
    known = {part: there.get(plain_name(name), column) for part, name in parts.items()}
    columns = {part: name for part, name in known.items() if name != column}
    rest = {name: value for name, value in values.items() if name not in columns.values()}
    lists: dict[str, list[object]] = {}
    for part, name in columns.items():
        try:
            if (found := _ids_or_scores(values[name], part)) is not None:
                lists[part] = found
        except ValueError as error:
            return rest | {column: Unreadable(f"{name}: {error}")}
    given, place = values.get(column), column
    parsed = spelled(given)
    if isinstance(parsed, list):
        texts = parsed
    elif isinstance(given, str) and not given.lstrip().startswith("["):
        texts = [given] if given.strip() else []
    elif given is not None or "id" not in lists:
        return rest
    else:
        texts, place = [None] * len(lists["id"]), columns["id"]
    for part, found in lists.items():
        if len(found) != len(texts):
            texts_or_ids = count(len(texts), "text" if place == column else "id")
            return rest | {
                place: Unreadable(f"{texts_or_ids}, but {len(found)} in {columns[part]}")
            }
    documents: list[object] = []
    for at, text in enumerate(texts):
        more = {part: found[at] for part, found in lists.items()}
        if not isinstance(text, Mapping):
            documents.append({"text": text, **more})
            continue
        own = cast("Mapping[str, object]", text)
        has = {PART_OF.get(plain_name(str(name))) for name in own if own[name] is not None}
        documents.append({**own, **{part: more[part] for part in more if part not in has}})
    return rest | {place: documents}


def _ids_or_scores(value: object, part: str) -> list[object] | None:
    found = value
    if isinstance(value, str):
        found = spelled_ids(value) if value.strip() else None
    if found is None:
        return None
    items = list(cast("list[object]", found)) if isinstance(found, list) else [found]
    if any(isinstance(item, dict | list) for item in items):
        raise ValueError("expected a list of ids or scores")
    if part == "score":
        for at, item in enumerate(items):
            with suppress(ValueError):  # other texts are refused later
                items[at] = float(item) if isinstance(item, str) else item
    return items


_OPENED = frozenset(map(plain_name, ("tags", *ALIASES["tags"])))
"""Columns whose parts also become columns under their own names alone: each is a tag."""


def open_parts(record: Record, *, named: Sequence[str]) -> Record:
    """Return a record in which named parts of its objects are columns, if it has them.

    A name is that of the object and its part, `metadata.contexts`; for the tags' parts, their own
    name is enough.
    """
    for name in named:
        record = _parted(record, name)
    return record


def _parted(record: Record, name: str) -> Record:
    """Return a record whose part of this name is a column; itself if it has no such part."""
    for column, value in record.values.items():
        head, dot, inner = name.partition(".")
        if not dot or plain_name(head) != plain_name(column):
            inner = name if plain_name(column) in _OPENED else ""
        if inner and (found := _without(value, inner)) is not None:
            rest, part = found
            return replace(record, values={**record.values, column: rest, name: part})
    return record


def _without(value: object, name: str) -> tuple[Mapping[object, object], object] | None:
    """Return an object without a part, and the part; None if it has none of this name."""
    parts = object_in(value) or {}
    head, dot, inner = name.partition(".")
    for key, part in parts.items():
        if plain_name(str(key)) == plain_name(name):
            return {k: v for k, v in parts.items() if k != key}, part
        within = dot and plain_name(str(key)) == plain_name(head)
        if within and (found := _without(part, inner)) is not None:
            rest, part = found
            return {**parts, key: rest}, part
    return None
