"""Figures: the dates and quantities of a text, and whether two of them agree."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise

from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.words import (
    FIGURE_WORDS,
    MAX_MATCHES,
    combining_marks,
    fold,
    lazy_pattern,
    split_forms,
    stem,
    words_of,
)

Reading = tuple[int | None, int | None, int | None]
"""Year, month and day; None if not stated."""
EQUAL, CLOSE, ABOUT = 1e-9, 0.005, 0.05
"""How much two values may differ, as a share: to be equal, if the claim only leaves digits out,
and if words mark the claim's figure as rounded or as a bound."""
NEAR = 3
"""How many words before and after a figure are its frame."""
NEARBY = 40
"""Characters before and after a figure that are searched for its frame."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or a date of a text.

    Attributes:
        start: the first character in its text.
        end: the end of it and its unit; exclusive.
        shown: as the text writes it.
        values: its possible values in the base unit of its dimension, each with the size of its
            last digit; 1,234 may be 1234, exact to 1, or 1.234, exact to 0.001.
        dates: its possible dates; a bare number from 1000 to 2199 has values too.
        dimension: what is measured, "" for a bare number.
        before: the stems of the words before it.
        after: the stems of the words after it and its unit.
        noun: the stem of the word right after a bare number, "" if there is none.
        leeway: how far below and above it, as a share, the stated value may be; not 0 if it is
            rounded or a bound.
        factor: how many base units its unit is.
    """

    start: int
    end: int
    shown: str
    values: Mapping[float, float]
    dates: frozenset[Reading] = frozenset()
    dimension: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    noun: str = ""
    leeway: tuple[float, float] = (0.0, 0.0)
    factor: float = 1.0

    def is_covered_by(self, other: "Figure") -> bool:
        """Return whether the other supports this claimed figure: only the claim may be rounded."""
        if self.dates and other.dates:
            return any(_covers(mine, theirs) for mine in self.dates for theirs in other.dates)
        if self.dimension != other.dimension:
            if (self.dimension and other.dimension) or (self.dimension and other.noun):
                return False
            return any(
                _is_within(one / self.factor, two / other.factor)
                for one in self.values
                for two in other.values
            )
        below, above = self.leeway
        return any(
            _is_within(one, two)
            or one * (1 - below) <= two <= one * (1 + above)
            or (step > finer and abs(one - two) <= step / 2 and _is_within(one, two, CLOSE))
            for one, step in self.values.items()
            for two, finer in other.values.items()
        )

    def replaces(self, other: "Figure") -> float:
        """Return how similar the places of this stated and another, claimed figure are.

        It is the share of the words around the claimed figure that are around this one; 0 if both
        can be true, because they measure different things or agree.
        """
        if bool(self.dates) != bool(other.dates) or self.dimension != other.dimension:
            return 0.0
        if self.dates and {_parts(each) for each in self.dates}.isdisjoint(
            map(_parts, other.dates)
        ):
            return 0.0
        if other.is_covered_by(self) or self.is_covered_by(other):
            return 0.0
        claimed = len(other.before) + len(other.after)
        same = len({*other.before} & {*self.before}) + len({*other.after} & {*self.after})
        return same / claimed if claimed else 0.0


def _parts(date: Reading) -> tuple[bool, ...]:
    return tuple(part is None for part in date)


def _covers(mine: Reading, theirs: Reading) -> bool:
    """Return whether a date states all of another one, or all but the year."""
    if mine[1:] == theirs[1:] and None not in mine[1:] and theirs[0] is None:
        return True
    return all(part is None or part == there for part, there in zip(mine, theirs, strict=True))


def _is_within(one: float, two: float, apart: float = EQUAL) -> bool:
    return abs(one - two) <= apart * max(abs(one), abs(two))


def find_figures(text: str, language: Language) -> tuple[Figure, ...]:
    """Return the dates and quantities of a text in order, with the language's number words."""
    found: list[Figure] = []
    runs = [match.start() for match in islice(_DIGITS.finditer(text), MAX_MATCHES)]
    if runs:
        found += [*_dates(text, runs), *_clocks(text, runs), *_numbers(text)]
    found += _spelled(text, language)
    found.sort(key=lambda figure: (figure.start, not figure.dates, -figure.end))
    kept: list[Figure] = []
    for figure in found:
        if not kept or figure.start >= kept[-1].end:
            kept.append(figure)
    for place, (low, high) in reversed([*enumerate(pairwise(kept))]):
        high = kept[place + 1]
        is_range = _TO().fullmatch(text, low.end, high.start)  # 10 to 12 hours
        if is_range and high.dimension and low.values and not low.dimension:
            values = {v * high.factor: step * high.factor for v, step in low.values.items()}
            kept[place] = replace(low, values=values, dates=frozenset(), dimension=high.dimension)
    return tuple(_framed(text, figure, language) for figure in kept)


_DIGITS = re.compile(r"\d+")


def _match_runs(
    pattern: re.Pattern[str], text: str, runs: Sequence[int]
) -> Iterator[re.Match[str]]:
    """Yield the matches that start at these sequences of digits; faster than `finditer`."""
    for start in runs:
        if match := pattern.match(text, start):
            yield match


def _framed(text: str, figure: Figure, language: Language) -> Figure:
    """Return a figure with the words around it."""
    before = split_forms(text[max(0, figure.start - NEARBY) : figure.start])
    after = split_forms(text[figure.end : figure.end + NEARBY])
    empty = language.function_words
    has_noun = text[figure.end : figure.end + 1] in (" ", "-") and not figure.dimension
    return replace(
        figure,
        before=tuple(stem(word) for word in before[-NEAR:] if word not in empty),
        after=tuple(stem(word) for word in after[:NEAR] if word not in empty),
        noun=stem(after[0]) if after and has_noun and after[0] not in empty else "",
        leeway=next((LEEWAY[word] for word in before[-2:] if word in LEEWAY), (0.0, 0.0)),
    )


LEEWAY = {
    fold(word): leeway
    for kind, leeway in (
        ("about", (ABOUT, ABOUT)),
        ("at_least", (0, ABOUT)),
        ("at_most", (ABOUT, 0)),
    )
    for word in FIGURE_WORDS["bounds"][kind].split()
}
_TO = lazy_pattern(r"\s?(?:-|–|—|~|to|and|bis|und|à|et|a|y|до|至|到)\s?", re.IGNORECASE)

MONTHS = {
    fold(name): number
    for number, names in enumerate(FIGURE_WORDS["months"], start=1)
    for name in names.split()
}
_NAME = r"(?P<{}>[^\W\d_]{{3,12}})\.?"
_YEAR = r"(?P<y>1\d{3}|20\d{2}|21\d{2})(?!\d)"
_DATES = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"(?<![\d.,/-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d/-])",
        r"(?<![\d.,/-])(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})(?![\d/-])",
        r"(?<![\d.,/-])(?P<d>\d{1,2})(?:\.|st|nd|rd|th|er|º|°)?\s(?:(?:de|of)\s)?"
        + _NAME.format("n") + rf"(?:,?\s(?:(?:de|del)\s)?{_YEAR})?",
        r"(?P<y>\d{4})\s?[年년]\s?(?:(?P<m>\d{1,2})\s?[月월]\s?(?:(?P<d>\d{1,2})\s?[日号號일])?)?",
        r"(?<!\d)(?P<m>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日号號일]",
    )
)  # fmt: skip
_NAMED_DATE = lazy_pattern(
    rf"\b{_NAME.format('n')}\s(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![.,:]?\d)(?!\s?[%€°])(?:,?\s{_YEAR})?"
    rf"|(?:(?:de|of)\s)?{_YEAR.replace('<y>', '<z>')})"
)


def _dates(text: str, runs: Sequence[int]) -> Iterator[Figure]:
    """Yield the dates with a month or in digits alone."""
    for pattern in _DATES[: None if not text.isascii() else 3]:
        for match in _match_runs(pattern(), text, runs):
            parts = match.groupdict()
            year, month, day = (int(part) if (part := parts.get(key)) else None for key in "ymd")
            if name := parts.get("n"):
                month = MONTHS.get(fold(name))
            pairs = [(month, day)]
            if (first := parts.get("a")) and (second := parts.get("b")):
                pairs = [(int(first), int(second)), (int(second), int(first))]
            if name is None or month is not None:
                yield from _date(text, match.start(), match.end(), year, pairs)
    for match in islice(_NAMED_DATE().finditer(text), MAX_MATCHES):
        if month := MONTHS.get(fold(match["n"])):
            year, day = match["y"] or match["z"], match["d"]
            pairs = [(month, int(day) if day else None)]
            yield from _date(text, match.start(), match.end(), int(year) if year else None, pairs)


def _date(
    text: str,
    start: int,
    end: int,
    year: int | None,
    pairs: Sequence[tuple[int | None, int | None]],
) -> Iterator[Figure]:
    readings = frozenset(
        (year, month, day)
        for month, day in pairs
        if (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31)
    )
    if readings:
        yield Figure(start, end, text[start:end].strip(), {}, readings)


_CLOCK = re.compile(
    r"(?<![\d:.,])(\d{1,2})(?:[:h](\d{2}))?(?![\d:])(?:\s?([ap])\.?\s?m\b)?", re.IGNORECASE
)


def _clocks(text: str, runs: Sequence[int]) -> Iterator[Figure]:
    for match in _match_runs(_CLOCK, text, runs):
        hour, minute = int(match[1]), int(match[2] or 0)
        if (match[2] or match[3]) and hour <= 24 and minute < 60:
            hour = hour % 12 + 12 * (match[3].lower() == "p") if match[3] else hour
            yield Figure(*match.span(), match[0], {60.0 * hour + minute: 1.0}, dimension="clock")


_NUMBER = lazy_pattern(
    r"""(?<![A-Za-z\u00c0-\u024f\u0370-\u04ff\d\#_])  # not inside IP68 or #12
    (?<![A-Za-z\u00c0-\u024f]-)(?<!\d\d\d\d[-–/])  # nor the second half of HX-200 or 2018-19
    (?P<sign>(?<![\w.,)])[-−–](?=[$€£¥₹₽₩฿\d])|\b(?:[Mm]inus|[Nn]egative)\s)?
    (?P<money>[$€£¥₹₽₩฿]\s?|(?<!\d)(?:USD|US\$|EUR|GBP|CHF|JPY|INR|CNY|RMB|KRW|THB|VND)\s?)?
    (?P<digits>\d{1,30}(?:[.,'’٫٬\u00a0\u202f ]\d{3}(?!\d))*+(?:[.,٫]\d{1,12})?)""",
    re.VERBOSE,
)
_DECADE = re.compile(r"[12]\d\d0['’]?s\b")
_LETTER = re.compile(r"[A-Za-z]")
_MONEY_FACTOR = re.compile(r"([kmb]|mn|bn)\b", re.IGNORECASE)
_MONEY_FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_SCALE = lazy_pattern(r"\s?(celsius|c\b|fahrenheit|f\b)", re.IGNORECASE)
_PER_CENT = lazy_pattern(r"\s(?:por|per|pour|за)\s(?:cent\w*|ciento)\b|\sphần trăm\b|\sper cent\b")
_NAME_LETTERS = frozenset("GMST")
"""Single capitals that make a name of a number, as in 5G."""
UNITS: Mapping[str, tuple[str, float]] = {
    fold(name): (dimension, float(factor))
    for dimension, sizes in FIGURE_WORDS["units"].items()
    for factor, names in sizes.items()
    for name in names.split()
}
"""Unit -> its dimension, and how many base units it is."""
FACTORS: Mapping[str, tuple[str, float]] = {
    fold(name): ("", float(factor))
    for factor, names in FIGURE_WORDS["factors"].items()
    for name in names.split()
}
"""Word -> the factor by which it multiplies the number before it."""


def _numbers(text: str) -> Iterator[Figure]:
    for match in islice(_NUMBER().finditer(text), MAX_MATCHES):
        at = match.end("digits")
        if text[match.start() - 1 : match.start()] == "[" or _DECADE.match(text, match.start()):
            continue  # a citation, or the 1980s
        is_name = _LETTER.match(text, at) and not (
            _lookup(UNITS, text, at) or _lookup(FACTORS, text, at)
        )
        if is_name and not match["money"]:  # 5G, the 1980s
            continue
        values = read_number(match["digits"])
        if match["sign"]:
            values = {-value: step for value, step in values.items()}
        yield _number(text, values, match.start(), at, (match["money"] or "").strip())


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


def _number(
    text: str, values: Mapping[float, float], start: int, at: int, money: str = ""
) -> Figure:
    """Return the number with these values, with the factor and the unit at the place `at`."""
    by, end, dimension, factor = 1.0, at, "", 1.0
    if found := _lookup(FACTORS, text, at):
        (_, by), end = found
        end += text.startswith(". ", end)  # an abbreviation: 3 Mio. Euro
    elif money and (short := _MONEY_FACTOR.match(text, at)):
        by, end = _MONEY_FACTORS[short[1].lower()], short.end()
    if money:
        dimension, factor = UNITS[fold(money)]
    elif found := _lookup(UNITS, text, end):
        (dimension, factor), end = found
        if dimension == "degrees" and (scale := _SCALE().match(text, end)):
            dimension, end = ("celsius" if scale[1][0] in "cC" else "fahrenheit"), scale.end()
    elif share := _PER_CENT().match(text, end):
        dimension, end = "percent", share.end()
    whole = next((int(value) for value in values if value == int(value)), 0)
    is_year = not dimension and by == 1.0 and text[start:end].isdecimal() and 1000 <= whole < 2200
    return Figure(
        start,
        end,
        text[start:end].strip(),
        {round(value * by * factor, 9): step * by * factor for value, step in values.items()},
        frozenset({(whole, None, None)}) if is_year else frozenset(),
        dimension,
        factor=factor,
    )


@cache
def _unit_pattern() -> re.Pattern[str]:
    return re.compile(
        r"[\s\u00a0-]?(°\s?[CFcf]\b|[%％٪°℃℉]|[$€£¥￥₹₽₫₩฿](?!\d)"
        rf"|[^\W\d_](?:[^\W\d_]|[{combining_marks()}]){{0,24}}+(?!['’][^\W\d_])"
        r"(?:/[^\W\d_]{1,4}\b)?)"
    )


def _lookup(
    table: Mapping[str, tuple[str, float]], text: str, at: int
) -> tuple[tuple[str, float], int] | None:
    """Return the entry of a table at a place of the text, and where it ends."""
    match = _unit_pattern().match(text, at)
    if not match or match[1] in _NAME_LETTERS:
        return None
    name = match[1]
    for written in (name, name.split("/")[0]):
        if (folded := fold(written).replace(" ", "")) in table:
            return table[folded], match.start(1) + len(written)
    if not name[0].isascii():  # scripts without spaces: the unit is the beginning of a run
        for length in range(min(7, len(name)), 0, -1):
            if (head := fold(name[:length])) in table and head > "\u0e00":
                return table[head], match.start(1) + length
    return None


@cache
def number_words(name: str) -> Mapping[str, tuple[int, int]]:
    """Return the folded number words of a language, each with its value or its factor, or 0."""
    ones = {word: (at, 0) for at, word in enumerate(words_of(name, "ones"), start=1)}
    tens = {word: (20 + 10 * at, 0) for at, word in enumerate(words_of(name, "tens"))}
    table = {fold(word): value for word, value in (tens | ones).items()}
    for word, value in (entry.split("=") for entry in words_of(name, "more_numbers")):
        table[fold(word)] = (0, int(value[1:])) if value[0] == "*" else (int(value), 0)
    return table


@cache
def _number_pattern(name: str) -> re.Pattern[str]:
    words = [word for kind in ("ones", "tens", "number_and") for word in words_of(name, kind)]
    words += [entry.partition("=")[0] for entry in words_of(name, "more_numbers")]
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_GAP = re.compile(r"\s?[-‐ \u00a0]\s?")


def _spelled(text: str, language: Language) -> Iterator[Figure]:
    """Yield the numbers in words: adjacent number words, joined by `and` after a hundred.

    `One` alone is mostly an article or a pronoun.
    """
    table, joint = number_words(language.name), "".join(words_of(language.name, "number_and"))
    if not table:
        return
    matches = islice(_number_pattern(language.name).finditer(text), MAX_MATCHES)
    words = [(fold(match[0]), *match.span()) for match in matches]
    at = 0
    while at < len(words):
        total, current, end, last = 0, 0, at, at
        while end < len(words):
            value, times = table.get(words[end][0], (0, 0))
            is_next = end == at or _GAP.fullmatch(text, words[end - 1][2], words[end][1])
            size = 10 ** len(str(value))
            if is_next and times and max(current, 1) < times:
                current = max(current, 1) * times
                if times > 100:
                    total, current = total + current, 0
            elif is_next and value and current % size == 0 and (current % 100 != 10 or value > 9):
                current += value
            elif not (is_next and words[end][0] == joint and current >= 20 and current % 10 == 0):
                break
            end += 1
            last = last if words[end - 1][0] == joint else end
        total += current
        if total > 1:
            step = 1.0
            while total % (10 * step) == 0:  # two thousand is exact to the thousand
                step *= 10
            yield _number(text, {float(total): step}, words[at][1], words[last - 1][2])
        at = max(end, at + 1)
