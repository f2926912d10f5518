"""Perturbations: changes that make a supported claim unsupported, in several languages.

Each returns the changed claim, or None if it does not apply.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from types import MappingProxyType
from typing import TypeVar

from ragstone.judges.offline.words import Language, guess_language, language_of, split_forms

T = TypeVar("T")

WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LONG_WORD = re.compile(r"\w{4,}|\d+")
FOREIGN = 0.4
"""Contexts do not state a sentence if they contain less than this share of its longer words."""

_FIRST = re.compile(r"[.!?:;\n\"“”„«(*#|]\s*\Z")
"""What comes before the first word of a sentence, which is always capitalized."""
_LETTER = re.compile(r"\w")
_NEAR = 8
"""Characters before a word that are checked."""
LONG = 4
"""Minimum length of a counted word; in no language are many shorter words nouns."""
ENOUGH = 12
"""Minimum number of counted words."""
FEW, MANY = 0.3, 0.6
"""Shares of capitalized words. Below `FEW`, capitals mark names in any language (English has 0 to
0.3, German 0.4 to 0.6); above `MANY`, the text is a headline or a list."""


@dataclass(frozen=True)
class Capitals:
    """What capital letters mean in some texts.

    Attributes:
        mark_names: whether capitals mark names. False if the language capitalizes nouns (German),
            if nearly all words are capitalized, and if it is unknown.
        lowered: words that also occur in lower case and are therefore not names.
    """

    mark_names: bool
    lowered: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> "Capitals":
        """Examine texts of one language each; all of them must agree."""
        found = [_marks_names(text) for text in texts]
        lowered = (m[0] for text in texts for m in WORD.finditer(text) if m[0][0].islower())
        return cls(True in found and False not in found, frozenset(lowered))

    def is_name(self, word: str) -> bool:
        if not word[0].isupper() or word.casefold() in self.lowered:
            return is_code(word)
        alone = re.match(r"\w['’]", word)  # I'm, L'
        return is_code(word) or (self.mark_names and not alone)


@dataclass(frozen=True)
class Material:
    """What claims are changed with.

    Attributes:
        contexts: of the claims' sample; a change must not produce text that they contain.
        names, sentences: from other samples.
        distractor: a context of another sample.
        claims: all claims of the sample, to detect the language and the spelling of words.
    """

    contexts: Sequence[str]
    names: Sequence[str]
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


def detect_language(text: str) -> Language:
    return guess_language(text, split_forms(text))


def _marks_names(text: str) -> bool | None:
    language = detect_language(text)
    if language.nouns_have_capitals:
        return False
    counted = [
        match[0][0].isupper()
        for match in WORD.finditer(text)
        if len(match[0]) >= LONG and not is_first(text, match.start())
    ]
    if len(counted) < ENOUGH:
        return True if language.name else None
    return sum(counted) / len(counted) < (MANY if language.name else FEW)


Perturbation = Callable[[str, Material], str | None]

_DATE_WORDS = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
monday tuesday wednesday thursday friday saturday sunday
montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
lunedì martedì mercoledì giovedì venerdì sabato domenica
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
"""
_DATE_LISTS = tuple(tuple(line.split()) for line in _DATE_WORDS.strip().splitlines())
_DATE_WORD = re.compile(r"[^\W\d_]{3,}")
_YEAR_UNITS = "mAh|Ah|k?Wh|k?W|m?V|[kMG]?Hz|[kmc]?[gm]|m?l|[KMGT]B|h|min|s|px|K|rpm|USD|EUR"
_YEAR = re.compile(
    rf"(?<![\d.,$€£¥#-])(?:19|20)\d\d(?![\d%°$€£¥]|[.,]\d|\s[°$€£¥]|\s?(?:{_YEAR_UNITS})\b)"
)
_FULL_DATE = re.compile(
    r"(?<![\d.])(?:\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}/\d{1,2}/\d{2,4})(?![\d])"
)
_AMBIGUOUS = frozenset(("may", "mars", "march", "mai", "mei", "mayo", "maio", "august", "augustus"))
"""Also ordinary words; they count as months only next to a number."""
_FIGURE_NEAR = 6
STEPS = (5, 4, 3, 2, 1)
"""Distances to the month or weekday that replaces another one, in the order they are tried."""


def change_date(claim: str, material: Material) -> str | None:
    for start, end in date_spans(claim):
        for other in _other_dates(claim[start:end]):
            if not material.in_contexts(other) and other.casefold() not in claim.casefold():
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def date_spans(text: str) -> list[tuple[int, int]]:
    """Return the positions of full dates, names of months and weekdays, and years, in order."""
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
            span
            for span in spans
            if not any(start <= span[0] and span[1] <= end for start, end in found)
        ]
    return sorted(found)


def _other_dates(date: str) -> Iterator[str]:
    if not date[0].isdigit():
        names = next(each for each in _DATE_LISTS if date.casefold() in each)
        place = names.index(date.casefold())
        for step in STEPS:
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
_CITATION = re.compile(r"\[[\d,;\s-]*\Z")
"""What comes before a number that cites a source."""


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
euros dollars, USD EUR, EUR USD, h min, h Std
Gramm Kilogramm, Kilogramm Gramm, Stunden Minuten, Stunde Minute, Minuten Stunden, Tage Wochen
Tagen Wochen, Wochen Tage, Monate Jahre, Jahre Monate, Sekunden Minuten, Millionen Milliarden
Milliarden Millionen, Liter Milliliter, Meter Kilometer, Kilometer Meter, Zoll Zentimeter
heures minutes, minutes heures, jours semaines, semaines jours, mois ans
ans mois, grammes kilogrammes, mètres kilomètres, kilomètres mètres, secondes minutes
horas minutos, minutos horas, días semanas, semanas días, meses años, años meses
gramos kilogramos, metros kilómetros, kilómetros metros, segundos minutos, millones mil
ore minuti, minuti ore, giorni settimane, mesi anni, anni mesi, grammi chilogrammi
dias semanas, meses anos, anos meses, gramas quilogramas, uur minuten, minuten uur, dagen weken
weken dagen, maanden jaar, jaar maanden, граммов килограммов, часов минут, минут часов
дней недель, лет месяцев, 克 千克, 千克 克, 公斤 克, 小时 分钟, 分钟 小时, 天 周, 米 公里, 公里 米
厘米 毫米, 年 个月, 元 美元, 万 亿, グラム キログラム, 時間 分間, 分間 時間, 日間 週間, 円 ドル
"""
_OTHER_UNIT = {
    one: other
    for pair in _UNIT_PAIRS.replace("\n", ",").split(",")
    if (words := pair.split())
    for one, other in [words]
}
UNITS = frozenset(_OTHER_UNIT)
_LONGEST_FIRST = "|".join(re.escape(unit) for unit in sorted(_OTHER_UNIT, key=len, reverse=True))
_AFTER_NUMBER = re.compile(rf"(?<=\d)(\s?-?)({_LONGEST_FIRST})(?![A-Za-zÀ-ÿа-я])")
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
"""What comes before a unit."""
SHORTEST_NAME = 2


def change_name(claim: str, material: Material) -> str | None:
    """Replace the first name with a name of another sample.

    In languages that capitalize nouns, such as German, only names such as USB are recognized.
    """
    for start, end in name_spans(claim, material.capitals):
        others = (name for name in material.names if name.casefold() not in claim.casefold())
        for other in material.shuffle(others, claim):
            if not material.in_contexts(other):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def names_in(texts: Iterable[str], capitals: Capitals) -> list[str]:
    """Return the distinct names in texts, in order."""
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys(text[start:end] for start, end in name_spans(text, capitals))
    return list(found)


def name_spans(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return the positions of names outside dates; adjacent ones are one name.

    The first word of a sentence is a name only if it has a second capital (USB).
    """
    spans: list[tuple[int, int]] = []
    if text.isupper():
        return spans
    for match in WORD.finditer(text):
        word = match[0]
        if word in UNITS or _AFTER_NUMBER_WORD.search(text[: match.start()]):
            continue
        first = is_first(text, match.start()) and not is_code(word)
        if len(word) < SHORTEST_NAME or first or not capitals.is_name(word):
            continue
        if spans and text[spans[-1][1] : match.start()] == " ":
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    dates = date_spans(text)
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in dates)]


LONG_CLAIM, CLAIMS_FOR_LANGUAGE = 6, 5
"""A claim with fewer words is checked together with other claims to detect its language."""

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
_NE = re.compile(r"\b(?:ne\s|n['’])", re.IGNORECASE)
"""French `ne ... plus` denies, but `plus` alone means `more`; Italian `ne` means `of it`."""
_DENIALS: Mapping[str, str] = MappingProxyType(
    {
        "en": "It is not true that ",
        "de": "Es stimmt nicht, dass ",
        "fr": "Il est faux que ",
        "es": "No es cierto que ",
        "it": "Non è vero che ",
        "pt": "Não é verdade que ",
        "nl": "Het is niet waar dat ",
        "ru": "Неверно, что ",
        "zh": "并非",
    }
)
"""Language -> a prefix that denies a sentence without an auxiliary verb."""


def invert_negation(claim: str, material: Material) -> str | None:
    for pattern, plain in _REMOVALS:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    text = claim
    if len(claim.split()) < LONG_CLAIM:
        text = " ".join((claim, *material.claims[:CLAIMS_FOR_LANGUAGE]))
    language, forms = detect_language(text), set(split_forms(claim))
    negations = language.negations  # those of any language, if it is unknown
    if not language.name:
        negations = negations.union(*(language_of(name).negations for name in _DENIALS))
    if forms & negations or _HARDLY.search(claim) or (language.name == "fr" and _NE.search(claim)):
        return None
    if language.name == "en" and _INSERTION.search(claim):
        return _INSERTION.sub(r"\1 not", claim, count=1)
    if language.name not in _DENIALS:
        return None
    first = WORD.match(claim)
    if first and first[0].istitle():  # lower its capital, unless it may be a name
        lower = first[0].lower()
        form = next(iter(split_forms(lower)), lower)
        if lower in material.capitals.lowered or form in language.function_words:
            claim = lower + claim[first.end() :]
    return _DENIALS[language.name] + claim


_QUALIFIER_WORDS = """
only|up to|at most|at least|no more than|no less than|usually|often|sometimes|mostly|mainly|partly
|typically|generally|rarely|probably|possibly|some|most|many|few|nur|bis zu|höchstens|mindestens
|meistens|oft|manchmal|teilweise|wahrscheinlich|einige|seulement|jusqu'à|au plus|au moins|souvent
|parfois|généralement|certains|certaines|solo|hasta|como máximo|al menos|a menudo|a veces
|normalmente|algunos|algunas|soltanto|fino a|al massimo|almeno|spesso|a volte|di solito|alcuni
|apenas|até|no máximo|pelo menos|geralmente|às vezes|alguns|alleen|maximaal|minstens|meestal|soms
|только|до|не более|не менее|обычно|иногда|некоторые
"""
_QUALIFIER = re.compile(
    rf"\b(?:{_QUALIFIER_WORDS.strip().replace(chr(10), '')})\s+(?:of\s+)?(?=\S)", re.IGNORECASE
)
_HAN = re.compile(r"最多|至少|通常|有时|只有|仅|可能|最大|最高")
_CLAUSE = re.compile(
    r",? (?:if|unless|except|provided|as long as|only when|falls|außer|sauf|à moins|salvo|excepto"
    r"|tranne|exceto|behalve|tenzij|кроме|если)\b[^.!?]*(?=[.!?]?\s*\Z)"
)
SHORTEST_REST = 8
"""Characters that must remain of a claim."""


def drop_qualifier(claim: str, material: Material) -> str | None:
    """Remove the first clause that limits the claim, otherwise the first such word.

    Words such as `about` do not count: without them a claim is only more exact.
    """
    for pattern in (_CLAUSE, _QUALIFIER, _HAN):
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


PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType(
    {
        "number": change_number,
        "date": change_date,
        "unit": change_unit,
        "name": change_name,
        "negation": invert_negation,
        "qualifier": drop_qualifier,
        "invented": add_sentence,
    }
)
"""Kind -> the change; the judge must no longer support the claim."""
