"""Amount: a quantity that a text writes in two parts, or as the ends of a range."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.quantity import Quantity

_PLUS = lazy_pattern(r"\s?(?:,|and|und|et|y|e|en|och|og|и|i)?\s?", re.IGNORECASE)
_TO = lazy_pattern(r"\s?(?:-|–|—|~|to|bis|à|a|до|至|到)\s?", re.IGNORECASE)
_AND = lazy_pattern(r"\s(?:and|und|et|y|e|en|och|og|и|i)\s", re.IGNORECASE)
_BETWEEN = frozenset(
    "between zwischen entre tra fra tussen mellan mellem mellom miedzy между".split()
)
_IN_PARTS = frozenset(("time", "months", "length", "mass"))


def join(text: str, quantities: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """Return the quantities with `3 hours 45 minutes` as one, and with the ends of ranges known."""
    return tuple(_ranges(text, list(_sums(text, quantities))))


def _sums(text: str, quantities: Sequence[Quantity]) -> Iterator[Quantity]:
    whole: Quantity | None = None
    for part in quantities:
        if whole and _adds(text, whole, part):
            whole = _sum(text, whole, part)
            continue
        if whole:
            yield whole
        whole = part
    if whole:
        yield whole


def _adds(text: str, whole: Quantity, part: Quantity) -> bool:
    """Tell whether a quantity is the smaller part of the one before it: 3 hours and 45 minutes."""
    return (
        whole.dimension == part.dimension
        and whole.dimension in _IN_PARTS
        and whole.factor > part.factor
        and max(part.readings) < whole.factor
        and whole.before not in _BETWEEN
        and whole.is_imperial == part.is_imperial
        and _PLUS().fullmatch(text, whole.end, part.start) is not None
    )


def _sum(text: str, whole: Quantity, part: Quantity) -> Quantity:
    values = {one + two: step for one in whole.readings for two, step in part.readings.items()}
    return replace(
        whole,
        readings=values,
        end=part.end,
        factor=part.factor,
        shown=text[whole.start : part.end].strip(),
        per=part.per,
    )


def _ranges(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Give both ends of each range its ends, and the first the unit of the second."""
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
