"""The threshold of a judge's probability at which its verdicts agree best with people's."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ragstone.results.stats.intervals import SEED, Ends, Numbers

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
        """Whether the gain is more than chance."""
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
    """Return balanced accuracy for each row of weights, float64[draws, claims]."""
    right = weights * (verdicts == human)
    yes = right @ human / (weights @ human)
    return (yes + right @ (1 - human) / (weights @ (1 - human))) / 2


def _fitted(support: Numbers, human: Numbers) -> float:
    """Return the threshold with the best balanced accuracy, the nearest to 0.5 of equal ones."""
    values = np.unique(support)
    candidates = np.append((values[1:] + values[:-1]) / 2, 0.5)
    yes = support[human == 1], support[human == 0]
    best = [
        (yes[0] >= each).mean() + (yes[1] < each).mean() if yes[0].size and yes[1].size else 0.0
        for each in candidates
    ]
    order = np.lexsort((np.abs(candidates - 0.5), -np.round(best, 9)))
    return float(candidates[order[0]])
