"""Perturbations: changes that make a supported claim unsupported.

Each returns the changed claim, or None if it does not apply. Numbers, figures of dates, symbols of
units and currencies, codes such as USB, and sentences are changed in any language; words (months,
units, names, negations, qualifiers) in English.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import NamedTuple, Self, TypeVar

from ragstone.judges.offline.words import guess_language, languages, split_forms

T = TypeVar("T")

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

    contexts: Sequence[str]
    names: Sequence[str]  # of other samples, as the sentences and the distractor
    sentences: Sequence[str]
    seed: str
    distractor: str | None = None
    claims: Sequence[str] = ()

    @cached_property
    def _lowered(self) -> str:
        return "\n".join(self.contexts).casefold()

    @cached_property
    def capitals(self) -> Capitals:
        return Capitals.of("\n".join(self.claims), "\n".join(self.contexts))

    def in_contexts(self, text: str) -> bool:
        return text.casefold() in self._lowered

    def foreign_sentence(self, claim: str) -> str | None:
        for sentence in self.shuffle(self.sentences, claim):
            words = {word.casefold() for word in _LONG_WORD.findall(sentence)}
            stated = sum(map(self.in_contexts, words))
            if words and stated < FOREIGN * len(words) and sentence not in claim:
                return sentence
        return None

    def shuffle(self, items: Iterable[T], claim: str) -> list[T]:
        def position(item: T) -> bytes:
            text = f"{self.seed}{claim}\n{item}"
            return sha256(text.encode("utf-8", "surrogatepass")).digest()

        return sorted(items, key=position)


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
    for by in (3, 4, 7, 2):
        if date.isdecimal():
            yield str(int(date) - by)
        else:
            yield re.sub(
                r"\d+\Z|\A\d{4}", lambda m, n=by: str(int(m[0]) + n).zfill(len(m[0])), date, count=1
            )


_NUMBER = re.compile(r"(?<![0-9A-Za-zÀ-ÿ_.,/:-])\d+(?:[.,]\d+)*(?![\d/:])")
"""A number that is not part of a code such as A12; letters of any script may follow."""
_CITATION = re.compile(r"\[[\d,;\s-]*\Z")  # before a number that cites a source


def change_number(claim: str, material: Material) -> str | None:
    dates = date_spans(claim)
    for match in _NUMBER.finditer(claim):
        start, end = match.span()
        if _CITATION.search(claim[:start]) or any(a < end and start < b for a, b in dates):
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
grams kilograms, gram kilogram, g kg, mg g, kg g, kilograms grams, pounds kilograms, tons kilograms
mm cm, cm mm, km m, m km, meters kilometers, metres kilometres, kilometers meters, miles kilometers
inches centimeters, inch foot, feet inches, seconds minutes, minutes hours, hours minutes, min h
days weeks, weeks days, day week, months years, month year, years months, year month, hour minute
MB GB, GB MB, TB GB, KB MB, megabytes gigabytes, gigabytes megabytes, mAh Ah, Wh kWh, W kW, kW W
V mV, Hz kHz, kHz Hz, MHz GHz, GHz MHz, °C °F, °F °C, celsius fahrenheit, liters milliliters
litres millilitres, ml l, million billion, billion million, thousand million, dollars euros
euros dollars, USD EUR, EUR USD
"""
_OTHER_UNIT = dict(pair.split() for pair in re.split("[,\n]", _UNIT_PAIRS.strip()))
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
SHORTEST_NAME = 2


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
        if len(word) < SHORTEST_NAME or first or not capitals.is_name(word):
            continue
        if spans and text[spans[-1][1] : match.start()] == " ":
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    dates = date_spans(text)
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in dates)]


LONG_CLAIM, CLAIMS_FOR_LANGUAGE = 6, 5  # words; of shorter ones, several show the language

_HELPERS = "is|are|was|were|can|could|will|would|should|must|may|has been|have been"
_ADVERB = r"\s+(?:also|still|\w+ly)"
_REMOVALS = (
    (re.compile(rf"\b((?:{_HELPERS}|does|do|did|has|have|had)(?:{_ADVERB})?)\s+not\b"), r"\1"),
    (re.compile(r"\bcannot\b"), "can"),
    (re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan['’]t\b"), "can"),
)
_INSERTION = re.compile(rf"\b({_HELPERS})\b(?! not)")
_HARDLY = re.compile(r"\b(?:hardly|scarcely|barely)\b", re.IGNORECASE)


def invert_negation(claim: str, material: Material) -> str | None:
    for pattern, plain in _REMOVALS:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    others = material.claims[:CLAIMS_FOR_LANGUAGE] if len(claim.split()) < LONG_CLAIM else ()
    english = languages()["en"]
    if _language(" ".join((claim, *others))) != english.name:
        return None
    if english.negations.intersection(split_forms(claim)) or _HARDLY.search(claim):
        return None
    if _INSERTION.search(claim):
        return _INSERTION.sub(r"\1 not", claim, count=1)
    first = WORD.match(claim)
    if first and first[0].istitle():  # lower its capital, unless it may be a name
        lower = first[0].lower()
        form = next(iter(split_forms(lower)), lower)
        if lower in material.capitals.lowered or form in english.function_words:
            claim = lower + claim[first.end() :]
    return f"It is not true that {claim}"


_QUALIFIER_WORDS = (
    "only|up to|at most|at least|no more than|no less than|usually|often|sometimes|mostly|mainly|"
    "partly|typically|generally|rarely|probably|possibly|some|most|many|few"
)
_QUALIFIER = re.compile(rf"\b(?:{_QUALIFIER_WORDS})\s+(?:of\s+)?(?=\S)", re.IGNORECASE)
_CLAUSE = re.compile(
    r",? (?:if|unless|except|provided|as long as|only when)\b[^.!?]*(?=[.!?]?\s*\Z)"
)
SHORTEST_REST = 8  # characters that must remain of a claim


def drop_qualifier(claim: str, material: Material) -> str | None:
    """Remove the first clause that limits the claim, otherwise the first such word."""
    for pattern in (_CLAUSE, _QUALIFIER):
        if match := pattern.search(claim):
            left = f"{claim[: match.start()]}{claim[match.end() :]}".strip()
            if is_first(claim, match.start()) and match[0][:1].isupper():
                at = match.start()  # a sentence begins here now
                left = left[:at] + left[at : at + 1].upper() + left[at + 1 :]
            if len(left) >= SHORTEST_REST and not material.in_contexts(left):
                return left
    return None


def add_sentence(claim: str, material: Material) -> str | None:
    added = material.foreign_sentence(claim)
    if added is None:
        return None
    first = WORD.match(added)
    begins = added[:1].upper() if first and first[0].islower() else added[:1]
    stop = "." if WORD.match(claim[-1:]) else ""
    return f"{claim}{stop} {begins}{added[1:]}"


PERTURBATIONS: Mapping[str, Perturbation] = {
    "number": change_number,
    "date": change_date,
    "unit": change_unit,
    "name": change_name,
    "negation": invert_negation,
    "qualifier": drop_qualifier,
    "invented": add_sentence,
}
