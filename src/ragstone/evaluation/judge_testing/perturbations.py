"""Negations: one taken out, or put in, in the languages of which the words are here."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from ragstone.evaluation.judge_testing.material import (
    WORD,
    Capitals,
    Material,
    is_code,
    is_first,
    language_in,
)
from ragstone.judges.offline.languages import Language, language_of
from ragstone.judges.offline.words import split_forms

LONG, MORE = 6, 5
"""Words from which a claim tells its language alone; claims of its sample looked at else."""

_HELPERS = "is|are|was|were|can|could|will|would|should|must|may|has been|have been"
_ADVERB = r"\s+(?:also|still|\w+ly)"
_TAKEN_OUT = (
    (re.compile(rf"\b((?:{_HELPERS}|does|do|did|has|have|had)(?:{_ADVERB})?)\s+not\b"), r"\1"),
    (re.compile(r"\bcannot\b"), "can"),
    (re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan['’]t\b"), "can"),
    (
        re.compile(
            r"\b((?:ist|sind|war|waren|wird|werden|kann|können|hat|haben)(?: \w+)?) nicht\b"
        ),
        r"\1",
    ),
    (re.compile(r"\bn(?:e |['’])(\w+) pas\b"), r"\1"),
    (re.compile(r"\bno (es|son|era|está|están|tiene|puede|pueden)\b"), r"\1"),
    (re.compile(r"\bnon (è|sono|era|ha|può|possono)\b"), r"\1"),
    (re.compile(r"\bnão (é|são|era|tem|pode|podem)\b"), r"\1"),
    (re.compile(r"\b(is|zijn|was|kan|kunnen|heeft|hebben) niet\b"), r"\1"),
    (re.compile(r"不(是|会|能|可以|需要)"), r"\1"),
)
_PUT_IN = (
    (re.compile(rf"\b({_HELPERS})\b(?! not)"), r"\1 not", "en"),
    (re.compile(r"\b(ist|sind|war|waren|wird|werden|kann|können)\b"), r"\1 nicht", "de"),
    (re.compile(r"\b(es|son|era|está|están|tiene|puede|pueden)\b"), r"no \1", "es"),
    (re.compile(r"(?<=\s)(è|sono|era|ha|può|possono)\b"), r"non \1", "it"),
    (re.compile(r"(?<=\s)(é|são|era|tem|pode|podem)\b"), r"não \1", "pt"),
    (re.compile(r"\b(is|zijn|was|kan|kunnen)\b"), r"\1 niet", "nl"),
    (re.compile(r"(?<!不)(是|会|能|可以)"), r"不\1", "zh"),
)
_HARDLY = re.compile(r"\b(?:hardly|scarcely|barely)\b", re.IGNORECASE)
_NE = re.compile(r"\b(?:ne\s|n['’])", re.IGNORECASE)
"""French: `ne ... plus` denies, where `plus` alone is `more`; `ne` alone is `of it` in Italian."""
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
"""Language -> what denies a sentence that follows; for those without a helping verb."""


def turn_negation(claim: str, material: Material) -> str | None:
    """Take a negation out; where there is none, put one in, or deny the whole.

    None where there is one that cannot be taken out: a second one would tell nothing plainly.
    """
    for pattern, plain in _TAKEN_OUT:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    language = _language(claim, material)
    if _denied(claim, language):
        return None
    for pattern, denied, name in _PUT_IN:
        if name == language.name and pattern.search(claim):
            return pattern.sub(denied, claim, count=1)
    if language.name not in _DENIALS:
        return None
    return _DENIALS[language.name] + _continued(claim, material, language)


def _denied(claim: str, language: Language) -> bool:
    """Tell whether a claim has a negation, in its language or one that it may be in as well."""
    forms = set(split_forms(claim))
    if forms & language.negations or any(language.find_inside(claim)):
        return True
    if _HARDLY.search(claim) or (language.name == "fr" and _NE.search(claim)):
        return True
    return any(language_of(name).negations & forms for name in _DENIALS if not language.name)


def _continued(claim: str, material: Material, language: Language) -> str:
    """Return a claim as it stands within a sentence: its first word without the capital.

    A word that the sample's texts never have without one may be a name, and keeps it.
    """
    match = WORD.match(claim)
    if match is None or not match[0].istitle():
        return claim
    lower = match[0].lower()
    form = next(iter(split_forms(lower)), lower)
    known = lower in material.capitals.lowered or form in language.function_words
    return lower + claim[match.end() :] if known else claim


def _language(claim: str, material: Material) -> Language:
    """Return the language of a claim; a short one is taken to be in that of its sample."""
    text = claim
    if len(claim.split()) < LONG:
        text = " ".join((claim, *material.claims[:MORE]))
    return language_in(text)


# Dates: another year, day, month or weekday.

_NAMES = """
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
_LISTS = tuple(tuple(line.split()) for line in _NAMES.strip().splitlines())
_WORD = re.compile(r"[^\W\d_]{3,}")
_UNITS = "mAh|Ah|k?Wh|k?W|m?V|[kMG]?Hz|[kmc]?[gm]|m?l|[KMGT]B|h|min|s|px|K|rpm|USD|EUR"
_YEAR = re.compile(
    rf"(?<![\d.,$€£¥#-])(?:19|20)\d\d(?![\d%°$€£¥]|[.,]\d|\s[°$€£¥]|\s?(?:{_UNITS})\b)"
)
_PARTS = re.compile(
    r"(?<![\d.])(?:\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}/\d{1,2}/\d{2,4})(?![\d])"
)
_AMBIGUOUS = frozenset(("may", "mars", "march", "mai", "mei", "mayo", "maio", "august", "augustus"))
"""Also words that are no months: taken for one beside a figure only."""
_FIGURE_NEAR = 6
STEPS = (5, 4, 3, 2, 1)
"""How far another month or weekday is from the one that it takes the place of."""


def change_date(claim: str, material: Material) -> str | None:
    """Put another date in the place of the first one."""
    for start, end in date_spans(claim):
        for other in _others(claim[start:end]):
            if not material.knows(other) and other.casefold() not in claim.casefold():
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def date_spans(text: str) -> list[tuple[int, int]]:
    """Return where dates stand, in order: whole ones, names of months and weekdays, years."""
    found = [match.span() for match in _PARTS.finditer(text)]
    found += [span for span in _named(text) if not _within(span, found)]
    found += [m.span() for m in _YEAR.finditer(text) if not _within(m.span(), found)]
    return sorted(found)


def _within(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in others)


def _named(text: str) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if any(word in names for names in _LISTS):
            near = text[max(0, match.start() - _FIGURE_NEAR) : match.end() + _FIGURE_NEAR]
            if word not in _AMBIGUOUS or re.search(r"\d", near):
                yield match.span()


def _others(date: str) -> Iterator[str]:
    """Yield other dates, written in the same way."""
    if not date[0].isdigit():
        names = next(each for each in _LISTS if date.casefold() in each)
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


# Numbers: another figure, written in the same way.

_NUMBER = re.compile(r"(?<![0-9A-Za-zÀ-ÿ_.,/:-])\d+(?:[.,]\d+)*(?![\d/:])")
"""A figure that is no part of a code such as A12; letters of any script may follow."""
_MARK = re.compile(r"\[[\d,;\s-]*\Z")
"""What stands before a number that cites a source."""


def change_number(claim: str, material: Material) -> str | None:
    """Put another number in the place of the first that is no date."""
    dates = date_spans(claim)
    for match in _NUMBER.finditer(claim):
        start, end = match.span()
        if _MARK.search(claim[:start]) or any(a < end and start < b for a, b in dates):
            continue
        for other in _numbers_others(match[0]):
            if not _stands(other, (claim, *material.contexts)):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def _numbers_others(number: str) -> Iterator[str]:
    """Yield numbers of another size by a digit, the first one first: 272, 372 ... for 172."""
    for place, digit in enumerate(number):
        if digit.isdecimal():
            for step in range(1, 9):
                other = str((int(digit) - 1 + step) % 9 + 1)
                if other != digit:
                    yield f"{number[:place]}{other}{number[place + 1 :]}"


def _stands(number: str, texts: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"(?<![\d.,]){re.escape(number)}(?![.,]?\d)")
    return any(pattern.search(text) for text in texts)


# Qualifiers: a word or clause that limits a claim, left out, so that it claims more.

_WORDS = """
only|up to|at most|at least|no more than|no less than|usually|often|sometimes|mostly|mainly|partly
|typically|generally|rarely|probably|possibly|some|most|many|few|nur|bis zu|höchstens|mindestens
|meistens|oft|manchmal|teilweise|wahrscheinlich|einige|seulement|jusqu'à|au plus|au moins|souvent
|parfois|généralement|certains|certaines|solo|hasta|como máximo|al menos|a menudo|a veces
|normalmente|algunos|algunas|soltanto|fino a|al massimo|almeno|spesso|a volte|di solito|alcuni
|apenas|até|no máximo|pelo menos|geralmente|às vezes|alguns|alleen|maximaal|minstens|meestal|soms
|только|до|не более|не менее|обычно|иногда|некоторые
"""
_QUALIFIER = re.compile(
    rf"\b(?:{_WORDS.strip().replace(chr(10), '')})\s+(?:of\s+)?(?=\S)", re.IGNORECASE
)
_HAN = re.compile(r"最多|至少|通常|有时|只有|仅|可能|最大|最高")
_CLAUSE = re.compile(
    r",? (?:if|unless|except|provided|as long as|only when|falls|außer|sauf|à moins|salvo|excepto"
    r"|tranne|exceto|behalve|tenzij|кроме|если)\b[^.!?]*(?=[.!?]?\s*\Z)"
)
LEAST = 8
"""Characters that have to be left of a claim."""


def drop_qualifier(claim: str, material: Material) -> str | None:
    """Leave out the first clause that limits the claim, else the first word that does."""
    for pattern in (_CLAUSE, _QUALIFIER, _HAN):
        if match := pattern.search(claim):
            left = f"{claim[: match.start()]}{claim[match.end() :]}".strip()
            if is_first(claim, match.start()) and match[0][:1].isupper():
                left = _begun(left, match.start())
            if len(left) >= LEAST and not material.knows(left):
                return left
    return None


def _begun(text: str, place: int) -> str:
    """Return the text with a capital at the place where a sentence begins now."""
    return text[:place] + text[place : place + 1].upper() + text[place + 1 :]


# Units: another one of the same kind after the same number.

_PAIRS = """
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
_OTHER = {
    one: other
    for pair in _PAIRS.replace("\n", ",").split(",")
    if (words := pair.split())
    for one, other in [words]
}
UNITS = frozenset(_OTHER)
_LONGEST_FIRST = "|".join(re.escape(unit) for unit in sorted(_OTHER, key=len, reverse=True))
_AFTER_NUMBER = re.compile(rf"(?<=\d)(\s?-?)({_LONGEST_FIRST})(?![A-Za-zÀ-ÿа-я])")
_CURRENCY = re.compile(r"[$€£](?=\s?\d)")
_OTHER_CURRENCY = {"$": "€", "€": "$", "£": "$"}


def change_unit(claim: str, material: Material) -> str | None:
    """Put another unit, or currency, beside the first number that has one we know."""
    for match in _AFTER_NUMBER.finditer(claim):
        changed = f"{match[1]}{_OTHER[match[2]]}"
        number = re.search(r"[\d.,]+\Z", claim[: match.start()])
        if number and not material.knows(f"{number[0]}{changed}"):
            return f"{claim[: match.start()]}{changed}{claim[match.end() :]}"
    if match := _CURRENCY.search(claim):
        return f"{claim[: match.start()]}{_OTHER_CURRENCY[match[0]]}{claim[match.end() :]}"
    return None


# Names: another one, taken from another sample, where capitals tell what is a name.

_AFTER_FIGURE = re.compile(r"\d\s?\Z")
"""What stands before a unit."""
_JOINED = " "
SHORTEST = 2


def change_name(claim: str, material: Material) -> str | None:
    """Put a name of another sample in the place of the first one.

    None where no word is known to be one: in German, where all nouns have a capital, USB still is.
    """
    for start, end in _undated(claim, material.capitals):
        others = (name for name in material.names if name.casefold() not in claim.casefold())
        for other in material.choices(others, claim):
            if not material.knows(other):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def names_in(texts: Iterable[str], capitals: Capitals) -> list[str]:
    """Return the names in texts, each once, in order; `capitals` is what these tell there."""
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys(text[start:end] for start, end in _undated(text, capitals))
    return list(found)


def _undated(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return the spans of names that have no part in a date."""
    dates = date_spans(text)
    spans = name_spans(text, capitals)
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in dates)]


def name_spans(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return where names stand within a sentence, neighbours as one.

    At a sentence's start, where every word has a capital, only one with a second (USB) is one.
    """
    spans: list[tuple[int, int]] = []
    if text.isupper():
        return spans
    for match in WORD.finditer(text):
        word = match[0]
        if word in UNITS or _AFTER_FIGURE.search(text[: match.start()]):
            continue
        first = is_first(text, match.start()) and not is_code(word)
        if len(word) < SHORTEST or first or not capitals.is_name(word):
            continue
        if spans and text[spans[-1][1] : match.start()] == _JOINED:
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    return spans


Change = Callable[[str, Material], str | None]


def add_sentence(claim: str, material: Material) -> str | None:
    """Add a sentence of another sample, which the contexts do not state."""
    added = material.foreign_sentence(claim)
    if added is None:
        return None
    first = WORD.match(added)
    begins = added[:1].upper() if first and first[0].islower() else added[:1]
    stop = "." if WORD.match(claim[-1:]) else ""
    return f"{claim}{stop} {begins}{added[1:]}"


CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "number": change_number,
        "date": change_date,
        "unit": change_unit,
        "name": change_name,
        "negation": turn_negation,
        "qualifier": drop_qualifier,
        "invented": add_sentence,
    }
)
"""Kind -> the change; the claim must no longer be called supported."""
