"""MetricChange: how one metric changed from run A to run B, and whether by more than chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ragstone.results.compare.pairing import MetricColumn, Unscored
from ragstone.results.metric_summary import SCORED
from ragstone.results.stats.intervals import Clusters, Numbers
from ragstone.results.stats.paired_tests import (
    ALPHA,
    SignFlips,
    WinLossTie,
    effect_size,
    holm,
    paired_t,
    sign_flip,
    smallest_difference,
    wins_losses_ties,
)
from ragstone.types.gate import EPSILON

POWER = 0.8


@dataclass(frozen=True, eq=False)
class PairedScores:
    """One metric's numbers in A and in B, over the pairs that have both.

    Attributes:
        places: of those that both scored, among all pairs.
        a, b: their numbers.
        unscored_a, unscored_b: of all pairs, those without a number on that side.
        only_a, only_b: pairs with a number on one side only.
    """

    places: NDArray[np.int64]
    a: Numbers
    b: Numbers
    unscored_a: Unscored
    unscored_b: Unscored
    only_a: int
    only_b: int

    @classmethod
    def of(cls, a: MetricColumn, b: MetricColumn, pairs: NDArray[np.int64]) -> Self:
        (values_a, states_a), (values_b, states_b) = a.take(pairs[:, 0]), b.take(pairs[:, 1])
        scored_a, scored_b = states_a == SCORED, states_b == SCORED
        places = np.flatnonzero(scored_a & scored_b)
        return cls(
            places=places,
            a=values_a[places],
            b=values_b[places],
            unscored_a=Unscored.of(states_a),
            unscored_b=Unscored.of(states_b),
            only_a=int(scored_a.sum()) - places.size,
            only_b=int(scored_b.sum()) - places.size,
        )

    @property
    def key(self) -> bytes:
        return blake2b(b"".join(x.tobytes() for x in (self.places, self.a, self.b))).digest()


class Finding(StrEnum):
    """What the difference of a metric shows."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few to tell"


@dataclass(frozen=True)
class CorrectedDifference:
    """The difference that people would have found: mean of B less that of A.

    Attributes:
        labels: number of labelled rows for A and for B.
        transported: whether the labels are of another run, for both A and B.
        problem: why there is no difference; None if there is one.
    """

    mean: float | None = None
    interval: tuple[float, float] | None = None
    labels: tuple[int, int] = (0, 0)
    transported: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class MetricChange:
    """One metric of two runs, over the pairs that both runs scored.

    Attributes:
        span: the largest difference that the metric's range allows.
        n: pairs scored on both sides; all figures are over these.
        unscored_a, unscored_b: paired rows without a number, on each side.
        only_in_a, only_in_b: pairs scored in A only, and in B only.
        difference: the mean of B less that of A, in the metric's unit.
        interval: of the difference, within what the metric's range allows. It excludes 0 exactly
            if the difference is significant.
        confidence: of the interval: 0.95, or more if Holm's method corrects for several metrics.
        p: of the paired sign-flip test.
        p_t: of the paired t-test; with clusters, over clusters.
        p_adjusted: p, adjusted by Holm's method for the number of metrics with different numbers.
        same_as: an earlier metric with the same numbers, with which it counts as one.
        conclusive: whether any differences of so many pairs (or clusters) could be significant.
        effect: Cohen's d_z.
        win_loss_tie: pairs that got better, got worse, and stayed the same.
        min_detectable_difference: the smallest true difference that this many pairs would show
            with 80% power; None if it exceeds the metric's range, or the differences do not vary.
        judged: whether a judge gave the scores, so that people's labels can correct them.
        groups: number of independent differences: pairs, or clusters of them.
        spread: their standard deviation; None for fewer than two.
        correlation: of the groups' means in A and in B; 0 if either side does not vary.
        corrected: the difference by people's labels; None without labels.
    """

    metric: str
    higher_is_better: bool
    judged: bool
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
    confidence: float | None
    p: float | None
    p_t: float | None
    p_adjusted: float | None
    same_as: str | None
    conclusive: bool
    effect: float | None
    win_loss_tie: WinLossTie
    min_detectable_difference: float | None
    groups: int
    spread: float | None
    correlation: float
    corrected: CorrectedDifference | None = None

    @property
    def significant(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted < ALPHA

    @property
    def gain(self) -> float | None:
        """The difference, signed so that more than 0 is better."""
        if self.difference is None:
            return None
        return self.difference if self.higher_is_better else -self.difference

    @property
    def finding(self) -> Finding:
        if not self.conclusive or self.gain is None:
            return Finding.TOO_FEW
        if not self.significant:
            return Finding.NOT_SHOWN
        return Finding.BETTER if self.gain > 0 else Finding.WORSE

    def is_regression(self, min_effect: float = 0.0, *, corrected: bool = False) -> bool:
        """Return whether it got worse, significantly, by more than `min_effect`.

        With `corrected`, people's labels decide if it is judged: the corrected interval must
        exclude 0.
        """
        found = self.corrected
        if corrected and self.judged:
            if found is None or found.mean is None or found.interval is None:
                return False
            sign = -1 if self.higher_is_better else 1
            drops = [sign * end for end in found.interval]
            return min(drops) > 0 and sign * found.mean > min_effect + EPSILON
        drop = -(self.gain or 0.0)
        return self.finding is Finding.WORSE and drop > min_effect + EPSILON

    def to_dict(self) -> dict[str, object]:
        return {
            "finding": self.finding.value,
            "significant": self.significant,
            "higher_is_better": self.higher_is_better,
            "n": self.n,
            "mean_a": self.mean_a,
            "mean_b": self.mean_b,
            "difference": self.difference,
            "interval": self.interval,
            "confidence": self.confidence,
            "p": self.p,
            "p_t": self.p_t,
            "p_adjusted": self.p_adjusted,
            "same_as": self.same_as,
            "effect_size": self.effect,
            **self.win_loss_tie._asdict(),
            "smallest_difference": self.min_detectable_difference,
            "unscored_a": self.unscored_a._asdict(),
            "unscored_b": self.unscored_b._asdict(),
            "scored_in_a_only": self.only_in_a,
            "scored_in_b_only": self.only_in_b,
            "corrected": self.corrected and vars(self.corrected),
        }


def compare_metric(
    metric: str,
    scores: PairedScores,
    *,
    higher_is_better: bool = True,
    judged: bool = False,
    span: float = math.inf,
    clusters: NDArray[np.int64] | None = None,
) -> tuple[MetricChange, SignFlips]:
    """Return how a metric changed, with its test, for which `correct` decides the level.

    `span` is the largest difference that its range allows; `clusters` has one label for each pair.
    """
    differences = scores.b - scores.a
    count = differences.size
    labels = None if clusters is None else clusters[scores.places]
    independent = differences
    if labels is not None and count:
        independent = Clusters.of(differences, labels).linearized
    enough = len(independent) > 1
    spread = detectable = None
    correlation = 0.0
    if enough:
        spread = float(np.std(independent, ddof=1))
        a, b = (
            float(np.var(Clusters.of(side, labels).linearized, ddof=1))
            for side in (scores.a, scores.b)
        )
        if min(a, b) > 0:
            correlation = (a + b - spread**2) / (2 * math.sqrt(a * b))
        detectable = smallest_difference(spread, len(independent), power=POWER)
    test = sign_flip(differences, clusters=labels)
    change = MetricChange(
        metric=metric,
        higher_is_better=higher_is_better,
        judged=judged,
        span=span,
        n=count,
        unscored_a=scores.unscored_a,
        unscored_b=scores.unscored_b,
        only_in_a=scores.only_a,
        only_in_b=scores.only_b,
        mean_a=math.fsum(scores.a) / count if count else None,
        mean_b=math.fsum(scores.b) / count if count else None,
        difference=math.fsum(differences) / count if count else None,
        interval=None,
        confidence=None,
        p=test.p if enough else None,
        p_t=paired_t(independent) if enough else None,
        p_adjusted=None,
        same_as=None,
        conclusive=False,
        effect=effect_size(differences),
        win_loss_tie=wins_losses_ties(differences, higher_is_better=higher_is_better),
        min_detectable_difference=None if detectable is None or detectable > span else detectable,
        groups=test.groups,
        spread=spread,
        correlation=correlation,
    )
    return change, test


def correct(found: Mapping[bytes, Sequence[tuple[MetricChange, SignFlips]]]) -> list[MetricChange]:
    """Return the changes corrected for their number by Holm's method: p, interval and finding.

    `found` has the changes by the key of their scores: metrics with equal keys are one test. Holm
    tests each p at the level ALPHA / `tests`, and stops at the first that is not below it. The
    interval has that level too, so it excludes 0 exactly when the difference is significant.
    """
    ps = {key: same[0][0].p for key, same in found.items()}
    tested = {key: p for key, p in ps.items() if p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    rejected = sum(p < ALPHA for p in adjusted.values())
    ranks = {key: rank for rank, key in enumerate(sorted(tested, key=tested.__getitem__))}
    corrected: list[MetricChange] = []
    for key, same in found.items():
        for change, test in same:
            if key not in adjusted:
                corrected.append(change)
                continue
            tests = len(tested) - min(ranks[key], rejected)
            ends = test.interval(tests)
            corrected.append(
                replace(
                    change,
                    interval=ends and (max(ends[0], -change.span), min(ends[1], change.span)),
                    confidence=1 - ALPHA / tests,
                    p_adjusted=adjusted[key],
                    same_as=None if change is same[0][0] else same[0][0].metric,
                    conclusive=test.can_reject(tests),
                )
            )
    return corrected
