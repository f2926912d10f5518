"""Fit the weights of features, a calibration and the other parameters to a table's claims."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from ragstone.judges.offline.conflicts import CONFLICTS
from ragstone.judges.offline.features import Features
from ragstone.judges.offline.judge import Weights
from training.offline_judge.rows import Row
from training.offline_judge.table import Table

LEARNED = ("begin", "defacto", "factcheck_gpt", "faithdial_audit", "wice_dev")
"""The sources of the weights: answers, summaries and claims, none written to deceive.

Sentences made for logic (SNLI, MED) and texts edited to be nearly right (FEVER, BUMP, SummEdits)
have the words of true sentences by design; they count for the weights of conflicts only.
"""
FALLING = frozenset(name for name in Features._fields if "missing" in name)
"""The features that can only lower the probability of support; the others can only raise it."""
RIDGE = 0.03
"""The penalty for a weight's square, so that correlated features share their weight."""
FOLDS = 5
MAX_SLOPE = 4.0
"""Rows that a line separates would have an infinite slope."""
PRIOR = 0.7
"""The assumed share of supported claims: in a RAG system's answers most are supported.

At a prior of one half the threshold would be 0.3. It was chosen to meet the goals for both the
sources left out and the demo's injected errors.
"""
THRESHOLD = 0.5
"""The probability from which a claim counts as supported."""
DECIMALS = 4
"""Decimals of the weights: the last bits may differ between machines."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Claims:
    """Claims to train on: their features, whether they are supported, and their weights."""

    features: Numbers
    supported: NDArray[np.bool_]
    weights: Numbers
    groups: Sequence[str]


@dataclass(frozen=True)
class Line:
    """The weights of the features, and the constant term."""

    weights: Numbers
    offset: float

    def raw(self, features: Numbers) -> Numbers:
        """Return the weighted sum of each claim's features."""
        return features @ self.weights + self.offset


def fit(numbers: Sequence[int], rows: Sequence[Row], table: Table) -> Weights:
    """Fit the weights to some rows, by their numbers.

    The label of an unsupported response with several claims does not show which of them are not
    supported. So the weights are fitted to the other rows first, and then again with the claim of
    such a response that the first weights support least. Conflicts are too rare in these rows:
    their weights are fitted last, to the claims of all sources.
    """
    learned = [number for number in numbers if rows[number].source in LEARNED]
    single = _claims(learned, rows, table, None)
    claims = _claims(learned, rows, table, _draw(single).raw(table.features))
    line = _draw(claims)
    slope, offset = _calibrate(claims)
    scale = min(1.0, MAX_SLOPE / slope)
    slope, offset = scale * slope, scale * offset
    line = Line(slope * line.weights, slope * line.offset + offset + float(logit(PRIOR)))
    weights = [round(float(weight), DECIMALS) for weight in line.weights]
    return Weights(
        features=dict(zip(Features._fields, weights, strict=True)),
        offset=round(line.offset, DECIMALS),
        threshold=THRESHOLD,
        no_match=_no_match(numbers, rows, table),
        caps=_caps(numbers, rows, table),
    )


def support(weights: Weights, table: Table) -> Numbers:
    """Return the probability of every claim of a table, as the judge computes it."""
    line = Line(np.array(list(weights.features.values())), weights.offset)
    likely = np.where(table.matched, expit(line.raw(table.features)), weights.no_match)
    for number, kind in enumerate(CONFLICTS):
        lower = np.minimum(likely, weights.caps[kind])
        likely = np.where(table.conflicts[:, number], lower, likely)
    return likely


def _claims(
    numbers: Sequence[int], rows: Sequence[Row], table: Table, raw: Numbers | None
) -> Claims:
    """Return the claims whose own label is known, or guessed by what is known of them."""
    chosen = np.zeros(len(rows), np.bool_)
    chosen[list(numbers)] = True
    supported = np.array([row.supported for row in rows])[table.row]
    alone = np.bincount(table.row, minlength=len(rows))[table.row] == 1
    read = table.matched
    known = alone | supported if raw is not None else alone
    if raw is not None:
        least = np.full(len(rows), np.inf)
        np.minimum.at(least, table.row[read], raw[read])
        known |= raw == least[table.row]
    kept = np.flatnonzero(chosen[table.row] & read & known)
    sources = np.array([row.source for row in rows])[table.row[kept]]
    groups = [rows[number].group for number in table.row[kept]]
    weights = _weights(sources, supported[kept])
    return Claims(table.features[kept], supported[kept], weights, groups)


def _weights(sources: NDArray[np.str_], supported: NDArray[np.bool_]) -> Numbers:
    """Return weights by which a source counts by the root of its size, half of it supported."""
    weights = np.zeros(len(sources))
    for source in np.unique(sources):
        whole = float(np.sum(sources == source)) ** 0.5
        for label in (False, True):
            these = (sources == source) & (supported == label)
            if these.any():
                weights[these] = whole / 2 / these.sum()
    return weights / weights.mean()


def _draw(claims: Claims) -> Line:
    """Return the line of least logistic loss whose weights have the signs of their features.

    The problem has one solution; features are scaled to a spread of 1 during the search.
    """
    spread = claims.features.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = claims.features / spread
    turned = np.where(claims.supported, 1.0, -1.0)
    shares = claims.weights / claims.weights.sum()

    def loss(values: Numbers) -> tuple[float, Numbers]:
        weights, offset = values[:-1], values[-1]
        sums = turned * (scaled @ weights + offset)
        pull = -shares * turned * expit(-sums)
        cost = -shares @ log_expit(sums) + RIDGE / 2 * (weights @ weights)
        return float(cost), np.append(scaled.T @ pull + RIDGE * weights, pull.sum())

    bounds = [(None, 0.0) if name in FALLING else (0.0, None) for name in Features._fields]
    found = minimize(
        loss,
        np.zeros(len(bounds) + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, (None, None)],
        options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-16, "gtol": 1e-9},
    )
    return Line(found.x[:-1] / spread, float(found.x[-1]))


def _calibrate(claims: Claims) -> tuple[float, float]:
    """Return slope and offset from sums to probabilities, on groups not used for the weights."""
    folds = np.array([_fold(group) for group in claims.groups])
    raw = np.zeros(len(folds))
    for fold in range(FOLDS):
        out = folds == fold
        kept = [group for group, is_out in zip(claims.groups, out, strict=True) if not is_out]
        inside = Claims(claims.features[~out], claims.supported[~out], claims.weights[~out], kept)
        raw[out] = _draw(inside).raw(claims.features[out])
    turned = np.where(claims.supported, 1.0, -1.0)
    shares = claims.weights / claims.weights.sum()
    found = minimize(
        lambda line: float(-shares @ log_expit(turned * (line[0] * raw + line[1]))),
        np.array([1.0, 0.0]),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    return float(found.x[0]), float(found.x[1])


def _fold(group: str) -> int:
    return hashlib.sha256(group.encode("utf-8", "surrogatepass")).digest()[0] % FOLDS


def _caps(numbers: Sequence[int], rows: Sequence[Row], table: Table) -> dict[str, float]:
    """Return the share supported among the claims with each conflict, below the threshold."""
    kept, supported, weights = _single(numbers, rows, table)
    return {
        kind: min(_share(supported, weights * table.conflicts[kept, number]), THRESHOLD - 0.01)
        for number, kind in enumerate(CONFLICTS)
    }


def _no_match(numbers: Sequence[int], rows: Sequence[Row], table: Table) -> float:
    """Return the probability of claims of which no context has any word, at the prior."""
    learned = [number for number in numbers if rows[number].source in LEARNED]
    kept, supported, weights = _single(learned, rows, table)
    return _share(supported, weights * ~table.matched[kept])


def _share(supported: NDArray[np.bool_], weights: Numbers) -> float:
    """Return the share supported at the prior, with two claims added of which one is supported."""
    share = (weights[supported].sum() + 1) / (weights.sum() + 2)
    return round(float(expit(logit(share) + logit(PRIOR))), DECIMALS)


def _single(
    numbers: Sequence[int], rows: Sequence[Row], table: Table
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Numbers]:
    """Return the claims of the responses with one claim, whether supported, and their weights."""
    chosen = np.zeros(len(rows), np.bool_)
    chosen[list(numbers)] = True
    alone = np.bincount(table.row, minlength=len(rows))[table.row] == 1
    kept = np.flatnonzero(chosen[table.row] & alone)
    sources = np.array([row.source for row in rows])[table.row[kept]]
    supported = np.array([row.supported for row in rows])[table.row[kept]]
    return kept, supported, _weights(sources, supported)
