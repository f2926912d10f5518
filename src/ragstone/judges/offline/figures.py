"""Figure: a date or a quantity that a text states, or a year that could be a quantity too."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragstone.judges.offline.dates import Date, find_dates
from ragstone.judges.offline.languages import language_of
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.numbers import Quantity, find_quantities
from ragstone.judges.offline.words import fold


@dataclass(frozen=True, slots=True)
class Year(Date):
    """A lone number that could be a year, and what else it could count; None if it is a year."""

    count: Quantity | None = None


Figure = Date | Quantity
_IN_TIME = lazy_pattern(
    r"(?:\b(?:in|since|by|until|till|from|to|of|before|after|during|around|circa|year|early|mid|late"
    r"|im|seit|bis|von|vor|nach|jahr|jahre|en|depuis|de|avant|après|année|desde|hasta|año|em|até"
    r"|ano|nel|dal|del|fino al|anno|sinds|tot|jaar|i|sedan|år|od|do|w|roku|в|с|до|год|году|tahun"
    r"|năm)\s|(?:ปี|年)\s?)\Z",
    re.IGNORECASE,
)
"""What stands before a year, and may stand before an amount."""
LONGEST = 12
"""Characters before a number that are looked at."""
_LAST = re.compile(r"[^\W\d_]+\Z")
_YEARS = frozenset(
    map(fold, "year jahr an année año ano anno jaar år rok roku год рік yıl".split())
)
"""Units that say of a number from 1000 on that it is a year: one counts those in the plural."""
_ALSO_WORDS = frozenset(map(fold, "won second let metro day г".split()))
"""Units that are something else where a year stands before them: in 2019 won, в 2019 г."""


def find_figures(text: str, name: str = "") -> tuple[Figure, ...]:
    """Return the dates and quantities of a text in order; what is a date is no quantity.

    `name` is the two-letter code of the text's language, in which its number words are read.
    """
    dates = find_dates(text)
    taken = [(date.start, date.end) for date in dates if not date.is_lone]
    empty = language_of(name).function_words
    quantities = [
        replace(quantity, noun="") if quantity.noun in empty else quantity
        for quantity in find_quantities(text, name, taken)
    ]
    found = _decided(text, dates, quantities)
    return tuple(sorted(found, key=lambda figure: figure.start))


def _decided(text: str, dates: Sequence[Date], quantities: Sequence[Quantity]) -> Iterator[Figure]:
    """Yield the figures, each lone number from 1000 to 2199 as a year or as a quantity."""
    waiting = iter(quantities)
    quantity = next(waiting, None)
    for date in dates:
        while quantity and quantity.end <= date.start:
            yield quantity
            quantity = next(waiting, None)
        if not quantity or quantity.start > date.start or not date.is_lone:
            yield date
        elif _is_year(text, date, quantity):
            in_time = _is_in_time(text, date)
            yield Year(
                date.readings, date.start, date.end, date.shown, True, None if in_time else quantity
            )
            quantity = next(waiting, None)
    if quantity:
        yield quantity
    yield from waiting


def _is_in_time(text: str, date: Date) -> bool:
    return _IN_TIME().search(text[max(0, date.start - LONGEST) : date.start]) is not None


def _is_year(text: str, date: Date, quantity: Quantity) -> bool:
    """Tell whether a quantity may be the year that begins where it begins."""
    if quantity.is_code or quantity.start < date.start:
        return False
    is_same = (int(max(quantity.written)), None, None) in date.readings
    if is_same and not quantity.dimension:
        return True
    unit = _LAST.search(text[date.end : quantity.end])
    if unit is None:
        return False
    word = fold(unit[0])
    return word in _YEARS or (word in _ALSO_WORDS and _is_in_time(text, date))


def covers(stated: Figure, claimed: Figure) -> bool:
    """Tell whether what a context states says all that is claimed.

    A bare year and a bare number of four digits may be meant for each other.
    """
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.is_covered_by(stated)
    if isinstance(stated, Quantity) and isinstance(claimed, Quantity):
        return claimed.is_covered_by(stated)
    one, other = _counts(stated), _counts(claimed)
    if one and other:
        return other.is_covered_by(one)
    date, quantity = (stated, other) if isinstance(stated, Date) else (claimed, one)
    if not isinstance(date, Date) or quantity is None or quantity.dimension:
        return False
    return any((value, None, None) in date.readings for value in quantity.readings)


def differs(stated: Figure, claimed: Figure) -> bool:
    """Tell whether both figures answer the same question differently."""
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.differs_from(stated)
    one, other = _counts(stated), _counts(claimed)
    return one is not None and other is not None and other.differs_from(one)


def is_like(stated: Figure, claimed: Figure) -> bool:
    """Tell whether both are dates, or count the same thing in the same unit as far as is said."""
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return True
    one, other = _counts(stated), _counts(claimed)
    return one is None or other is None or other.is_like(one)


def _counts(figure: Figure) -> Quantity | None:
    """Return a figure as a quantity, if it can be one."""
    if isinstance(figure, Quantity):
        return figure
    return figure.count if isinstance(figure, Year) else None
