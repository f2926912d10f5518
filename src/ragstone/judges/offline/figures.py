"""Figures: the numbers of a text with their units, and whether one states another."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, product
from math import isclose

from ragstone.judges.offline import words

MAX_MATCHES = 20_000  # figures read in a text, so that a table of a million ends soon
COMMON = 0.35  # the weight of a word up to which it names no thing


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a text with its unit."""

    start: int
    end: int
    shown: str
    numbers: Set[float]  # as written: 1,234 may be two
    dimension: str = ""  # what its unit measures; "" for a bare number
    factor: float = 1.0  # how many base units its unit is
    thing: str = ""  # the stem of the word after a bare number; "" for a common word

    def is_stated_by(self, other: "Figure") -> bool:
        scale = 1.0
        if self.dimension == other.dimension:
            scale = other.factor / self.factor
        elif (self.dimension or self.thing) and (other.dimension or other.thing):
            return False  # a number of another thing
        return any(isclose(one, two * scale) for one, two in product(self.numbers, other.numbers))

    def replaces(self, other: "Figure") -> bool:
        # whether this stated figure replaces a claimed one
        same = (self.dimension, self.thing) == (other.dimension, other.thing) != ("", "")
        return same and not (self.is_stated_by(other) or other.is_stated_by(self))


_NUMBER = words.lazy_pattern(  # no group is possessive, since Python before 3.11.5 loses digits
    r"""(?<![A-Za-z\u00c0-\u024f\u0370-\u04ff\d\#_\[])  # not inside IP68, #12 or [12]
    (?<![A-Za-z\u00c0-\u024f]-)(?<!\d\d\d\d[-–/])  # nor the second half of HX-200 or 2018-19
    (?P<sign>(?<![\w.,)])[-−–](?=[$€£\d])|\b(?:[Mm]inus|[Nn]egative)\s)?
    (?P<money>[$€£]\s?)?(?![12]\d\d0['’]?s\b)  # nor the 1980s
    (?P<digits>\d{1,30}(?:[.,'’٫٬\u00a0\u202f ]\d{3}(?!\d)){0,9}(?:[.,٫]\d{1,12})?)""",
    re.VERBOSE,
)
_NEXT = words.lazy_pattern(
    r"[\s-]?((?:°\s?|degrees?\s)(?:[CF]|celsius|fahrenheit)\b|[%％٪°℃℉$€£]"
    r"|[^\W\d_]{1,24}+(?:/[^\W\d_]{1,4}\b)?(?!['’][^\W\d_]))",
    re.IGNORECASE,
)
_LETTER = re.compile(r"['’]?[A-Za-z]")
_SCALES = {"k": 1e3, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_MONEY_SCALES = _SCALES | {"m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "trillion": 1e12}
_NAME_LETTERS = frozenset("GMST")  # single capitals that make a name of a number, as in 5G


@cache
def _units() -> Mapping[str, tuple[str, float]]:
    return {
        words.fold(name): (dimension, float(size))
        for dimension, sizes in words.word_lists()["units"].items()
        for size, names in sizes.items()
        for name in names.split()
    }


@cache
def _number_words() -> tuple[Mapping[str, int], re.Pattern[str]]:
    listed = words.word_lists()["numbers"].split()
    table = dict(zip(listed, [*range(1, 20), *range(20, 100, 10)], strict=True))
    small, tens = listed[:19], listed[19:]
    alone = "|".join(small[1:])  # `one` is mostly an article
    pattern = rf"\b(?:(?:{'|'.join(tens)})(?:[-\s](?:one|{alone}))?|{alone})\b"
    return table, re.compile(pattern, re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def find_figures(text: str) -> tuple[Figure, ...]:
    found: list[Figure] = []
    for match in islice(_NUMBER().finditer(text), MAX_MATCHES):
        sign = -1 if match["sign"] else 1
        numbers = {sign * number for number in read_number(match["digits"])}
        figure = _figure(text, numbers, match.start(), match.end(), (match["money"] or "").strip())
        if figure.end > match.end() or not _LETTER.match(text, figure.end):  # 5G, the 1980s
            found.append(figure)
    table, pattern = _number_words()
    for match in islice(pattern.finditer(text), MAX_MATCHES):
        number = sum(table[form] for form in words.split_forms(match[0]))
        found.append(_figure(text, {float(number)}, match.start(), match.end()))
    return tuple(sorted(found, key=lambda figure: figure.start))


def read_number(digits: str) -> Set[float]:
    """Return the numbers that may be meant: 1,234 may be 1234 or 1.234."""
    plain = re.sub(r"[\s'’٬\u00a0\u202f]", "", digits).replace("٫", ".")
    *before, part = re.split("[.,]", plain)
    whole = "".join(before)
    if not before or (len(before) > 1 and not ("." in plain and "," in plain)):
        return {float(whole + part)}
    is_both = len(before) == 1 and len(part) == 3 and len(whole) <= 3 and whole.strip("0")
    return {float(f"{whole}.{part}"), *([float(whole + part)] if is_both else ())}


def _figure(text: str, numbers: Set[float], start: int, end: int, money: str = "") -> Figure:
    by, (dimension, factor), thing = 1.0, _units().get(money, ("", 1.0)), ""
    found = _NEXT().match(text, end)
    if found and (scale := (_MONEY_SCALES if money else _SCALES).get(words.fold(found[1]))):
        by, end = scale, found.end()
        found = _NEXT().match(text, end)
    if found and not money and found[1] not in _NAME_LETTERS:
        written = re.sub(r"degrees?\s|\s", "", words.fold(found[1]))
        unit = next((name for name in (written, written.split("/")[0]) if name in _units()), "")
        if unit:
            (dimension, factor), end = _units()[unit], found.end() - len(written) + len(unit)
        elif words.word_weights().get(words.stem(written), 1.0) > COMMON:
            thing = words.stem(written)
    numbers = {round(number * by, 9) for number in numbers}
    return Figure(start, end, text[start:end].strip(), numbers, dimension, factor, thing)
