"""Numbered items of a reply: grades, and what verdicts share with them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar
from unicodedata import normalize

from ragstone._internal.text import count, quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.json import (
    NUMBER_KEYS,
    OTHER_KEYS,
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_reconsidered,
    parse_value,
    read_word,
    storable,
    text_at,
)
from ragstone.types.claim import Grade

V = TypeVar("V")

Quote = tuple[int | None, str]
"""The number of the quoted context, from 1 (None if not given), and the words."""

_NUMBER = re.compile(r"\W*(?:[a-z]+[\s_.#-]*)?[#(\[]?([0-9]{1,9})[\s.):\]]*", re.IGNORECASE)
UNCLEAR = -1
"""The number of an item with several numbers, or one that cannot be read."""
_OTHER_ENDS = re.compile(
    r"(?:context|source|passage|document|doc|evidence|chunk|paragraph|page|line)(?:id|no|number)?s?$"
    r"|(?:level|score|confidence)$"
)
"""Ends of keys like OTHER_KEYS."""


def number_keys(*nouns: str) -> tuple[str, ...]:
    """Return the keys under which an item names its number, without gaps."""
    ends = ("", "number", "no", "num", "nr", "id", "index", "idx", "position")
    return (*(noun + end for end in ends for noun in nouns), *NUMBER_KEYS)


_LINE_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """A reply does not have exactly one item for each thing; the message describes how."""


class Item(NamedTuple, Generic[V]):
    """One item as written.

    Attributes:
        number: the number that it names; None if it names none, UNCLEAR if that is not clear.
        written: its label as written; None if there is none.
        value: the meaning of the label; None if it has none, or something may contradict it.
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
        labels: keys of an item's label, without gaps; all that are present must agree on `side`.
        numbers: keys of an item's number, without gaps.
        texts: keys of the text that an item repeats, without gaps.
        words: word in lower case, with single spaces -> its meaning.
    """

    lists: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    words: Mapping[str, V]
    side: Callable[[V | None], object] = lambda value: value
    quoted: bool = False

    @cached_property
    def named(self) -> re.Pattern[str]:
        """A label anywhere in a text."""
        words = sorted((word for word in self.words if not word.isdigit()), key=len, reverse=True)
        either = "|".join(re.escape(word).replace(r"\ ", r"[-_\s]") for word in words)
        return re.compile(rf"\b(?:{either})\b", re.IGNORECASE)


def json_items(
    value: object, expected: int, form: ItemFormat[V], depth: int = 3
) -> tuple[Item[V], ...] | None:
    """Return the items of a JSON value; None if it does not look like such items.

    They are a list of objects or of words, by itself or under a key of an object. If one is
    expected, they may be one object. Nothing else in the object may give other items, or set these
    aside.
    """
    if is_list(value):
        items = tuple(_item(entry, form) for entry in value)
        likely = (_is_item(entry, item, form) for entry, item in zip(value, items, strict=True))
        return items if not items or any(likely) else None
    if not is_object(value):
        return None
    found = {
        key: items
        for key, inner in value.items()
        if depth and (key in form.lists or key not in OTHER_KEYS)
        if is_list(inner) or is_object(inner)
        if (items := json_items(inner, expected, form, depth - 1))
        or (items is not None and key in form.lists)
    }
    if named := next((key for key in form.lists if key in found), None):
        notes = {key: note for key, note in value.items() if key not in (*form.lists, "error")}
        clear = len(found) == 1 and not value.get("error") and notes.keys() <= OTHER_KEYS
        reconsidered = (is_reconsidered(note) for note in notes.values() if isinstance(note, str))
        return found[named] if clear and not any(reconsidered) else None
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
    known = OTHER_KEYS.union(form.labels, form.numbers, form.texts)
    clear = len({form.side(value) for value in values}) == 1 and all(
        value is None or key in known or _OTHER_ENDS.search(key) for key, value in entry.items()
    )
    quotes: list[Quote] = []
    evidence = entry.get("evidence", entry.get("quotes", entry.get("quote")))
    for each in (evidence if is_list(evidence) else [evidence]) if form.quoted else ():
        if is_object(each):
            text = text_at(each, "quote", "text", "evidence")
            number = number_at(each, "context", "contextnumber", "source")
        else:
            text, number = (storable(each) if isinstance(each, str) else None), None
        if text and text.strip():
            quotes.append((number, text.strip()))
    return Item(
        number=_number_of(entry, form),
        written=_as_written(labels[0]) if labels else None,
        value=values[0] if clear else None,
        reason=reason_at(entry),
        statement=text_at(entry, *form.texts),
        quotes=tuple(quotes),
    )


def _number_of(entry: Mapping[str, object], form: ItemFormat[V]) -> int | None:
    """Return the one number that an item names; None if it names none."""
    found: set[int | None] = set()
    for key in form.numbers:
        value = entry.get(key)
        number = number_at(entry, key)
        is_text = key in form.texts and isinstance(value, str) and len(value.strip()) > 3
        if value not in (None, "") and not (is_text and number is None):
            found.add(number)
    if len(found) > 1 or None in found:
        return UNCLEAR
    return found.pop() if found else None


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
        if isinstance(value, str) and (match := written.fullmatch(normalize("NFKC", value))):
            return int(match[1])
    return None


def parse_items(
    reply: RawReply,
    expected: int,
    form: ItemFormat[V],
    plain: Callable[[str], tuple[Item[V], ...] | None] = lambda _: None,
    drafted: Callable[[str], tuple[Item[V], ...]] = lambda _: (),
) -> tuple[Item[V], ...]:
    """Return the items of a reply in the order in which they are written.

    `plain` reads a text without JSON; `drafted` returns the items in the analysis before JSON.
    """

    def disagrees(items: tuple[Item[V], ...], before: str, after: str) -> bool:
        drafts = drafted(before)
        return bool(form.named.search(after)) or bool(
            drafts and sides_of(drafts, form) != sides_of(items, form)
        )

    return parse_value(reply, lambda value: json_items(value, expected, form), plain, disagrees)


def sides_of(items: Sequence[Item[V]], form: ItemFormat[V]) -> dict[int, object]:
    """Return the side of each item by its number, or its place if it has none."""
    return {
        place if item.number is None else item.number: form.side(item.value)
        for place, item in enumerate(items, 1)
    }


def in_order(
    items: Sequence[Item[V]], expected: int, name: str, of: str, texts: Sequence[str] = ()
) -> Sequence[Item[V]]:
    """Return one item for each of the `expected` things, in their order.

    They are matched by the numbers that they name (from 1; from 0 if all are so), else by the
    texts that they repeat, else by position if they repeat none.
    """
    if len(items) != expected:
        counted = count(len(items), name.removesuffix("s"))
        raise ReplyMismatchError(f"got {counted} for {count(expected, of.removesuffix('s'))}")
    numbers = [item.number for item in items]
    places = _ranks(numbers)
    if places is None and any(number is not None for number in numbers):
        shown = ("none" if n is None else "unclear" if n < 0 else str(n)[:20] for n in numbers[:50])
        raise ReplyMismatchError(f"the {name} of {len(items)} {of} are numbered {', '.join(shown)}")
    bare = [_bare(text) for text in texts]
    repeated = [_bare(item.statement or "") for item in items]
    if bare and places is None and any(repeated):
        if len(set(bare)) == len(bare) and sorted(repeated) == sorted(bare):
            places = tuple(bare.index(text) for text in repeated)
        elif repeated != bare:
            raise ReplyMismatchError(f"the {name} do not repeat the texts of the {of}")
    places = places or tuple(range(expected))
    for place, text in zip(places, repeated, strict=True):
        if text in bare and text != bare[place]:
            one, thing = name.removesuffix("s"), of.removesuffix("s")
            raise ReplyMismatchError(f"{one} {place + 1} repeats the text of another {thing}")
    return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]


def _ranks(numbers: Sequence[int | None]) -> tuple[int, ...] | None:
    """Return the places, from 0, of numbers that count from 0 or 1 without gaps; else None."""
    whole = [number for number in numbers if number is not None]
    first = first_number(whole, len(numbers))
    if sorted(whole) != list(range(first, first + len(numbers))):
        return None
    return tuple(number - first for number in whole)


def first_number(numbers: Sequence[int], expected: int) -> int:
    """Return where the numbers begin: 0 if one is 0 and none is `expected`."""
    return 0 if 0 in numbers and expected not in numbers else 1


def _bare(text: str) -> str:
    return " ".join(_LINE_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")


_GRADES = ItemFormat(
    lists=("grades", "contexts", "sentences", "verdicts", "results", "labels"),
    labels=("relevant", "isrelevant", "relevance", "useful", "grade", "verdict", "label"),
    numbers=number_keys("context", "sentence", "document", "doc"),
    texts=("text", "context", "sentence"),
    words=MappingProxyType(
        {
            **YES_OR_NO,
            **dict.fromkeys(("relevant", "useful"), True),
            **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
        }
    ),
)


def parse_grades(reply: RawReply, texts: Sequence[str], *, of: str) -> tuple[Grade, ...]:
    """Return the grades of a reply: exactly one for each text, in their order; JSON only."""
    items = parse_items(reply, len(texts), _GRADES)
    try:
        ordered = in_order(items, len(texts), "grades", of, texts)
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
