"""Quantities: numbers with what they count, and the units in which they are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ragstone.judges.offline.words import FIGURE_WORDS, fold, similarity

EQUAL, CLOSE, ABOUT = 1e-9, 0.005, 0.05
"""How much two amounts may differ, as a share: to be equal, if the claim only leaves digits out,
and if it is rounded with `about`."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts.

    Attributes:
        readings: its possible values in the dimension's base unit, each with the size of its last
            digit; 1,234 may be 1234, exact to 1, or 1.234, exact to 0.001.
        written: the same in the unit of the text.
        dimension: what is measured, "" for a bare number.
        noun: the folded word after a bare number, "" if there is none.
        before: the folded word before it.
        start: the first character in its text.
        end: the end of it and its unit; exclusive.
        shown: as the text writes it.
        factor: how many base units the unit is.
        per: the unit it is counted in, such as `month` in `5 a month`; "" for none.
        bound: "<" for at most, ">" for at least, "" for neither.
        is_about: whether the text marks it as rounded.
        is_imperial: whether the unit is a foot, a pound or similar, which are rounded.
        ends: the smallest and the largest value, if it is an end of a range.
        digits: its digits as written.
        is_code: whether the digits are a name instead of an amount, as in `version 4.10`.
    """

    readings: Mapping[float, float]
    written: Mapping[float, float]
    dimension: str
    noun: str
    before: str
    start: int
    end: int
    shown: str
    factor: float = 1.0
    per: str = ""
    bound: str = ""
    is_about: bool = False
    is_imperial: bool = False
    ends: tuple[float, float] | None = None
    digits: str = ""
    is_code: bool = False

    def is_covered_by(self, other: "Quantity") -> bool:
        """Return whether the other supports this claimed quantity; a missing unit may be any.

        Only the claim may be rounded: it may not have more digits than the other.
        """
        is_other_unit = self.per and other.per and self.per != other.per
        is_other_bound = self.bound and other.bound and self.bound != other.bound
        if is_other_unit or is_other_bound:
            return False
        if self.is_code or other.is_code:
            return not other.dimension and f"{other.digits}.".startswith(f"{self.digits}.")
        apart = ABOUT if self.is_about or self.is_imperial != other.is_imperial else EQUAL
        mine, theirs = self.readings, other.readings
        if self.dimension != other.dimension:
            if self.dimension and other.dimension:
                return False
            mine, theirs, apart = self.written, other.written, EQUAL
        return any(
            _is_within(one, two, apart)
            or (step > finer and abs(one - two) <= step / 2 and _is_within(one, two, CLOSE))
            or (not other.bound and self._allows(one, two) and _is_within(one, two, ABOUT))
            for one, step in mine.items()
            for two, finer in theirs.items()
        )

    def is_like(self, other: "Quantity") -> bool:
        """Return whether both may count the same thing in the same unit."""
        if self.dimension and other.dimension:
            return self.dimension == other.dimension
        mine, theirs = self.dimension or self.noun, other.dimension or other.noun
        if self.dimension == other.dimension and mine and theirs:
            return similarity(mine, theirs) > 0
        return not (mine and theirs)

    def differs_from(self, other: "Quantity") -> bool:
        """Return whether both count the same thing, and only one of them can be true."""
        if self.dimension != other.dimension or self.is_code != other.is_code:
            return False
        if self.is_covered_by(other) or other.is_covered_by(self) or self._leaves_room(other):
            return False
        if self.per and other.per and self.per != other.per:
            return False
        if self.dimension:
            return True
        if self.noun and other.noun and not self.is_code:
            return similarity(self.noun, other.noun) > 0
        return bool(self.before) and self.before == other.before

    def _allows(self, limit: float, value: float) -> bool:
        """Return whether a value is on the right side of this bound."""
        return bool(self.bound) and (value <= limit if self.bound == "<" else value >= limit)

    def _leaves_room(self, other: "Quantity") -> bool:
        """Return whether one is a range or a bound, and the other is inside it."""
        if (self.ends is None) != (other.ends is None):
            value, (low, high) = (self, other.ends) if other.ends else (other, self.ends or (0, 0))
            return any(low <= reading <= high for reading in value.readings)
        if bool(self.bound) == bool(other.bound):
            return False
        limit, value = (self, other) if self.bound else (other, self)
        pairs = product(limit.readings, value.readings)
        if len(limit.readings) == len(value.readings):  # 1,234 and 2,345: both with a comma
            pairs = zip(sorted(limit.readings), sorted(value.readings), strict=True)
        return any(limit._allows(one, two) for one, two in pairs)


def _is_within(one: float, two: float, apart: float) -> bool:
    return abs(one - two) <= apart * max(abs(one), abs(two))


class Unit(NamedTuple):
    """A unit: its dimension, such as `time`, and its size in the dimension's base unit."""

    dimension: str
    factor: float = 1.0


UNITS = {
    fold(name): Unit(dimension, float(factor))
    for dimension, sizes in FIGURE_WORDS["units"].items()
    for factor, names in sizes.items()
    for name in names.split()
}
IMPERIAL = frozenset(UNITS[name] for name in "inch ft yard mile lb oz gallon mph °f".split())
"""The units whose amounts are rounded in metric units."""
FACTORS = {
    fold(name): float(factor)
    for factor, names in FIGURE_WORDS["factors"].items()
    for name in names.split()
}
"""Word -> the factor by which it multiplies the number before it."""
