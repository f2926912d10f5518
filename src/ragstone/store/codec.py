"""Codec: what the store holds, as JSON text and back."""

import hashlib
import json
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
    """A row as JSON: `body` is all but the exchanges, which are the `transcript`."""

    body: str
    transcript: str


def encode_row(row: Row, *, transcript: bool = True) -> Texts:
    """Return a row as texts; without its transcript, what the judge wrote is left out.

    What was asked, when, and at what cost stays, and so do the scores with their claims.
    """
    exchanges = row.exchanges if transcript else tuple(map(_silent, row.exchanges))
    return Texts(to_text(_ROW, row, apart=_APART), _ledger(exchanges))


def decode_row(texts: Texts) -> Row:
    """Return the row that texts were made of; what an older version did not store is at default.

    Raises:
        ValidationError: the texts are not those of a row.
    """
    exchanges = from_text(_EXCHANGES, texts.transcript)
    return replace(from_text(_ROW, texts.body), exchanges=tuple(map(_typed, exchanges)))


def to_text(adapter: TypeAdapter[T], value: T, *, apart: set[str] | None = None) -> str:
    """Return a value as JSON; half a character is written as an escape, and comes back as it was.

    A NUL is an escape in JSON, so that PostgreSQL takes it too.
    """
    try:
        return adapter.dump_json(value, exclude=apart).decode()
    except PydanticSerializationError:  # UTF-8 has no halves of characters
        return json.dumps(adapter.dump_python(value, mode="json", exclude=apart))


def from_text(adapter: TypeAdapter[T], text: str) -> T:
    """Return the value that a text was made of.

    Raises:
        ValidationError: the text is not that of such a value.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError:
        if "\\ud" not in text:
            raise
    return adapter.validate_python(json.loads(text))


def column(text: str) -> str:
    """Return a text as a column can hold it: NUL and halves of characters as escapes."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def query_fingerprint(query: str) -> str:
    """Return 16 hex digits that tell queries apart."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _ledger(exchanges: tuple[Exchange, ...]) -> str:
    """Return the exchanges as JSON, without zeros in their usage: half the time of `to_text`."""
    try:
        return to_json([_plain(exchange) for exchange in exchanges]).decode()
    except PydanticSerializationError:
        return to_text(_EXCHANGES, exchanges)


def _plain(exchange: Exchange) -> dict[str, object]:
    outcome = exchange.outcome
    usage = {name: number for name, number in vars(outcome.usage).items() if number != 0}
    return {**vars(exchange), "outcome": {**vars(outcome), "usage": usage}}


def _silent(exchange: Exchange) -> Exchange:
    outcome = exchange.outcome
    if isinstance(outcome, Reply):
        return replace(exchange, outcome=replace(outcome, value=None, raw=None))
    return replace(exchange, outcome=replace(outcome, returned=(), raw=None))


def _typed(exchange: Exchange) -> Exchange:
    """Give a reply's value its type back; one that was left out stays None."""
    outcome = exchange.outcome
    if not isinstance(outcome, Reply) or outcome.value is None:
        return exchange
    try:
        adapter = adapter_of(exchange.kind)
    except UnknownNameError:  # a plug-in's that is not loaded: a run can be looked at without it
        return exchange
    value = adapter.validate_python(outcome.value)
    return replace(exchange, outcome=replace(outcome, value=value))
