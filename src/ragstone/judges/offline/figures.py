"""Figures: the quantities and years of a text, and whether two of them agree."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, product

from ragstone.judges.offline.words import (
    FIGURE_WORDS,
    MAX_MATCHES,
    UNKNOWN,
    Language,
    combining_marks,
    fold,
    lazy_pattern,
    split_forms,
    stem,
    words_of,
)

EQUAL, CLOSE, ABOUT = 1e-9, 0.005, 0.05
"""How much two values may differ, as a share: to be equal, if the claim only leaves digits out,
and if words mark the claim's figure as rounded or as a bound."""
NEAR = 3
NEARBY = 40


@dataclass(frozen=True)
class Figure:
    """A number of a text with its unit."""

    start: int
    end: int
    shown: str
    values: Mapping[float, float]  # in base units -> size of the last digit, as of `read_number`
    is_year: bool = False  # a bare number from 1000 to 2199, which may be a year
    dimension: str = ""  # what is measured; "" for a bare number
    factor: float = 1.0  # how many base units its unit is
    text: str = ""
    language: Language = UNKNOWN

    def _near(self) -> tuple[Sequence[str], Sequence[str]]:
        before = split_forms(self.text[max(0, self.start - NEARBY) : self.start])
        return before[-NEAR:], split_forms(self.text[self.end : self.end + NEARBY])[:NEAR]

    @cached_property
    def noun(self) -> str:
        is_bare = self.text[self.end : self.end + 1] in (" ", "-") and not self.dimension
        after = self._near()[1][:1] if is_bare else ()
        return next((word for word in after if word not in self.language.function_words), "")

    @cached_property
    def leeway(self) -> tuple[float, float]:
        return next((LEEWAY[word] for word in self._near()[0][-2:] if word in LEEWAY), (0.0, 0.0))

    @cached_property
    def frame(self) -> tuple[Set[str], Set[str]]:
        before, after = (
            {stem(word) for word in words if word not in self.language.function_words}
            for words in self._near()
        )
        return before, after

    def is_covered_by(self, other: "Figure") -> bool:
        if self.is_year and other.is_year:
            return self.values == other.values
        if self.dimension != other.dimension:
            pairs = product(self.values, other.values)
            is_other = self.dimension and (other.dimension or other.noun)
            return not is_other and any(
                _is_within(one / self.factor, two / other.factor) for one, two in pairs
            )
        below, above = self.leeway
        return any(
            _is_within(one, two)
            or one * (1 - below) <= two <= one * (1 + above)
            or (step > finer and abs(one - two) <= step / 2 and _is_within(one, two, CLOSE))
            for one, step in self.values.items()
            for two, finer in other.values.items()
        )

    def is_like(self, other: "Figure") -> bool:
        return self.is_year == other.is_year and self.dimension == other.dimension

    def replaces(self, other: "Figure") -> float:
        """Return the share of the words around a claimed figure that are around this stated one."""
        if not self.is_like(other) or other.is_covered_by(self) or self.is_covered_by(other):
            return 0.0  # both can be true
        (before, after), (near_before, near_after) = other.frame, self.frame
        same = len(before & near_before) + len(after & near_after)
        return same / claimed if (claimed := len(before) + len(after)) else 0.0


def _is_within(one: float, two: float, apart: float = EQUAL) -> bool:
    return abs(one - two) <= apart * max(abs(one), abs(two))


def find_figures(
    text: str, language: Language, start: int = 0, end: int = sys.maxsize
) -> tuple[Figure, ...]:
    end = min(end, len(text))
    found = [*_numbers(text, language, start, end), *_spelled(text, language, start, end)]
    kept: list[Figure] = []
    for figure in sorted(found, key=lambda figure: (figure.start, -figure.end)):
        if not kept or figure.start >= kept[-1].end:
            kept.append(figure)
    return tuple(kept)


_BOUNDS = {"about": (ABOUT, ABOUT), "at_least": (0, ABOUT), "at_most": (ABOUT, 0)}
LEEWAY = {
    fold(word): leeway
    for kind, leeway in _BOUNDS.items()
    for word in FIGURE_WORDS["bounds"][kind].split()
}

_NUMBER = lazy_pattern(
    r"""(?<![A-Za-z\u00c0-\u024f\u0370-\u04ff\d\#_])  # not inside IP68 or #12
    (?<![A-Za-z\u00c0-\u024f]-)(?<!\d\d\d\d[-–/])  # nor the second half of HX-200 or 2018-19
    (?P<sign>(?<![\w.,)])[-−–](?=[$€£¥₹₽₩฿\d])|\b(?:[Mm]inus|[Nn]egative)\s)?
    (?P<money>[$€£¥₹₽₩฿]\s?|(?<!\d)(?:USD|US\$|EUR|GBP|CHF|JPY|INR|CNY|RMB|KRW|THB|VND)\s?)?
    (?P<digits>\d{1,30}(?:[.,'’٫٬\u00a0\u202f ]\d{3}(?!\d)){0,9}+(?:[.,٫]\d{1,12})?)""",
    re.VERBOSE,
)
_DECADE = re.compile(r"[12]\d\d0['’]?s\b")
_LETTER = re.compile(r"[A-Za-z]")
_MONEY_FACTOR = re.compile(r"([kmb]|mn|bn)\b", re.IGNORECASE)
_MONEY_FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_SCALE = lazy_pattern(r"\s?(celsius|c\b|fahrenheit|f\b)", re.IGNORECASE)
_PER_CENT = lazy_pattern(r"\s(?:por|per|pour|за)\s(?:cent\w*|ciento)\b|\sphần trăm\b|\sper cent\b")
_NAME_LETTERS = frozenset("GMST")  # single capitals that make a name of a number, as in 5G
UNITS: Mapping[str, tuple[str, float]] = {
    fold(name): (dimension, float(factor))
    for unit, names in FIGURE_WORDS["units"].items()
    for factor, dimension in [unit.split()]
    for name in names.split()
}
FACTORS: Mapping[str, tuple[str, float]] = {  # word -> by how much it multiplies the number before
    fold(name): ("", float(factor))
    for factor, names in FIGURE_WORDS["factors"].items()
    for name in names.split()
}


def _numbers(text: str, language: Language, start: int, end: int) -> Iterator[Figure]:
    for match in islice(_NUMBER().finditer(text, start, end), MAX_MATCHES):
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
        money = (match["money"] or "").strip()
        yield _number(text, language, values, match.start(), at, money)


def read_number(digits: str) -> Mapping[float, float]:
    """Return value -> size of its last digit; 1,234 may be 1234, to 1, or 1.234, to 0.001."""
    plain = re.sub(r"[\s'’٬\u00a0\u202f]", "", digits).replace("٫", ".")
    *before, part = re.split("[.,]", plain)
    whole = "".join(before)
    if not before or (len(before) > 1 and not ("." in plain and "," in plain)):
        return {float(whole + part): 1.0}
    values = {float(f"{whole}.{part}"): 10.0 ** -len(part)}
    if len(before) == 1 and len(part) == 3 and len(whole) <= 3 and whole.strip("0"):
        values[float(whole + part)] = 1.0
    return values


def _number(
    text: str,
    language: Language,
    values: Mapping[float, float],
    start: int,
    at: int,
    money: str = "",
) -> Figure:
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
        is_year,
        dimension,
        factor,
        text,
        language,
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
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


_GAP = re.compile(r"\s?[-‐ \u00a0]\s?")


def _spelled(text: str, language: Language, start: int, end: int) -> Iterator[Figure]:
    """Yield the numbers in words; `one` alone is mostly an article or a pronoun."""
    table, joint = number_words(language.name), "".join(words_of(language.name, "number_and"))
    if not table:
        return
    part = text[start:end].lower()
    part = part if len(part) == end - start else text[start:end]
    matches = islice(_number_pattern(language.name).finditer(part), MAX_MATCHES)
    words = [(fold(match[0]), start + match.start(), start + match.end()) for match in matches]
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
            yield _number(text, language, {float(total): step}, words[at][1], words[last - 1][2])
        at = max(end, at + 1)
