"""PairedScores: one metric's scores on both sides of the pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Self

from ragstone.comparison.columns import MetricColumn, Unscored
from ragstone.comparison.pairing import Pair


@dataclass(frozen=True)
class PairedScores:
    """One metric's numbers in A and in B, over the pairs that have both.

    Attributes:
        pairs: those that both scored.
        a, b: their numbers.
        unscored_a, unscored_b: of all pairs, those without a number on that side.
        only_a, only_b: pairs with a number on one side only.
    """

    pairs: Sequence[Pair]
    a: Sequence[float]
    b: Sequence[float]
    unscored_a: Unscored
    unscored_b: Unscored
    only_a: int
    only_b: int

    @classmethod
    def of(cls, a: MetricColumn, b: MetricColumn, pairs: Sequence[Pair]) -> Self:
        """Take the pairs' scores out of the columns."""
        rows_a, rows_b = [one for one, _ in pairs], [two for _, two in pairs]
        scored_a, scored_b = a.scored(rows_a), b.scored(rows_b)
        both = list(compress(compress(pairs, scored_a), compress(scored_b, scored_a)))
        return cls(
            pairs=both,
            a=[a.values[one] for one, _ in both],
            b=[b.values[two] for _, two in both],
            unscored_a=a.unscored(rows_a),
            unscored_b=b.unscored(rows_b),
            only_a=sum(scored_a) - len(both),
            only_b=sum(scored_b) - len(both),
        )
