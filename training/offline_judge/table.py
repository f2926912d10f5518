"""The features of every claim of every row, as arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.features import ClaimMatch, Features, compute_features, match_claim
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.judge import caps_of, read_claims
from training.offline_judge.first_version import judge_first
from training.offline_judge.rows import Row

CONFLICTS = ("figure", "name", "negation", "opposite")
CAPS = (*CONFLICTS, "other_subject", "missing_figure", "missing_name", "no_match")
"""What caps the probability of a claim; `no_match`: no context has a term of it."""


@dataclass(frozen=True)
class Table:
    """Claims, in the order of their rows.

    Attributes:
        row: the number of each claim's row.
        features: a row per claim, a column per feature; zeros if no context has a term of it.
        caps: whether each of `CAPS` applies to the claim.
        overlap: the share of the claim's weight found anywhere in the contexts.
        first: the support that the first version of the judge computes.
        first_label: 0 for supported, 1 for contradicted, 2 for not enough information.
    """

    row: NDArray[np.int64]
    features: NDArray[np.float64]
    caps: NDArray[np.bool_]
    overlap: NDArray[np.float64]
    first: NDArray[np.float64]
    first_label: NDArray[np.int64]

    def save(self, path: Path) -> None:
        """Write the table to a file."""
        np.savez_compressed(
            path, **{field.name: getattr(self, field.name) for field in fields(self)}
        )

    @classmethod
    def load(cls, path: Path) -> "Table":
        """Read a table from a file."""
        with np.load(path) as stored:
            return cls(**{field.name: stored[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Line:
    """One claim of the table."""

    features: tuple[float, ...]
    caps: tuple[bool, ...]
    overlap: float
    first: float
    first_label: int


def make_table(rows: Sequence[Row]) -> Table:
    """Compute the features of every row as the judge does."""
    numbers: list[int] = []
    lines: list[Line] = []
    for number, row in enumerate(rows):
        for line in _lines(row):
            numbers.append(number)
            lines.append(line)
    return Table(
        np.array(numbers, np.int64),
        np.array([line.features for line in lines], np.float64),
        np.array([line.caps for line in lines], np.bool_),
        np.array([line.overlap for line in lines], np.float64),
        np.array([line.first for line in lines], np.float64),
        np.array([line.first_label for line in lines], np.int64),
    )


def _lines(row: Row) -> Iterator[Line]:
    """Yield a line per claim; a response without claims is one."""
    claims = [claim.text for claim in extract_claims(row.response)] or [row.response]
    index = ContextIndex(row.contexts)
    for claim in read_claims(claims, index):
        match = match_claim(claim, index) if claim.terms else None
        if match is None:
            caps = tuple(cap == "no_match" for cap in CAPS)
            yield Line((0.0,) * len(Features._fields), caps, 0.0, 0.0, 2)
            continue
        applying = set(caps_of(match))
        first, label = judge_first(match)
        features = tuple(compute_features(match, index))
        yield Line(features, tuple(cap in applying for cap in CAPS), _overlap(match), first, label)


def _overlap(match: ClaimMatch) -> float:
    terms = match.claim.terms
    found = sum(terms[number].weight for number in match.scores)
    return found / sum(term.weight for term in terms)
