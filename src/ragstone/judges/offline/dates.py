"""Date: a day, a month of a year, or a year that a text names, in any order of its parts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from ragstone.judges.offline.words import fold, lazy_pattern

# Digit run: digits in a row, at whose beginning the patterns of most figures begin too.

_RUN = re.compile(r"\d+")


def find_runs(text: str) -> Sequence[int]:
    """Return where the runs of digits of a text begin, in order."""
    return [match.start() for match in _RUN.finditer(text)]


def match_runs(pattern: re.Pattern[str], text: str, runs: Sequence[int]) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` would, for a pattern that begins with a run of digits.

    It is quicker, since a pattern that looks behind is tried at every character otherwise.
    """
    free = 0
    for start in runs:
        if start >= free and (match := pattern.match(text, start)):
            free = match.end()
            yield match


_MONTHS = """january jan januar janner janvier janv enero ene janeiro gennaio januari stycznia ledna
 января januar ocak sichnya
february feb februar fevrier fevr febrero fevereiro febbraio februari lutego unora февраля
 februar subat
 februari lyutogo
march mar marz mars marzo marco maart marca brezna марта marts mart maret
april apr avril avr abril abr aprile kwietnia dubna апреля nisan
may mai mayo maio maggio mei maja kvetna мая maj mayis
june jun juni juin junio junho giugno czerwca cervna июня haziran
july jul juli juillet juil julio julho luglio lipca cervence июля temmuz
august aug aout agosto ago augustus sierpnia srpna августа agustos augusti agustus
september sep sept septembre septiembre setembro settembre wrzesnia zari сентября eylul
october oct oktober okt octobre octubre outubro ottobre pazdziernika rijna октября ekim
november nov novembre noviembre novembro listopada listopadu ноября kasim
december dec dezember dez decembre diciembre dic dezembro dicembre grudnia prosince декабря aralik
 desember"""


def _months() -> dict[str, int]:
    names: dict[str, int] = {}
    month = 0
    for line in _MONTHS.split("\n"):
        month += not line.startswith(" ")
        names.update((fold(name), month) for name in line.split())
    return names


MONTHS = MappingProxyType(_months())
MOST = 20_000
"""Dates of each form that are read in one text, so that a table of a million ends soon."""
Reading = tuple[int | None, int | None, int | None]
"""Year, month and day; None is not said."""


@dataclass(frozen=True, slots=True)
class Date:
    """A date and its place in its text; 05/03/2024 has two readings.

    `is_lone` is whether it is four digits alone, which need not be a year.
    """

    readings: frozenset[Reading]
    start: int
    end: int
    shown: str
    is_lone: bool = False

    def is_covered_by(self, other: "Date") -> bool:
        """Tell whether the other date says all that this one says, or all but the year."""
        return any(_says(mine, theirs) for mine in self.readings for theirs in other.readings)

    def differs_from(self, other: "Date") -> bool:
        """Tell whether the two cannot be the same day, month or year, however they are read."""
        return all(_differ(mine, theirs) for mine in self.readings for theirs in other.readings)


def _says(mine: Reading, theirs: Reading) -> bool:
    year, *day = mine
    same_day = day == list(theirs[1:]) and None not in day
    year_fits = year is None or year == theirs[0] or (same_day and theirs[0] is None)
    pairs = zip(day, theirs[1:], strict=True)
    return year_fits and all(part is None or part == there for part, there in pairs)


def _differ(mine: Reading, theirs: Reading) -> bool:
    pairs = zip(mine, theirs, strict=True)
    return any(left != right for left, right in pairs if left is not None and right is not None)


_NAME = r"(?P<{}>[^\W\d_]{{3,12}})\.?"
_YEAR = r"(?P<{}>1\d{{3}}|20\d{{2}}|21\d{{2}})(?!\d)"
_NUMBERED = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"(?<![\d.,/-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d/-])",
        r"(?<![\d.,/-])(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})(?![\d/-])",
        r"(?<![\d.,/-])(?P<d>\d{1,2})(?:\.|st|nd|rd|th|er|º|°)?\s(?:(?:de|of)\s)?"
        + _NAME.format("n")
        + r"(?:,?\s(?:(?:de|del)\s)?"
        + _YEAR.format("y")
        + ")?",
    )
)
_NAMED = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"\b"
        + _NAME.format("n")
        + r"\s(?P<d>\d{1,2})(?:st|nd|rd|th)?\b(?![.,:]?\d)(?!\s?[%€°])(?:,?\s"
        + _YEAR.format("y")
        + ")?",
        r"\b" + _NAME.format("n") + r",?\s(?:(?:de|of)\s)?" + _YEAR.format("y"),
    )
)
_HAN = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"(?P<y>\d{4})\s?[年년]\s?(?:(?P<m>\d{1,2})\s?[月월]\s?(?:(?P<d>\d{1,2})\s?[日号號일])?)?",
        r"(?P<m>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日号號일]",
    )
)
_LONE = lazy_pattern(r"(?<![\d.,/:$€£-])" + _YEAR.format("y") + r"(?![.,:/-]?\d)(?!['’]?s\b)")
_LETTERS = re.compile(r"[^\W\d_]{3,12}")
BEFORE = 20
"""Characters before a number that may hold the name of its month."""


def find_dates(text: str) -> tuple[Date, ...]:
    """Return the dates of a text in order; a lone number from 1000 to 2199 is taken as a year."""
    dates = sorted(_dates(text, find_runs(text)), key=_start)
    found: list[Date] = []
    for date in dates:
        if not found or date.start >= found[-1].end:
            found.append(date)
    return tuple(found)


def _start(date: Date) -> int:
    return date.start


def _dates(text: str, runs: Sequence[int]) -> Iterator[Date]:
    """Yield the dates of each form; of those that begin at one place, the best first."""
    if not runs:
        return
    for pattern in _NUMBERED:
        yield from _read(match_runs(pattern(), text, runs))
    if not text.isascii():
        for pattern in _HAN:
            yield from _read(pattern().finditer(text))
    if _has_month(text, runs):
        for pattern in _NAMED:
            yield from _read(pattern().finditer(text))
    yield from _read(match_runs(_LONE(), text, runs), is_lone=True)


def _has_month(text: str, runs: Sequence[int]) -> bool:
    """Tell whether a month stands before a number; the forms that begin with one take long."""
    before = (_LETTERS.findall(text, max(0, start - BEFORE), start) for start in runs)
    return any(fold(word) in MONTHS for words in before for word in words)


def _read(matches: Iterator[re.Match[str]], *, is_lone: bool = False) -> Iterator[Date]:
    for match in islice(matches, MOST):
        if readings := frozenset(_readings(match.groupdict())):
            yield Date(readings, match.start(), match.end(), match[0].strip(), is_lone)


def _readings(parts: dict[str, str | None]) -> Iterator[Reading]:
    year, month, day = (int(part) if (part := parts.get(key)) else None for key in "ymd")
    if name := parts.get("n"):
        month = MONTHS.get(fold(name))
        if month is None:
            return
    first, second = parts.get("a"), parts.get("b")
    pairs = [(month, day)]
    if first and second:
        pairs = [(int(first), int(second)), (int(second), int(first))]
    for month, day in pairs:
        if (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31):
            yield (year, month, day)
