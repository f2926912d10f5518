"""Fit the weights of features and the factors of conflicts to a table's claims."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from ragstone.judges.offline.matching import CONFLICTS, Features
from training.offline_judge.rows import Row
from training.offline_judge.table import Table

LEARNED = ("begin", "defacto", "factcheck_gpt", "faithdial_audit", "wice_dev")
"""The sources of the weights: answers, summaries and claims, none written to deceive.

Sentences made for logic (SNLI, MED) and texts edited to be nearly right (FEVER, BUMP, SummEdits)
have the words of true sentences by design; they count for the weights of conflicts only.
"""
FALLING = frozenset({"first_person"})
"""The features that can only lower the probability of support; the others can only raise it."""
RIDGE = 0.001
"""The penalty for a weight's square: rows that a line separates would have infinite weights."""
MAX_FACTOR = 0.49
"""The largest factor: at the default threshold, a claim with a conflict is not supported."""
PRIOR = 0.7  # the share of claims that is supported, for which probabilities are right
"""The share of supported claims for which the probabilities are true."""
DECIMALS = 4
"""Decimals of the weights: the last bits may differ between machines."""
Bounds = Sequence[tuple[float | None, float | None]]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic regression, and the factors of conflicts.

    Attributes:
        features: name -> weight, in the order of `Features`.
        offset: the constant term.
        factors: kind of conflict -> what multiplies the probability; below 0.5.
    """

    features: dict[str, float]
    offset: float
    factors: dict[str, float]


def fit(numbers: Sequence[int], rows: Sequence[Row], table: Table) -> Weights:
    """Fit the weights to the responses with one claim among some rows, by their numbers.

    The label of an unsupported response with several claims does not show which of them are not
    supported. Conflicts are too rare in the sources of the weights: their factors are fitted last,
    to all sources.
    """
    claims = alone(numbers, rows, table)
    learned = claims[np.isin([rows[number].source for number in table.row[claims]], LEARNED)]
    signs = [(None, 0.0) if name in FALLING else (0.0, None) for name in Features._fields]
    line = _draw(table.features[learned], *_weights(learned, rows, table), signs)
    likely = expit(table.features @ line[:-1] + line[-1])
    return Weights(
        features=dict(zip(Features._fields, line[:-1].tolist(), strict=True)),
        offset=float(line[-1]),
        factors=_factors(claims, likely, rows, table),
    )


def support(weights: Weights, table: Table) -> Numbers:
    """Return the probability of every claim of a table, as the judge computes it."""
    line = np.array(list(weights.features.values()))
    factors = np.array([weights.factors[kind] for kind in CONFLICTS])
    found = expit(table.features @ line + weights.offset)
    return found * np.where(table.conflicts, factors, 1.0).prod(axis=1)


def alone(numbers: Sequence[int], rows: Sequence[Row], table: Table) -> NDArray[np.int64]:
    """Return the claims, by their numbers, that are the only one of one of some rows."""
    chosen = np.zeros(len(rows), np.bool_)
    chosen[list(numbers)] = True
    counts = np.bincount(table.row, minlength=len(rows))
    return np.flatnonzero(chosen[table.row] & (counts[table.row] == 1))


def _weights(
    claims: NDArray[np.int64], rows: Sequence[Row], table: Table
) -> tuple[NDArray[np.bool_], Numbers]:
    """Return which claims are supported, and their weights.

    A source counts by the root of its size; PRIOR of it is supported. The mean weight is 1.
    """
    own = [rows[number] for number in table.row[claims]]
    sources = np.array([row.source for row in own])
    supported = np.array([row.supported for row in own], np.bool_)
    weights = np.zeros(len(claims))
    for source in np.unique(sources):
        whole = float(np.sum(sources == source)) ** 0.5
        for label, share in ((False, 1 - PRIOR), (True, PRIOR)):
            these = (sources == source) & (supported == label)
            if these.any():
                weights[these] = whole * share / these.sum()
    return supported, weights / weights.mean()


def _draw(features: Numbers, true: NDArray[np.bool_], counts: Numbers, bounds: Bounds) -> Numbers:
    """Return the weights of least logistic loss within their bounds, and the constant term.

    The problem has one solution; features are scaled to a spread of 1 during the search.
    """
    if not len(true):
        return np.zeros(features.shape[1] + 1)
    spread = features.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = features / spread
    turned = np.where(true, 1.0, -1.0)
    shares = counts / counts.sum()

    def loss(values: Numbers) -> tuple[float, Numbers]:
        weights, offset = values[:-1], values[-1]
        sums = turned * (scaled @ weights + offset)
        pull = -shares * turned * expit(-sums)
        cost = -shares @ log_expit(sums) + RIDGE / 2 * (weights @ weights)
        return float(cost), np.append(scaled.T @ pull + RIDGE * weights, pull.sum())

    found = minimize(
        loss,
        np.zeros(len(spread) + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, (None, None)],
        options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-16, "gtol": 1e-9},
    )
    return np.round(found.x / np.append(spread, 1.0), DECIMALS)


def _factors(
    claims: NDArray[np.int64], likely: Numbers, rows: Sequence[Row], table: Table
) -> dict[str, float]:
    """Return the share supported of the claims with each conflict, as a share of their probability.

    Two claims are added, of which one is supported.
    """
    supported, weights = _weights(claims, rows, table)
    found: dict[str, float] = {}
    for number, kind in enumerate(CONFLICTS):
        these = weights * table.conflicts[claims, number]
        factor = (these[supported].sum() + 1) / (these @ likely[claims] + 2)
        found[kind] = min(round(float(factor), DECIMALS), MAX_FACTOR)
    return found
