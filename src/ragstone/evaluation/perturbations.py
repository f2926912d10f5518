"""Perturbations: changes that make a supported claim unsupported.

Each returns the changed claim, or None if it does not apply. Numbers, figures of dates, symbols of
units and currencies, codes such as USB, and sentences are changed in any language; words (months,
units, names, negations) in English.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import NamedTuple, Self

from ragstone._internal.sentences import split_sentences
from ragstone.judges.offline.words import guess_language, languages, split_forms

WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LONG_WORD = re.compile(r"\w{4,}|\d+")
FOREIGN = 0.4  # contexts with less than this share of a sentence's longer words do not state it

_FIRST = re.compile(r"[.!?:;\n\"“”„«(*#|]\s*\Z")  # before a sentence, which has a capital
_LETTER = re.compile(r"\w")
_NEAR = 8  # characters before a word that are checked
LONG_WORD, MIN_LONG_WORDS = 4, 12  # letters of a word that counts, and how many are enough
HEADLINE = 0.6  # with more capitals, a text is a headline or a list, where they mark no names


class Capitals(NamedTuple):
    """What capitals mean in some texts: names, in English, unless nearly all words have one."""

    mark_names: bool
    lowered: frozenset[str]  # words that are no names, because they also occur in lower case

    @classmethod
    def of(cls, *texts: str) -> Self:
        languages = {_language(text) for text in texts} - {""}
        mark_names = languages == {"en"} and not any(map(_is_headline, texts))
        lowered = (m[0] for text in texts for m in WORD.finditer(text) if m[0][0].islower())
        return cls(mark_names, frozenset(lowered))

    def is_name(self, word: str) -> bool:
        capital = word[0].isupper() and word.casefold() not in self.lowered
        alone = re.match(r"\w['’]", word)  # I'm, L'
        return is_code(word) or (self.mark_names and capital and not alone)


@dataclass(frozen=True)
class Material:
    """What claims are changed with; a change must not produce text that the `contexts` contain."""

    contexts: tuple[str, ...]
    names: Sequence[str] = ()  # of other samples, as the sentences and the distractor
    sentences: Sequence[str] = ()
    seed: str = ""
    distractor: str | None = None
    claims: Sequence[str] = ()

    @cached_property
    def _lowered(self) -> str:
        return "\n".join(self.contexts).casefold()

    @cached_property
    def capitals(self) -> Capitals:
        return Capitals.of("\n".join(self.claims), "\n".join(self.contexts))

    @cached_property
    def passages(self) -> list["Passage"]:
        texts = [[each.text for each in split_sentences(context)] for context in self.contexts]
        return [
            Passage(text, word_starts(f"{before} {text}"), [*value_spans(text, self.capitals)])
            for some in texts
            for before, text in zip(("", *some), some, strict=False)
        ]

    @cached_property
    def own_names(self) -> list[str]:
        return names_in(self.claims, self.capitals)

    def in_contexts(self, text: str) -> bool:
        return text.casefold() in self._lowered

    def foreign_sentence(self, claim: str) -> str | None:
        for sentence in self.shuffle(self.sentences, claim):
            words = {word.casefold() for word in _LONG_WORD.findall(sentence)}
            stated = sum(map(self.in_contexts, words))
            if words and stated < FOREIGN * len(words) and sentence not in claim:
                return sentence
        return None

    def shuffle(self, items: Iterable[str], claim: str) -> list[str]:
        def position(item: str) -> bytes:
            text = f"{self.seed}{claim}\n{item}"
            return sha256(text.encode("utf-8", "surrogatepass")).digest()

        return sorted(dict.fromkeys(items), key=position)


class Passage(NamedTuple):
    """A sentence or row of a context."""

    text: str
    words: frozenset[str]  # with those of the sentence before it, for its pronouns
    values: Sequence[tuple[str, int, int]]


def is_code(word: str) -> bool:
    parts = re.split("['’-]", word)
    return all(any(letter.isupper() for letter in part[1:]) for part in parts if part)


def is_first(text: str, start: int) -> bool:
    before = text[max(0, start - _NEAR) : start]
    begins = start <= _NEAR and not _LETTER.search(before)
    return begins or _FIRST.search(before) is not None


def _is_headline(text: str) -> bool:
    capitals = [
        match[0][0].isupper()
        for match in WORD.finditer(text)
        if len(match[0]) >= LONG_WORD and not is_first(text, match.start())
    ]
    return len(capitals) >= MIN_LONG_WORDS and sum(capitals) >= HEADLINE * len(capitals)


def _language(text: str) -> str:
    return guess_language(text, split_forms(text)).name


Perturbation = Callable[[str, Material], str | None]

_DATE_LISTS: Sequence[Sequence[str]] = (
    "january february march april may june july august september october november december".split(),
    "monday tuesday wednesday thursday friday saturday sunday".split(),
)
_DATE_WORD = re.compile(r"[^\W\d_]{3,}")
_YEAR_UNITS = "mAh|Ah|k?Wh|k?W|m?V|[kMG]?Hz|[kmc]?[gm]|m?l|[KMGT]B|h|min|s|px|K|rpm|USD|EUR"
_YEAR = re.compile(
    rf"(?<![\d.,$€£¥#-])(?:19|20)\d\d(?![\d%°$€£¥]|[.,]\d|\s[°$€£¥]|\s?(?:{_YEAR_UNITS})\b)"
)
_FULL_DATE = re.compile(
    r"(?<![\d.])(?:\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}/\d{1,2}/\d{2,4})(?![\d])"
)
_AMBIGUOUS = frozenset(("may", "march", "august"))  # also ordinary words, unless next to a number
_FIGURE_NEAR = 6


def change_date(claim: str, material: Material) -> str | None:
    for start, end in date_spans(claim):
        for other in _other_dates(claim[start:end]):
            if not material.in_contexts(other) and other.casefold() not in claim.casefold():
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def date_spans(text: str) -> list[tuple[int, int]]:
    words: list[tuple[int, int]] = []
    for match in _DATE_WORD.finditer(text):
        word = match[0].casefold()
        if any(word in names for names in _DATE_LISTS):
            near = text[max(0, match.start() - _FIGURE_NEAR) : match.end() + _FIGURE_NEAR]
            if word not in _AMBIGUOUS or re.search(r"\d", near):
                words.append(match.span())
    found = [match.span() for match in _FULL_DATE.finditer(text)]
    for spans in (words, [match.span() for match in _YEAR.finditer(text)]):
        found += [
            (first, last)
            for first, last in spans
            if not any(start <= first and last <= end for start, end in found)
        ]
    return sorted(found)


def _other_dates(date: str) -> Iterator[str]:
    if not date[0].isdigit():
        names = next(each for each in _DATE_LISTS if date.casefold() in each)
        place = names.index(date.casefold())
        for step in (5, 4, 3, 2, 1):  # to the month or weekday that replaces it
            other = names[(place + step) % len(names)]
            yield other.capitalize() if date[0].isupper() else other
        return
    for by in (3, 4, 7, 2):  # years, or the day where it is last
        if number := re.search(r"\d+\Z|\A\d{4}", date):
            later = f"{int(number[0]) + by:0{len(number[0])}}"
            yield f"{date[: number.start()]}{later}{date[number.end() :]}"


_NUMBER = re.compile(r"(?<![0-9A-Za-zÀ-ÿ_.,/:-])\d+(?:[.,]\d+)*(?![\d/:])")
"""A number that is not part of a code such as A12; letters of any script may follow."""


def change_number(claim: str, material: Material) -> str | None:
    for kind, start, end in value_spans(claim, material.capitals):
        if not kind.startswith("number") or _REFERENCE.search(claim[:start]):
            continue
        # numbers that differ in one digit, the first digit first: 272, 372, ... for 172
        places = (place for place in range(start, end) if claim[place].isdecimal())
        for place, step in product(places, range(1, 9)):
            digit = str((int(claim[place]) - 1 + step) % 9 + 1)
            other = f"{claim[start:place]}{digit}{claim[place + 1 : end]}"
            number = re.compile(rf"(?<![\d.,]){re.escape(other)}(?![.,]?\d)")
            if digit != claim[place] and not any(
                number.search(text) for text in (claim, *material.contexts)
            ):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


_UNIT_PAIRS = """
gram kilogram, grams kilograms, g kg, mg g, pounds kilograms, tons kilograms, mm cm, km m
meters kilometers, metres kilometres, miles kilometers, inch foot, inches centimeters, feet inches
seconds minutes, minutes hours, hour minute, min h, days weeks, day week, months years, month year
MB GB, TB GB, KB MB, megabytes gigabytes, mAh Ah, Wh kWh, W kW, V mV, Hz kHz, MHz GHz, °C °F
celsius fahrenheit, liters milliliters, litres millilitres, ml l, million billion, thousand million
dollars euros, USD EUR
"""
_PAIRS = [pair.split() for pair in re.split("[,\n]", _UNIT_PAIRS.strip())][::-1]
_OTHER_UNIT = {b: a for a, b in _PAIRS} | dict(_PAIRS)
UNITS = frozenset(_OTHER_UNIT)
_LONGEST_FIRST = "|".join(re.escape(unit) for unit in sorted(_OTHER_UNIT, key=len, reverse=True))
_AFTER_NUMBER = re.compile(rf"(?<=\d)(\s?-?)({_LONGEST_FIRST})(?![A-Za-zÀ-ÿ])")
_CURRENCY = re.compile(r"[$€£](?=\s?\d)")
_OTHER_CURRENCY = {"$": "€", "€": "$", "£": "$"}


def change_unit(claim: str, material: Material) -> str | None:
    for match in _AFTER_NUMBER.finditer(claim):
        changed = f"{match[1]}{_OTHER_UNIT[match[2]]}"
        number = re.search(r"[\d.,]+\Z", claim[: match.start()])
        if number and not material.in_contexts(f"{number[0]}{changed}"):
            return f"{claim[: match.start()]}{changed}{claim[match.end() :]}"
    if match := _CURRENCY.search(claim):
        return f"{claim[: match.start()]}{_OTHER_CURRENCY[match[0]]}{claim[match.end() :]}"
    return None


_AFTER_NUMBER_WORD = re.compile(r"\d\s?\Z")


def change_name(claim: str, material: Material) -> str | None:
    for start, end in name_spans(claim, material.capitals):
        others = (name for name in material.names if name.casefold() not in claim.casefold())
        for other in material.shuffle(others, claim):
            if not material.in_contexts(other):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def names_in(texts: Iterable[str], capitals: Capitals) -> list[str]:
    found = (text[start:end] for text in texts for start, end in name_spans(text, capitals))
    return list(dict.fromkeys(found))


def name_spans(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return the positions of names outside dates; adjacent ones are one name."""
    spans: list[tuple[int, int]] = []
    for match in WORD.finditer("" if text.isupper() else text):
        word = match[0]
        if word in UNITS or _AFTER_NUMBER_WORD.search(text[: match.start()]):
            continue
        first = is_first(text, match.start()) and not is_code(word)  # USB is a name
        if len(word) < 2 or first or not capitals.is_name(word):
            continue
        if spans and text[spans[-1][1] : match.start()] == " ":
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    dates = date_spans(text)
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in dates)]


SAME_TOPIC = 1 / 3  # of a claim's other words: a sentence that has them may state the changed claim
_ATTACHED = re.compile(r"\s?[%°]|[A-Za-zÀ-ÿ]*")
_LIMIT = re.compile(r"(?i)\b(?:least|most|than|over|under|above|below|to|about|around)\s\W?\Z")
_REFERENCE = re.compile(r"(?i)(?:\[[\d,;\s-]*|[(#]|\b(?:passage|source|document|context)s?\s\W?)\Z")


def word_starts(text: str) -> frozenset[str]:
    return frozenset(form[:5] for form in split_forms(text) if len(form) > 2 or not form.isascii())


def value_spans(text: str, capitals: Capitals) -> Iterator[tuple[str, int, int]]:
    """Yield the dates, numbers and names with their kinds; only one of the same kind fits."""
    dates = date_spans(text)
    for start, end in dates:
        word = text[start:end].casefold()
        names = next((each for each in _DATE_LISTS if word in each), None)
        yield names[0] if names else re.sub(r"\d", "0", word), start, end
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if not any(a < end and start < b for a, b in dates):
            yield f"number{_ATTACHED.findall(text[end:])[0]}", start, end
    for start, end in name_spans(text, capitals):
        yield f"name{text.count(' ', start, end)}{is_code(text[start:end])}", start, end


def take_neighbour(claim: str, material: Material) -> str | None:
    """Replace a value by one of a sentence of the same contexts that is about something else.

    The evidence are the sentences with the old value; the new one is in none of them. No sentence
    with the new one has many of the claim's other words, so none states the changed claim.
    """
    for kind, start, end in value_spans(claim, material.capitals):
        old, before = claim[start:end], claim[:start]
        others = word_starts(f"{before} {claim[end:]}")
        evidence = [each.text for each in material.passages if _holds(each.text, old)]
        limit = kind.startswith("number") and _LIMIT.search(before)  # at least 5 are at least 3
        part = kind.startswith("name") and claim[end : end + 2].strip().isupper()
        if not evidence or not others or limit or part or _REFERENCE.search(before):
            continue
        values = ((each.text, *value) for each in material.passages for value in each.values)
        known = [text[a:b] for text, its, a, b in values if a and its == kind]  # no list numbers
        for new in material.shuffle(known, claim):
            topics = [each.words for each in material.passages if _holds(each.text, new)]
            same = max((len(others & words) for words in topics), default=len(others))
            if (
                same < SAME_TOPIC * len(others)
                and not (kind.startswith("name") and old[0] == new[0])  # Wales and Welsh
                and not any(_holds(text, new) for text in (claim, *evidence))
            ):
                return f"{before}{new}{claim[end:]}"
    return None


def _holds(text: str, value: str) -> bool:
    edge = r"[.,]?\d" if value.isdecimal() else r"\w"
    return re.search(rf"(?i)(?<!{edge[-2:]}){re.escape(value)}(?!{edge})", text) is not None


_HELPERS = "is|are|was|were|can|could|will|would|should|must|may|has been|have been"
_ADVERB = r"\s+(?:also|still|\w+ly)"
_REMOVALS = (
    (re.compile(rf"\b((?:{_HELPERS}|does|do|did|has|have|had)(?:{_ADVERB})?)\s+not\b"), r"\1"),
    (re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan(?:not|['’]t)\b"), "can"),
)
_INSERTION = re.compile(rf"\b({_HELPERS})\b(?! not)")
_HARDLY = re.compile(r"\b(?:hardly|scarcely|barely)\b", re.IGNORECASE)


def invert_negation(claim: str, material: Material) -> str | None:
    for pattern, plain in _REMOVALS:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    english = languages()["en"]
    language = _language(" ".join((claim, *material.claims[:5])))  # one claim may be too short
    negated = english.negations.intersection(split_forms(claim)) or _HARDLY.search(claim)
    if language != english.name or negated:
        return None
    changed, done = _INSERTION.subn(r"\1 not", claim, count=1)
    return changed if done else f"It is not true: {claim}"


def add_sentence(claim: str, material: Material) -> str | None:
    added = material.foreign_sentence(claim)
    if added is None:
        return None
    stop = "." if WORD.match(claim[-1:]) else ""
    return f"{claim}{stop} {added[:1].upper()}{added[1:]}"


PERTURBATIONS: Mapping[str, Perturbation] = {
    "number": change_number,
    "date": change_date,
    "unit": change_unit,
    "name": change_name,
    "neighbour": take_neighbour,
    "negation": invert_negation,
    "invented": add_sentence,
}
