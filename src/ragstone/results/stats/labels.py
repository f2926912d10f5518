"""Statistics of people's labels: agreement with the judge, and corrected means."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats.intervals import BLOCK, SEED, Ends, Numbers, effective, numbered

DRAWS = 10_000  # posterior draws of a corrected mean
PRIOR = 0.5  # labels that each extreme score with each extreme label is worth (Jeffreys)
_CORNERS = np.array([[1.0, f, y, f * y, f * f] for f in (0.0, 1.0) for y in (0.0, 1.0)])
_SUMS = _CORNERS.shape[1]
FOLDS = 5
THRESHOLD_DRAWS = 2000
MIN_OF_EACH_KIND = 5  # labels of each kind that a threshold needs


@dataclass(frozen=True)
class LabelledScores:
    """Scores of a judge in [0, 1] of all rows, and the labels of some of them."""

    scores: Numbers
    units: Sequence[Hashable]  # keys of all rows; those of dependent rows are equal
    judged: Numbers  # the scores of the labelled rows by the judge
    human: Numbers  # and by their labels
    chances: Numbers  # one over the weight of each labelled row or claim, for means of claims
    labelled: Sequence[Hashable]  # keys of the labelled rows, like `units`


@dataclass(frozen=True)
class Corrected:
    mean: float
    interval: Ends


def corrected_mean(run: LabelledScores, *, level: float = 0.95) -> Corrected:
    """Return the mean that people would have given all rows, and its interval.

    The labels are regressed on the judge's scores, and the line is read at the mean score of all
    rows. For scores of 0 and 1 this is post-stratification by the judge's verdict. It assumes
    nothing about the judge, but the labelled rows must be a part of the run.

    The mean is the value of that line, limited to the interval. The interval has the quantiles of
    a posterior: rows get random weights, and four pseudo-rows, each worth PRIOR trials, let any
    score go with any label. For scores of 0 and 1 that is Jeffreys' beta posterior for each
    verdict. For graded scores and units of several rows, the variance is estimated too, which
    makes the posterior one of Student's t. Whole units are weighted, not rows.

    Sources: Cochran, Sampling Techniques (1977), 12.6 (regression in double sampling); Chen et al.
    (2026), arXiv 2601.05420 (for 0 and 1 it is efficient); Rubin, The Bayesian Bootstrap (1981);
    Brown, Cai and DasGupta, Interval Estimation for a Binomial Proportion (2001); Kish, Survey
    Sampling (1965), 11.7.
    """
    return _summary(_posterior(run)[0], _estimate(run), level)


def corrected_difference(a: LabelledScores, b: LabelledScores, *, level: float = 0.95) -> Corrected:
    """Return the corrected mean of `b` minus that of `a`, and its interval.

    Rows of both runs with an equal unit get the same weight, so that pairs count as pairs.
    """
    content = [b"".join(x.tobytes() for x in (r.scores, r.judged, r.human)) for r in (a, b)]
    swapped = content[0] > content[1]  # so that the order of the runs changes only the sign
    first, second = _posterior(*((b, a) if swapped else (a, b)))
    draws = first - second if swapped else second - first
    return _summary(draws, _estimate(b) - _estimate(a), level)


def _estimate(run: LabelledScores) -> float:
    every = np.zeros(run.judged.size, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = _moments(run, every)[:, 1:] / run.judged.size
        score, label, product, square = total[0]
        slope = (product - score * label) / (square - score**2)
        shift = run.scores.mean() - score
        line = label + (slope * shift if np.isfinite(slope) else 0.0)
        return float(np.clip(line, 0, 1))


def _summary(draws: Numbers, estimate: float, level: float) -> Corrected:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Corrected(min(max(estimate, low), high), (low, high))


def _posterior(*runs: LabelledScores) -> list[Numbers]:
    rng = np.random.default_rng(SEED)
    numbers = numbered(*(run.labelled for run in runs))
    blocks = [_moments(run, places) for run, places in zip(runs, numbers, strict=True)]
    height = max(len(block) for block in blocks)
    units = np.hstack([np.pad(block, ((0, height - len(block)), (0, 0))) for block in blocks])
    sums = _resampled(units, rng)
    means = _mean_scores(runs, rng)
    priors = [_prior(run, units) for run, units in zip(runs, numbers, strict=True)]
    freedom = min(prior.freedom for prior in priors)
    stretch = np.sqrt(freedom / rng.chisquare(freedom, DRAWS))
    posterior: list[Numbers] = []
    for place, prior in enumerate(priors):
        pseudo = rng.standard_gamma(PRIOR, (DRAWS, len(_CORNERS)))
        total = sums[:, _SUMS * place : _SUMS * (place + 1)] + pseudo @ prior.corners
        score, label, product, square = total[:, 1:].T / total[:, 0]
        slope = (product - score * label) / (square - score**2)
        line = label + slope * (means[place] - score)
        middle = np.median(line)
        posterior.append(np.clip(middle + (line - middle) * stretch ** (1 - prior.trials), 0, 1))
    return posterior


def _resampled(units: Numbers, rng: "np.random.Generator") -> Numbers:
    """Return DRAWS sums of the units with random weights, which are 1 on average."""
    distinct, counts = np.unique(units, axis=0, return_counts=True)
    step = max(1, BLOCK // counts.size)
    sizes = [(min(step, DRAWS - start), counts.size) for start in range(0, DRAWS, step)]
    return np.vstack([rng.standard_gamma(counts, size) @ distinct for size in sizes])


class _Prior(NamedTuple):
    """The pseudo-rows, and what is known of the variance of labels.

    A pseudo-row weighs as many labelled rows as vary like one trial: their design effect (Kish),
    smoothed by the pseudo-rows, and at most that of units whose labels are all equal. It is 1 for
    independent labels of 0 and 1, and less for graded ones. `trials` is the share of the largest
    design effect; if it is 1, the variance of the labels follows from their mean. `freedom` is that
    of an estimated variance, from the units near either extreme.
    """

    corners: Numbers
    trials: float
    freedom: int


def _prior(run: LabelledScores, units: NDArray[np.int64]) -> _Prior:
    weights = 1 / run.chances / (1 / run.chances).mean()
    found: list[float] = []
    most: list[float] = []
    seen: list[int] = []
    for near in (1 - run.judged, run.judged):
        near = weights * (near if near.any() else 1.0)
        whole = np.bincount(units, weights * (near > 0))
        seen.append(int(np.count_nonzero(whole)))
        most.append(float(np.bincount(units, near) @ whole / near.sum()))
        size = float(near.sum()) + 2 * PRIOR * most[-1]
        mean = (float(near @ run.human) + PRIOR * most[-1]) / size
        pulls = np.bincount(units, near * (run.human - mean))
        squares = float(pulls @ pulls) + PRIOR * most[-1] ** 2 * (mean**2 + (1 - mean) ** 2)
        found.append(min(most[-1], squares / (size * mean * (1 - mean))))
    return _Prior(
        np.repeat(found, 2)[:, None] * _CORNERS, sum(found) / sum(most), max(1, min(seen) - 1)
    )


def _moments(run: LabelledScores, places: NDArray[np.int64]) -> Numbers:
    weights = 1 / run.chances
    f, y = run.judged, run.human
    rows = (weights / weights.mean())[:, None] * np.column_stack(
        [np.ones(f.size), f, y, f * y, f * f]
    )
    sums: Numbers = np.zeros((int(places.max()) + 1, rows.shape[1]))
    np.add.at(sums, places, rows)
    return sums


def _mean_scores(runs: Sequence[LabelledScores], rng: "np.random.Generator") -> list[Numbers]:
    """Draw the mean score of each run: beta, as correlated as the means of their common units."""
    numbers = numbered(*(run.units for run in runs))
    height = max(int(places.max()) for places in numbers) + 1
    found: list[Numbers] = []
    pulls: list[Numbers] = []
    for run, places in zip(runs, numbers, strict=True):
        mean = float(run.scores.mean())
        pulls.append(np.bincount(places, run.scores - mean, height) / run.scores.size)
        variance = float(pulls[-1] @ pulls[-1])
        size = effective(np.bincount(places).astype(float))
        if variance > 0:
            size = mean * (1 - mean) / variance
        found.append(rng.beta(mean * size + PRIOR, (1 - mean) * size + PRIOR, DRAWS))
    if len(runs) > 1 and (spread := float(np.prod([pull @ pull for pull in pulls]))) > 0:
        alike = float(pulls[0] @ pulls[1]) / math.sqrt(spread)
        normal = np.sort(rng.standard_normal(DRAWS))[_ranks(found[0])]
        rest = math.sqrt(max(0.0, 1 - alike**2)) * rng.standard_normal(DRAWS)
        found[1] = np.sort(found[1])[_ranks(alike * normal + rest)]
    return found


def _ranks(values: Numbers) -> NDArray[np.int64]:
    return np.argsort(np.argsort(values))


@dataclass(frozen=True)
class Agreement:
    """How many items two annotators label True."""

    both: int = 0
    first_only: int = 0
    second_only: int = 0
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Self:
        counts = Counter(pairs)
        return cls(*(counts[one, two] for one in (True, False) for two in (True, False)))

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreeing(self) -> int:
        return self.both + self.neither

    @property
    def kappa(self) -> float | None:
        """Cohen, A Coefficient of Agreement for Nominal Scales (1960); None for only one label."""
        return self._beyond_chance(_kappa)

    @property
    def ac1(self) -> float | None:
        """Gwet's AC1, which stays high if nearly all items have one label; kappa falls to 0."""
        return self._beyond_chance(_ac1)

    def _beyond_chance(self, figure: Callable[[Numbers], Numbers]) -> float | None:
        with np.errstate(invalid="ignore"):
            value = float(figure(np.array([*vars(self).values()], dtype=float)))
        return value if math.isfinite(value) else None


def _kappa(cells: Numbers) -> Numbers:
    both, first, second, neither = cells[:4] / cells[:4].sum(axis=0)
    chance = (both + first) * (both + second) + (second + neither) * (first + neither)
    return (both + neither - chance) / (1 - chance)


def _ac1(cells: Numbers) -> Numbers:
    # Source: Gwet, Computing inter-rater reliability in the presence of high agreement (2008)
    both, first, second, neither = cells[:4] / cells[:4].sum(axis=0)
    chance = 2 * (both + (first + second) / 2) * (neither + (first + second) / 2)
    return (both + neither - chance) / (1 - chance)


BINS = 5  # of the judge's probability
_FIGURES: Mapping[str, Callable[[Numbers], Numbers]] = {  # of the cells of `Agreement`
    "sensitivity": lambda cells: cells[0] / (cells[0] + cells[2]),
    "specificity": lambda cells: cells[3] / (cells[1] + cells[3]),
    "share": lambda cells: (cells[0] + cells[3]) / cells[:4].sum(axis=0),
    "kappa": _kappa,
    "ac1": _ac1,
}


def bin_of(support: float) -> str:
    at = min(BINS - 1, int(support * BINS))
    return f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}"


def agreement_figures(
    claims: Sequence[tuple[bool, bool, float | None, Hashable]],
) -> dict[str, Corrected | None]:
    """Return figures with their intervals, all from one bootstrap of the units.

    A claim has the judge's verdict, people's, the judge's probability and the key of its unit. Each
    share has pseudo-claims, worth half of an average unit on both sides, so that few labels do not
    look like certainty. A figure that these labels do not define is None. The shares that people
    support have the names of `bin_of`.
    Source: Rubin, The Bayesian Bootstrap (1981).
    """
    (codes,) = numbered([unit for *_, unit in claims])
    bins = sorted({bin_of(support) for _, _, support, _ in claims if support is not None})
    sums: Numbers = np.zeros((codes.max() + 1, 4 + 2 * len(bins)))
    for code, (judge, human, support, _) in zip(codes, claims, strict=True):
        sums[code, 2 * (not judge) + (not human)] += 1
        if support is not None:
            sums[code, 4 + 2 * bins.index(bin_of(support)) + (not human)] += 1
    draws = _resampled(sums, rng := np.random.default_rng(SEED))
    shares = [[0, 2], [1, 3], *([at, at + 1] for at in range(4, sums.shape[1], 2))]
    for share in shares:
        units = sums[:, share].sum(axis=1)
        size = float(units @ units) / (float(units.sum()) or 1.0)
        draws[:, share] += size * rng.standard_gamma(PRIOR, (DRAWS, 2))
    found: dict[str, Corrected | None] = {}
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        for name, figure in _FIGURES.items():
            value = float(figure(total))
            found[name] = _summary(figure(draws.T), value, 0.95) if math.isfinite(value) else None
    for name, (yes, no) in zip(bins, shares[2:], strict=True):
        people = draws[:, yes] / (draws[:, yes] + draws[:, no])
        found[name] = _summary(people, float(total[yes] / (total[yes] + total[no])), 0.95)
    return found


@dataclass(frozen=True)
class Threshold:
    """The best threshold, and by how much it raises balanced accuracy on labels left out."""

    value: float
    accuracy: float  # of the judge's own verdicts: the mean of sensitivity and specificity
    gain: float
    interval: Ends

    @property
    def accepted(self) -> bool:
        return self.interval[0] > 0


def best_threshold(
    support: Numbers, judge: Numbers, human: Numbers, units: Sequence[Hashable]
) -> Threshold | None:
    """Return the threshold of support that agrees best with people's verdicts, one per claim.

    Claims with equal `units` are not independent. The gain is measured by cross-fitting: the
    verdicts of each fold follow the threshold of the other folds. None for fewer than
    MIN_OF_EACH_KIND claims of a kind, or fewer units than folds.
    Sources: Stone, Cross-Validatory Choice (1974); Rubin, The Bayesian Bootstrap (1981).
    """
    codes = numbered(units)[0]
    count = len(set(units))
    if min(human.sum(), (1 - human).sum()) < MIN_OF_EACH_KIND or count < FOLDS:
        return None
    rng = np.random.default_rng(SEED)
    folds = rng.permutation(count)[codes] % FOLDS
    verdicts = np.zeros(human.size)
    for fold in range(FOLDS):
        here = folds == fold
        verdicts[here] = support[here] >= _fitted(support[~here], human[~here])
    weights = rng.standard_exponential((THRESHOLD_DRAWS, count))[:, codes]
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
    best = np.zeros(candidates.size)
    if yes[0].size and yes[1].size:
        best += [(yes[0] >= limit).mean() + (yes[1] < limit).mean() for limit in candidates]
    order = np.lexsort((np.abs(candidates - 0.5), -np.round(best, 9)))
    return float(candidates[order[0]])
