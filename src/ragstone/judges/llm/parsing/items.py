"""Numbered items of a reply: grades, and what verdicts share with them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar
from unicodedata import normalize

from ragstone._internal.text import count, quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_reconsidered,
    is_refusal,
    is_withdrawn,
    may_change,
    parse_value,
    read_word,
    storable,
    text_at,
)
from ragstone.judges.llm.parsing.labels import NUMBER, LabelPattern, number_of, numbered_pattern
from ragstone.types.claim import Grade

V = TypeVar("V")

Quote = tuple[int | None, str]
"""The number of the quoted context, from 1 (None if not given), and the words."""

_NUMBER = re.compile(
    r"\W*(?:(?:claim|statement|context|sentence|passage|document|doc|verdict|item|number|no|nr|id"
    rf"|[a-z])[\s_.#-]*)?[#(\[]?([0-9]{{1,9}}|{NUMBER})(?:st|nd|rd|th)?"
    r"(?:\s*(?:/|of)\s*[0-9]+)?(?:\s+(?:claim|statement|context|sentence))?[\s.):\]]*",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\W*(?:[a-z]|[ivx]{1,5})\W*", re.IGNORECASE)
_NO_LABEL = re.compile(
    r"^(?:draft|initial|previous|first|expected|old|possible|proposed|suggested|example)"
    r"|by|(?:reason|confidence|score|level)$"
)
"""Keys with the name of a label that are none: `draft_label`, `supported_by_context`."""
_OUTCOME = re.compile("result|outcome|decision|answer")
_OTHER_ENDS = re.compile(
    r"(?:context|source|passage|document|doc|evidence|chunk|paragraph|page|line)(?:id|no|number)?s?$"
    r"|(?:level|score|confidence|year|count)$|^n[a-z]+s$"
)
"""Ends of keys that are neither an item's number nor its label."""
_LEAST_COMMON = 0.5
"""Share of its pairs of letters that a repeated text has in common with the original."""
_SHORT = 12
"""Letters of a line that may occur in a text that was shown by chance."""
REASON_LINE = re.compile(
    r"[ \t]+\S|[-*• ]*(?:reason|reasoning|explanation|rationale|evidence|quote)s?\b", re.IGNORECASE
)
"""A line that belongs to the item before it."""
_INTRODUCTION = re.compile("verdicts? for each", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_FOOTNOTE = re.compile(r"[1-9][0-9]{0,2}")
_MOST_LINES = 5_000
"""Lines of the longest plain text that is read."""
_START_OF_LINE = 25
"""Letters of a line in which it may take an answer back."""
_OTHER_KEYS = frozenset(
    "confidence score probability certainty rating evidence quote quotes source sources page"
    " line context contexts contextnumber reason explanation rationale justification reasoning"
    " thoughts analysis summary".split()
)
"""Keys of an item, or of a list of items, that are neither its number nor its label."""


def number_keys(*nouns: str) -> tuple[str, ...]:
    ends = ("", "number", "no", "num", "nr", "id", "index", "idx", "position")
    return (
        *(noun + end for end in ends for noun in nouns),
        *("number", "no", "num", "nr", "index", "idx", "position", "pos", "item", "n", "id", ""),
    )


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
        others: every key with what may be a number: the key, the number (None if it cannot be
            read), and whether such a key names the number.
        unknown: texts under keys of unknown meaning.
    """

    number: int | None = None
    written: str | None = None
    value: V | None = None
    reason: str | None = None
    statement: str | None = None
    quotes: tuple[Quote, ...] = ()
    others: tuple[tuple[str, int | None, bool], ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemFormat(Generic[V]):
    """How models write one kind of item.

    Attributes:
        lists: keys of the list of items.
        labels: keys of an item's label, without gaps; all that are present must agree on `side`.
        numbers: keys of an item's number, without gaps.
        texts: keys of the text that an item repeats, without gaps.
        words: word in lower case, with single spaces -> its meaning.
        label, line: patterns of a label at the start of a text, and of a numbered line.
    """

    lists: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    words: Mapping[str, V]
    label: LabelPattern[V]
    line: re.Pattern[str]
    side: Callable[[V | None], object] = lambda value: value
    quoted: bool = False


def json_items(
    value: object, expected: int, form: ItemFormat[V], depth: int = 3
) -> tuple[Item[V], ...] | None:
    """Return the items of a JSON value; None if it does not look like such items.

    They are a list of objects or of words, by itself or under a key of an object, or an object
    whose keys are their numbers. If one is expected, they may be one object. Nothing else in the
    object may give other items, or set these aside.
    """
    if is_list(value):
        items = tuple(_item(entry, form) for entry in value)
        likely = (_is_item(entry, item, form) for entry, item in zip(value, items, strict=True))
        return items if not items or any(likely) else None
    if not is_object(value):
        return None
    found: dict[str, tuple[Item[V], ...]] = {}
    for key, inner in value.items() if depth else ():
        if key in form.lists or (key not in _OTHER_KEYS and (is_list(inner) or is_object(inner))):
            items = json_items(inner, expected, form, depth - 1)
            if items or (items is not None and key in form.lists):
                found[key] = items
    if named := next((key for key in form.lists if key in found), None):
        keys = list(value)
        items, later = found[named], keys[keys.index(named) + 1 :]
        sides = _sides(items, form)
        notes = {key: note for key in later if isinstance(note := value[key], str)}
        unclear = (
            any(_sides(other, form) != sides for other in found.values())
            or value.get("error")
            or any(map(is_reconsidered, notes.values()))
            or any(may_change("", notes[key]) for key in notes.keys() - _OTHER_KEYS)
        )
        return None if unclear else items
    if value and all(map(_NUMBER.fullmatch, value)):
        numbers = [number_at({"": key}, "") for key in value]
        items = tuple(_item(entry, form) for entry in value.values())
        numbered = [item._replace(number=n) for item, n in zip(items, numbers, strict=True)]
        agree = all(item.number in (None, n) for item, n in zip(items, numbers, strict=True))
        return tuple(numbered) if agree and any(n.value is not None for n in numbered) else None
    single = _item(value, form)
    return (single,) if expected == 1 and _is_item(value, single, form) else None


def _sides(items: Sequence[Item[V]], form: ItemFormat[V]) -> dict[int, object]:
    return {
        place if item.number is None else item.number: (
            None if item.value is None else form.label.side(item.value)
        )
        for place, item in enumerate(items, 1)
    }


def _is_item(entry: object, item: Item[V], form: ItemFormat[V]) -> bool:
    named = is_object(entry) and any(key in entry for key in form.labels)
    return named or item.value is not None


def _item(entry: object, form: ItemFormat[V]) -> Item[V]:
    if not is_object(entry):
        return Item(written=_as_written(entry), value=read_word(entry, form.words))
    labels = [entry[key] for key in form.labels if key in entry]
    values = [read_word(label, form.words) for label in labels]
    others, unknown, more = _other_keys(entry, values, form)
    values += more
    return Item(
        number=number_at(entry, *form.numbers),
        written=_as_written(labels[0]) if labels else None,
        value=values[0] if len({form.side(value) for value in values}) == 1 else None,
        reason=reason_at(entry),
        statement=text_at(entry, *form.texts),
        quotes=tuple(quotes_at(entry)) if form.quoted else (),
        others=tuple(others),
        unknown=tuple(unknown),
    )


def _other_keys(
    entry: Mapping[str, object], values: Sequence[V | None], form: ItemFormat[V]
) -> tuple[list[tuple[str, int | None, bool]], list[str], list[V | None]]:
    """Return what may be the item's number, the texts of unknown meaning, and further labels.

    A further label is None if something contradicts the `values` of the item's own.
    """
    others: list[tuple[str, int | None, bool]] = []
    labels: list[V | None] = [None] if is_withdrawn(entry) else []
    unknown: list[str] = []
    for key, value in entry.items():
        if key in form.labels or (key in _OTHER_KEYS and key not in form.numbers):
            continue
        if key in form.numbers:
            numbers = _numbers(value, text=key in form.texts)
            others += [(key, number, True) for number in numbers]
        elif (further := _further_labels(key, value, values, form)) is not None:
            labels += further
        elif _OTHER_ENDS.search(key):
            continue
        elif isinstance(value, str):
            unknown.append(storable(value))
            if value.lower() not in YES_OR_NO:
                labels += [also] if (also := read_word(value, form.words)) is not None else []
            others += [(key, number, False) for number in _numbers(value, text=True)]
        elif isinstance(value, int | float):
            others += [(key, number, False) for number in _numbers(value, text=True)]
        elif is_object(value) and any(_numbers(each, text=True) for each in value.values()):
            others.append((key, None, False))
    return others, unknown, labels


def _further_labels(
    key: str, value: object, values: Sequence[V | None], form: ItemFormat[V]
) -> list[V | None] | None:
    flag = read_word(value, YES_OR_NO) if isinstance(value, bool | str) else None
    if key in form.words and flag is not None:  # "contradicted": true
        return [form.words[key]] if flag else [None] if form.words[key] in values else []
    if any(label in key for label in form.labels):
        if _NO_LABEL.search(key) or (also := read_word(value, form.words)) is None:
            return []
        return [None if key.startswith(("un", "ir", "not", "non")) else also]
    if _OUTCOME.search(key) and isinstance(value, str) and read_word(value, form.words) is None:
        return [None]
    labelled = is_object(value) and any(label in value for label in form.labels)
    return [None] if labelled or isinstance(value, bool) or (flag is not None and values) else None


def _numbers(value: object, *, text: bool) -> tuple[int | None, ...]:
    """Return the number in a JSON value, None for one that cannot be read; nothing if blank.

    `text` is whether another text than a number is expected as well.
    """
    if isinstance(value, str):
        if match := _NUMBER.fullmatch(normalize("NFKC", value)):
            return (number_of(match[1]),)
        unclear = value.strip() and (not text or _ORDINAL.fullmatch(value))
        return (None,) if unclear else ()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (int(value),) if value % 1 == 0 else () if text else (None,)
    return () if value is None else (None,)


def _as_written(value: object) -> str | None:
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return storable(value if isinstance(value, str) else json.dumps(value))[:200]


def quotes_at(fields: Mapping[str, object]) -> list[Quote]:
    quotes: list[Quote] = []
    evidence = fields.get("evidence", fields.get("quotes", fields.get("quote")))
    for each in evidence if is_list(evidence) else [evidence]:
        if is_object(each):
            text = text_at(each, "quote", "text", "evidence")
            number = number_at(each, "context", "contextnumber", "source", "passage")
        else:
            text, number = (storable(each) if isinstance(each, str) else None), None
        if text and text.strip():
            quotes.append((number, text.strip()))
    return quotes


def reason_at(fields: Mapping[str, object]) -> str | None:
    reason = text_at(fields, "reason", "explanation", "rationale", "justification")
    return (reason or "").strip() or None


def number_at(
    fields: Mapping[str, object], *keys: str, written: re.Pattern[str] = _NUMBER
) -> int | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
            return int(value)
        if isinstance(value, str) and (match := written.fullmatch(normalize("NFKC", value))):
            return number_of(match[1])
    return None


def plain_items(lines: Sequence[str], form: ItemFormat[V]) -> Iterator[Item[V]]:
    for line in lines:
        if numbered := form.line.fullmatch(line):
            yield plain_item(number_of(numbered[1]), numbered[2], form)


def plain_item(number: int | None, text: str, form: ItemFormat[V]) -> Item[V]:
    text = text.strip()
    if not (label := form.label.match(text)):
        return Item(number, text[:200])
    reason = text[label.end() :].strip(" -–—:;.()[]*")
    return Item(number, label[1], read_word(label[1], form.words), reason or None)


def parse_items(
    reply: RawReply,
    expected: int,
    form: ItemFormat[V],
    plain: Callable[[str], tuple[Item[V], ...] | None],
) -> tuple[Item[V], ...]:
    def unquoted(text: str) -> tuple[Item[V], ...] | None:
        if text.count("\n") > _MOST_LINES:
            return None
        shown = "\n".join(reply.shown).casefold()
        shown_lines = {line.strip() for line in shown.splitlines()}
        for line in (line.strip() for line in text.splitlines()):
            numbered = form.line.fullmatch(line)
            parts = [part.casefold() for part in (line, numbered and numbered[2]) if part]
            repeats = any(len(part) > _SHORT and part in shown for part in parts)
            if (repeats or line.casefold() in shown_lines) and plain(line):
                return None
        items = plain(text)
        affirmed = (item for item in items or () if item.value and form.label.side(item.value))
        reasons = [item.reason for item in affirmed if item.reason]
        if may_change("", "\n".join(["", *reasons]), reply.shown) or any(
            not _LETTER.search(reason) and not _FOOTNOTE.fullmatch(reason) for reason in reasons
        ):  # a share or a symbol may be another answer
            return None
        lines = [line for line in text.splitlines() if not _INTRODUCTION.search(line)]
        return None if items is None or _is_revised(lines, items) else items

    def _is_revised(lines: Sequence[str], items: Sequence[Item[V]]) -> bool:
        own = [place for place, line in enumerate(lines) if plain(line)]
        if not own:
            return False
        ours = (
            line
            for line in lines[: own[0]]
            if not (form.line.fullmatch(line) or REASON_LINE.match(line))
        )
        before, between = "\n".join(ours), lines[own[0] + 1 : own[-1]]
        end = own[-1] + 1
        while end < len(lines) and REASON_LINE.match(lines[end]):
            end += 1
        after = "\n".join(["", *lines[end:]])
        named = all(item.written and item.written.lower() not in YES_OR_NO for item in items)
        return (
            may_change(before, after, (*reply.shown, *lines[:end]))
            or any(is_reconsidered(line[:_START_OF_LINE]) for line in between)
            or (not named and may_change("", before))
            or form.label.revised_in(after, _sides(items, form))
        )

    def disagrees(items: tuple[Item[V], ...], before: str, after: str) -> bool:
        sides = _sides(items, form)
        clear = all(item.number or not (item.statement or item.others) for item in items)
        drafts = before and plain(before)
        if drafts and not (clear and _sides(drafts, form) == sides):
            return True
        again = plain(after) if after.strip() else None
        if again and clear and _sides(again, form) == sides:
            return False
        return form.label.revised_in(after, sides)

    return parse_value(reply, lambda value: json_items(value, expected, form), unquoted, disagrees)


def in_order(
    items: Sequence[Item[V]], expected: int, name: str, of: str, texts: Sequence[str] = ()
) -> Sequence[Item[V]]:
    """Return one item for each of the `expected` things, in their order.

    They are matched by the numbers that they name (from 1; from 0 if all are so), else by the
    texts that they repeat, else by position if nothing in them may be a number or a text.
    """
    if len(items) != expected:
        counted = count(len(items), name.removesuffix("s"))
        raise ReplyMismatchError(f"got {counted} for {count(expected, of.removesuffix('s'))}")
    bare: list[str] = []
    repeated: list[str] = []
    if any(item.statement or item.unknown for item in items):
        bare = [_bare(text) for text in texts]
        repeated = [_repeated(item, bare) for item in items] if bare else []
    if not any(repeated):
        bare, repeated = [], []
    exact = bool(bare) and len(set(bare)) == len(bare) and set(repeated) == set(bare)
    order = _order(items, name, of, exact=exact)
    places = order or range(expected)
    if exact and not order:
        places = [bare.index(text) for text in repeated]
    elif bare:
        known = (p for p, text in zip(places, repeated, strict=True) if text in bare)
        wrong = [p for p in known if repeated[places.index(p)] not in ("", bare[p])]
        for place in wrong or (() if order else _misplaced(repeated, bare)):
            one, thing = name.removesuffix("s"), of.removesuffix("s")
            raise ReplyMismatchError(f"{one} {place + 1} repeats the text of another {thing}")
    return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]


def _order(items: Sequence[Item[V]], name: str, of: str, *, exact: bool) -> tuple[int, ...] | None:
    """Return the places of the items by the numbers that they name; None if they name none.

    A key of unknown meaning gives no order, but must not contradict that of the items, unless
    these have numbers or repeat the `exact` texts.
    """
    numbers = [item.number for item in items]
    order = _ranks(numbers)
    if order is None and any(number is not None for number in numbers):
        seen = ", ".join("none" if n is None else str(n)[:20] for n in numbers[:50])
        raise ReplyMismatchError(f"the {name} of {len(items)} {of} are numbered {seen}")
    keys = sorted({(key, known) for item in items for key, _, known in item.others})
    numbered = [{key: number for key, number, _ in item.others} for item in items]
    for key, known in keys if len(items) > 1 else ():
        if not known and (order or exact):
            continue
        column = [found.get(key, -1) for found in numbered]
        ranks = _ranks(column)
        if known:
            unclear = ranks != order if ranks and order else None in column
        elif ranks:
            unclear = ranks != tuple(range(len(items)))
        else:
            likely = any(number is None or 0 <= number <= len(items) for number in column)
            unclear = likely and (None in column or len(set(column)) > 1)
        if unclear:
            raise ReplyMismatchError(f"the numbers of the {name} in {key!r} are ambiguous")
    return order


def _misplaced(repeated: Sequence[str], texts: Sequence[str]) -> Iterator[int]:
    pairs = [_pairs(text) for text in texts] if any(repeated) else []
    for place, own in enumerate(map(_pairs, repeated)):
        if own and repeated[place] != texts[place]:
            common = [len(own & other) / len(own) for other in pairs]
            rivals = [c for c, text in zip(common, texts, strict=True) if text != texts[place]]
            if common[place] < _LEAST_COMMON or max(rivals, default=0.0) >= common[place]:
                yield place


def _repeated(item: Item[V], texts: Sequence[str]) -> str:
    if item.statement:
        return _bare(item.statement)
    return next((text for each in item.unknown if (text := _bare(each)) in texts), "")


def _ranks(numbers: Sequence[int | None]) -> tuple[int, ...] | None:
    whole = [number for number in numbers if number is not None]
    first = first_number(whole, len(numbers))
    if sorted(whole) != list(range(first, first + len(numbers))):
        return None
    return tuple(number - first for number in whole)


def first_number(numbers: Sequence[int], expected: int) -> int:
    return 0 if 0 in numbers and expected not in numbers else 1


def _pairs(text: str) -> set[str]:
    letters = "".join(filter(str.isalnum, text))
    return {letters[i : i + 2] for i in range(len(letters) - 1)}


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
    labels=("relevant", "isrelevant", "relevance", "useful", "grade", "verdict", "label"),
    numbers=number_keys("context", "sentence", "document", "doc"),
    texts=("text", "context", "sentence"),
    words=_RELEVANCE,
    label=LabelPattern(_RELEVANCE, side=bool),
    line=numbered_pattern("context", "sentence", "document"),
)


def parse_grades(reply: RawReply, texts: Sequence[str], *, of: str) -> tuple[Grade, ...]:
    def plain(answer: str) -> tuple[Item[bool], ...] | None:
        lines = answer.splitlines()  # a reason may read like a refusal: other lines count
        if is_refusal("\n".join(line for line in lines if not _GRADES.line.fullmatch(line))):
            return None
        items = tuple(plain_items(lines, _GRADES))
        return items if any(item.value is not None for item in items) else None

    items = parse_items(reply, len(texts), _GRADES, plain)
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
