"""Figures of a text: dates and quantities, however they are written."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice, pairwise
from typing import TypeVar

from ragstone.judges.offline.dates import Date, find_dates, find_runs, match_runs
from ragstone.judges.offline.identifiers import find_codes
from ragstone.judges.offline.languages import language_of
from ragstone.judges.offline.number_words import WORD, find_spelled
from ragstone.judges.offline.quantity import FACTORS, IMPERIAL, UNITS, Quantity, Unit
from ragstone.judges.offline.words import (
    FIGURE_WORDS,
    MAX_MATCHES,
    combining_marks,
    fold,
    lazy_pattern,
)

V = TypeVar("V")

MAX_RANGE = 3
"""How many numbers in sequence wait for the unit of the last."""
MAX_BOUND, MAX_PREPOSITION = 40, 12
"""Characters before a number that are searched for a bound, and before a year for a preposition."""

_NUMBER = lazy_pattern(
    r"""(?<![A-Za-z\u00c0-\u024f\u0370-\u04ff\d\#_])  # not inside IP68 or #12
    (?<![A-Za-z\u00c0-\u024f]-)(?<!\d\d\d\d[-–/])  # nor the second half of HX-200 or 2018-19
    (?P<sign>(?<![\w.,)])[-−–](?=[$€£¥₹₽₩฿\d])|(?<!\d\s)\b(?:[Mm]inus|[Nn]egative|[Мм]инус)\s)?
    (?P<money>[$€£¥₹₽₩฿]|(?<!\d)(?<!\d\s)
        (?:[$€£¥₹₽₩฿]\s|(?:USD|US\$|EUR|GBP|CHF|JPY|INR|CNY|RMB|KRW|THB|VND)\s?))?
    (?P<minus>(?<=[$€£¥₹₽₩฿])[-−–])?
    (?P<digits>\d{1,30}(?:[.,'’٫٬\u00a0\u202f ]\d{3}(?!\d))*+(?:[.,٫]\d{1,12})?)
    (?:\s?(?:(?P<range>[-–—~〜]|to\b|bis\b|à\b|až\b|до\b|a\b)\s?(?=\d)))?""",
    re.VERBOSE,
)
_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2})[:h](\d{2})(?![\d:])|(?<![\d:.,])(\d{1,2})\s?(?=[ap]\.?m\b)"
)
_AFTERNOON = re.compile(r"\s?([ap])\.?\s?m\b", re.IGNORECASE)
_FRACTION = lazy_pattern(
    r"(?<![\w.,/-])(?:(?P<whole>\d{1,3})[ \u00a0-])?(?P<above>[1-9])[/⁄](?P<below>[2-9]|1\d)"
    r"(?![\w/⁄])"
)
_CITATION = re.compile(r"\[\d{1,3}(?:[,;–-]\s?\d{1,3})*\]")
_DECADE = re.compile(r"[12]\d\d0['’]?s\b")
_LETTER = re.compile(r"[A-Za-z]")
_NAME_LETTERS = frozenset("GMST")
"""Single capitals that make a name of a number, as in 5G."""
_NOUN = re.compile(r"[^\W\d_]{2,24}")
_MONEY_FACTOR = re.compile(r"(?P<by>[kmb]|mn|bn)\b", re.IGNORECASE)
_MONEY_FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_SCALE = lazy_pattern(
    r"\s?(?:(?P<celsius>celsius|c\b)|(?P<fahrenheit>fahrenheit|f\b))", re.IGNORECASE
)
_PER_CENT = lazy_pattern(r"\s(?:por|per|pour|за)\s(?:cent\w*|ciento)\b|\sphần trăm\b|\sper cent\b")
_PLUS = lazy_pattern(r"\s?(?:,|and|und|et|y|e|en|och|og|и|i)?\s?", re.IGNORECASE)
_TO = lazy_pattern(r"\s?(?:-|–|—|~|to|bis|à|a|до|至|到)\s?", re.IGNORECASE)
_AND = lazy_pattern(r"\s(?:and|und|et|y|e|en|och|og|и|i)\s", re.IGNORECASE)
_BETWEEN = frozenset(
    "between zwischen entre tra fra tussen mellan mellem mellom miedzy между".split()
)
_IN_PARTS = frozenset(("time", "months", "length", "mass"))
AT_MOST, AT_LEAST, ABOUT = (
    "|".join(FIGURE_WORDS["bounds"][name]) for name in ("at_most", "at_least", "about")
)
_BEFORE = lazy_pattern(
    rf"(?:\b(?P<most>{AT_MOST})|\b(?P<least>{AT_LEAST}))?\s*(?:\b(?P<about>{ABOUT})|~|≈)?"
    r"\s*[$€£¥]?\s?\Z",
    re.IGNORECASE,
)
_HAN = lazy_pattern(
    r"(?:(?P<most>最多|不超过|不超過|至多)|(?P<least>至少|不少于|不少於|超过|超過))\s?\Z"
)
_HAN_ABOUT = re.compile(r"(?:大约|大約|约|約)\s?\Z")
_DENIED = lazy_pattern(
    r"[,(，]\s?(?:and\s|und\s|et\s|y\s)?(?:not|nicht|non|pas|no|não|niet|inte|ikke|nie|не)\s[$€£¥]?\Z",
    re.IGNORECASE,
)
_BOUND_ENDINGS = tuple(FIGURE_WORDS["bounds"]["endings"])
_PER = lazy_pattern(
    r"(?:\s[^\W\d_]{2,20})?(?:\s?/\s?|\s(?:per|an?|each|every|pro|par|por|al|im|je|alla?|na)\s)"
    r"(?P<unit>[^\W\d_]{1,12})",
    re.IGNORECASE,
)
_IN_TIME = lazy_pattern(
    r"(?:\b(?:in|since|by|until|till|from|to|of|before|after|during|around|circa|year|early|mid|late"
    r"|im|seit|bis|von|vor|nach|jahr|jahre|en|depuis|de|avant|après|année|desde|hasta|año|em|até"
    r"|ano|nel|dal|del|fino al|anno|sinds|tot|jaar|i|sedan|år|od|do|w|roku|в|с|до|год|году|tahun"
    r"|năm)\s|(?:ปี|年)\s?)\Z",
    re.IGNORECASE,
)
"""Before a year; some may be before an amount too."""
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")
_YEARS = frozenset(
    map(fold, "year jahr an année año ano anno jaar år rok roku год рік yıl".split())
)
"""Units after which a number from 1000 on is a year, because they are singular."""
_ALSO_WORDS = frozenset(map(fold, "won second let metro day г".split()))
"""Units that are another word after a year: in 2019 won, в 2019 г."""


@dataclass(frozen=True, slots=True)
class Year(Date):
    """A lone number that could be a year, and the quantity it could be; None if it is a year."""

    count: Quantity | None = None


Figure = Date | Quantity


def find_figures(text: str, name: str = "") -> tuple[Figure, ...]:
    """Return the dates and quantities of a text in order; a date is not a quantity too.

    `name` is the two-letter code of the text's language, for its number words.
    """
    dates = find_dates(text)
    empty = language_of(name).function_words
    waiting = iter(
        replace(quantity, noun="") if quantity.noun in empty else quantity
        for quantity in find_quantities(
            text, name, [(date.start, date.end) for date in dates if not date.is_lone]
        )
    )
    quantity = next(waiting, None)
    found: list[Figure] = []
    for date in dates:  # a lone number from 1000 to 2199 is either a year or a quantity
        while quantity and quantity.end <= date.start:
            found.append(quantity)
            quantity = next(waiting, None)
        if not quantity or quantity.start > date.start or not date.is_lone:
            found.append(date)
            continue
        preceding = text[max(0, date.start - MAX_PREPOSITION) : date.start]
        in_time = _IN_TIME().search(preceding) is not None
        if _may_be_year(text, date, quantity, in_time=in_time):
            count = None if in_time else quantity
            found.append(Year(date.readings, date.start, date.end, date.shown, True, count))
            quantity = next(waiting, None)
    found += [quantity] if quantity else []
    found += waiting
    return tuple(sorted(found, key=lambda figure: figure.start))


def _may_be_year(text: str, date: Date, quantity: Quantity, *, in_time: bool) -> bool:
    """Return whether a quantity may be the year that begins at the same place."""
    if quantity.is_code or quantity.start < date.start:
        return False
    if (int(max(quantity.written)), None, None) in date.readings and not quantity.dimension:
        return True
    unit = _LAST_WORD.search(text[date.end : quantity.end])
    word = fold(unit[0]) if unit else ""
    return word in _YEARS or (word in _ALSO_WORDS and in_time)


def covers(stated: Figure, claimed: Figure) -> bool:
    """Return whether the stated figure supports the claimed one.

    A bare year and a bare number of four digits may mean each other.
    """
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.is_covered_by(stated)
    one, other = _as_quantity(stated), _as_quantity(claimed)
    if one and other:
        return other.is_covered_by(one)
    date, quantity = (stated, other) if isinstance(stated, Date) else (claimed, one)
    if not isinstance(date, Date) or quantity is None or quantity.dimension:
        return False
    return any((value, None, None) in date.readings for value in quantity.readings)


def differs(stated: Figure, claimed: Figure) -> bool:
    """Return whether both figures answer the same question differently."""
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.differs_from(stated)
    one, other = _as_quantity(stated), _as_quantity(claimed)
    return one is not None and other is not None and other.differs_from(one)


def is_like(stated: Figure, claimed: Figure) -> bool:
    """Return whether both are dates, or may count the same thing in the same unit."""
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return True
    one, other = _as_quantity(stated), _as_quantity(claimed)
    return one is None or other is None or other.is_like(one)


def _as_quantity(figure: Figure) -> Quantity | None:
    if isinstance(figure, Quantity):
        return figure
    return figure.count if isinstance(figure, Year) else None


def find_quantities(
    text: str, name: str = "", taken: Sequence[tuple[int, int]] = ()
) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order, outside the places already taken.

    Number words are those of the language `name`; an unknown language has none.
    """
    citations = islice(_CITATION.finditer(text), MAX_MATCHES)
    busy = sorted([*taken, *(match.span() for match in citations)])
    ends = [end for _, end in busy]
    words = frozenset(map(fold, set(WORD.findall(text))))
    runs = find_runs(text)
    digits = (find_codes(text, words), _clocks(text, runs), _fractions(text, runs), _numbers(text))
    read = chain(*digits if runs else (), _spelled(text, name, words))
    found: list[Quantity] = []
    for quantity in sorted(read, key=lambda each: (each.start, -each.end)):
        if _DENIED().search(text[max(0, quantity.start - MAX_BOUND) : quantity.start]):
            continue  # the 180 of `172 g, not 180 g`
        after = bisect_right(ends, quantity.start)  # the first place that ends beyond our start
        is_free = after == len(busy) or busy[after][0] >= quantity.end
        if is_free and (not found or quantity.start >= found[-1].end):
            found.append(quantity)
    return tuple(_with_ranges(text, _joined(text, found)))


def _joined(text: str, quantities: Sequence[Quantity]) -> list[Quantity]:
    """Return the quantities, with `3 hours and 45 minutes` as one."""
    found: list[Quantity] = []
    for part in quantities:
        first = found[-1] if found else None
        if (
            first
            and first.dimension == part.dimension
            and first.dimension in _IN_PARTS
            and first.factor > part.factor
            and max(part.readings) < first.factor
            and first.before not in _BETWEEN
            and first.is_imperial == part.is_imperial
            and _PLUS().fullmatch(text, first.end, part.start)
        ):
            pairs = [(one, each) for one in first.readings for each in part.readings.items()]
            found[-1] = replace(
                first,
                readings={one + two: step for one, (two, step) in pairs},
                end=part.end,
                factor=part.factor,
                shown=text[first.start : part.end].strip(),
                per=part.per,
            )
        else:
            found.append(part)
    return found


def _with_ranges(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Give both ends of each range the range, and the first the unit of the second."""
    for number, (low, high) in enumerate(pairwise(quantities)):
        between = text[low.end : high.start]
        is_range = _TO().fullmatch(between) or (
            low.before in _BETWEEN and _AND().fullmatch(between) is not None
        )
        if not is_range or (low.dimension and low.dimension != high.dimension):
            continue
        first = low.readings
        if not low.dimension:
            first = {value * high.factor: step * high.factor for value, step in low.written.items()}
        ends = (min(first), max(high.readings))
        quantities[number] = replace(
            low,
            readings=first,
            dimension=high.dimension,
            noun=high.noun,
            factor=high.factor,
            ends=ends,
        )
        quantities[number + 1] = replace(high, ends=ends)
    return quantities


def _clocks(text: str, runs: Sequence[int]) -> Iterator[Quantity]:
    for match in islice(match_runs(_CLOCK, text, runs), MAX_MATCHES):
        hour, minute = int(match[1] or match[3]), int(match[2] or 0)
        half = _AFTERNOON.match(text, match.end())
        end = half.end() if half else match.end()
        if half:
            hour = hour % 12 + 12 * (half[1].lower() == "p")
        if hour <= 24 and minute < 60:
            value = {60.0 * hour + minute: 1.0}
            shown = text[match.start() : end]
            yield Quantity(value, value, "clock", "", "", match.start(), end, shown)


def _fractions(text: str, runs: Sequence[int]) -> Iterator[Quantity]:
    for match in islice(match_runs(_FRACTION(), text, runs), MAX_MATCHES):
        above, below = int(match["above"]), int(match["below"])
        if above < below:
            value = {int(match["whole"] or 0) + above / below: 0.0}
            yield _quantity(text, value, match.span(), match.end())


def _spelled(text: str, name: str, words: Set[str]) -> Iterator[Quantity]:
    for value, start, end in find_spelled(text, name, words):
        step = 1.0
        while value and value % (10 * step) == 0:  # two thousand is exact to the thousand
            step *= 10
        yield _quantity(text, {float(value): step}, (start, end), end)


def _numbers(text: str) -> Iterator[Quantity]:
    """Yield the numbers in digits; the first of a range gets the unit of the second."""
    waiting: list[re.Match[str]] = []
    for match in islice(_NUMBER().finditer(text), MAX_MATCHES):
        at = match.end("digits")
        if _DECADE.match(text, match.start("digits")):
            continue
        is_counted = match["money"] or _lookup(UNITS, text, at) or _lookup(FACTORS, text, at)
        if not is_counted and _LETTER.match(text, at):  # part of a name, as in 5G
            continue
        if match["range"] and len(waiting) < MAX_RANGE:
            waiting.append(match)
            continue
        for earlier in waiting:
            yield replace(_number(text, earlier, at), end=earlier.end("digits"))
        yield _number(text, match, at)
        waiting = []
    yield from (_number(text, match, match.end("digits")) for match in waiting)


def _number(text: str, match: re.Match[str], at: int) -> Quantity:
    """Return the number matched, with the factor, unit or noun at the place `at`."""
    values = read_number(match["digits"])
    if match["sign"] or match["minus"]:
        values = {-value: step for value, step in values.items()}
    span = match.start(), match.end("digits")
    return replace(_quantity(text, values, span, at, match["money"]), digits=match["digits"])


def read_number(digits: str) -> Mapping[float, float]:
    """Return the values of a number written with points, commas and spaces.

    Each value has the size of its last digit: 2500 is exact to 1, 2.5 to 0.1.
    """
    plain = re.sub(r"[\s'’٬\u00a0\u202f]", "", digits).replace("٫", ".")
    points, commas = plain.count("."), plain.count(",")
    if points and commas:
        decimal = max(plain.rfind("."), plain.rfind(","))
        whole, part = re.sub("[.,]", "", plain[:decimal]), plain[decimal + 1 :]
        return {float(f"{whole}.{part}"): 10.0 ** -len(part)}
    if points + commas > 1:
        return {float(re.sub("[.,]", "", plain)): 1.0}
    if points + commas == 1:
        whole, part = re.split("[.,]", plain)
        values = {float(f"{whole}.{part}"): 10.0 ** -len(part)}
        if len(part) == 3 and len(whole) <= 3 and whole.strip("0"):
            values[float(whole + part)] = 1.0
        return values
    return {float(plain): 1.0}


def _quantity(
    text: str,
    values: Mapping[float, float],
    span: tuple[int, int],
    at: int,
    money: str | None = None,
) -> Quantity:
    """Return a quantity of these values, with the factor, unit or noun at the place `at`."""
    start, end = span
    by, end = _lookup(FACTORS, text, at) or (1.0, max(at, end))
    if money and (short := _MONEY_FACTOR.match(text, at)):
        by, end = _MONEY_FACTORS[short["by"].lower()], short.end()
    if by != 1.0 and text.startswith(". ", end):  # an abbreviation: 3 Mio. Euro
        end += 1
    unit, noun = Unit("", 1.0), ""
    if money:
        unit = UNITS[fold(money.strip())]
    elif found := _lookup(UNITS, text, end):
        unit, end = found
        if unit.dimension == "degrees" and (scale := _SCALE().match(text, end)):
            unit, end = UNITS["celsius" if scale["celsius"] else "°f"], scale.end()
    elif share := _PER_CENT().match(text, end):
        unit, end = UNITS["%"], share.end()
    elif after := _NOUN.match(text, end + 1):
        noun = fold(after[0])
    before = text[max(0, start - 40) : start].split()
    bound, is_about = read_bound(text, start)
    per = _PER().match(text, end)
    counted_in = UNITS.get(fold(per["unit"])) if per else None
    return Quantity(
        {
            round(value * by * unit.factor, 9): step * by * unit.factor
            for value, step in values.items()
        },
        {round(value * by, 9): step * by for value, step in values.items()},
        unit.dimension,
        noun,
        fold(before[-1]) if before else "",
        start,
        end,
        text[start:end].strip(),
        factor=unit.factor,
        per=f"{counted_in.dimension} {counted_in.factor}" if counted_in else "",
        bound=bound,
        is_about=is_about,
        is_imperial=unit in IMPERIAL,
    )


@cache
def _unit_pattern() -> re.Pattern[str]:
    return re.compile(
        r"[\s\u00a0-]?(°\s?[CFcf]\b|[%％٪°℃℉]|[$€£¥￥₹₽₫₩฿](?!\d)"
        rf"|[^\W\d_](?:[^\W\d_]|[{combining_marks()}]){{0,24}}+(?!['’][^\W\d_])"
        r"(?:/[^\W\d_]{1,4}\b)?)"
    )


def _lookup(table: Mapping[str, V], text: str, at: int) -> tuple[V, int] | None:
    """Return the entry of a table at a place of the text, and where it ends."""
    match = _unit_pattern().match(text, at)
    if not match or match[1] in _NAME_LETTERS:
        return None
    name = match[1]
    folded = fold(name).replace(" ", "")
    if folded in table:
        return table[folded], match.end()
    head = name.split("/")[0]
    if head != name and fold(head) in table:
        return table[fold(head)], match.start(1) + len(head)
    if not name[0].isascii():  # scripts without spaces: the unit is the beginning of a run
        for length in range(min(7, len(name)), 0, -1):
            if (head := fold(name[:length])) in table and head > "\u0e00":
                return table[head], match.start(1) + length
    return None


def read_bound(text: str, start: int) -> tuple[str, bool]:
    """Return "<", ">" or "" for the words before a place, and whether they mean `about`."""
    before = text[max(0, start - MAX_BOUND) : start]
    word = before.rstrip().rstrip("$€£¥").rstrip()
    if before.isascii() and "~" not in before and not word.lower().endswith(_BOUND_ENDINGS):
        return "", False
    spaced, han = _BEFORE().search(before), None if before.isascii() else _HAN().search(before)
    about = spaced is not None and bool(spaced["about"])
    if spaced and (spaced["most"] or spaced["least"]):
        return ("<" if spaced["most"] else ">"), about
    if han:
        return ("<" if han["most"] else ">"), False
    return "", about or "~" in before[-2:] or _HAN_ABOUT.search(before) is not None
