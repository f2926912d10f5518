"""Rows and other values as JSON text, and back."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar
from zlib import crc32

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ragstone.errors import UnknownNameError
from ragstone.types.questions import adapter_of
from ragstone.types.reply import Exchange, Reply
from ragstone.types.row import Row

T = TypeVar("T")

ROW: TypeAdapter[Row] = TypeAdapter(Row)
_EXCHANGES: TypeAdapter[tuple[Exchange, ...]] = TypeAdapter(tuple[Exchange, ...])


@dataclass(frozen=True)
class Texts:
    """A row as JSON: `transcript` has the exchanges, and `body` all other fields."""

    body: str
    transcript: str


def encode_row(row: Row, *, transcript: bool = True) -> Texts:
    """Return a row as texts; without `transcript`, its exchanges have no texts of the judge.

    Questions, times, costs, and scores with their claims are always stored.
    """
    exchanges = row.exchanges if transcript else tuple(map(_without_texts, row.exchanges))
    plain: list[dict[str, object]] = []
    for exchange in exchanges:  # without zeros; this takes half the time of `to_text`
        outcome = exchange.outcome
        usage = {name: number for name, number in vars(outcome.usage).items() if number != 0}
        plain.append({**vars(exchange), "outcome": {**vars(outcome), "usage": usage}})
    try:
        written = to_json(plain).decode()
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        written = to_text(_EXCHANGES, exchanges)
    return Texts(encode_body(row), written)


def encode_body(row: Row) -> str:
    return to_text(ROW, row, exclude={"exchanges"})


def _without_texts(exchange: Exchange) -> Exchange:
    outcome = exchange.outcome
    if isinstance(outcome, Reply):
        return replace(exchange, outcome=replace(outcome, value=None, raw=None))
    return replace(exchange, outcome=replace(outcome, returned=(), raw=None))


def decode_row(texts: Texts, *, values: bool = True) -> Row:
    """Return the row of these texts; fields that an older version did not store have defaults.

    Without `values`, the values of replies remain plain data, which takes half the time.
    """
    found = from_text(_EXCHANGES, texts.transcript)
    exchanges: list[Exchange] = []
    for exchange in found if values else ():
        outcome = exchange.outcome
        if isinstance(outcome, Reply) and outcome.value is not None:
            # the question type may be from a plugin that is not loaded
            with suppress(UnknownNameError):
                adapter = adapter_of(exchange.kind)
                outcome = replace(outcome, value=adapter.validate_python(outcome.value))
        exchanges.append(replace(exchange, outcome=outcome))
    return replace(from_text(ROW, texts.body), exchanges=tuple(exchanges) if values else found)


def to_text(adapter: TypeAdapter[T], value: T, *, exclude: set[str] | None = None) -> str:
    """Return a value as JSON; lone surrogates are escaped and restored by `from_text`.

    JSON escapes NULs, so PostgreSQL accepts the text.
    """
    try:
        return adapter.dump_json(value, exclude=exclude).decode()
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        return json.dumps(adapter.dump_python(value, mode="json", exclude=exclude))


def from_text(adapter: TypeAdapter[T], text: str) -> T:
    try:
        return adapter.validate_json(text)
    except ValidationError:
        if "\\ud" not in text:
            raise
    return adapter.validate_python(json.loads(text))


def column(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def checksum(*values: object) -> int:
    return crc32("\0".join(map(str, values)).encode())


def query_fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]
