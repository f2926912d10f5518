"""MetricChange: how one metric changed from run A to run B, and whether by more than chance."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import compress
from typing import Self

import numpy as np

from ragstone.results.compare.pairing import MetricColumn, Pair, Unscored
from ragstone.results.stats.intervals import Clusters, difference_interval
from ragstone.results.stats.paired_tests import (
    WinLossTie,
    effect_size,
    holm,
    paired_t,
    sign_flip,
    smallest_difference,
    wins_losses_ties,
)
from ragstone.types.gate import EPSILON

ALPHA = 0.05
"""A difference is significant if its p, adjusted by Holm's method, is below this."""
POWER = 0.8


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


class Finding(StrEnum):
    """What the difference of a metric shows."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few to tell"


@dataclass(frozen=True)
class MetricChange:
    """One metric of two runs, over the pairs that both runs scored.

    Attributes:
        span: the largest difference that the metric's range allows.
        n: pairs scored on both sides; all figures are over these.
        unscored_a, unscored_b: paired rows without a number, on each side.
        only_in_a, only_in_b: pairs scored in A only, and in B only.
        difference: the mean of B less that of A, in the metric's unit.
        interval: 95% interval of the difference, within what the metric's range allows.
        p: of the paired sign-flip test.
        p_t: of the paired t-test; with clusters, over clusters.
        p_adjusted: p, adjusted by Holm's method for the number of metrics.
        effect: Cohen's d_z.
        win_loss_tie: pairs that got better, got worse, and stayed the same.
        min_detectable_difference: the smallest true difference that this many pairs would show
            with 80% power; None if it exceeds the metric's range, or the differences do not vary.
    """

    metric: str
    higher_is_better: bool
    span: float
    n: int
    unscored_a: Unscored
    unscored_b: Unscored
    only_in_a: int
    only_in_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_t: float | None
    p_adjusted: float | None
    effect: float | None
    win_loss_tie: WinLossTie
    min_detectable_difference: float | None

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance, given the number of metrics."""
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def gain(self) -> float | None:
        """The difference, signed so that more than 0 is better."""
        if self.difference is None:
            return None
        return self.difference if self.higher_is_better else -self.difference

    @property
    def finding(self) -> Finding:
        """What the difference shows."""
        if self.p_adjusted is None or self.gain is None:
            return Finding.TOO_FEW
        if not self.significant:
            return Finding.NOT_SHOWN
        return Finding.BETTER if self.gain > 0 else Finding.WORSE

    def is_regression(self, min_effect: float = 0.0) -> bool:
        """Return whether it got worse, significantly, by more than `min_effect`."""
        drop = -(self.gain or 0.0)
        return self.finding is Finding.WORSE and drop > min_effect + EPSILON

    def to_dict(self) -> dict[str, object]:
        """Return the change as plain data."""
        return {
            "finding": self.finding.value,
            "significant": self.significant,
            "higher_is_better": self.higher_is_better,
            "n": self.n,
            "mean_a": self.mean_a,
            "mean_b": self.mean_b,
            "difference": self.difference,
            "interval": self.interval,
            "p": self.p,
            "p_t": self.p_t,
            "p_adjusted": self.p_adjusted,
            "effect_size": self.effect,
            **self.win_loss_tie._asdict(),
            "smallest_difference": self.min_detectable_difference,
            "unscored_a": self.unscored_a._asdict(),
            "unscored_b": self.unscored_b._asdict(),
            "scored_in_a_only": self.only_in_a,
            "scored_in_b_only": self.only_in_b,
        }


def compare_metric(
    metric: str,
    scores: PairedScores,
    *,
    higher_is_better: bool = True,
    span: float = math.inf,
    clusters: Sequence[Hashable] | None = None,
) -> MetricChange:
    """Return how a metric changed, with a p that is not adjusted yet.

    `span` is the largest difference that its range allows; `clusters` has one label for each row
    of A.
    """
    differences = [two - one for one, two in zip(scores.a, scores.b, strict=True)]
    count = len(differences)
    labels = None if clusters is None else [clusters[one] for one, _ in scores.pairs]
    independent: Sequence[float] = differences
    if labels is not None and differences:
        # One number per cluster, with the mean of all and an honest spread: the residuals of a
        # ratio estimator, in clusters of the average size.
        found = Clusters.of(differences, labels)
        size = count / found.count
        residuals = found.totals - found.mean * found.sizes
        independent = (found.mean + residuals / size).tolist()
    enough = len(independent) > 1
    detectable = None
    if enough:
        spread = float(np.std(independent, ddof=1))
        detectable = smallest_difference(spread, len(independent), power=POWER)
    interval = difference_interval(differences, clusters=labels)
    return MetricChange(
        metric=metric,
        higher_is_better=higher_is_better,
        span=span,
        n=count,
        unscored_a=scores.unscored_a,
        unscored_b=scores.unscored_b,
        only_in_a=scores.only_a,
        only_in_b=scores.only_b,
        mean_a=math.fsum(scores.a) / count if count else None,
        mean_b=math.fsum(scores.b) / count if count else None,
        difference=math.fsum(differences) / count if count else None,
        interval=interval and (max(interval[0], -span), min(interval[1], span)),
        p=sign_flip(differences, clusters=labels) if enough else None,
        p_t=paired_t(independent) if enough else None,
        p_adjusted=None,
        effect=effect_size(differences),
        win_loss_tie=wins_losses_ties(differences, higher_is_better=higher_is_better),
        min_detectable_difference=None if detectable is None or detectable > span else detectable,
    )


def adjust_p_values(changes: Sequence[MetricChange]) -> tuple[MetricChange, ...]:
    """Return the changes with p adjusted by Holm's method for the number of those that have one."""
    ps = iter(holm([change.p for change in changes if change.p is not None]))
    return tuple(
        change if change.p is None else replace(change, p_adjusted=next(ps)) for change in changes
    )
