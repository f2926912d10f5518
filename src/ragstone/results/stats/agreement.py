"""Agreement of two annotators, or of a judge and an annotator, on yes-no labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Agreement:
    """The table of two annotators' answers on the same items, and its measures.

    Attributes:
        both: items that both label True; `neither`, False.
        first_only: items that only the first labels True; `second_only`, only the second.
    """

    both: int = 0
    first_only: int = 0
    second_only: int = 0
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Self:
        """Count pairs of (first, second) labels."""
        counts = [0, 0, 0, 0]
        for first, second in pairs:
            counts[2 * (not first) + (not second)] += 1
        return cls(*counts)

    @property
    def n(self) -> int:
        """The number of items."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreeing(self) -> int:
        """The number of items with equal labels."""
        return self.both + self.neither

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, from -1 to 1; None if both only gave one and the same label.

        Source: Cohen, A Coefficient of Agreement for Nominal Scales (1960).
        """
        first, second = self.both + self.first_only, self.both + self.second_only
        by_chance = first * second + (self.n - first) * (self.n - second)
        if by_chance == self.n**2:
            return None
        return (self.n * self.agreeing - by_chance) / (self.n**2 - by_chance)

    @property
    def ac1(self) -> float | None:
        """Gwet's AC1, from -1 to 1; None without items.

        It stays high if nearly all items have one label, where kappa falls to 0.
        Source: Gwet, Computing inter-rater reliability in the presence of high agreement (2008).
        """
        if not self.n:
            return None
        true = (2 * self.both + self.first_only + self.second_only) / (2 * self.n)
        by_chance = 2 * true * (1 - true)
        return (self.agreeing / self.n - by_chance) / (1 - by_chance)
