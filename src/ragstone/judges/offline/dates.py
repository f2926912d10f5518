"""Dates: days, months of a year, and years that a text names, in any order of their parts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ragstone.judges.offline.words import FIGURE_WORDS, MAX_MATCHES, fold, lazy_pattern

Reading = tuple[int | None, int | None, int | None]
"""Year, month and day; None if not stated."""
MAX_MONTH = 20
"""Characters before a number that may contain the name of its month."""
MONTHS = {
    fold(name): number
    for number, names in enumerate(FIGURE_WORDS["months"], start=1)
    for name in names.split()
}
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
_RUN = re.compile(r"\d+")


def find_runs(text: str) -> Sequence[int]:
    """Return where the sequences of digits of a text begin, in order."""
    return [match.start() for match in _RUN.finditer(text)]


def match_runs(pattern: re.Pattern[str], text: str, runs: Sequence[int]) -> Iterator[re.Match[str]]:
    """Yield the same as `pattern.finditer`, for a pattern that begins with a sequence of digits.

    It is faster, because a pattern with a lookbehind is otherwise tried at every character.
    """
    free = 0
    for start in runs:
        if start >= free and (match := pattern.match(text, start)):
            free = match.end()
            yield match


@dataclass(frozen=True, slots=True)
class Date:
    """A date and its place in its text; 05/03/2024 has two readings.

    `is_lone` is whether it is four digits alone, which may not be a year.
    """

    readings: frozenset[Reading]
    start: int
    end: int
    shown: str
    is_lone: bool = False

    def is_covered_by(self, other: "Date") -> bool:
        """Return whether the other date states all of this one, or all but the year."""
        return any(_covers(mine, theirs) for mine in self.readings for theirs in other.readings)

    def differs_from(self, other: "Date") -> bool:
        """Return whether the two cannot be the same day, month or year in any reading."""
        return all(
            any(
                one != two
                for one, two in zip(mine, theirs, strict=True)
                if one is not None and two is not None
            )
            for mine in self.readings
            for theirs in other.readings
        )


def _covers(mine: Reading, theirs: Reading) -> bool:
    year, *day = mine
    same_day = day == list(theirs[1:]) and None not in day
    year_fits = year is None or year == theirs[0] or (same_day and theirs[0] is None)
    pairs = zip(day, theirs[1:], strict=True)
    return year_fits and all(part is None or part == there for part, there in pairs)


def find_dates(text: str) -> tuple[Date, ...]:
    """Return the dates of a text in order; a lone number from 1000 to 2199 counts as a year."""
    runs = find_runs(text)
    if not runs:
        return ()
    matches = [match_runs(pattern(), text, runs) for pattern in _NUMBERED]
    if not text.isascii():
        matches += [pattern().finditer(text) for pattern in _HAN]
    preceding = (_LETTERS.findall(text, max(0, start - MAX_MONTH), start) for start in runs)
    if any(fold(word) in MONTHS for words in preceding for word in words):  # these are slow
        matches += [pattern().finditer(text) for pattern in _NAMED]
    dates = [*chain.from_iterable(map(_read, matches))]  # of one place, the best form comes first
    dates += _read(match_runs(_LONE(), text, runs), is_lone=True)
    found: list[Date] = []
    for date in sorted(dates, key=lambda each: each.start):
        if not found or date.start >= found[-1].end:
            found.append(date)
    return tuple(found)


def _read(matches: Iterator[re.Match[str]], *, is_lone: bool = False) -> Iterator[Date]:
    for match in islice(matches, MAX_MATCHES):
        parts = match.groupdict()
        year, month, day = (int(part) if (part := parts.get(key)) else None for key in "ymd")
        if name := parts.get("n"):
            month = MONTHS.get(fold(name))
            if month is None:
                continue
        pairs = [(month, day)]
        if (first := parts.get("a")) and (second := parts.get("b")):
            pairs = [(int(first), int(second)), (int(second), int(first))]
        readings = frozenset(
            (year, month, day)
            for month, day in pairs
            if (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31)
        )
        if readings:
            yield Date(readings, match.start(), match.end(), match[0].strip(), is_lone)
