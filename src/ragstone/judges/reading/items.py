"""Item: one verdict as a reply has it, before it is known which claim it is about."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from ragstone.claims import Label
from ragstone.judges.reading.json_text import is_list, is_object, text_at, whole
from ragstone.judges.reading.labels import read_label
from ragstone.judges.reading.listed import listed

Quote = tuple[int | None, str]
"""The number of the context that is named, from 1 (None: none is), and the words."""

_LISTS = ("verdicts", "statements", "claims", "results", "labels")
_LABELS = (
    "label", "verdict", "supported", "is_supported", "entailed", "faithful", "attributed",
    "judgement", "judgment",
)  # fmt: skip
_NUMBERS = (
    "claim", "claim_number", "claim_id", "statement", "statement_number", "statement_id",
    "number", "index", "id",
)  # fmt: skip
_NUMBER = re.compile(r"\s*(?:claim|statement)?\s*#?\s*([0-9]{1,9})\.?\s*", re.IGNORECASE)


class Item(NamedTuple):
    """One verdict as written.

    Attributes:
        number: the claim it names; None if it names none by number.
        statement: the claim as it repeats it, if it does.
        written: the label as written; None if there is none.
        label: what that stands for; None if nothing.
    """

    number: int | None = None
    statement: str | None = None
    written: str | None = None
    label: Label | None = None
    reason: str | None = None
    quotes: tuple[Quote, ...] = ()


def items_of(value: object, due: int) -> tuple[Item, ...] | None:
    """Return the verdicts that a JSON value holds; None if it does not look like verdicts.

    They are a list of objects or of labels, by itself or in an object; where one is due, they
    may be one object.
    """
    return listed(value, due, keys=_LISTS, read=_item, known=_is_verdict)


def _is_verdict(entry: object, item: Item) -> bool:
    named = is_object(entry) and any(key in entry for key in _LABELS)
    return named or item.label is not None


def _item(entry: object) -> Item:
    if not is_object(entry):
        return Item(written=as_written(entry), label=read_label(entry))
    labels = [entry[key] for key in _LABELS if key in entry]
    return Item(
        number=number_at(entry, *_NUMBERS),
        statement=text_at(entry, "statement", "claim", "text", "fact"),
        written=as_written(labels[0]) if labels else None,
        label=_agreed(labels),
        reason=reason_at(entry),
        quotes=_quotes(entry.get("evidence", entry.get("quotes", entry.get("quote")))),
    )


def _agreed(labels: list[object]) -> Label | None:
    """Return the first label; None if another key contradicts it on what counts most."""
    read = [read_label(label) for label in labels]
    supported = {label is Label.SUPPORTED for label in read}
    return read[0] if len(supported) == 1 else None


def as_written(value: object) -> str | None:
    """Return a JSON value as a message shows it; None if there is none."""
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return whole(value if isinstance(value, str) else json.dumps(value))[:200]


def reason_at(fields: Mapping[str, object]) -> str | None:
    """Return the reason that an entry gives; None if it gives none."""
    reason = text_at(fields, "reason", "explanation", "rationale", "justification")
    return (reason or "").strip() or None


def number_at(
    fields: Mapping[str, object], *keys: str, written: re.Pattern[str] = _NUMBER
) -> int | None:
    """Return the whole number under the first of the keys that has one, or a text `written` so."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
            return int(value)
        if isinstance(value, str) and (match := written.fullmatch(value)):
            return int(match[1])
    return None


def _quotes(evidence: object) -> tuple[Quote, ...]:
    entries = evidence if is_list(evidence) else [evidence]
    quotes: list[Quote] = []
    for entry in entries:
        if is_object(entry):
            text = text_at(entry, "quote", "text", "evidence")
            number = number_at(entry, "context", "context_number", "source")
        else:
            text, number = (whole(entry) if isinstance(entry, str) else None), None
        if text and text.strip():
            quotes.append((number, text.strip()))
    return tuple(quotes)
