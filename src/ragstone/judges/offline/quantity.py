"""Quantity: a number that a text states, with what it counts."""

from dataclasses import dataclass

from ragstone.judges.offline.words import likeness

CLOSE, ABOUT = 0.005, 0.05
"""How far apart two amounts may be and be the same: as written, and where one is rounded."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts.

    Attributes:
        readings: the values it can stand for, in the dimension's base unit; 1,234 may be 1.234.
        written: the same as the text writes them, in the unit that is written.
        dimension: what is measured, "" for a bare number.
        noun: the folded word after a bare number, "" where none follows.
        before: the folded word before it.
        start: where it begins in its text, in characters.
        end: where it and its unit end; exclusive.
        shown: as the text writes it.
        factor: how many base units the unit is.
        per: what it is counted in, such as `month` in `5 a month`; "" for nothing.
        bound: "<" for at most this, ">" for at least this, "" for just this.
        is_about: whether the text says that it is rounded.
        is_imperial: whether the unit is a foot, a pound or the like, which are rounded.
        ends: the smallest and the largest value, where it is an end of a range.
    """

    readings: frozenset[float]
    written: frozenset[float]
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

    def is_covered_by(self, other: "Quantity") -> bool:
        """Tell whether the other may state the same amount; a missing unit may be any."""
        if (self.per and other.per and self.per != other.per) or self._is_turned(other):
            return False
        rounded = self.is_about or other.is_about or self.is_imperial != other.is_imperial
        mine, theirs = self.readings, other.readings
        if self.dimension != other.dimension:
            if self.dimension and other.dimension:
                return False
            mine, theirs, rounded = self.written, other.written, False
        apart = ABOUT if rounded else CLOSE
        return any(
            abs(one - two) <= apart * max(abs(one), abs(two)) for one in mine for two in theirs
        )

    def differs_from(self, other: "Quantity") -> bool:
        """Tell whether both count the same thing and the amounts cannot both hold."""
        if self.dimension != other.dimension or self.is_covered_by(other):
            return False
        if (self.per and other.per and self.per != other.per) or self._is_within(other):
            return False
        if self.dimension:
            return True
        if self.noun and other.noun:
            return likeness(self.noun, other.noun) > 0
        return bool(self.before) and self.before == other.before

    def _is_turned(self, other: "Quantity") -> bool:
        """Tell whether one says at most, the other at least."""
        return bool(self.bound and other.bound) and self.bound != other.bound

    def _is_within(self, other: "Quantity") -> bool:
        """Tell whether one is a range or a bound that leaves room for the other."""
        if (self.ends is None) != (other.ends is None):
            value, (low, high) = (self, other.ends) if other.ends else (other, self.ends or (0, 0))
            return any(low <= reading <= high for reading in value.readings)
        if bool(self.bound) == bool(other.bound):
            return False
        limit, value = (self, other) if self.bound else (other, self)
        if limit.bound == "<":
            return min(value.readings) <= max(limit.readings)
        return max(value.readings) >= min(limit.readings)
