"""Rows and other values as JSON text, and back."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ragstone.errors import UnknownNameError
from ragstone.types.questions import adapter_of
from ragstone.types.reply import Exchange, Reply
from ragstone.types.row import Row

T = TypeVar("T")

_ROW: TypeAdapter[Row] = TypeAdapter(Row)
_EXCHANGES: TypeAdapter[tuple[Exchange, ...]] = TypeAdapter(tuple[Exchange, ...])
_APART = {"exchanges"}


@dataclass(frozen=True)
class Texts:
    """A row as JSON: `transcript` has the exchanges, and `body` all other fields."""

    body: str
    transcript: str


def encode_row(row: Row, *, transcript: bool = True) -> Texts:
    """Return a row as texts; without its transcript, texts of the judge are left out.

    Questions, times and costs stay, and so do the scores with their claims.
    """
    exchanges = row.exchanges if transcript else tuple(map(_without_texts, row.exchanges))
    plain: list[dict[str, object]] = []
    for exchange in exchanges:  # zeros are left out: this takes half the time of `to_text`
        outcome = exchange.outcome
        usage = {name: number for name, number in vars(outcome.usage).items() if number != 0}
        plain.append({**vars(exchange), "outcome": {**vars(outcome), "usage": usage}})
    try:
        written = to_json(plain).decode()
    except PydanticSerializationError:  # UTF-8 has no halves of characters
        written = to_text(_EXCHANGES, exchanges)
    return Texts(to_text(_ROW, row, apart=_APART), written)


def _without_texts(exchange: Exchange) -> Exchange:
    outcome = exchange.outcome
    if isinstance(outcome, Reply):
        return replace(exchange, outcome=replace(outcome, value=None, raw=None))
    return replace(exchange, outcome=replace(outcome, returned=(), raw=None))


def decode_row(texts: Texts) -> Row:
    """Return the row of these texts; fields that an older version did not store have defaults.

    Raises:
        ValidationError: the texts are not a row.
    """
    exchanges: list[Exchange] = []
    for exchange in from_text(_EXCHANGES, texts.transcript):
        outcome = exchange.outcome
        if isinstance(outcome, Reply) and outcome.value is not None:
            # a question of a plug-in that is not loaded: the run can be shown without its type
            with suppress(UnknownNameError):
                adapter = adapter_of(exchange.kind)
                outcome = replace(outcome, value=adapter.validate_python(outcome.value))
        exchanges.append(replace(exchange, outcome=outcome))
    return replace(from_text(_ROW, texts.body), exchanges=tuple(exchanges))


def to_text(adapter: TypeAdapter[T], value: T, *, apart: set[str] | None = None) -> str:
    """Return a value as JSON; half a character is escaped, and comes back unchanged.

    A NUL is escaped in JSON, so that PostgreSQL accepts it too.
    """
    try:
        return adapter.dump_json(value, exclude=apart).decode()
    except PydanticSerializationError:  # UTF-8 has no halves of characters
        return json.dumps(adapter.dump_python(value, mode="json", exclude=apart))


def from_text(adapter: TypeAdapter[T], text: str) -> T:
    """Return the value of a text.

    Raises:
        ValidationError: the text is not such a value.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError:
        if "\\ud" not in text:
            raise
    return adapter.validate_python(json.loads(text))


def column(text: str) -> str:
    """Return a text with NUL and halves of characters escaped, for a column of text."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def query_fingerprint(query: str) -> str:
    """Return 16 hex digits that identify a query."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]
