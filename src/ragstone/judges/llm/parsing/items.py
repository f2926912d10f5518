"""Numbered items of a reply: grades, and what verdicts share with them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from ragstone._internal.text import count, quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_refusal,
    label_pattern,
    numbered_pattern,
    parse_value,
    read_word,
    storable,
    text_at,
)
from ragstone.types.claim import Grade

V = TypeVar("V")

Quote = tuple[int | None, str]
"""The number of the quoted context, from 1 (None if not given), and the words."""

_NUMBER = re.compile(r"\s*(?:claim|statement)?\s*#?\s*([0-9]{1,9})\.?\s*", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """A reply does not have exactly one item for each thing; the message describes how."""


class Item(NamedTuple, Generic[V]):
    """One item as written.

    Attributes:
        number: the number that it names; None if it names none.
        written: its label as written; None if there is none.
        value: the meaning of the label; None if it has none.
        statement: the claim that it repeats.
    """

    number: int | None = None
    written: str | None = None
    value: V | None = None
    reason: str | None = None
    statement: str | None = None
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True)
class ItemFormat(Generic[V]):
    """How models write one kind of item.

    Attributes:
        lists: keys of the list of items.
        labels: keys of an item's label; all that are present must agree on `side`.
        numbers: keys of an item's number.
        words: word in lower case, with single spaces -> its meaning.
        label, line: patterns of a label at the start of a text, and of a numbered line.
        quoted: whether items repeat claims and quote contexts.
    """

    lists: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    words: Mapping[str, V]
    label: re.Pattern[str]
    line: re.Pattern[str]
    side: Callable[[V | None], object] = lambda value: value
    quoted: bool = False


def json_items(value: object, expected: int, form: ItemFormat[V]) -> tuple[Item[V], ...] | None:
    """Return the items of a JSON value; None if it does not look like such items.

    They are a list of objects or of words, by itself or under a key of an object. If one is
    expected, they may be one object.
    """
    if is_list(value):
        items = tuple(_item(entry, form) for entry in value)
        likely = (_is_item(entry, item, form) for entry, item in zip(value, items, strict=True))
        return items if not items or any(likely) else None
    if not is_object(value):
        return None
    for key in form.lists:
        inner = value.get(key)
        if is_list(inner) and (found := json_items(inner, expected, form)) is not None:
            return found
    single = _item(value, form)
    return (single,) if expected == 1 and _is_item(value, single, form) else None


def _is_item(entry: object, item: Item[V], form: ItemFormat[V]) -> bool:
    named = is_object(entry) and any(key in entry for key in form.labels)
    return named or item.value is not None


def _item(entry: object, form: ItemFormat[V]) -> Item[V]:
    if not is_object(entry):
        return Item(written=_as_written(entry), value=read_word(entry, form.words))
    labels = [entry[key] for key in form.labels if key in entry]
    values = [read_word(label, form.words) for label in labels]
    item = Item(
        number=number_at(entry, *form.numbers),
        written=_as_written(labels[0]) if labels else None,
        value=values[0] if len({form.side(value) for value in values}) == 1 else None,
        reason=reason_at(entry),
    )
    if not form.quoted:
        return item
    quotes: list[Quote] = []
    evidence = entry.get("evidence", entry.get("quotes", entry.get("quote")))
    for each in evidence if is_list(evidence) else [evidence]:
        if is_object(each):
            text = text_at(each, "quote", "text", "evidence")
            number = number_at(each, "context", "context_number", "source")
        else:
            text, number = (storable(each) if isinstance(each, str) else None), None
        if text and text.strip():
            quotes.append((number, text.strip()))
    statement = text_at(entry, "statement", "claim", "text", "fact")
    return item._replace(statement=statement, quotes=tuple(quotes))


def _as_written(value: object) -> str | None:
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return storable(value if isinstance(value, str) else json.dumps(value))[:200]


def reason_at(fields: Mapping[str, object]) -> str | None:
    """Return the reason of an entry; None if there is none."""
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


def plain_items(
    lines: Sequence[str], form: ItemFormat[V], shown: Sequence[str] = ()
) -> Iterator[Item[V]]:
    """Yield the items on the numbered lines of a text."""
    for line in lines:
        if numbered := form.line.fullmatch(line):
            yield plain_item(int(numbered[1]), numbered[2], form, shown)


def plain_item(
    number: int | None, text: str, form: ItemFormat[V], shown: Sequence[str] = ()
) -> Item[V]:
    """Return the item of a text that starts with its label; a text shown to the judge has none."""
    text = text.strip()
    label = form.label.match(text)
    if not label or (label.end() < len(text) and any(text in other for other in shown)):
        return Item(number, text[:200])
    reason = text[label.end() :].strip(" -–—:;.()[]*")
    return Item(number, label[1], read_word(label[1], form.words), reason or None)


def in_order(
    items: Sequence[Item[V]], expected: int, name: str, of: str, claims: Sequence[str] = ()
) -> Sequence[Item[V]]:
    """Return one item for each of the `expected` things, in their order.

    They are matched by the numbers that they name (from 1; from 0 if all are so), else by the
    claims that they repeat, else by position.

    Raises:
        ReplyMismatchError: there are too many or too few, or they contradict one another.
    """
    if len(items) != expected:
        counted = count(len(items), name.removesuffix("s"))
        raise ReplyMismatchError(f"got {counted} for {count(expected, of.removesuffix('s'))}")
    numbers = [item.number for item in items]
    named = [number for number in numbers if number is not None]
    if named:
        first = first_number(named, expected)
        if sorted(named) != list(range(first, first + expected)):
            seen = ", ".join("none" if n is None else str(n)[:20] for n in numbers[:50])
            raise ReplyMismatchError(f"the {name} of {expected} {of} are numbered {seen}")
        return sorted(items, key=lambda item: item.number or 0)
    texts, repeated = [_bare(claim) for claim in claims], [_bare(i.statement or "") for i in items]
    if not claims or repeated == texts:
        return items
    if len(set(texts)) == len(texts) and set(repeated) == set(texts):
        return [items[repeated.index(text)] for text in texts]
    for number, (text, own) in enumerate(zip(repeated, texts, strict=True), 1):
        if text != own and text in texts:
            raise ReplyMismatchError(f"verdict {number} repeats a claim other than claim {number}")
    return items


def first_number(numbers: Sequence[int], expected: int) -> int:
    """Return where the numbers begin: 0 if one is 0 and none is `expected`."""
    return 0 if 0 in numbers and expected not in numbers else 1


def _bare(text: str) -> str:
    return " ".join(_LINE_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")


_RELEVANCE: Mapping[str, bool] = MappingProxyType(
    {
        **YES_OR_NO,
        **dict.fromkeys(("relevant", "useful"), True),
        **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
    }
)
_GRADES = ItemFormat(
    lists=("grades", "contexts", "sentences", "verdicts", "results", "labels"),
    labels=("relevant", "is_relevant", "relevance", "useful", "grade", "verdict", "label"),
    numbers=(
        "number", "context", "context_number", "context_id", "sentence", "sentence_number",
        "sentence_id", "index", "id",
    ),
    words=_RELEVANCE,
    label=label_pattern(_RELEVANCE),
    line=numbered_pattern("context", "sentence"),
)  # fmt: skip


def parse_grades(reply: RawReply, expected: int, *, of: str) -> tuple[Grade, ...]:
    """Return the grades of a reply: exactly one for each of the `expected` texts, in their order.

    `of` is what the texts are, in the plural.

    Raises:
        JudgeFailureError: the reply cannot be parsed, or does not have one grade for each.
    """

    def plain(answer: str) -> tuple[Item[bool], ...] | None:
        lines = answer.splitlines()  # a reason may read like a refusal: other lines count
        if is_refusal("\n".join(line for line in lines if not _GRADES.line.fullmatch(line))):
            return None
        items = tuple(plain_items(lines, _GRADES, reply.shown))
        return items if any(item.value is not None for item in items) else None

    items = parse_value(reply, lambda value: json_items(value, expected, _GRADES), plain)
    try:
        ordered = in_order(items, expected, "grades", of)
    except ReplyMismatchError as error:
        raise reply.unusable(Cause.COUNT_MISMATCH, str(error)) from None
    grades: list[Grade] = []
    for item in ordered:
        if item.value is None:
            seen = (
                f"{quoted(item.written)!r} is not a grade" if item.written else "a grade is missing"
            )
            raise reply.unusable(Cause.MALFORMED, seen)
        grades.append(Grade(relevant=item.value, reason=item.reason))
    return tuple(grades)
