"""Movement: how one metric moved from run A to run B, and whether by more than chance."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import compress
from typing import Self

import numpy as np

from ragstone.results.compare.pairing import MetricColumn, Pair, Unscored
from ragstone.results.stats import (
    Record,
    difference_interval,
    effect_size,
    holm,
    paired_t,
    sign_flip,
    smallest_difference,
    wins_losses_ties,
)
from ragstone.results.stats.clusters import Groups
from ragstone.types.gate import EPSILON

# PairedScores: one metric's scores on both sides of the pairs.


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


ALPHA = 0.05
"""Holm's p under which a difference is called significant."""
POWER = 0.8


class Finding(StrEnum):
    """What may be said of a metric's difference."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few to tell"


@dataclass(frozen=True)
class Movement:
    """One metric of both runs, over the pairs that both scored.

    Attributes:
        span: the largest difference that the metric's range allows.
        n: pairs scored on both sides; all figures are over these.
        unscored_a, unscored_b: paired rows without a number, on each side.
        lost, found: pairs scored in A only, and in B only.
        difference: the mean of B less that of A, in the metric's unit.
        interval: 95 % interval of the difference, within what the metric's range allows.
        p: of the paired sign-flip test.
        p_t: of the paired t-test; with clusters, over clusters.
        adjusted: p, adjusted by Holm for being one of several metrics.
        effect: Cohen's d_z.
        record: pairs that got better, got worse, and stayed the same.
        smallest: the true difference that so many pairs show four times of five; None if the
            metric's range has none so large, and where the differences do not vary.
    """

    metric: str
    higher_is_better: bool
    span: float
    n: int
    unscored_a: Unscored
    unscored_b: Unscored
    lost: int
    found: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_t: float | None
    adjusted: float | None
    effect: float | None
    record: Record
    smallest: float | None

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance, all metrics looked at together."""
        return self.adjusted is not None and self.adjusted < ALPHA

    @property
    def gain(self) -> float | None:
        """The difference, signed so that more than 0 is better."""
        if self.difference is None:
            return None
        return self.difference if self.higher_is_better else -self.difference

    @property
    def finding(self) -> Finding:
        """What may be said of the difference."""
        if self.adjusted is None or self.gain is None:
            return Finding.TOO_FEW
        if not self.significant:
            return Finding.NOT_SHOWN
        return Finding.BETTER if self.gain > 0 else Finding.WORSE

    def regressed(self, min_effect: float = 0.0) -> bool:
        """Return whether it got worse, significantly, by more than `min_effect`."""
        drop = -(self.gain or 0.0)
        return self.finding is Finding.WORSE and drop > min_effect + EPSILON

    def to_dict(self) -> dict[str, object]:
        """Return the movement as plain data."""
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
            "p_adjusted": self.adjusted,
            "effect_size": self.effect,
            **self.record._asdict(),
            "smallest_difference": self.smallest,
            "unscored_a": self.unscored_a._asdict(),
            "unscored_b": self.unscored_b._asdict(),
            "scored_in_a_only": self.lost,
            "scored_in_b_only": self.found,
        }


def moved(
    metric: str,
    scores: PairedScores,
    *,
    higher_is_better: bool = True,
    span: float = math.inf,
    clusters: Sequence[Hashable] | None = None,
) -> Movement:
    """Return how a metric moved, not yet adjusted.

    `span` is the largest difference that its range allows; `clusters` has one label for each row
    of A.
    """
    differences = [two - one for one, two in zip(scores.a, scores.b, strict=True)]
    labels = None if clusters is None else [clusters[one] for one, _ in scores.pairs]
    alone = _independent(differences, labels)
    enough = len(alone) > 1
    return Movement(
        metric=metric,
        higher_is_better=higher_is_better,
        span=span,
        n=len(differences),
        unscored_a=scores.unscored_a,
        unscored_b=scores.unscored_b,
        lost=scores.only_a,
        found=scores.only_b,
        mean_a=_mean(scores.a),
        mean_b=_mean(scores.b),
        difference=_mean(differences),
        interval=_interval(differences, labels, span),
        p=sign_flip(differences, clusters=labels) if enough else None,
        p_t=paired_t(alone) if enough else None,
        adjusted=None,
        effect=effect_size(differences),
        record=wins_losses_ties(differences, higher_is_better=higher_is_better),
        smallest=_smallest(alone, span),
    )


def adjusted(movements: Sequence[Movement]) -> tuple[Movement, ...]:
    """Return the movements with Holm's p; those that have no p do not count among the several."""
    tested = [movement.p for movement in movements if movement.p is not None]
    ps = iter(holm(tested))
    return tuple(
        movement if movement.p is None else replace(movement, adjusted=next(ps))
        for movement in movements
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _interval(
    differences: Sequence[float], clusters: Sequence[Hashable] | None, span: float
) -> tuple[float, float] | None:
    found = difference_interval(differences, clusters=clusters)
    return found and (max(found[0], -span), min(found[1], span))


def _smallest(differences: Sequence[float], span: float) -> float | None:
    if len(differences) < 2:
        return None
    spread = float(np.std(differences, ddof=1))
    found = smallest_difference(spread, len(differences), power=POWER)
    return None if found is None or found > span else found


def _independent(
    differences: Sequence[float], clusters: Sequence[Hashable] | None
) -> Sequence[float]:
    """Return the differences, or one number a cluster that has their mean and honest spread.

    That number is the mean, and what the cluster's sum differs from as many means, in clusters of
    the average size: the residuals of a ratio estimator.
    """
    if clusters is None or not differences:
        return differences
    groups = Groups.of(differences, clusters)
    size = len(differences) / groups.count
    return (groups.mean + (groups.totals - groups.mean * groups.sizes) / size).tolist()
