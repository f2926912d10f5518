"""Number: the quantities of a text, however they are written."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from typing import TypeVar

from ragstone.judges.offline.amounts import join
from ragstone.judges.offline.bounds import is_denied, read_bound, read_per
from ragstone.judges.offline.codes import find_codes
from ragstone.judges.offline.digit_runs import find_runs, match_runs
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.quantity import Quantity
from ragstone.judges.offline.spelled_numbers import WORD, find_spelled
from ragstone.judges.offline.units import IMPERIAL, TIMES, UNITS, Unit
from ragstone.judges.offline.word_patterns import marks
from ragstone.judges.offline.words import fold
from ragstone.judges.offline.written_numbers import read_number

V = TypeVar("V")

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
MOST = 20_000
"""Figures of each kind that are read in one text, so that a table of a million ends soon."""
LONGEST_RANGE = 3
"""How many numbers in a row wait for the unit of the last."""
_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2})[:h](\d{2})(?![\d:])|(?<![\d:.,])(\d{1,2})\s?(?=[ap]\.?m\b)"
)
_AFTERNOON = re.compile(r"\s?([ap])\.?\s?m\b", re.IGNORECASE)
_SPELLED_WORD = re.compile(r"[^\W\d_]{2,24}")
_CITATION = re.compile(r"\[\d{1,3}(?:[,;–-]\s?\d{1,3})*\]")
_LETTERS = frozenset("GMST")
"""Single capitals that make a name of a number, as in 5G, and no amount."""
_GLUED = re.compile(r"[A-Za-z]")
_DECADE = re.compile(r"[12]\d\d0['’]?s\b")
_FRACTION = lazy_pattern(
    r"(?<![\w.,/-])(?:(?P<whole>\d{1,3})[ \u00a0-])?(?P<above>[1-9])[/⁄](?P<below>[2-9]|1\d)"
    r"(?![\w/⁄])"
)
_MONEY_TIMES = re.compile(r"(?P<by>[kmb]|mn|bn)\b", re.IGNORECASE)
_BY = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_SCALE = lazy_pattern(
    r"\s?(?:(?P<celsius>celsius|c\b)|(?P<fahrenheit>fahrenheit|f\b))", re.IGNORECASE
)
_PER_CENT = lazy_pattern(r"\s(?:por|per|pour|за)\s(?:cent\w*|ciento)\b|\sphần trăm\b|\sper cent\b")


def find_quantities(
    text: str, name: str = "", taken: Sequence[tuple[int, int]] = ()
) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order, outside the places that are already taken.

    Number words are those of the language named; where it is not known, there are none.
    """
    busy = sorted([*taken, *(match.span() for match in islice(_CITATION.finditer(text), MOST))])
    ends = [end for _, end in busy]
    found: list[Quantity] = []
    words = frozenset(map(fold, set(WORD.findall(text))))
    runs = find_runs(text)
    written = (find_codes(text, words), _clocks(text, runs), _fractions(text, runs), _ranged(text))
    read = chain(*written if runs else (), _spelled(text, name, words))
    for quantity in sorted(read, key=_place):
        after = bisect_right(ends, quantity.start)  # the first place that ends beyond our start
        if is_denied(text, quantity.start):
            continue
        is_free = after == len(busy) or busy[after][0] >= quantity.end
        if is_free and (not found or quantity.start >= found[-1].end):
            found.append(quantity)
    return join(text, found)


def _place(quantity: Quantity) -> tuple[int, int]:
    return quantity.start, -quantity.end


def _clocks(text: str, runs: Sequence[int]) -> Iterator[Quantity]:
    for match in islice(match_runs(_CLOCK, text, runs), MOST):
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
    for match in islice(match_runs(_FRACTION(), text, runs), MOST):
        above, below = int(match["above"]), int(match["below"])
        if above < below:
            value = {int(match["whole"] or 0) + above / below: 0.0}
            yield _counted(text, value, match.span(), match.end())


def _ranged(text: str) -> Iterator[Quantity]:
    """Yield the numbers in digits; the first of a range takes the unit of the second."""
    waiting: list[re.Match[str]] = []
    for match in islice(_NUMBER().finditer(text), MOST):
        if _is_name(text, match):
            continue
        if match["range"] and len(waiting) < LONGEST_RANGE:
            waiting.append(match)
            continue
        for earlier in waiting:
            own = _quantity(text, earlier, match.end("digits"))
            yield replace(own, end=earlier.end("digits"))
        yield _quantity(text, match, match.end("digits"))
        waiting = []
    yield from (_quantity(text, match, match.end("digits")) for match in waiting)


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Tell whether a number is part of a name or names a decade: 5G, the 1980s."""
    at = match.end("digits")
    if _DECADE.match(text, match.start("digits")):
        return True
    if match["money"]:
        return False
    is_counted = _lookup(UNITS, text, at) or _lookup(TIMES, text, at)
    return _GLUED.match(text, at) is not None and is_counted is None


def _quantity(text: str, match: re.Match[str], at: int) -> Quantity:
    """Return the number matched, with the multiplier, unit or noun that stands at `at`."""
    values = read_number(match["digits"])
    if match["sign"] or match["minus"]:
        values = {-value: step for value, step in values.items()}
    span = match.start(), match.end("digits")
    counted = _counted(text, values, span, at, match["money"])
    return replace(counted, digits=match["digits"])


def _counted(
    text: str,
    values: Mapping[float, float],
    span: tuple[int, int],
    at: int,
    money: str | None = None,
) -> Quantity:
    start, end = span
    by, end = _lookup(TIMES, text, at) or (1.0, max(at, end))
    if money and (short := _MONEY_TIMES.match(text, at)):
        by, end = _BY[short["by"].lower()], short.end()
    if by != 1.0 and text.startswith(". ", end):  # an abbreviation: 3 Mio. Euro
        end += 1
    unit, noun, end = _measure(text, end, money)
    before = text[max(0, start - 40) : start].split()
    bound, is_about = read_bound(text, start)
    per = read_per(text, end)
    counted_in = UNITS.get(fold(per)) if per else None
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


def _measure(text: str, at: int, money: str | None) -> tuple[Unit, str, int]:
    """Return the unit that stands at a place, else the noun, and where the unit ends."""
    if money:
        return UNITS[fold(money.strip())], "", at
    if found := _lookup(UNITS, text, at):
        unit, end = found
        if unit.dimension == "degrees" and (scale := _SCALE().match(text, end)):
            return UNITS["celsius" if scale["celsius"] else "°f"], "", scale.end()
        return unit, "", end
    if share := _PER_CENT().match(text, at):
        return UNITS["%"], "", share.end()
    after = _SPELLED_WORD.match(text, at + 1)
    return Unit("", 1.0), fold(after[0]) if after else "", at


@cache
def _unit() -> re.Pattern[str]:
    """Return what may be a unit."""
    return re.compile(
        r"[\s\u00a0-]?(°\s?[CFcf]\b|[%％٪°℃℉]|[$€£¥￥₹₽₫₩฿](?!\d)"
        rf"|[^\W\d_](?:[^\W\d_]|[{marks()}]){{0,24}}+(?!['’][^\W\d_])(?:/[^\W\d_]{{1,4}}\b)?)"
    )


def _lookup(table: Mapping[str, V], text: str, at: int) -> tuple[V, int] | None:
    """Return the entry of the table that stands at a place of the text, and where it ends."""
    match = _unit().match(text, at)
    if not match:
        return None
    name = match[1]
    if name in _LETTERS:
        return None
    folded = fold(name).replace(" ", "")
    if folded in table:
        return table[folded], match.end()
    if "/" in name and (head := fold(name.split("/")[0])) in table:
        return table[head], match.start(1) + len(name.split("/")[0])
    if not name[0].isascii():  # scripts without spaces: the unit is the beginning of a run
        for length in range(min(7, len(name)), 0, -1):
            if (head := fold(name[:length])) in table and head > "\u0e00":
                return table[head], match.start(1) + length
    return None


def _spelled(text: str, name: str, words: Set[str]) -> Iterator[Quantity]:
    for value, start, end in find_spelled(text, name, words):
        step = 1.0
        while value and value % (10 * step) == 0:  # two thousand is said to the thousand
            step *= 10
        yield _counted(text, {float(value): step}, (start, end), end)
