"""Groups: values by what is drawn together: each alone, or all of a cluster."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Clusters:
    """Independent groups of values, in an order that does not depend on how they came.

    Attributes:
        totals: the sum of each group's values.
        sizes: how many values each group has.
        mean: of all values, to the last digit as scores are averaged.
    """

    totals: Numbers
    sizes: Numbers
    mean: float

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        clusters: Sequence[Hashable] | None = None,
        *,
        total: float | None = None,
    ) -> Self:
        """Group values by their cluster's label; None is a cluster of its own.

        `total` is `math.fsum` of the values, where it is known.

        Raises:
            ValueError: where there is not one label for each value.
        """
        data = np.asarray(values, dtype=np.float64)
        mean = (math.fsum(values) if total is None else total) / len(values)
        if clusters is None:
            return cls(np.sort(data), np.ones(data.size), mean)
        if len(clusters) != data.size:
            raise ValueError(f"{data.size} values have {len(clusters)} cluster labels")
        codes = _codes(clusters)
        order = np.lexsort((data, codes))  # so that a sum has one last digit, not several
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        totals = np.add.reduceat(data[order], starts)
        sizes = np.diff(starts, append=data.size).astype(np.float64)
        order = np.lexsort((sizes, totals))
        return cls(totals[order], sizes[order], mean)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.totals.size

    @property
    def alone(self) -> bool:
        """Whether every value is a group of its own."""
        return bool(self.sizes.max() == 1)

    @property
    def means(self) -> Numbers:
        """The mean of each group."""
        return self.totals / self.sizes


def _codes(labels: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number the labels as they come; each None gets a number of its own."""
    numbers: dict[Hashable, int] = {}
    codes = np.empty(len(labels), dtype=np.int64)
    for place, label in enumerate(labels):
        key = (place,) if label is None else label
        codes[place] = numbers.setdefault(key, len(numbers))
    return codes
