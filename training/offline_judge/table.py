"""Table: the traits of every claim of every row, as arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.features import Reading, Traits, read_contexts, read_traits
from ragstone.judges.offline.index import ContextIndex, Stretches
from ragstone.judges.offline.judge import read_claims, seen_in
from training.offline_judge.first_version import judge_first
from training.offline_judge.rows import Row

SIGHTS = ("figure", "name", "negation", "opposite", "another", "digits", "unnamed", "nothing")
"""What can be seen in a claim that lowers its probability; `nothing`: no context has a term."""


@dataclass(frozen=True)
class Table:
    """Claims, in the order of their rows.

    Attributes:
        row: the number of each claim's row.
        traits: a claim a line, a trait a column; zeros where no context has a term of it.
        sights: whether each of `SIGHTS` is seen in the claim.
        overlap: the share of the claim's weight that stands anywhere in the contexts.
        first: how supported the first version of the judge holds the claim to be.
        first_label: 0 for supported, 1 for contradicted, 2 for not enough information.
    """

    row: NDArray[np.int64]
    traits: NDArray[np.float64]
    sights: NDArray[np.bool_]
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
    """What the table holds of one claim."""

    traits: tuple[float, ...]
    sights: tuple[bool, ...]
    overlap: float
    first: float
    first_label: int


def make_table(rows: Sequence[Row]) -> Table:
    """Read every row as the judge would."""
    numbers: list[int] = []
    lines: list[Line] = []
    for number, row in enumerate(rows):
        for line in _lines(row):
            numbers.append(number)
            lines.append(line)
    return Table(
        np.array(numbers, np.int64),
        np.array([line.traits for line in lines], np.float64),
        np.array([line.sights for line in lines], np.bool_),
        np.array([line.overlap for line in lines], np.float64),
        np.array([line.first for line in lines], np.float64),
        np.array([line.first_label for line in lines], np.int64),
    )


def _lines(row: Row) -> Iterator[Line]:
    """Yield a line a claim; a response without a claim is one."""
    claims = [claim.text for claim in extract_claims(row.response)] or [row.response]
    index = ContextIndex(row.contexts)
    stretches = Stretches(index)
    for claim in read_claims(claims, index):
        reading = read_contexts(claim, index, stretches) if claim.terms else None
        if reading is None:
            nothing = tuple(sight == "nothing" for sight in SIGHTS)
            yield Line((0.0,) * len(Traits._fields), nothing, 0.0, 0.0, 2)
            continue
        seen = set(seen_in(reading))
        first, label = judge_first(reading)
        traits = tuple(read_traits(reading, index))
        sights = tuple(sight in seen for sight in SIGHTS)
        yield Line(traits, sights, _overlap(reading), first, label)


def _overlap(reading: Reading) -> float:
    terms = reading.claim.terms
    held = sum(terms[number].weight for number in reading.everywhere)
    return held / sum(term.weight for term in terms)
