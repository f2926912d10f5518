"""The features of every claim of every row, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.judge import read_claims
from ragstone.judges.offline.matching import (
    CONFLICTS,
    ContextIndex,
    Features,
    compute_features,
    find_conflicts,
    match_claim,
)
from training.offline_judge.rows import Row


@dataclass(frozen=True)
class Table:
    """Claims, in the order of their rows.

    Attributes:
        row: the number of each claim's row.
        features: a row per claim, a column per feature.
        matched: whether any context has a term of the claim.
        conflicts: whether each of `CONFLICTS` applies to the claim.
    """

    row: NDArray[np.int64]
    features: NDArray[np.float64]
    matched: NDArray[np.bool_]
    conflicts: NDArray[np.bool_]

    @property
    def overlap(self) -> NDArray[np.float64]:
        """The share of each claim's weight found anywhere in the contexts."""
        return self.features[:, Features._fields.index("anywhere")]

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


def make_table(rows: Sequence[Row]) -> Table:
    """Compute the features of every row as the judge does."""
    numbers: list[int] = []
    features: list[Features] = []
    conflicts: list[tuple[bool, ...]] = []
    matched: list[bool] = []
    for number, row in enumerate(rows):
        claims = [claim.text for claim in extract_claims(row.response)] or [row.response]
        index = ContextIndex(row.contexts)
        for claim in read_claims(claims):
            match = match_claim(claim, index) if claim.content or claim.figures else None
            found = find_conflicts(claim, match, index) if match else {}
            numbers.append(number)
            features.append(compute_features(claim, match))
            conflicts.append(tuple(kind in found for kind in CONFLICTS))
            matched.append(match is not None)
    return Table(
        np.array(numbers, np.int64),
        np.array(features, np.float64),
        np.array(matched, np.bool_),
        np.array(conflicts, np.bool_),
    )
