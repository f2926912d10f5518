"""Agreement of two annotators, or of a judge and an annotator; the judge's best threshold."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ragstone.results.stats.intervals import SEED, Ends, Numbers


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
        counts = [0, 0, 0, 0]
        for first, second in pairs:
            counts[2 * (not first) + (not second)] += 1
        return cls(*counts)

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreeing(self) -> int:
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


FOLDS = 5
DRAWS = 2000
FEWEST = 5
"""Labels of each kind that a threshold needs."""


@dataclass(frozen=True)
class Threshold:
    """The best threshold, and by how much it raises balanced accuracy on labels left out.

    Attributes:
        accuracy: balanced accuracy of the judge's own verdicts: the mean of sensitivity and
            specificity.
        gain: of the threshold over the judge, cross-fitted; its 95% interval is of whole units.
    """

    value: float
    accuracy: float
    gain: float
    interval: Ends

    @property
    def accepted(self) -> bool:
        return self.interval[0] > 0


def best_threshold(
    support: Numbers, judge: Numbers, human: Numbers, units: Sequence[Hashable]
) -> Threshold | None:
    """Return the threshold of support that agrees best with people's verdicts.

    `support` (probabilities), `judge` and `human` (verdicts, 0 or 1) have one entry per claim;
    claims with equal `units` are not independent. The gain is measured by cross-fitting: the
    verdicts of each fold follow the threshold of the other folds. None for fewer than FEWEST claims
    of a kind, or fewer units than folds.
    Sources: Stone, Cross-Validatory Choice (1974); Rubin, The Bayesian Bootstrap (1981).
    """
    known = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    codes = np.array([known[unit] for unit in units])
    if min(human.sum(), (1 - human).sum()) < FEWEST or len(known) < FOLDS:
        return None
    rng = np.random.default_rng(SEED)
    folds = rng.permutation(len(known))[codes] % FOLDS
    verdicts = np.zeros(human.size)
    for fold in range(FOLDS):
        here = folds == fold
        verdicts[here] = support[here] >= _fitted(support[~here], human[~here])
    weights = rng.standard_exponential((DRAWS, len(known)))[:, codes]
    draws = _accuracy(verdicts, human, weights) - _accuracy(judge, human, weights)
    even = np.ones((1, human.size))
    accuracy = float(_accuracy(judge, human, even)[0])
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    return Threshold(
        value=_fitted(support, human),
        accuracy=accuracy,
        gain=float(_accuracy(verdicts, human, even)[0]) - accuracy,
        interval=(low, high),
    )


def _accuracy(verdicts: Numbers, human: Numbers, weights: Numbers) -> Numbers:
    right = weights * (verdicts == human)
    yes = right @ human / (weights @ human)
    return (yes + right @ (1 - human) / (weights @ (1 - human))) / 2


def _fitted(support: Numbers, human: Numbers) -> float:
    values = np.unique(support)
    candidates = np.append((values[1:] + values[:-1]) / 2, 0.5)
    yes = support[human == 1], support[human == 0]
    best = [
        (yes[0] >= each).mean() + (yes[1] < each).mean() if yes[0].size and yes[1].size else 0.0
        for each in candidates
    ]
    order = np.lexsort((np.abs(candidates - 0.5), -np.round(best, 9)))
    return float(candidates[order[0]])
