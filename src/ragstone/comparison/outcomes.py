"""Outcome: what a comparison takes of a row, so that no more of it need be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pydantic import TypeAdapter

from ragstone.claims import Label, Texts
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.samples import Tags
from ragstone.scores import State


@dataclass(frozen=True, slots=True)
class OutcomeClaim:
    """What is taken of a JudgedClaim."""

    text: str
    label: Label
    against: Texts = "contexts"


@dataclass(frozen=True, slots=True)
class OutcomeScore:
    """What is taken of a Score."""

    state: State
    value: float | None = None
    claims: tuple[OutcomeClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeSample:
    """What is taken of a Sample."""

    id: str
    query: str
    tags: Tags = field(default_factory=dict[str, str | int | float | bool | None])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is taken of a Row: the fields have its names, so that either can be read."""

    sample: OutcomeSample
    scores: Mapping[str, OutcomeScore] = field(default_factory=dict[str, OutcomeScore])


OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
"""Reads an outcome from a row's JSON, some four times as fast as the row."""


@runtime_checkable
class Readable(Protocol):
    """Rows that are kept as JSON, of which less than the whole can be read."""

    def read_as(self, adapter: TypeAdapter[Outcome], /) -> Iterable[Outcome]:
        """Yield the rows as the adapter reads them."""
        ...


def outcomes_of(run: Run) -> Iterable[Row | Outcome]:
    """Return what a comparison takes of a run's rows, without making the rows if it can."""
    return run.rows.read_as(OUTCOME) if isinstance(run.rows, Readable) else run.rows
