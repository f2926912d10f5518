"""Measure: how good probabilities and labels are, with intervals by document."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.offline_judge.fitting import PRIOR

SAMPLES = 500
"""How often the documents are drawn again for an interval."""
SEED = 7
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """What a judge says of some rows, and what people say.

    Attributes:
        supported: whether people call a row supported.
        likely: the judge's number for it; more is more supported.
        said: whether the judge calls a row supported.
        groups: the document of each row, as a number from 0.
    """

    supported: NDArray[np.bool_]
    likely: Numbers
    said: NDArray[np.bool_]
    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it as the tables show it."""
        return f"{self.value:.3f} ({self.low:.2f}–{self.high:.2f})"


def measure(answers: Answers) -> dict[str, Figure]:
    """Return all measures of some answers."""
    random = np.random.default_rng(SEED)
    count = int(answers.groups.max()) + 1
    drawn = random.multinomial(count, np.full(count, 1 / count), SAMPLES).astype(np.float64)
    weights = np.vstack([np.ones((1, len(answers.groups))), drawn[:, answers.groups]])
    found = {
        "AUROC": _auroc(answers, weights),
        "balanced accuracy": _balanced(answers, weights),
        "F1": _f1(~answers.supported, ~answers.said, weights),
        "Brier": _brier(answers, weights),
    }
    return {name: _figure(values) for name, values in found.items()}


def auroc(answers: Answers) -> float:
    """Return the area under the ROC curve."""
    return float(_auroc(answers, np.ones((1, len(answers.groups))))[0])


def balanced_accuracy(answers: Answers) -> float:
    """Return the mean of the shares of supported and of other rows that are judged right."""
    return float(_balanced(answers, np.ones((1, len(answers.groups))))[0])


def reliability(answers: Sequence[Answers], bins: int = 10) -> list[tuple[float, float, float]]:
    """Return for each tenth of probability: its share of rows, the mean said and the mean found.

    A source counts as much as another, and the prior of the calibration is supported in it.
    """
    likely = np.concatenate([each.likely for each in answers])
    supported = np.concatenate([each.supported for each in answers])
    weights = np.concatenate([_put_to_prior(each) for each in answers])
    place = np.minimum((likely * bins).astype(int), bins - 1)
    lines: list[tuple[float, float, float]] = []
    for number in range(bins):
        here = place == number
        whole = weights[here].sum()
        if whole:
            said, found = weights[here] @ likely[here], weights[here] @ supported[here]
            lines.append((whole / weights.sum(), said / whole, found / whole))
    return lines


def calibration(answers: Answers) -> tuple[float, ...]:
    """Return the expected calibration error, and what labels say and how often they are right.

    The last four are the mean probability and the share right of those called supported, and the
    same of the others; NaN if there are none.
    """
    lines = reliability([answers])
    error = sum(share * abs(said - found) for share, said, found in lines)
    weights, found = _put_to_prior(answers), [error]
    for number, right in ((0, answers.supported), (1, ~answers.supported)):
        these = answers.said != bool(number)
        said = answers.likely[these] if number == 0 else 1 - answers.likely[these]
        whole = weights[these].sum() or np.nan
        found += [weights[these] @ said / whole, weights[these] @ right[these] / whole]
    return tuple(map(float, found))


def _put_to_prior(answers: Answers) -> Numbers:
    """Return weights by which PRIOR of the rows is supported; they sum to 1."""
    count = answers.supported.sum()
    yes, no = PRIOR / count, (1 - PRIOR) / (len(answers.supported) - count)
    return np.where(answers.supported, yes, no)


def _figure(values: Numbers) -> Figure:
    low, high = np.nanpercentile(values[1:], [2.5, 97.5])
    return Figure(float(values[0]), float(low), float(high))


def _auroc(answers: Answers, weights: Numbers) -> Numbers:
    """Return the share of pairs in which the supported row has the higher number; ties are half."""
    order = np.argsort(answers.likely, kind="stable")
    _, ties = np.unique(answers.likely[order], return_inverse=True)
    ends = np.flatnonzero(np.r_[ties[1:] != ties[:-1], True])
    supported = answers.supported[order]
    found = np.zeros(len(weights))
    for number, weight in enumerate(weights[:, order]):
        yes = np.diff(np.cumsum(weight * supported)[ends], prepend=0.0)
        no = np.diff(np.cumsum(weight * ~supported)[ends], prepend=0.0)
        below = np.cumsum(no) - no
        whole = yes.sum() * no.sum()
        found[number] = (yes * (below + no / 2)).sum() / whole if whole else np.nan
    return found


def _balanced(answers: Answers, weights: Numbers) -> Numbers:
    right = [
        _share(weights, answers.supported & answers.said, answers.supported),
        _share(weights, ~answers.supported & ~answers.said, ~answers.supported),
    ]
    return (right[0] + right[1]) / 2


def _share(weights: Numbers, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Numbers:
    all_of_it = weights[:, whole].sum(axis=1)
    return weights[:, part].sum(axis=1) / np.where(all_of_it, all_of_it, np.nan)


def _f1(truth: NDArray[np.bool_], said: NDArray[np.bool_], weights: Numbers) -> Numbers:
    hit = weights[:, truth & said].sum(axis=1)
    both = weights[:, truth].sum(axis=1) + weights[:, said].sum(axis=1)
    return 2 * hit / np.where(both, both, np.nan)


def _brier(answers: Answers, weights: Numbers) -> Numbers:
    """Return the mean squared error where PRIOR of the rows is supported."""
    squared = (answers.likely - answers.supported) ** 2
    sides = [
        (weights[:, side] * squared[side]).sum(axis=1) / weights[:, side].sum(axis=1)
        for side in (answers.supported, ~answers.supported)
    ]
    return PRIOR * sides[0] + (1 - PRIOR) * sides[1]
