"""Searching: what holds of rows in which a text stands, or that have a tag, as SQL looks for it.

Rows are JSON, and each database has its own ways to look into that.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Function,
    LargeBinary,
    Text,
    and_,
    case,
    cast,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON

from ragstone.store.codec import column
from ragstone.store.schema import ROWS, TEXTS

_SEARCHED = ("query", "response")
"""Fields of a sample in which a text is looked for, beside its id."""
_FOLD = "ragstone_fold"
_HALF = "(?:0000|d[89a-f][0-9a-f]{2})"
_UNREADABLE = rf"(?<!\\)((?:\\\\)*)\\u{_HALF}"
"""A NUL or half a character in a row's JSON, of which PostgreSQL makes no text: it fails."""
_HALVED = r"\ud"
_SIGNS = (r"\u0000", _HALVED)
_NUL = r"%\u0000%"
_HEAD = func.substr(TEXTS.c.body, 1, func.instr(TEXTS.c.body, '"contexts":'))
"""The beginning of a row's JSON: its place, and the sample's id, query and response."""
_CODED = r"%\u%"
"""What holds a letter by its number: all but ASCII, where half a character stands in the row."""
_FRAME = re.compile(r"[\s\d:,{]*")
_KEYS = "index|sample|id|query|response|:null,|: null, "
"""Between the texts in the head stand these names, quotes, and what _FRAME matches."""


def says(connection: Connection, text: str) -> ColumnElement[bool]:
    """Return that a text stands in the id, query or response, whatever the case of its letters."""
    sqlite = connection.dialect.name == "sqlite"
    return _says_in_file(connection, text) if sqlite else _says_on_server(text)


def is_tagged(connection: Connection, tag: str, value: str | None) -> ColumnElement[bool]:
    """Return that a row has a tag, of that value as JSON writes it; None is any value."""
    sqlite = connection.dialect.name == "sqlite"
    return (_is_tagged_in_file if sqlite else _is_tagged_on_server)(tag, value)


def _says_in_file(connection: Connection, text: str) -> ColumnElement[bool]:
    """Look through texts as they lie, and into the JSON only of what may hold the text.

    To read a row's JSON takes several times as long as to look through it.
    """
    fields = [func.json_extract(TEXTS.c.body, f"$.sample.{name}") for name in _SEARCHED]
    written = _in_json(text)
    if text.isascii() and "\0" not in text:  # LIKE takes no account of the case of ASCII letters
        in_fields = or_(
            *(field.like(_pattern(text), escape="/") for field in fields),
            TEXTS.c.body.like(_NUL),  # LIKE sees nothing behind it
        )
        in_head = _HEAD.like(_pattern(written), escape="/")
        if written == text and not _FRAME.fullmatch(text) and text.lower() not in _KEYS:
            as_is = and_(true(), *(_HEAD.not_like(f"%{sign}%") for sign in _escapes(text)))
            in_fields = or_(as_is, in_fields)
        in_id = ROWS.c.sample_id.like(_pattern(text), escape="/")
        return or_(in_id, and_(in_head, in_fields))
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.create_function(_FOLD, 1, _folded, deterministic=True)
    fold = getattr(func, _FOLD)
    in_fields = or_(*(_stands(fold, field, text) for field in (ROWS.c.sample_id, *fields)))
    may = or_(_stands(fold, _HEAD, written), _HEAD.like(_CODED))
    return and_(may, in_fields)


def _escapes(text: str) -> Iterator[str]:
    r"""Yield the escapes of JSON in which a text without any could begin, as `nl` does in `\nl`."""
    first = text[0].lower()
    if first in "bfnrt":
        yield f"\\{first}"
    if first in "u0123456789abcdef":
        yield r"\u"


def _stands(fold: Callable[..., Function[str]], where: Any, text: str) -> ColumnElement[bool]:
    return func.instr(fold(cast(where, LargeBinary)), text.casefold()) > 0


def _folded(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace").casefold()


def _says_on_server(text: str) -> ColumnElement[bool]:
    pattern = _pattern(column(text))
    in_fields = or_(*(_at("sample", name).ilike(pattern, escape="/") for name in _SEARCHED))
    plain = TEXTS.c.body.ilike(_pattern(_in_json(text)), escape="/")
    somewhere = or_(plain, func.strpos(TEXTS.c.body, _HALVED) > 0)  # all but ASCII is escaped there
    return or_(ROWS.c.sample_id.ilike(pattern, escape="/"), and_(somewhere, in_fields))


def _is_tagged_in_file(tag: str, value: str | None) -> ColumnElement[bool]:
    each = func.json_each(TEXTS.c.body, "$.sample.tags").table_valued("key", "type", "atom")
    written = case(
        (each.c.type == "true", "true"), (each.c.type == "false", "false"), else_=each.c.atom
    )
    fits = each.c.type != "null" if value is None else cast(written, Text) == value
    return select(each.c.key).where(each.c.key == tag, fits).exists()


def _is_tagged_on_server(tag: str, value: str | None) -> ColumnElement[bool]:
    written = _at("sample", "tags", column(tag))
    if value is None:
        return written.is_not(None)
    return written == column(value)


def _at(*path: str) -> Function[str]:
    """Return the text at a place in a row's JSON, made such that PostgreSQL can read it."""
    body = TEXTS.c.body
    marked = func.regexp_replace(body, _UNREADABLE, r"\1?", "g")
    holds_one = or_(*(func.strpos(body, sign) > 0 for sign in _SIGNS))  # sooner told than a match
    readable = cast(case((holds_one, marked), else_=body), JSON)
    return func.json_extract_path_text(readable, *path, type_=Text)


def _in_json(text: str) -> str:
    """Return a text as a row's JSON has it."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _pattern(text: str) -> str:
    """Return the pattern of what holds a text, in which nothing is a wildcard but its ends."""
    for special in "/%_":
        text = text.replace(special, f"/{special}")
    return f"%{text}%"
